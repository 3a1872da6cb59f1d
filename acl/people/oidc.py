"""The id of the single OpenID Connect provider, in URLs and settings."""

PROVIDER = "oidc"
