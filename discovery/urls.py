"""The API of discovery, below api/v1/."""

from django.urls import path

from discovery.api.meta import ExecuteView, MetaToolsView, MetaToolView
from discovery.api.selection import SelectView

urlpatterns = [
    path("select", SelectView.as_view(), name="api-select"),
    path("meta", MetaToolsView.as_view(), name="api-meta"),
    path("meta/<str:name>", MetaToolView.as_view(), name="api-meta-tool"),
    path("execute", ExecuteView.as_view(), name="api-execute"),
]
