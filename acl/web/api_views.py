"""Base classes of API views: for a named caller, and for admins."""

from typing import Any

from django.contrib.auth.models import Group
from rest_framework.request import Request
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller
from acl.web.request_callers import acting_admin, caller_of, deciding_group, installation_admin
from acl.web.strict_serializer import StrictSerializer, Text


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
        names: dict[str, Any] = {
            name: others.pop(name, None) or None for name in ("user", "group", "space")
        }
        return caller_of(request, **names), others


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
