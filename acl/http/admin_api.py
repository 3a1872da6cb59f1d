"""What the calls of admins share: who may make them, and how they are refused."""

from typing import Any

from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.views import APIView

from acl.http.request_callers import installation_admin
from acl.models import ApiKey


class Conflict(exceptions.APIException):
    """It is not as the request takes it to be."""

    status_code = 409


class AdminView(APIView):
    """A call for admins: in a session, or by an admin key that belongs to one."""

    required_scope = ApiKey.Scope.ADMIN

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuses everybody else before anything is read."""
        super().initial(request, *args, **kwargs)
        installation_admin(request)
