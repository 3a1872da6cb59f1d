"""Authentication by API key, and the scopes of keys and people that each view requires."""

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser, User
from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from acl.actor import note_key
from acl.keys.lifecycle import holder_of
from acl.rights.delegation.authority import OWN_SCOPES, KeyHolder
from acl.web._rate_limits import check_wrong_key


class KeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <key>`. Unknown, revoked and expired ones are refused alike, and so
    many a minute for each address. A valid key is always recognised, whatever else its address
    sends: many people share one behind a proxy."""

    @sensitive_variables("header", "raw")
    def authenticate(self, request: Request) -> tuple[KeyHolder, KeyHolder] | None:
        header = request.headers.get("Authorization", "")
        scheme, _, raw = header.partition(" ")
        if scheme.lower() != "bearer":
            return None
        holder = self.recognise(request, raw.strip())
        if holder is None:
            check_wrong_key(request)
            raise AuthenticationFailed("The key is not valid.")
        note_key(holder)
        return holder, holder

    def recognise(self, request: Request, raw: str) -> KeyHolder | None:
        """Return the holder of the raw key."""
        return holder_of(raw)

    def authenticate_header(self, request: Request) -> str:
        """Return the WWW-Authenticate header of a 401."""
        return 'Bearer realm="pegboard"'


if TYPE_CHECKING:  # the framework imports this module while it makes APIView
    from rest_framework.views import APIView


def has_scope(principal: KeyHolder | User | AnonymousUser | None, scope: str) -> bool:
    """Return True if the key or person has the scope. No scope implies another."""
    if isinstance(principal, KeyHolder):
        return scope in principal.scopes
    if principal is None or not principal.is_active:
        return False
    return scope in OWN_SCOPES or principal.is_staff


def scopes_of(view: object, method: str) -> tuple[str, ...]:
    """Return the scopes any of which lets a request in by the method; () if nothing does.

    A view's `required_scope` is one scope, a tuple of which one is enough, or a mapping by method.
    """
    required = getattr(view, "required_scope", None)
    if isinstance(required, dict):
        required = required.get("GET" if method == "HEAD" else method)
    if isinstance(required, str):
        return (required,)
    return required if isinstance(required, tuple) else ()


class HasScope(BasePermission):
    """Ask for one of the scopes that the view requires. A view without one is open to nobody."""

    message = "The key or the person lacks the scope that this needs."

    def has_permission(self, request: Request, view: "APIView") -> bool:
        required = scopes_of(view, str(request.method))
        return any(has_scope(request.user, scope) for scope in required)
