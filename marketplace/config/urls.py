"""Where every page and call lives."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from acl.api.docs import DocsView, SchemaView
from acl.api.failures import no_such_call
from discovery.mcp.view import McpView
from discovery.views.session import admin_sign_in
from marketplace.config.health import ReadyView, alive
from marketplace.config.metrics import MetricsView

handler400 = "acl.api.failures.bad_request"
handler403 = "acl.api.failures.not_allowed"
handler404 = "acl.api.failures.not_found"
handler500 = "acl.api.failures.server_error"

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
    path("v0.1/", include("marketplace.registry_urls")),
    path("mcp", McpView.as_view(), name="mcp"),
    path("admin/login/", admin_sign_in),  # before the admin's own
    path("admin/", admin.site.urls),
    path("", include("marketplace.page_urls")),
    path("", include("discovery.page_urls")),
]
