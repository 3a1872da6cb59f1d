"""First steps: derived from stored rows, on the start page until complete or hidden."""

import re
import shlex

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey
from catalog.models import Capability, Integration
from discovery.models import FirstRun
from tests.factories import IntegrationFactory, UserFactory, give


def ticked(client: Client) -> list[str]:
    """Return the completed steps on the page of the steps."""
    steps = client.get("/first-steps/").context["first_run"].steps
    return [step.name for step in steps if step.done]


def at_start(client: Client, **query: str) -> list[str] | None:
    """Return the completed steps on the start page; None if the list is absent."""
    found = client.get("/", query).context["first_run"]
    return None if found is None else [step.name for step in found.steps if step.done]


def test_an_admins_steps_tick_themselves(as_admin: Client, admin: User, support: Group) -> None:
    IntegrationFactory.create(kind=Integration.Kind.BUILTIN)  # as in the starter collection
    assert at_start(as_admin) == []

    IntegrationFactory.create(slug="gmail", state="pending")
    assert ticked(as_admin) == []
    Integration.objects.update(state="approved")
    assert ticked(as_admin) == ["install"]
    assert at_start(as_admin, message="hello") == ["try", "install"]
    _, raw = create_key(
        by=admin, name="chat", group=support, scopes=["select"], acts_for_users=True
    )
    assert at_start(as_admin) == ["try", "install", "connect"]
    holder_of(raw)  # as every API call does

    assert ticked(as_admin) == ["try", "install", "connect", "call"]
    assert at_start(as_admin) is None
    text = as_admin.get("/first-steps/").content.decode()
    assert "All done." in text


def test_a_persons_steps_are_two(as_alice: Client, alice: User) -> None:
    empty = as_alice.get("/first-steps/").context["first_run"].steps
    assert [(step.name, step.done, step.address) for step in empty] == [
        ("tools", False, "/tools/requests/"),
        ("try", False, "/"),
    ]

    give(IntegrationFactory.create(slug="gmail"), alice.groups.get())
    assert ticked(as_alice) == []  # an integration without tools does not count


def test_a_message_ticks_its_step_in_place_and_then_the_list_goes(
    as_alice: Client, gmail: Capability
) -> None:
    assert at_start(as_alice) == ["tools"]

    part = as_alice.get("/", {"message": "mail"}, headers={"HX-Request": "true"}).content.decode()
    assert 'hx-swap-oob="true"' in part
    assert "2 of 2 done" in part
    again = as_alice.get("/", {"message": "mails"}, headers={"HX-Request": "true"})

    assert "first-run" not in again.content.decode()
    assert at_start(as_alice) is None


def test_hiding_is_remembered_and_taken_back(as_admin: Client, admin: User) -> None:
    assert as_admin.post("/first-steps/", {"hidden": "on"}).status_code == 302

    assert at_start(as_admin) is None
    other = Client()
    other.force_login(admin)
    assert at_start(other) is None
    other.post("/first-steps/", {"hidden": ""})
    assert at_start(as_admin) == []
    assert FirstRun.objects.get().hidden_at is None


@pytest.mark.parametrize(
    ("scopes", "whom", "path"),
    [
        (["select"], "users", "/api/v1/select"),
        (["discover", "execute"], "users", "/api/v1/categories?user=root"),
        (["execute"], "owner", "/api/v1/meta"),
        (["admin"], "nobody", "/api/v1/keys"),
    ],
)
def test_a_new_key_comes_with_a_line_that_works(
    as_admin: Client, admin: User, support: Group, scopes: list[str], whom: str, path: str
) -> None:
    form = {
        "name": "chat",
        "groups": [support.pk],
        "scopes": scopes,
        "whom": whom,
        "lifetime": "90",
    }
    page = as_admin.post("/keys/new/", {**form, "owner": "root"})

    command = page.context["call"].replace("\\\n", "")
    _, address, *more = shlex.split(command)
    options = dict(zip(more[::2], more[1::2], strict=False))
    headers = dict(re.findall(r"-H ['\"]([^:]+): ([^'\"]+)['\"]", command))
    client = Client(headers=headers)
    called = address.removeprefix("http://testserver")
    answer = (
        client.post(called, options["-d"], "application/json")
        if "-d" in options
        else client.get(called)
    )

    assert called == path
    assert answer.status_code == 200, answer.content
    assert ApiKey.objects.get().last_used_at is not None
    assert "no-store" in page["Cache-Control"]


def test_a_key_of_an_empty_group_says_who_is_missing(
    as_admin: Client, admin: User, support: Group
) -> None:
    admin.groups.clear()
    form = {"name": "chat", "groups": [support.pk], "scopes": ["select"], "whom": "users"}
    empty = as_admin.post("/keys/new/", {**form, "lifetime": "90"})
    UserFactory.create(username="alice", groups=[support])
    full = as_admin.post("/keys/new/", {**form, "lifetime": "90"})

    assert "Nobody is in Support yet" in " ".join(empty.content.decode().split())
    assert '"user": "alice"' in full.context["call"]
