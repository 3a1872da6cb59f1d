"""Keys of some groups and the admin's pages reach nothing of anybody else (Y1, KEY-1)."""

import re
import zlib
from datetime import timedelta
from random import Random

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client

from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey
from acl.platform.database_work import database_now
from acl.rights.delegation.authority import KeyHolder
from discovery.models import Call
from tests.factories import GroupFactory, UserFactory
from tests.hostile.asking import outcomes_of, parts_of, said, send, words_of
from tests.hostile.places import CHANGE, Place, is_of_table, places_where
from tests.hostile.routes import DJANGO_ADMIN, OPEN, TOLD_NOTHING, Row
from tests.hostile.tables import changed, contents, taken_back
from tests.hostile.world import OUTSIDE, OWN_WORD, World

pytestmark = pytest.mark.usefixtures("logs_are_short")

KEYS_OF_EACH_PLACE = 3
# What these change is the caller's own: a turn, a call, an answer. None is about a group.
OWN_TRACES = {
    "discovery_turn", "discovery_call", "discovery_outcome", "discovery_called", "acl_auditentry",
    "acl_audithead",
}  # fmt: skip


def is_for_keys(row: Row) -> bool:
    return row.door.is_api or row.door.name.startswith("installing")


@places_where(lambda row: is_for_keys(row) and row.door is not OPEN, together=1)
def test_a_key_of_some_groups_reaches_no_other_and_nothing_of_the_installation(
    world: World, place: Place
) -> None:
    chance = Random(zlib.crc32(place.name.encode()))
    owner = UserFactory.create(username="warden", is_staff=True, is_superuser=True)
    owner.groups.add(world.mulberry, world.finance)
    wrong = []
    for _ in range(KEYS_OF_EACH_PLACE):
        raw, words = some_key(world, owner, chance)
        client = Client(headers={"Authorization": f"Bearer {raw}"}, REMOTE_ADDR=OUTSIDE)
        for row in place.rows:
            for method in row.methods.split():
                wrong += reached(world, client, row, method, words)

    assert wrong == []


def some_key(world: World, owner: User, chance: Random) -> tuple[str, str]:
    """Return a key of random power that covers any groups but mulberry, and its power in words."""
    groups = [world.finance]
    if chance.random() < 0.5:
        groups.append(other := GroupFactory.create())
        owner.groups.add(other)
    scopes = set(chance.sample(ApiKey.Scope.values, chance.randint(3, len(ApiKey.Scope.values))))
    end = database_now() + timedelta(minutes=10) if chance.random() < 0.5 else None
    acts = chance.random() < 0.5
    _, raw = create_key(
        by=None, name="some", groups=groups, scopes={*scopes, "admin", "scim"}, owner=owner,
        acts_for_users=acts, expires_at=end,
    )  # fmt: skip
    return raw, f"{sorted(scopes)}, {len(groups)} groups, for users: {acts}, until {end}"


def reached(world: World, client: Client, row: Row, method: str, key: str) -> list[str]:
    """Return what the request got hold of beyond the key's groups."""
    parts, told = parts_of(world, row), []
    with taken_back():
        before = contents()
        answer = send(client, row, method, parts)
        outcomes = outcomes_of(answer, words_of(parts))
        touched = changed(before) - (OWN_TRACES if answer.status_code >= 400 else set())
    if TOLD_NOTHING not in outcomes:
        told.append(f"{method} {row.route} with {key}: told of mulberry ({answer.status_code})")
    if touched:
        told.append(f"{method} {row.route} with {key}: {answer.status_code} changed {touched}")
    return told


@pytest.mark.parametrize("everywhere", [True, False])
def test_an_admins_key_for_all_groups_administers_the_installation(
    world: World, everywhere: bool
) -> None:
    _, raw = create_key(
        by=None,
        name="k",
        all_groups=everywhere,
        scopes=["admin"],
        owner=world.root,
        group=None if everywhere else world.mulberry,
    )
    holder = holder_of(raw)

    assert isinstance(holder, KeyHolder)
    assert holder.is_of_the_installation == everywhere


# What admins decide about or answer for, which the pages show them, too.
FOR_ADMINS = {
    "admin/acl/apikey": "its name",
    "admin/acl/accessrequest": "the wish that they answer",
    "admin/acl/auditentry": "the target",
    "admin/catalog/apidocument": "the document that they review",
    "admin/catalog/definition": "the definition that they review",
    "admin/catalog/oauthconnection": "the issuer",
    "admin/catalog/oauthsignin": "why the issuer refused",
    "admin/discovery/turn": "a turn, which staff may read by docs/turns.md",
    "admin/discovery/outcome": "the note of a report, as the page of outcomes",
}
SECRET = "only alice and her bank know"


@places_where(lambda row: row.door is DJANGO_ADMIN)
def test_staff_open_every_table_and_see_nothing_of_someones_own(world: World, place: Place) -> None:
    Call.objects.update(
        arguments_json=f'{{"text": "{OWN_WORD} {SECRET}"}}', result_json=f'"{OWN_WORD}"',
        message=OWN_WORD, flow={"said": OWN_WORD}, dialogue={"said": OWN_WORD},
        questions=[{"kind": "elicitation", "state": "asked", "text": OWN_WORD}],
    )  # fmt: skip
    client = world.client("root")

    told = []
    for row in place.rows:
        parts = parts_of(world, row)
        answers = [send(client, row, "GET", parts)]
        is_list = is_of_table(row, "") and row.route.count("/") == 3
        if is_list:
            answers.append(send(client, row, "GET", ({"q": "mail"}, *parts[1:])))
        if is_list or (is_of_table(row, CHANGE) and _has_rows(row)):
            assert {answer.status_code for answer in answers} == {200}, row.route
        for answer in answers:
            text = said(answer, words_of(parts))
            found = re.search(f".{{0,60}}(?:{OWN_WORD}|{SECRET}).{{0,40}}", text)
            if found and "/".join(row.route.split("/")[:3]) not in FOR_ADMINS:
                told.append(f"{row.route}: {found[0]}")

    assert told == []


def _has_rows(row: Row) -> bool:
    _, app, model, *_ = row.route.split("/")
    return bool(apps.get_model(app, model)._default_manager.exists())
