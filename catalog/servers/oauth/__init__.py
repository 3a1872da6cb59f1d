"""Signing in at servers by OAuth 2.1, in the process that goes out.

Whom it talks to: the server itself, what that names as its authorization server, and what this
names as its endpoints. `catalog.servers.net` checks each of these addresses before it is asked, and
redirects are not followed. What must not leak: codes, verifiers, tokens, client secrets.
"""

__all__ = ["disconnection", "oauth_accounts", "scope_step_up", "sign_in_error", "tokens"]
