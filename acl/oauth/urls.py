"""URLs of the authorization server that programs call."""

from django.urls import path

from acl.oauth import api

urlpatterns = [
    path(".well-known/oauth-authorization-server", api.metadata, name="oauth-metadata"),
    path("oauth/register", api.register, name="oauth-register"),
    path("oauth/token", api.token, name="oauth-token"),
    path("oauth/revoke", api.revoke, name="oauth-revoke"),
]
