"""Base classes of the admin endpoints."""

from typing import Any

from rest_framework.request import Request
from rest_framework.views import APIView

from acl.http.request_callers import installation_admin
from acl.models import ApiKey


class AdminView(APIView):
    """Base view for admins: in a session, or with an admin's own key."""

    required_scope = ApiKey.Scope.ADMIN

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse everybody else before anything is read."""
        super().initial(request, *args, **kwargs)
        installation_admin(request)
