"""The door of SCIM: one view for every path below scim/v2/.

Keys only, each of an admin, with the scope `scim`.
"""

from functools import cache
from importlib import import_module
from threading import Thread
from typing import Any, cast

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.rights.delegation.authority import KeyHolder
from acl.web.authentication import KeyAuthentication
from acl.web.problems import problem_response
from acl.web.request_callers import acting_admin


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
        answer = _answers().error_of(response.status_code, str(response.data["detail"]))
        for name, value in response.headers.items():
            if name not in ("Content-Type", "Content-Length"):
                answer[name] = value
        return answer

    def _serve(self, request: Request, path: str) -> HttpResponse:
        acting_admin(request)
        holder = cast(KeyHolder, request.auth)  # no other credential is taken here
        return cast(HttpResponse, _answers().answer_of(request, path, holder))


@cache
def _answers() -> Any:
    """Load what answers, at the first request: it takes 0.7 s, as much as half of all else.

    Pydantic looks for the source of each of the library's classes in all of the stack, and for each
    frame in all modules, so a request's stack would double that. A thread of its own is shallow.
    """
    name = "acl.people.scim.answers"
    loading = Thread(target=import_module, args=(name,))
    loading.start()
    loading.join()
    return import_module(name)


urlpatterns = [
    path("", ScimView.as_view(), name="scim-root"),
    path("<path:path>", ScimView.as_view(), name="scim"),
]
