"""People: accounts, groups, invitations and sign-in, and what an identity provider provisions."""
