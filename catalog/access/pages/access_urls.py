"""Routes of the Access pages."""

from django.urls import path

from catalog.access.pages import changes, explanations, groups, matrix, requests, spaces

urlpatterns = [
    path("tools/<slug:full_name>/why/", explanations.why, name="tool-why"),
    path("access/", matrix.matrix, name="access"),
    path("access/kept/<int:pk>/lift/", matrix.lift_kept, name="access-lift"),
    path("access/changes/", changes.preview_changes, name="access-changes"),
    path("access/changes/save/", changes.save, name="access-changes-save"),
    path("access/changes/undo/", changes.preview_undo, name="access-changes-undo"),
    path("access/groups/", groups.groups, name="access-groups"),
    path("access/groups/new/", groups.new_group, name="access-group-new"),
    path("access/groups/<int:pk>/", groups.group, name="access-group"),
    path("access/groups/<int:pk>/rename/", groups.rename, name="access-group-rename"),
    path(
        "access/groups/<int:pk>/joined/",
        groups.joined_by_default,
        name="access-group-joined",
    ),
    path("access/groups/<int:pk>/delete/", groups.delete, name="access-group-delete"),
    path("access/groups/<int:pk>/merge/", groups.merge, name="access-group-merge"),
    path("access/groups/<int:pk>/give/", groups.give, name="access-give"),
    path("access/spaces/<int:pk>/", spaces.space, name="access-space"),
    path("access/spaces/<int:pk>/warnings/", spaces.warnings, name="access-warnings"),
    path("access/spaces/<int:pk>/rename/", spaces.rename, name="access-space-rename"),
    path("access/spaces/<int:pk>/move/", spaces.move, name="access-space-move"),
    path("access/spaces/<int:pk>/delete/", spaces.delete, name="access-space-delete"),
    path("access/explain/", explanations.explain_page, name="access-explain"),
    path("access/people/<int:pk>/", explanations.reach, name="access-reach"),
    path("access/tools/<slug:full_name>/", explanations.holders, name="access-holders"),
    path("access/requests/", requests.inbox, name="access-requests"),
    path("access/requests/<int:pk>/", requests.answer, name="access-request"),
    path("access/find/targets/", groups.suggest_targets, name="access-targets"),
    path("access/find/capabilities/", groups.suggest_capabilities, name="access-capabilities"),
]
