"""The door of SCIM: one view for every path below scim/v2/.

Keys only, each of an admin, with the scope `scim`. Whatever a client asks for is done by the
services of the pages, so it gets no further than the key's holder would.
"""

from typing import Any, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse, JsonResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView
from scim2_models import (
    Error,
    ForbiddenException,
    InvalidSyntaxException,
    InvalidValueException,
    PayloadTooLargeException,
    SCIMException,
    UniquenessException,
)
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import SCIM_MEDIA_TYPE, ScimResponse
from scim2_server.service import ScimService

from acl.accounts.groups import GroupRefused
from acl.accounts.people import PeopleRefused
from acl.accounts.provisioned_people import NameRefused, NameTaken
from acl.delegation import DelegationRefused
from acl.delegation.key_holder import KeyHolder
from acl.http.authentication import KeyAuthentication
from acl.http.problems import problem_response
from acl.http.request_callers import installation_admin
from acl.models import ApiKey
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.scim.scim_resources import PROVIDER
from acl.scim.scim_storage import DatabaseStorage

SERVICE = ScimService(PROVIDER)
# Nearest class first.
_REFUSALS: tuple[tuple[type[Exception], type[SCIMException]], ...] = (
    (NameTaken, UniquenessException),
    (NameRefused, InvalidValueException),
    (PeopleRefused, ForbiddenException),
    (DelegationRefused, ForbiddenException),
    (GroupRefused, InvalidValueException),
)


@extend_schema(exclude=True)
class ScimView(APIView):
    """SCIM 2.0 (RFC 7643, RFC 7644): users, groups, and what this server supports."""

    authentication_classes = (KeyAuthentication,)
    required_scope = ApiKey.Scope.SCIM

    def get(self, request: Request, path: str = "") -> HttpResponse:
        """Read or search."""
        return self._serve(request, path)

    def post(self, request: Request, path: str = "") -> HttpResponse:
        """Create, or search by a body."""
        return self._serve(request, path)

    def put(self, request: Request, path: str = "") -> HttpResponse:
        """Replace."""
        return self._serve(request, path)

    def patch(self, request: Request, path: str = "") -> HttpResponse:
        """Change parts."""
        return self._serve(request, path)

    def delete(self, request: Request, path: str = "") -> HttpResponse:
        """Delete a group, or deprovision a person."""
        return self._serve(request, path)

    def handle_exception(self, exc: Exception) -> Any:
        """Answer errors of the door as SCIM errors: of the key, the scope, and the rate."""
        response = problem_response(exc, self.get_exception_handler_context())
        if response is None:
            raise exc
        error = Error(status=response.status_code, detail=str(response.data["detail"]))
        answer = _response(ScimResponse(response.status_code, error.model_dump()))  # type: ignore[arg-type]
        for name, value in response.headers.items():
            if name not in ("Content-Type", "Content-Length"):
                answer[name] = value
        return answer

    def _serve(self, request: Request, path: str) -> HttpResponse:
        by = installation_admin(request)
        holder = cast(KeyHolder, request.auth)  # no other credential is taken here
        handler = ScimHandler(SERVICE, DatabaseStorage(holder, by))
        try:
            return _response(handler.handle(_scim_request(request, path)))
        except tuple(kind for kind, _ in _REFUSALS) as refused:
            raised = next(to for kind, to in _REFUSALS if isinstance(refused, kind))
            return _response(SERVICE.error_response(raised(detail=str(refused))))
        except SCIMException as error:
            return _response(SERVICE.error_response(error))


def _scim_request(request: Request, path: str) -> ScimRequest:
    return ScimRequest(
        method=str(request.method),
        base_url=request.build_absolute_uri("/scim/v2"),
        path=f"/{path}",
        query=request.query_params.dict(),
        headers=dict(request.headers.items()),
        body=_body(request),
    )


def _body(request: Request) -> bytes:
    """Return the body, if it is JSON that everyone reads alike, and not too long."""
    try:
        body = request._request.read(settings.PEGBOARD_MAX_BODY_BYTES + 1)
    except RequestDataTooBig as error:
        raise PayloadTooLargeException from error
    if len(body) > settings.PEGBOARD_MAX_BODY_BYTES:
        raise PayloadTooLargeException
    if body:
        try:
            parse_json(body.decode())
        except (StrictJSONError, UnicodeDecodeError) as error:
            raise InvalidSyntaxException(detail=str(error)) from error
    return body


def _response(answer: ScimResponse) -> HttpResponse:
    headers: dict[str, Any] = {"Cache-Control": "no-store", **answer.headers}
    headers.pop("Content-Type", None)
    if answer.body is None:
        return HttpResponse(status=int(answer.status), headers=headers)
    return JsonResponse(
        answer.body, status=int(answer.status), headers=headers, content_type=SCIM_MEDIA_TYPE
    )
