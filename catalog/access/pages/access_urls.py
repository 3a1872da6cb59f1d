"""Routes of the Access pages."""

from django.urls import path

from catalog.access.pages import (
    change_pages,
    explain_page,
    group_change_pages,
    group_pages,
    matrix_page,
    request_pages,
    space_pages,
)

urlpatterns = [
    path("tools/<slug:full_name>/why/", explain_page.why, name="tool-why"),
    path("access/", matrix_page.matrix, name="access"),
    path("access/kept/<int:pk>/lift/", matrix_page.lift_kept, name="access-lift"),
    path("access/changes/", change_pages.preview_changes, name="access-changes"),
    path("access/changes/save/", change_pages.save, name="access-changes-save"),
    path("access/changes/undo/", change_pages.preview_undo, name="access-changes-undo"),
    path("access/groups/", group_pages.groups, name="access-groups"),
    path("access/groups/new/", group_change_pages.new_group, name="access-group-new"),
    path("access/groups/<int:pk>/", group_pages.group, name="access-group"),
    path("access/groups/<int:pk>/rename/", group_change_pages.rename, name="access-group-rename"),
    path(
        "access/groups/<int:pk>/joined/",
        group_change_pages.joined_by_default,
        name="access-group-joined",
    ),
    path("access/groups/<int:pk>/delete/", group_change_pages.delete, name="access-group-delete"),
    path("access/groups/<int:pk>/merge/", group_change_pages.merge, name="access-group-merge"),
    path("access/groups/<int:pk>/give/", group_pages.give, name="access-give"),
    path("access/spaces/<int:pk>/", space_pages.space, name="access-space"),
    path("access/spaces/<int:pk>/warnings/", space_pages.warnings, name="access-warnings"),
    path("access/spaces/<int:pk>/rename/", space_pages.rename, name="access-space-rename"),
    path("access/spaces/<int:pk>/move/", space_pages.move, name="access-space-move"),
    path("access/spaces/<int:pk>/delete/", space_pages.delete, name="access-space-delete"),
    path("access/explain/", explain_page.explain_page, name="access-explain"),
    path("access/people/<int:pk>/", explain_page.reach, name="access-reach"),
    path("access/tools/<slug:full_name>/", explain_page.holders, name="access-holders"),
    path("access/requests/", request_pages.inbox, name="access-requests"),
    path("access/requests/<int:pk>/", request_pages.answer, name="access-request"),
    path("access/find/targets/", group_pages.suggest_targets, name="access-targets"),
    path("access/find/capabilities/", group_pages.suggest_capabilities, name="access-capabilities"),
]
