"""Base classes of API views: for a named caller, and for admins."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group
from pydantic_core import to_json
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from acl.models import ApiKey, Application
from acl.models.application import LONGEST_CONVERSATION, LONGEST_NAME
from acl.rights.caller_lookup import Caller
from acl.rights.delegation.authority import KeyHolder
from acl.web.request_callers import acting_admin, caller_of, deciding_group, installation_admin
from acl.web.serializers import StrictSerializer, Text

CONVERSATION: dict[str, Any] = {
    "default": "",
    "allow_blank": True,
    "max_length": LONGEST_CONVERSATION,
    "help_text": "Your name of the conversation: its turns and calls can be read together.",
}
CALLER_NAMES = ("user", "group", "space", "application")


class CallerSerializer(StrictSerializer):
    """Caller named in a request: a person, one of their groups, and one of its spaces."""

    user = Text(
        max_length=150,
        required=False,
        allow_blank=True,
        help_text="The user's name; defaults to the key's owner or the signed-in person.",
    )
    group = Text(
        max_length=150,
        required=False,
        allow_blank=True,
        help_text="The group's name. A key acts in its own groups only.",
    )
    space = Text(
        max_length=60,
        required=False,
        allow_blank=True,
        help_text="The space's slug; defaults to the group's root.",
    )
    application = Text(
        max_length=LONGEST_NAME,
        required=False,
        allow_blank=True,
        help_text="The chat application; defaults to the key's own, and a key of one names no "
        "other.",
    )


def take_caller_names(values: dict[str, Any]) -> dict[str, Any]:
    """Remove from validated values those that name the caller, and return them for `caller_of`."""
    return {name: values.pop(name, None) or None for name in CALLER_NAMES}


def with_defaults(request: Request, form: type[serializers.Serializer[Any]]) -> Any:
    """Return the request's body, with the defaults of its application for fields that it leaves
    out: of the key's own, or of the one that it names."""
    body = request.data
    if not isinstance(body, dict):
        return body
    application = request.auth.application if isinstance(request.auth, KeyHolder) else None
    defaults: Mapping[str, Any] = application.defaults if application else {}
    name = body.get("application")
    if application is None and name and isinstance(name, str):
        # Whether the sender may name it, `caller_of` asks, before anything is answered.
        row = Application.objects.filter(name=name).only("defaults").first()
        defaults = row.defaults if row else {}
    fields = form._declared_fields
    return {**{name: value for name, value in defaults.items() if name in fields}, **body}


class SelectionRenderer(JSONRenderer):
    """Writes answers with many definitions in a fifth of the time of Python's own encoder.

    For answers without `Decimal`: as a number, only the framework's own renderer writes one.
    """

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return b"" if data is None else to_json(data, fallback=_ENCODER.default)


_ENCODER = JSONEncoder()  # for types that only the framework knows, such as texts to translate


class CallerView(APIView):
    """Base view for a caller named in the query or the body."""

    required_scope: str | dict[str, str] = ApiKey.Scope.DISCOVER

    def read_parameters(
        self, request: Request, data: Any, serializer_class: type[CallerSerializer]
    ) -> tuple[Caller, dict[str, Any]]:
        """Return the caller and the other validated parameters."""
        serializer = serializer_class(data=data)
        serializer.is_valid(raise_exception=True)
        others = dict(serializer.validated_data)
        return caller_of(request, **take_caller_names(others)), others


class DecidingView(CallerView):
    """Base view for decisions that an admin makes as a named caller."""

    def read_decision(
        self, request: Request, data: Any, serializer_class: type[CallerSerializer]
    ) -> tuple[Caller, Group | None, dict[str, Any]]:
        """Return the caller, the group decided for, or None for everyone, and the other
        parameters. A key that covers several groups has to name one, and is in that one."""
        caller, others = self.read_parameters(request, data, serializer_class)
        return caller, deciding_group(request, str(data.get("group") or "")), others


class AdminView(APIView):
    """Base view of the whole installation: an admin in a session, or their key for all groups."""

    required_scope = ApiKey.Scope.ADMIN

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse everyone else before anything is read."""
        super().initial(request, *args, **kwargs)
        installation_admin(request)


class GroupAdminView(APIView):
    """Base view of groups and their people: an admin in a session, or their key, for its groups.

    Queries are limited by `groups_known`, and changes by the services, which get the credential.
    """

    required_scope = ApiKey.Scope.ADMIN

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse everyone else before anything is read."""
        super().initial(request, *args, **kwargs)
        acting_admin(request)
