"""URLs of the pages about people, keys and the audit log, for admins."""

from django.urls import path

from acl.audit import pages
from acl.keys import pages as key_pages
from acl.people import pages as member_pages
from acl.people import pages as people_pages

urlpatterns = [
    path("people/", people_pages.people_list, name="people-list"),
    path("people/invite/", people_pages.invite_person, name="invite"),
    path(
        "people/invitations/<int:pk>/withdraw/",
        people_pages.withdraw_invitation,
        name="invitation-withdraw",
    ),
    path("people/sign-in-groups/", people_pages.sign_in_groups, name="sign-in-groups"),
    path(
        "people/sign-in-groups/<int:pk>/remove/",
        people_pages.remove_sign_in_group,
        name="sign-in-group-remove",
    ),
    path("people/<int:pk>/", people_pages.person, name="person"),
    path("people/<int:pk>/groups/", people_pages.join_group, name="person-join"),
    path(
        "people/<int:pk>/groups/<int:group_pk>/leave/",
        people_pages.leave_group,
        name="person-leave",
    ),
    path("people/<int:pk>/deactivate/", people_pages.deactivate, name="person-deactivate"),
    path("people/<int:pk>/reactivate/", people_pages.reactivate, name="person-reactivate"),
    path("people/<int:pk>/codes/off/", people_pages.codes_off, name="person-codes-off"),
    path("access/groups/<int:pk>/people/", member_pages.add_members, name="group-people"),
    path("keys/", key_pages.keys, name="keys"),
    path("keys/new/", key_pages.new_key, name="key-new"),
    path("keys/<int:pk>/replace/", key_pages.replace_key, name="key-replace"),
    path("keys/<int:pk>/revoke/", key_pages.revoke, name="key-revoke"),
    path("audit/", pages.audit, name="audit"),
    path("audit/check/", pages.check, name="audit-check"),
    path("audit/export.csv", pages.export, {"kind": "csv"}, name="audit-csv"),
    path("audit/export.jsonl", pages.export, {"kind": "jsonl"}, name="audit-jsonl"),
]
