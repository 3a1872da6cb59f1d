"""Where the pages about people live, for admins."""

from django.urls import path

from discovery.views import people

urlpatterns = [
    path("people/", people.people_list, name="people-list"),
    path("people/invite/", people.invite_person, name="invite"),
    path(
        "people/invitations/<int:pk>/withdraw/",
        people.withdraw_invitation,
        name="invitation-withdraw",
    ),
    path("people/<int:pk>/", people.person, name="person"),
    path("people/<int:pk>/groups/", people.join_group, name="person-join"),
    path("people/<int:pk>/groups/<int:group_pk>/leave/", people.leave_group, name="person-leave"),
    path("people/<int:pk>/deactivate/", people.deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate/", people.reactivate, name="person-reactivate"),
    path("people/<int:pk>/codes/off/", people.codes_off, name="person-codes-off"),
]
