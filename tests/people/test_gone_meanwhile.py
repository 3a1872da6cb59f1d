"""Requests about a group that somebody deletes at the same moment."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connections, transaction
from django.test import Client

from acl.models import Space
from acl.people.spaces import ensure_root
from tests.factories import GroupFactory, IntegrationFactory, UserFactory
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.django_db(transaction=True)


def delete_space(client: Client, space: Space) -> Any:
    return client.delete(f"/api/v1/spaces/{space.pk}")


def rename_space(client: Client, space: Space) -> Any:
    path = f"/api/v1/spaces/{space.pk}"
    return client.patch(path, {"name": "Other"}, content_type="application/json")


def add_space(client: Client, space: Space) -> Any:
    body = {"name": "New", "parent": space.slug}
    path = f"/api/v1/groups/{space.group_id}/spaces"
    return client.post(path, body, content_type="application/json")


def rename_group(client: Client, space: Space) -> Any:
    path = f"/api/v1/groups/{space.group_id}"
    return client.patch(path, {"name": "renamed"}, content_type="application/json")


def delete_group(client: Client, space: Space) -> Any:
    return client.delete(f"/api/v1/groups/{space.group_id}")


def add_member(client: Client, space: Space) -> Any:
    path = f"/api/v1/groups/{space.group_id}/members"
    return client.post(path, {"user": "charlie"}, content_type="application/json")


def grant(client: Client, space: Space) -> Any:
    body = {"integration": "wiki", "group": space.group.name}
    return client.post("/api/v1/grants", body, content_type="application/json")


def add_rule(client: Client, space: Space) -> Any:
    body = {"group": space.group.name, "space": space.slug, "integration": "wiki", "effect": "deny"}
    return client.post("/api/v1/access/rules", body, content_type="application/json")


def make_key(client: Client, space: Space) -> Any:
    body = {"name": "one more", "group": space.group.name, "owner": "root", "scopes": ["select"]}
    return client.post("/api/v1/keys", body, content_type="application/json")


@pytest.mark.parametrize(
    "ask",
    [
        delete_space,
        rename_space,
        add_space,
        rename_group,
        delete_group,
        add_member,
        grant,
        add_rule,
        make_key,
    ],
)
def test_request_that_waits_for_a_deletion_is_told(ask: Callable[[Client, Space], Any]) -> None:
    group, other = GroupFactory.create(name="support"), GroupFactory.create(name="other")
    root = User.objects.create_superuser("root")
    root.groups.add(group, other)
    UserFactory.create(username="charlie", groups=[other])
    IntegrationFactory.create(slug="wiki")
    space = Space.objects.create(
        group=group, parent=ensure_root(group), name="Project", slug="project"
    )
    client = client_with(new_key(other, "admin", owner=root, acts_for_users=False))
    answers: list[Any] = []

    def request() -> None:
        try:
            answers.append(ask(client, space))
        finally:
            connections.close_all()

    waiting = threading.Thread(target=request)
    with transaction.atomic():
        Group.objects.select_for_update().get(pk=group.pk)
        waiting.start()
        waiting.join(0.3)  # until it waits for the lock; one that has answered is fine, too
        Group.objects.filter(pk=group.pk).delete()
    waiting.join()

    assert answers[0].status_code < 500, answers[0].content
    assert answers[0].status_code in {200, 201, 204, 400, 403, 404, 409}
