"""URLs of Pegboard's MCP registry, below v0.1/."""

from django.urls import path

from marketplace.listings import registry_api

urlpatterns = [
    path("servers", registry_api.ServersView.as_view(), name="registry-servers"),
    path(
        "servers/<path:name>/versions",
        registry_api.VersionsView.as_view(),
        name="registry-versions",
    ),
    path(
        "servers/<path:name>/versions/<str:version>/status",
        registry_api.StatusView.as_view(),
        name="registry-status",
    ),
    path(
        "servers/<path:name>/versions/<str:version>",
        registry_api.VersionView.as_view(),
        name="registry-version",
    ),
]
