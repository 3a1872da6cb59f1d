"""The address /mcp: streamable HTTP without streams and without sessions.

Each message is answered by itself, so any process may answer it, and there is no handle that
somebody else could use. From web pages only those of our own origin are listened to.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import Http404
from django.utils.http import is_same_domain
from rest_framework.exceptions import ParseError, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.request_callers import caller_of
from acl.rights.caller import Caller
from discovery.gateway.metatool_permissions import SCOPES_OF_TOOLS


class McpView(APIView):
    """An MCP client's only address."""

    required_scope = SCOPES_OF_TOOLS  # each tool asks for its own
    schema = None  # the protocol describes itself

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Before anybody is recognised: a page from elsewhere learns not even that."""
        if not comes_from_here(request):
            raise PermissionDenied("Requests from pages of this origin are not answered.")
        super().initial(request, *args, **kwargs)

    def post(self, request: Request) -> Response:
        """One message in, and its answer, if it wants one."""
        from discovery.gateway.mcp import (
            mcp_protocol,  # here, for the memory of those who never speak it
        )

        if "Mcp-Session-Id" in request.headers:
            raise Http404  # we give none, so it is no session of whoever sends it
        try:
            message = request.data
        except ParseError as problem:
            return _answer(mcp_protocol.not_json(str(problem.detail)))
        return _answer(
            mcp_protocol.answer(message, request.headers, request.user, _caller(request))
        )


def comes_from_here(request: Request) -> bool:
    """Whether the request has no origin, our own, or one that the deployment trusts."""
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    if origin is None or origin == own:
        return True
    return any(_is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _is_trusted(origin: str, trusted: str) -> bool:
    """`trusted` may be written `https://*.example.com`."""
    asked, allowed = urlsplit(origin), urlsplit(trusted.replace("*", "", 1))
    return asked.scheme == allowed.scheme and is_same_domain(asked.netloc, allowed.netloc)


def _caller(request: Request) -> Callable[[], Caller]:
    """For whom, once it is asked: greetings need nobody."""
    return lambda: caller_of(request)


def _answer(answer: tuple[int, dict[str, Any] | None]) -> Response:
    status, body = answer
    return Response(body, status=status)
