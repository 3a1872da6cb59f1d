"""The API of access, below api/v1/."""

from django.urls import path

from acl.keys.api import KeysView, KeyView, RotateKeyView
from acl.people import api as people_api
from acl.people import group_api, space_api

urlpatterns = [
    path("keys", KeysView.as_view(), name="api-keys"),
    path("keys/<int:pk>", KeyView.as_view(), name="api-key"),
    path("keys/<int:pk>/rotate", RotateKeyView.as_view(), name="api-key-rotate"),
    path("groups", group_api.GroupsView.as_view(), name="api-groups"),
    path("groups/<int:pk>", group_api.GroupView.as_view(), name="api-group"),
    path(
        "groups/<int:pk>/deletion",
        group_api.GroupDeletionView.as_view(),
        name="api-group-deletion",
    ),
    path("groups/<int:pk>/members", group_api.MembersView.as_view(), name="api-group-members"),
    path(
        "groups/<int:pk>/members/<str:user>",
        group_api.MemberView.as_view(),
        name="api-group-member",
    ),
    path("groups/<int:pk>/spaces", space_api.SpacesView.as_view(), name="api-spaces"),
    path("spaces", space_api.SpacesOfGroupView.as_view(), name="api-spaces-of-group"),
    path("spaces/<int:pk>", space_api.SpaceView.as_view(), name="api-space"),
    path("people", people_api.PeopleView.as_view(), name="api-people"),
    path("invitations", people_api.InvitationsView.as_view(), name="api-invitations"),
    path("people/<str:user>", people_api.PersonView.as_view(), name="api-person"),
]
