"""Answers of SCIM, by its library and our storage.

Whatever a client asks for is done by the services of the pages, so it gets no further than the
key's holder would. Only `api.py` imports this, when somebody asks: the library is large.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpResponse, JsonResponse
from rest_framework.request import Request
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

from acl.people._provisioning import NameRefused, NameTaken
from acl.people.groups import GroupRefused
from acl.people.people import PeopleRefused
from acl.people.scim._resources import PROVIDER
from acl.people.scim._storage import DatabaseStorage
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.rights.delegation import DelegationRefused
from acl.rights.delegation.authority import KeyHolder

SERVICE = ScimService(PROVIDER)
# Nearest class first.
_REFUSALS: tuple[tuple[type[Exception], type[SCIMException]], ...] = (
    (NameTaken, UniquenessException),
    (NameRefused, InvalidValueException),
    (PeopleRefused, ForbiddenException),
    (DelegationRefused, ForbiddenException),
    (GroupRefused, InvalidValueException),
)


def answer_of(request: Request, path: str, holder: KeyHolder) -> HttpResponse:
    """Answer a request to `path` below scim/v2/."""
    handler = ScimHandler(SERVICE, DatabaseStorage(holder))
    try:
        return _response(handler.handle(_scim_request(request, path)))
    except tuple(kind for kind, _ in _REFUSALS) as refused:
        raised = next(to for kind, to in _REFUSALS if isinstance(refused, kind))
        return _response(SERVICE.error_response(raised(detail=str(refused))))
    except SCIMException as error:
        return _response(SERVICE.error_response(error))


def error_of(status: int, detail: str) -> HttpResponse:
    """Answer with an error of SCIM."""
    error = Error(status=status, detail=detail)
    return _response(ScimResponse(status, error.model_dump()))  # type: ignore[arg-type]


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
