"""URLs of all pages and endpoints."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from acl.people.account_pages import admin_sign_in
from acl.web.error_handlers import no_such_call
from acl.web.openapi_pages import DocsView, SchemaView
from discovery.mcp.server.mcp_view import McpView, resource_metadata
from marketplace.config.health import MetricsView, ReadyView, alive
from marketplace.listings import registry_api

handler400 = "acl.web.error_handlers.bad_request"
handler403 = "acl.web.error_handlers.not_allowed"
handler404 = "acl.web.error_handlers.not_found"
handler500 = "acl.web.error_handlers.server_error"

_REGISTRY = [
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
urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", alive, name="healthz"),
    path("livez", alive, name="livez"),
    path("readyz", ReadyView.as_view(), name="readyz"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/schema/", SchemaView.as_view(), name="schema"),
    path("api/docs/", DocsView.as_view(url_name="schema"), name="api-docs"),
    path("api/v1/", include("catalog.urls")),
    path("api/v1/", include("discovery.urls")),
    path("api/v1/", include("acl.urls")),
    path("api/v1/", include("marketplace.urls")),
    re_path(r"^api/v1/", no_such_call),
    path("scim/v2/", include("acl.people.scim.api")),
    path("v0.1/", include(_REGISTRY)),
    path("mcp", McpView.as_view(), name="mcp"),
    path("mcp/space/<slug:space>", McpView.as_view(), name="mcp-space"),
    path("mcp/<slug:integration>", McpView.as_view(), name="mcp-integration"),
    path(
        ".well-known/oauth-protected-resource",
        resource_metadata,
        {"path": ""},
        name="resource-metadata",
    ),
    path(".well-known/oauth-protected-resource/<path:path>", resource_metadata),
    path("admin/login/", admin_sign_in),  # before the admin's own
    path("admin/", admin.site.urls),
    path("", include("marketplace.page_urls")),
    path("", include("discovery.page_urls")),
]
