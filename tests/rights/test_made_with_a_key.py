"""People, keys and invitations that a key made are within it, and end with it (Y1, KEY-2)."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from random import Random
from threading import Event, Thread

import pytest
from django.apps.registry import apps
from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from acl.actor.request_context import note_key, request_context
from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import (
    ApiKey,
    AuthorizationCode,
    Invitation,
    RegisteredClient,
    chain_columns,
)
from acl.people._invitations import accept, invite, open_invitation
from acl.people.people import PeopleRefused, deactivate
from acl.platform.clock import database_now
from acl.rights.caller_lookup import Caller
from acl.rights.delegation import DelegationRefused
from acl.rights.delegation.authority import KeyHolder
from catalog.capabilities.runtime_state import LIVE, NOT_OVER, approve, retire_expired
from catalog.models import Capability, OAuthSignIn, RuntimeCapability
from catalog.servers.oauth.accounts import accept_callback
from catalog.servers.proposals import list_open_proposals, propose_server
from discovery.calls._permission import permitted
from discovery.calls.approval_queue import list_leaving
from discovery.calls.server_requests.passed_methods import is_permitted
from discovery.models import Call, ServerRequest
from tests.access.people import People
from tests.factories import GroupFactory, UserFactory
from tests.runtime.conftest import HAIKU
from tests.web.conftest import client_with

PASSWORD = "correct horse battery"
OF_A_PERSON = {"select", "discover", "execute"}


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(
        username="root", is_staff=True, is_superuser=True, groups=[people.support, people.finance]
    )


def holder_and_key(owner: User, **about: object) -> tuple[KeyHolder, ApiKey]:
    key, raw = create_key(by=None, name="k", owner=owner, **about)  # type: ignore[arg-type]
    holder = holder_of(raw)
    assert holder is not None
    return holder, key


@pytest.mark.parametrize("seed", range(60))
def test_an_invited_person_has_no_more_than_the_key(people: People, root: User, seed: int) -> None:
    chance = Random(seed)
    owner = chance.choice([root, UserFactory.create(is_staff=True, groups=[people.support])])
    everywhere, ends = chance.random() < 0.4, chance.random() < 0.3
    scopes = {"admin", *chance.sample(ApiKey.Scope.values, chance.randint(1, 6))}
    holder, _ = holder_and_key(
        owner, scopes=scopes, all_groups=everywhere, acts_for_users=chance.random() < 0.5,
        group=None if everywhere else people.support,
        expires_at=database_now() + timedelta(minutes=10) if ends else None,
    )  # fmt: skip
    asked_for = chance.sample([people.support, people.finance], chance.randint(0, 2))
    role = chance.choice(Invitation.Role.values)
    if chance.random() < 0.3:
        people.finance.policy.joined_by_default = True
        people.finance.policy.save()

    try:
        _, link = invite(by=holder, email="new@example.com", groups=asked_for, role=role)
        person = accept(raw=link, username="newcomer", password=PASSWORD)
    except PeopleRefused:
        return

    joined = set(person.groups.values_list("pk", flat=True))
    assert not ends
    assert scopes >= (set(ApiKey.Scope.values) if person.is_superuser else OF_A_PERSON)
    assert everywhere or (joined and joined <= {people.support.pk} and not person.is_staff)
    assert not person.is_superuser or (owner == root and holder.acts_for_users)


def test_an_invitation_by_a_key_that_holds_as_much_is_accepted(people: People, root: User) -> None:
    holder, _ = holder_and_key(root, scopes=["admin", *OF_A_PERSON], group=people.support)

    _, link = invite(by=holder, email="new@example.com", groups=[people.support])

    assert accept(raw=link, username="newcomer", password=PASSWORD).groups.get() == people.support


@pytest.mark.parametrize("ending", ["revoked", "expired", "maker revoked"])
def test_an_invitation_ends_with_its_key(people: People, root: User, ending: str) -> None:
    scopes = ["admin", *OF_A_PERSON]
    maker, maker_key = holder_and_key(root, scopes=scopes, group=people.support)
    key, raw = create_key(by=maker, name="c", scopes=scopes, group=people.support, owner=root)
    holder = holder_of(raw)
    _, link = invite(by=holder, email="new@example.com", groups=[people.support])
    assert open_invitation(link)

    if ending == "expired":
        ApiKey.objects.filter(pk=key.pk).update(expires_at=database_now())
    else:
        revoke_key(by=root, key=key if ending == "revoked" else maker_key)

    assert open_invitation(link) is None
    with pytest.raises(PeopleRefused):
        accept(raw=link, username="newcomer", password=PASSWORD)


@pytest.mark.parametrize("seed", range(12))
def test_what_keys_made_of_each_other_ends_with_the_first(
    people: People, root: User, seed: int
) -> None:
    chance, texts = Random(seed), []
    scopes = ["admin", *OF_A_PERSON]
    holder, first = holder_and_key(root, scopes=scopes, group=people.support)
    newest = [(holder, first)]
    for _ in range(chance.randint(2, 6)):
        by, key = chance.choice(newest)
        if chance.random() < 0.5:
            made, raw = rotate_key(by=by, key=key)
        else:
            made, raw = create_key(by=by, name="c", scopes=scopes, group=people.support, owner=root)
        texts.append(raw)
        successor = holder_of(raw)
        assert successor is not None
        newest.append((successor, made))

    revoke_key(by=root, key=first)

    assert [holder_of(raw) for raw in texts] == [None] * len(texts)


def test_a_key_that_ended_after_it_was_recognised_makes_nothing(people: People, root: User) -> None:
    scopes = ["admin", *OF_A_PERSON]
    holder, key = holder_and_key(root, scopes=scopes, group=people.support)
    revoke_key(by=root, key=key)
    before = ApiKey.objects.count()

    with pytest.raises(DelegationRefused):
        create_key(by=holder, name="late", scopes=scopes, group=people.support, owner=root)
    with pytest.raises((DelegationRefused, KeyRefused)):
        rotate_key(by=holder, key=key)
    with pytest.raises(KeyRefused):
        rotate_key(by=root, key=key)
    with pytest.raises(DelegationRefused):
        invite(by=holder, email="new@example.com", groups=[people.support])

    assert ApiKey.objects.count() == before
    assert not Invitation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_revocation_finds_what_is_being_made_meanwhile() -> None:
    group: Group = GroupFactory.create()
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True, groups=[group])
    holder, key = holder_and_key(root, scopes=["admin"], group=group)
    ended = Event()

    def revoke() -> None:
        revoke_key(by=root, key=key)
        connection.close()
        ended.set()

    with transaction.atomic():
        _, raw = create_key(by=holder, name="c", scopes=["admin"], group=group, owner=root)
        revoking = Thread(target=revoke)
        revoking.start()
        assert not ended.wait(0.5)
    revoking.join()

    assert holder_of(raw) is None


def test_a_code_of_a_client_ends_with_the_person(people: People, root: User) -> None:
    client = RegisteredClient.objects.create(client_id="c", name="Desk", redirect_uris=[])
    _, other = (
        AuthorizationCode.objects.create(
            digest=person.username, client=client, person=person, redirect_uri="", scopes=[],
            resource="", challenge="", expires_at=database_now() + timedelta(minutes=1),
        )
        for person in (people.alice, people.bob)
    )  # fmt: skip

    deactivate(by=root, person=people.alice)

    assert list(AuthorizationCode.objects.all()) == [other]


# What waits for somebody, made with keys of random shapes that end in every way.

ALL = ["select", "discover", "execute", "register", "admin"]
WAYS = ("revoked", "its maker is revoked", "expired", "no admin any more", "deactivated", "left")
# Every table that names a key, and what becomes of its rows as the key ends.
NAMES_A_KEY = {
    "acl.ApiKey.made_with": "revoked with it",
    "acl.ApiKey_groups.apikey": "what it may",
    "acl.ClientConnection.key": "its tokens are refused",
    "acl.Invitation.made_with": "ends",
    "catalog.RuntimeCapability.key": "ends, unless an admin has approved it",
    "catalog.ServerProposal.key": "is not asked any more",
    "discovery.Call.key": "leaves the queue, or is not sent",
    "discovery.Outcome.key": "a record",
    "discovery.ServerRequest.key": "is not sent",
    "discovery.Turn.key": "a record",
}


def test_every_table_that_names_a_key_says_what_becomes_of_its_rows() -> None:
    fields = (
        field
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.fields
    )
    named = {str(field) for field in fields if field.related_model is ApiKey}

    assert named == NAMES_A_KEY.keys()


def make_all(people: People, raw: str) -> dict[str, Callable[[], bool]]:
    """Make one of each with a key; return a question for each, whether it still waits."""
    client, kind = client_with(raw), "application/json"
    holder = holder_of(raw)
    assert holder is not None
    assert holder.owner_id is not None
    called = client.post("/api/v1/execute", {"name": "gmail__send_email", "arguments": {}}, kind)
    assert called.status_code == 202, called.json()
    skill = {**HAIKU, "name": f"haiku-{holder.key_id}"}
    assert client.post("/api/v1/capabilities", skill, kind).status_code == 201
    with request_context(request_id="r", address=""):
        note_key(holder)
        chain = chain_columns()
        propose_server(
            caller=Caller(holder.owner_id, people.support.pk),
            name="New", endpoint=f"https://n{holder.key_id}.example.com/mcp",
        )  # fmt: skip
    _, link = invite(by=holder, email=f"n{holder.key_id}@example.com", groups=[people.support])
    asked = ServerRequest(
        user_id=holder.owner_id, group=people.support, integration=people.gmail, **chain
    )
    [call] = Call.objects.filter(key=holder.key_id)
    waiting = Call(**{field.attname: getattr(call, field.attname) for field in Call._meta.fields})
    tools = RuntimeCapability.objects.filter(NOT_OVER, key=holder.key_id, state__in=LIVE)
    return {
        "call that waits": lambda: not list_leaving([call.pk]),
        "call that is sent": lambda: permitted(waiting) is not None,
        "proposal": list_open_proposals().filter(key=holder.key_id).exists,
        "capability": tools.exists,
        "invitation": lambda: open_invitation(link) is not None,
        "request": lambda: is_permitted(asked),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(3))
def test_what_waits_ends_with_the_key_that_made_it(
    people: People, root: User, seed: int, way: str
) -> None:
    chance = Random(f"{seed}{way}")
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    owner = UserFactory.create(is_staff=True, groups=[people.support])
    other = UserFactory.create(is_staff=True, groups=[people.support])
    maker, first = holder_and_key(owner, scopes=ALL, groups=[people.support])
    keys, raw = [first], ""
    for _ in range(chance.randint(1, 3)):
        key, raw = create_key(by=maker, name="k", owner=owner, scopes=ALL, group=people.support)
        keys.append(key)
        maker = holder_of(raw) or maker
    _, control = create_key(by=None, name="k", owner=other, scopes=ALL, group=people.support)
    made, others = make_all(people, raw), make_all(people, control)
    assert all(is_waiting() for is_waiting in (*made.values(), *others.values()))

    match way:
        case "revoked":
            revoke_key(by=root, key=keys[-1])
        case "its maker is revoked":
            revoke_key(by=root, key=chance.choice(keys[:-1]))
        case "expired":
            ApiKey.objects.filter(pk=keys[-1].pk).update(expires_at=database_now())
        case "no admin any more":
            User.objects.filter(pk=owner.pk).update(is_staff=False)
        case "deactivated":
            deactivate(by=root, person=owner)
        case _:
            owner.groups.remove(people.support)
            for what in ("capability", "proposal", "invitation"):  # its owner may come back
                made.pop(what)

    assert {what: is_waiting() for what, is_waiting in made.items()} == dict.fromkeys(made, False)
    assert {what: is_waiting() for what, is_waiting in others.items()} == dict.fromkeys(
        others, True
    )
    retire_expired()
    usable = Capability.objects.filter(full_name__in=RuntimeCapability.objects.values("full_name"))
    assert usable.filter(available=True).count() == 2 - ("capability" in made)


def test_what_an_admin_has_approved_outlives_the_key_that_proposed_it(
    people: People, root: User
) -> None:
    _, key = holder_and_key(root, scopes=ALL, group=people.support)
    _, raw = create_key(by=None, name="k", owner=root, scopes=ALL, group=people.support)
    client_with(raw).post("/api/v1/capabilities", HAIKU, "application/json")
    row, holder = RuntimeCapability.objects.get(), holder_of(raw)
    approve(by=root, row=row, seen=Capability.objects.get(full_name=row.full_name).definition_hash)
    assert holder is not None

    revoke_key(by=root, key=ApiKey.objects.get(pk=holder.key_id))

    assert Capability.objects.get(full_name=row.full_name).available
    assert not ApiKey.objects.get(pk=key.pk).revoked_at


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_sign_in_is_finished_by_whoever_may_begin_it(
    people: People, root: User, is_shared: bool
) -> None:
    row = OAuthSignIn(integration=people.gmail, by=root, user=None if is_shared else root)
    row.ticket_digest, row.state = sha256(b"state").hexdigest(), OAuthSignIn.State.WAITING
    row.save()
    User.objects.filter(pk=root.pk).update(is_staff=False)

    finished = accept_callback(by=root, state="state", code="", error="denied")

    assert (finished is None) == is_shared
