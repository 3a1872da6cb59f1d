"""Where Pegboard answers as an MCP registry, below v0.1/."""

from django.urls import path

from marketplace.api import registry

urlpatterns = [
    path("servers", registry.ServersView.as_view(), name="registry-servers"),
    path("servers/<path:name>/versions", registry.VersionsView.as_view(), name="registry-versions"),
    path(
        "servers/<path:name>/versions/<str:version>",
        registry.VersionView.as_view(),
        name="registry-version",
    ),
]
