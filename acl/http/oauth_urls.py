"""URLs of the authorization server that programs call."""

from django.urls import path

from acl.http import oauth_api

urlpatterns = [
    path(".well-known/oauth-authorization-server", oauth_api.metadata, name="oauth-metadata"),
    path("oauth/register", oauth_api.register, name="oauth-register"),
    path("oauth/token", oauth_api.token, name="oauth-token"),
    path("oauth/revoke", oauth_api.revoke, name="oauth-revoke"),
]
