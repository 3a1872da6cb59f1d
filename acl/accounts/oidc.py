"""The OpenID Connect provider's place in our addresses and settings; there is one."""

PROVIDER = "oidc"
