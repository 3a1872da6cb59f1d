"""Authentication by API key."""

from django.views.decorators.debug import sensitive_variables
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from acl.actor.chain import note_key
from acl.keys.lifecycle import KeyHolder, holder_of
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
