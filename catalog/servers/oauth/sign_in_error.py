"""Reasons why a sign-in failed, each with a message that says what to do."""

from catalog.formats.text_cleanup import clean_text

WORDS = {
    "not_offered": "The server does not say where to sign in. Set its secrets instead.",
    "wrong_resource": "The server names another address as its own: nothing is signed in there.",
    "wrong_issuer": "The authorization server is not who it says to be. Nothing was sent to it.",
    "other_issuer": (
        "The server names another authorization server than the client id was set for. "
        "If that is right, set the client id again."
    ),
    "no_pkce": "The authorization server does not offer PKCE by S256: a code could be stolen.",
    "no_registration": (
        "The authorization server does not register clients by itself. "
        "Register Pegboard there, and set the client id."
    ),
    "unusable_client": "The authorization server registered Pegboard in a way that cannot be used.",
    "refused": "The authorization server refused.",
    "wrong_answer": "The answer of the authorization server is none that OAuth knows.",
    "moved": "The server has moved to another address since. Sign in again.",
    "not_confirmed": "The server was imported, and no admin has confirmed it yet.",
    "ended": "The account is no longer connected. Sign in again.",
}


class SignInError(Exception):
    """A sign-in failed; `reason` is for machines."""

    def __init__(self, reason: str, detail: str = "") -> None:
        cited = clean_text(detail).text[:100]
        super().__init__(f"{WORDS[reason]} It said: {cited}." if cited else WORDS[reason])
        self.reason = reason
