"""OpenAPI extensions shared by all calls: the key and the problems."""

from typing import Any, Literal

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
)
from drf_spectacular.openapi import AutoSchema

from acl.web.authentication import scopes_of
from acl.web.problems import CONTENT_TYPE, TITLES
from acl.web.serializers import ProblemSerializer

ALWAYS = (400, 401, 403, 429, 503)
WITH_A_PLACE = (404,)
# A change may meet another one, or contradict what was decided before.
THAT_CHANGES = (409,)
WITH_A_BODY = (413, 415, 422)


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer <key>`."""

    target_class = "acl.web.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key: `manage.py create_api_key`.",
        }


class StrictScheme(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """`additionalProperties: false` where unknown fields are refused."""

    target_class = "acl.web.serializers.StrictSerializer"
    match_subclasses = True

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(  # type: ignore[no-untyped-call]
            self.target, direction, bypass_extensions=True
        )
        return {**schema, "additionalProperties": False} if direction == "request" else schema


class PegboardSchema(AutoSchema):
    """Adds the possible problems to each call."""

    def _get_response_bodies(
        self, direction: Literal["request", "response"] = "response"
    ) -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        reference = self.resolve_serializer(ProblemSerializer, "response").ref
        for status in self._problems():
            bodies.setdefault(
                str(status),
                {
                    "content": {CONTENT_TYPE: {"schema": reference}},
                    "description": TITLES[status][1],
                },
            )
        return dict(sorted(bodies.items()))

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular does
        """Append the required scopes to the description."""
        needed = scopes_of(self.view, self.method)
        words = " or ".join(f"`{scope}`" for scope in needed)
        return "\n\n".join(filter(None, (super().get_description(), words and f"Scope: {words}.")))

    def get_extensions(self) -> dict[str, Any]:
        """Return the required scopes as an extension, any of which is enough."""
        needed = scopes_of(self.view, self.method)
        scopes = {"x-required-scopes": [str(scope) for scope in needed]} if needed else {}
        return {**super().get_extensions(), **scopes}

    def _problems(self) -> tuple[int, ...]:
        place = WITH_A_PLACE if "{" in self.path else ()
        body = WITH_A_BODY if self.method in {"POST", "PUT", "PATCH"} else ()
        change = THAT_CHANGES if self.method != "GET" else ()
        return ALWAYS + place + body + change
