"""Accounts: people, groups' members, invitations, sign-in, lockout and provider claims."""

__all__ = [
    "adapters",
    "backends",
    "default_groups",
    "groups",
    "invitations",
    "language_cookie",
    "languages",
    "lockout",
    "member_lists",
    "oidc",
    "people",
    "provisioned_people",
    "service_accounts",
    "sign_in_forms",
    "spaces",
]
