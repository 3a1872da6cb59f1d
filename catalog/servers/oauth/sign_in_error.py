"""Reasons why a sign-in failed, each with a message that says what to do."""

from django.utils.translation import gettext_noop

from catalog.formats.text_cleanup import clean_text

# English, for rows; pages translate them.
WORDS = {
    "not_offered": gettext_noop("The server does not offer a sign-in. Set its secrets instead."),
    "wrong_resource": gettext_noop(
        "The server names another address as its own, so Pegboard does not sign in there."
    ),
    "wrong_issuer": gettext_noop(
        "The authorization server does not match the expected issuer. Nothing was sent to it."
    ),
    "other_issuer": gettext_noop(
        "The server names another authorization server than the one its client ID was set for. "
        "If that is correct, set the client ID again."
    ),
    "no_pkce": gettext_noop(
        "The authorization server does not support PKCE with S256, so a code could be stolen."
    ),
    "no_registration": gettext_noop(
        "The authorization server does not register clients automatically. Register Pegboard "
        "there and set the client ID."
    ),
    "unusable_client": gettext_noop(
        "The authorization server registered Pegboard in a way that it cannot use."
    ),
    "refused": gettext_noop("The authorization server refused the sign-in."),
    "wrong_answer": gettext_noop("The authorization server's response is not valid OAuth."),
    "moved": gettext_noop("The server's address has changed. Sign in again."),
    "not_confirmed": gettext_noop(
        "The server was imported and is not confirmed yet. An admin must confirm it."
    ),
    "not_now": gettext_noop(
        "The authorization server does not renew the token at the moment. Try again later."
    ),
    "ended": gettext_noop("The account is no longer connected. Sign in again."),
}


# Codes of RFC 6749, section 5.2, after which the same request cannot succeed.
_ENDING = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope"})
# As RFC 6749 has no word for it, some servers say what they mean.
_ENDING |= {"unsupported_grant_type", "access_denied", "consent_required", "interaction_required"}
_ENDING |= {"login_required", "token_expired", "token_revoked", "bad_refresh_token"}


class SignInError(Exception):
    """A sign-in failed; `reason` is for machines."""

    def __init__(self, reason: str, detail: str = "") -> None:
        cited = clean_text(detail).text[:100]
        super().__init__(f"{WORDS[reason]} It said: {cited}." if cited else WORDS[reason])
        self.reason = reason
        self.code = detail

    @property
    def ends_account(self) -> bool:
        """Return True if the authorization server says that the account is no longer valid.

        Any other failure may pass: an outage, a limit, a page of a proxy.
        """
        return self.reason == "refused" and self.code in _ENDING

    @property
    def may_pass(self) -> bool:
        """Return True if the same request may succeed later."""
        is_answer = self.reason in ("refused", "wrong_answer") and not self.ends_account
        return is_answer or self.reason == "not_now"
