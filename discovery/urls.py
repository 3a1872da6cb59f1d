"""The API of discovery, below api/v1/."""

from django.urls import path

from discovery.api.selection import SelectView

urlpatterns = [path("select", SelectView.as_view(), name="api-select")]
