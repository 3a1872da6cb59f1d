"""Where the Access pages live."""

from django.urls import path

from discovery.views.access import changes, explain, finding, groups, matrix, requests, spaces

urlpatterns = [
    path("tools/<slug:full_name>/why/", explain.why, name="tool-why"),
    path("access/", matrix.matrix, name="access"),
    path("access/changes/", changes.look, name="access-changes"),
    path("access/changes/save/", changes.save, name="access-changes-save"),
    path("access/changes/undo/", changes.undo, name="access-changes-undo"),
    path("access/groups/", groups.groups, name="access-groups"),
    path("access/groups/<int:pk>/", groups.group, name="access-group"),
    path("access/groups/<int:pk>/give/", groups.give, name="access-give"),
    path("access/spaces/<int:pk>/", spaces.space, name="access-space"),
    path("access/spaces/<int:pk>/warnings/", spaces.warnings, name="access-warnings"),
    path("access/spaces/<int:pk>/rename/", spaces.rename, name="access-space-rename"),
    path("access/spaces/<int:pk>/move/", spaces.move, name="access-space-move"),
    path("access/spaces/<int:pk>/delete/", spaces.delete, name="access-space-delete"),
    path("access/explain/", explain.explain_page, name="access-explain"),
    path("access/people/<int:pk>/", explain.reach, name="access-reach"),
    path("access/tools/<slug:full_name>/", explain.holders, name="access-holders"),
    path("access/requests/", requests.inbox, name="access-requests"),
    path("access/requests/<int:pk>/", requests.answer, name="access-request"),
    path("access/find/targets/", finding.targets, name="access-targets"),
    path("access/find/capabilities/", finding.capabilities, name="access-capabilities"),
]
