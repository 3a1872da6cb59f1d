"""URLs of SCIM, below scim/v2/."""

from django.urls import path

from acl.people.scim.api import ScimView

urlpatterns = [
    path("", ScimView.as_view(), name="scim-root"),
    path("<path:path>", ScimView.as_view(), name="scim"),
]
