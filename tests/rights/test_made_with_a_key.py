"""Keys for several groups, and what a key made: within it, and ended with it (Y1, KEY-2)."""

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from random import Random
from threading import Event, Thread
from typing import Any

import pytest
from django.apps.registry import apps
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.actor import note_key, request_context
from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import ApiKey, AuthorizationCode, Invitation, RegisteredClient, Space, chain_columns
from acl.people._invitations import accept, invite, open_invitation
from acl.people.people import PeopleRefused, deactivate
from acl.platform.database_work import database_now
from acl.rights.caller_lookup import Caller
from acl.rights.delegation import DelegationRefused
from acl.rights.delegation.authority import KeyHolder
from catalog.capabilities.runtime_state import LIVE, NOT_OVER, approve, retire_expired
from catalog.models import Capability, OAuthSignIn, Rule, RuntimeCapability
from catalog.servers.oauth.accounts import accept_callback
from catalog.servers.proposals import list_open_proposals, propose_server
from discovery.calls._permission import permitted
from discovery.calls.approval_queue import list_leaving
from discovery.calls.server_requests.forwarding import is_permitted
from discovery.models import Call, ServerRequest, Turn
from tests.access.people import People
from tests.factories import GroupFactory, UserFactory, lay_down
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


JSON = "application/json"
SCOPES = ["select", "discover", "execute"]


@pytest.fixture
def everywhere(people: People) -> People:
    people.alice.groups.add(people.finance)
    return people


def key_for(*groups: Group, **options: Any) -> Client:
    """Return a backend's client; without groups its key covers all groups of the users."""
    about = {"scopes": SCOPES, "acts_for_users": True, "all_groups": not groups, **options}
    return client_with(create_key(by=None, name="backend", groups=groups, **about)[1])


def looked_up(client: Client, **asked: str) -> set[str]:
    answer = client.get("/api/v1/capabilities", {"limit": "50", **asked})
    assert answer.status_code == 200, answer.content
    return {item["full_name"] for item in answer.json()["items"]}


BOTH = {"gmail__send_email", "gmail__search", "wiki__read_page", "payroll__pay"}


def test_without_a_group_all_of_the_persons_groups_answer_together(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    assert looked_up(client, user="alice") == BOTH
    assert looked_up(client, user="alice", group="finance") == {"payroll__pay"}
    assert looked_up(client, user="bob") == BOTH - {"payroll__pay"}


def test_a_key_for_all_groups_needs_to_know_of_none(everywhere: People) -> None:
    client = key_for()
    before = looked_up(client, user="charlie")

    everywhere.support.user_set.add(everywhere.charlie)

    assert before == {"payroll__pay"}
    assert looked_up(client, user="charlie") == BOTH


def test_a_group_that_the_key_does_not_cover_gives_nothing(everywhere: People) -> None:
    client = key_for(everywhere.support, GroupFactory.create(name="other"))

    assert looked_up(client, user="alice") == BOTH - {"payroll__pay"}
    refused = client.get("/api/v1/capabilities", {"user": "alice", "group": "finance"})
    assert refused.status_code == 403


WAYS_OF_KEYS: dict[str, Callable[[Client], set[str]]] = {
    "select": lambda c: _names(_post(c, "select", message="pay, and send an email"), "selected"),
    "plan": lambda c: _names(_post(c, "plan", message="pay, and send an email"), "selected"),
    "names": lambda c: set(c.get("/api/v1/capabilities/names", {"user": "alice"}).json()["names"]),
}


def _post(client: Client, call: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/v1/{call}", {"user": "alice", **body}, JSON)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def _names(answer: dict[str, Any], field: str) -> set[str]:
    return {item["full_name"] for item in answer[field]}


@pytest.mark.parametrize("way", ["select", "plan"])
def test_every_way_to_choose_knows_all_groups(everywhere: People, way: str) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    found = WAYS_OF_KEYS[way](client)

    assert {"payroll__pay", "gmail__send_email"} <= found


def test_counts_and_trees_are_of_all_groups(everywhere: People) -> None:
    client = key_for()

    stats = client.get("/api/v1/stats", {"user": "alice"}).json()
    tree = client.get("/api/v1/tree", {"user": "alice"}).json()

    assert stats["capabilities"] == len(BOTH)
    assert "payroll" in str(tree)
    assert "gmail" in str(tree)


def test_a_selection_costs_as_many_statements_as_in_one_group(everywhere: People) -> None:
    one, two = key_for(everywhere.support), key_for(everywhere.support, everywhere.finance)
    body = {"message": "send an email", "user": "alice"}

    counts = []
    for client in (one, two):
        client.post("/api/v1/select", body, JSON)
        with CaptureQueriesContext(connection) as statements:
            assert client.post("/api/v1/select", body, JSON).status_code == 200
        counts.append(len(statements))

    assert counts[0] == counts[1]


def test_a_deny_in_the_space_asked_for_holds_for_every_group(everywhere: People) -> None:
    root = Space.objects.get(group=everywhere.support, parent=None)
    night = Space.objects.create(group=everywhere.support, parent=root, name="Night", slug="night")
    lay_down(Rule.Effect.DENY, everywhere.payroll, night)
    client = key_for(everywhere.support, everywhere.finance)

    assert looked_up(client, user="alice") == BOTH
    assert looked_up(client, user="alice", space="night") == BOTH - {"payroll__pay"}
    refused = client.post(
        "/api/v1/execute",
        {"user": "alice", "space": "night", "name": "payroll__pay", "arguments": {}},
        JSON,
    )
    assert refused.status_code == 404


def test_a_space_that_several_groups_have_wants_its_group(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    answer = client.get("/api/v1/capabilities", {"user": "alice", "space": "root"})

    assert (answer.status_code, answer.json()["field"]) == (400, "group")
    assert looked_up(client, user="bob", space="root") == BOTH - {"payroll__pay"}


def test_a_call_belongs_to_the_group_that_gives_the_tool(everywhere: People) -> None:
    everywhere.pay.ai_access = "propose"
    Capability.objects.filter(pk=everywhere.pay.pk).update(ai_access="propose")
    client = key_for(everywhere.support, everywhere.finance)
    body = {"user": "alice", "name": "payroll__pay", "arguments": {}}

    first = client.post("/api/v1/execute", body, JSON, headers={"Idempotency-Key": "once"})
    again = client.post("/api/v1/execute", body, JSON, headers={"Idempotency-Key": "once"})

    call = Call.objects.get()
    assert (first.status_code, again.status_code) == (202, 202)
    assert call.group == everywhere.finance
    of_support, of_finance = (
        client_with(create_key(by=None, name="a", group=group, scopes=["admin"])[1])
        for group in (everywhere.support, everywhere.finance)
    )
    assert of_support.get("/api/v1/approvals").json()["total"] == 0
    assert of_finance.get("/api/v1/approvals").json()["total"] == 1


def test_a_turn_keeps_all_groups_it_was_asked_in(everywhere: People) -> None:
    client = key_for()

    turn_id = _post(client, "select", message="pay someone")["turn_id"]

    turn = Turn.objects.get(pk=turn_id)
    assert turn.group == everywhere.finance  # the first by name
    assert turn.other_groups == [everywhere.support.pk]
    told = client.get(f"/api/v1/turns/{turn_id}")
    assert told.status_code == 200
    assert "payroll__pay" in str(told.json())


def test_an_owner_who_leaves_one_group_leaves_the_key_the_others(everywhere: People) -> None:
    _, raw = create_key(
        by=None, name="own", groups=[everywhere.support, everywhere.finance], scopes=SCOPES,
        owner=everywhere.alice,
    )  # fmt: skip

    everywhere.support.user_set.remove(everywhere.alice)
    left = holder_of(raw)
    everywhere.finance.user_set.remove(everywhere.alice)

    assert left is not None
    assert left.group_ids == frozenset({everywhere.finance.pk})
    assert holder_of(raw) is None


def test_a_group_that_is_deleted_leaves_the_key_the_others(everywhere: People) -> None:
    _, raw = create_key(
        by=None, name="own", groups=[everywhere.support, everywhere.finance], scopes=SCOPES,
        acts_for_users=True,
    )  # fmt: skip

    everywhere.finance.delete()

    holder = holder_of(raw)
    assert holder is not None
    assert holder.group_ids == frozenset({everywhere.support.pk})


def test_an_admin_key_of_several_groups_says_which_one_it_means(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance, scopes=["admin"], acts_for_users=False)

    unsaid = client.get("/api/v1/outcomes/alerts")
    said = client.get("/api/v1/outcomes/alerts", {"group": "finance"})

    assert (unsaid.status_code, unsaid.json().get("field")) == (400, "group")
    assert said.status_code == 200


def test_a_key_tells_its_groups(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance, scopes=["admin"], acts_for_users=False)

    [own] = client.get("/api/v1/keys").json()

    assert (own["group"], own["groups"], own["all_groups"]) == (
        "finance", ["finance", "support"], False,
    )  # fmt: skip
    assert ApiKey.objects.get().scope_of_groups == "finance, support"


def test_a_models_tools_know_all_groups_too(everywhere: People) -> None:
    client = key_for(everywhere.support, everywhere.finance)

    found = client.post(
        "/api/v1/meta/tool_discovery__list_all", {"user": "alice", "arguments": {}}, JSON
    )

    assert found.status_code == 200, found.content
    assert all(name in found.content.decode() for name in BOTH)
