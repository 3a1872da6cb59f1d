"""The API of access, below api/v1/."""

from django.urls import path

from acl.http.key_api import KeysView, KeyView, RotateKeyView

urlpatterns = [
    path("keys", KeysView.as_view(), name="api-keys"),
    path("keys/<int:pk>", KeyView.as_view(), name="api-key"),
    path("keys/<int:pk>/rotate", RotateKeyView.as_view(), name="api-key-rotate"),
]
