"""Base class of views that answer for a caller."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from acl.http.caller_serializer import CallerSerializer
from acl.http.request_callers import caller_of
from acl.models import ApiKey
from acl.rights.caller import Caller


class CallerView(APIView):
    """View for a caller named in the query or the body."""

    required_scope: str | dict[str, str] = ApiKey.Scope.DISCOVER

    def asked(
        self, request: Request, data: Any, form: type[CallerSerializer]
    ) -> tuple[Caller, dict[str, Any]]:
        """Return the caller and the other validated parameters."""
        serializer = form(data=data)
        serializer.is_valid(raise_exception=True)
        wanted = dict(serializer.validated_data)
        named: dict[str, Any] = {
            name: wanted.pop(name, None) or None for name in ("user", "group", "space")
        }
        return caller_of(request, **named), wanted
