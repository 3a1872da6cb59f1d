"""Rows as Authlib asks for them: a public client, a code, a token."""

from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin

from acl.models import AuthorizationCode, ClientToken, RegisteredClient
from acl.oauth.connections import SCOPES
from acl.oauth.registration import is_registered


class PublicClient(ClientMixin):  # type: ignore[misc]
    """A registered client."""

    def __init__(self, row: RegisteredClient) -> None:
        self.row = row

    def get_client_id(self) -> str:
        return self.row.client_id

    def get_default_redirect_uri(self) -> None:
        """Return None: the redirect URI must always be named."""

    def get_allowed_scope(self, scope: str) -> str:
        """Return the scopes asked for, which the server has checked; all by asking for none."""
        asked = set((scope or "").split()) or set(SCOPES)
        return " ".join(one for one in SCOPES if one in asked)

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return is_registered(self.row, redirect_uri)

    def check_client_secret(self, client_secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in ("authorization_code", "refresh_token")


class IssuedCode:
    """An authorization code."""

    code_challenge_method = "S256"

    def __init__(self, row: AuthorizationCode) -> None:
        self.row = row
        self.code_challenge = row.challenge

    def get_redirect_uri(self) -> str:
        return self.row.redirect_uri

    def get_scope(self) -> str:
        return " ".join(self.row.scopes)


class IssuedToken(TokenMixin):  # type: ignore[misc]
    """An access or refresh token."""

    def __init__(self, row: ClientToken) -> None:
        self.row = row

    def check_client(self, client: PublicClient) -> bool:
        return self.row.connection.client_id == client.row.pk

    def get_scope(self) -> str:
        return " ".join(self.row.connection.key.scopes)
