"""The world of the hostile tests: mulberry's people and things, with a row of every table.

All texts of mulberry's contain "mulberry", and those of alice alone "quince": an answer with these
words reveals something.
"""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from acl.audit.recorder import record
from acl.keys.lifecycle import create_key, revoke_key
from acl.models import AccessRequest, ApiKey, Invitation, SignInGroup, Space
from acl.people._invitations import invite
from acl.people.people import create_service_account
from catalog.models import (
    ApiDocument,
    Capability,
    CatalogVersion,
    Edge,
    IconImage,
    IconSource,
    Integration,
    OAuthClient,
    OAuthConnection,
    OAuthSignIn,
    Rule,
    Secret,
    ServerProposal,
)
from catalog.registration.definition_comparison import store_definitions
from catalog.relations.relations import relate
from catalog.runtime.service import Maker, create_capability
from discovery.models import (
    Called,
    Chat,
    ChatMessage,
    ChatModel,
    FirstRun,
    Outcome,
    OutcomeAlert,
    Turn,
)
from marketplace.listings.search import describe_missing
from marketplace.listings.store import built_in_source
from marketplace.models import (
    Addition,
    Installation,
    NotificationChannel,
)
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    ListingFactory,
    SourceFactory,
    UserFactory,
    give,
    keep,
    lay_down,
    remember,
    waiting_call,
)
from tests.hostile.tables import number_rows_from

GROUPS_WORD, OWN_WORD = "mulberry", "quince"
SCOPES = ApiKey.Scope.values
OUTSIDE = "203.0.113.9"  # an address of another machine


@dataclass
class World:
    """People, keys by their defect, and the names that rows use as {thing}."""

    alice: User
    bob: User
    charlie: User
    clerk: User
    root: User
    mulberry: Group
    finance: Group
    mail: Integration
    send: Capability
    payroll: Integration
    keys: dict[str, str] = field(default_factory=dict)
    things: dict[str, Any] = field(default_factory=dict)
    foreign: dict[str, Any] = field(default_factory=dict)  # the same for finance
    sessions: dict[str, str] = field(default_factory=dict)

    def client(self, who: str, **more: Any) -> Client:
        """Return a visitor's client; `who` is a person, a key, or "anonymous"."""
        headers = {"X-Request-ID": "hostile"}
        if who in self.keys:
            headers["Authorization"] = f"Bearer {self.keys[who]}"
        client = Client(headers=headers, REMOTE_ADDR=OUTSIDE, **more)
        if who in PEOPLE:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[who]
        return client


PEOPLE = ("alice", "bob", "charlie", "clerk", "root")


def build() -> World:
    """Build alice and bob of mulberry, charlie of finance, a clerk (staff without permissions), and
    the superuser root."""
    number_rows_from(700_000)
    mulberry, finance = GroupFactory.create(name="mulberry"), GroupFactory.create(name="finance")
    mail = IntegrationFactory.create(
        slug="mulberry-mail", description="Mail of mulberry.", own_secrets=True
    )
    payroll = IntegrationFactory.create(slug="payroll")
    give(mail, mulberry)
    give(payroll, finance)
    send = CapabilityFactory.create(
        integration=mail, action="send", description="Send mail for mulberry.", vector=[1, 0, 0],
        category="mulberry-mail",
    )  # fmt: skip
    CapabilityFactory.create(integration=payroll, action="pay", vector=[0, 1, 0])
    world = World(
        alice=UserFactory.create(username="alice-mulberry", groups=[mulberry]),
        bob=UserFactory.create(username="bob-mulberry", groups=[mulberry]),
        charlie=UserFactory.create(username="charlie", groups=[finance]),
        clerk=UserFactory.create(username="clerk", groups=[finance], is_staff=True),
        root=User.objects.create_superuser("root"),
        mulberry=mulberry,
        finance=finance,
        mail=mail,
        send=send,
        payroll=payroll,
    )
    world.root.groups.add(mulberry)
    for who in PEOPLE:
        world.sessions[who] = session_of(getattr(world, who))
        FirstRun.objects.get_or_create(user=getattr(world, who))
    _make_keys(world)
    _fill_the_other_tables(world)
    return world


def session_of(person: User) -> str:
    """Return a session of the person, shared by all their clients."""
    browser = Client()
    browser.force_login(person)
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


def _make_keys(world: World) -> None:
    everything: dict[str, Any] = {"by": None, "scopes": SCOPES, "acts_for_users": True}
    _, world.keys["own key"] = create_key(name="own", group=world.mulberry, **everything)
    _, world.keys["foreign key"] = create_key(name="foreign", group=world.finance, **everything)
    revoked, world.keys["revoked key"] = create_key(name="old", group=world.mulberry, **everything)
    revoke_key(by=None, key=revoked)
    expired, world.keys["expired key"] = create_key(name="past", group=world.mulberry, **everything)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=Now() - timedelta(days=1))
    for scope in SCOPES:
        _, world.keys[f"{scope} key"] = create_key(
            by=None, name=scope, group=world.mulberry, scopes=[scope], acts_for_users=True
        )


def _fill_the_other_tables(world: World) -> None:
    alice, mulberry = world.alice, world.mulberry
    root = Space.objects.get(group=mulberry, parent=None)
    space = Space.objects.create(group=mulberry, parent=root, name="Mulberry 1", slug="mulberry-1")
    rule = lay_down(Rule.Effect.ALLOW, world.mail, space)
    wish = AccessRequest.objects.create(user=alice, group=mulberry, wish="A quince calendar")
    key, _ = create_key(by=None, name="quince", group=mulberry, scopes=["select"], owner=alice)
    entry = record(by=alice, action="story.told", target="mulberry quince")
    turn = Turn.objects.create(user=alice, group=mulberry, message="quince")
    _tell_of_another_turn(world, root)
    remember(world.send, alice, mulberry)
    other = CapabilityFactory.create(integration=world.mail, action="search_mail")
    relate(by=None, source=world.send, target=other, kind=Edge.Kind.TAGGED_WITH, weight=0.5)
    invitation, raw = invite(by=world.root, email="eve@example.com", groups=[mulberry])
    SignInGroup.objects.create(value="mulberry-staff", group=mulberry)
    create_service_account(by=None, name="robot-mulberry", groups=[mulberry])
    _fill_the_shop(world)
    CatalogVersion.objects.get_or_create(pk=1)
    tried = {"username": "nobody", "ip_address": OUTSIDE, "path_info": "/sign-in/"}
    AccessAttempt.objects.create(get_data="", post_data="", failures_since_start=1, **tried)
    AccessFailureLog.objects.create(**tried)
    AccessLog.objects.create(**tried)
    world.things = {
        "user": alice.username,
        "user_pk": alice.pk,
        "group": mulberry.name,
        "group_pk": mulberry.pk,
        "space": space.slug,
        "space_pk": space.pk,
        "root_space_pk": root.pk,
        "rule_pk": rule.pk,
        "kept_pk": keep(space).pk,
        "integration": world.mail.slug,
        "server": _server("mulberry-post", world.mulberry),
        "integration_pk": world.mail.pk,
        "capability": world.send.full_name,
        "capability_pk": world.send.pk,
        "runtime_capability": _made(alice, mulberry, "mulberry_jam"),
        "other_capability": other.full_name,
        "request_pk": wish.pk,
        "key_pk": key.pk,
        "entry_pk": entry.pk,
        "turn_pk": turn.pk,
        "sign_in": _sign_in(alice, world.mail),
        "call_pk": waiting_call(alice, mulberry, world.send, "quince").pk,
        "installation": _installing("mulberry-new"),
        "proposal_pk": _proposed(alice, mulberry, "mulberry"),
        "addition": _added(),
        "icon": _iconed(world.mail, b"quince"),
        "invitation": raw,
        "invitation_pk": invitation.pk,
        "sign_in_group_pk": SignInGroup.objects.get().pk,
        "channel_pk": _channel(owner=alice),
        **_chat(alice, mulberry, "quince"),
        "group_channel_pk": _channel(group=mulberry),
    }
    world.foreign = _things_of_finance(world)


def _fill_the_shop(world: World) -> None:
    """Create public listings, one installed for mulberry, and rows that only admins see."""
    away = {"transport": "http", "endpoint": "https://mcp.example.com/mcp"}
    ListingFactory.create(slug="another-offer", title="Another offer", **away)
    offers = SourceFactory.create(slug="offers")
    ListingFactory.create(slug="offer", title="Offer", source=offers, **away)
    Integration.objects.filter(pk=world.mail.pk).update(listing="offer", version="mulberry-1")
    inside = SourceFactory.create(slug="mulberry", kind="mcp_json", location="")
    ListingFactory.create(
        slug="mulberry-inside", title="Quince of mulberry", source=inside, category="quince"
    )
    describe_missing()
    told = {"name": "quince", "description": "Quince of mulberry."}
    store_definitions(integration=world.mail, tools=[told], by=None, complete=False)


def _server(slug: str, group: Group) -> str:
    """Give the group an integration with a server, and return its name."""
    server = IntegrationFactory.create(slug=slug, transport="http", connection="connected")
    CapabilityFactory.create(integration=server, action="post", vector=[0, 0, 1])
    give(server, group)
    return slug


def _iconed(integration: Integration, content: bytes) -> str:
    """Give an integration an icon that was read, and return the key of its picture."""
    image = IconImage.objects.create(digest=content.hex(), content=content)
    address = f"https://{integration.slug}.example/icon.png"
    integration.icon = IconSource.objects.create(
        address=address, address_digest=address[-64:], state="ready", image=image
    )
    integration.save()
    return str(image.pk)


def _added() -> str:
    """Create an API that an admin has added, and an address to look at; return the latter's id."""
    document = ApiDocument.of("{}", address="https://mulberry.sources.example/api.json")
    document.outline = [["quince", "GET", "/mulberry", "Quinces of mulberry", ["mulberry"]]]
    document.save()
    source = built_in_source("added")
    ListingFactory.create(
        slug="mulberry-api", title="Quince of mulberry's API", kind="openapi", source=source,
        transport="openapi", endpoint="https://mulberry.sources.example",
        details={"document": str(document.public_id)},
    )  # fmt: skip
    row = Addition.objects.create(
        name="mulberry", what="address", address=document.address, document=None
    )
    return str(row.public_id)


def _proposed(user: User, group: Group, about: str) -> int:
    """Create a server proposed by an assistant."""
    endpoint = f"https://{about}.example.com/mcp"
    return ServerProposal.objects.create(
        name=f"Quince of {about}", endpoint=endpoint, reason="Quince", user=user, group=group
    ).pk


def _made(user: User, group: Group, name: str) -> str:
    """Create a skill that they made at runtime; return its full name."""
    return create_capability(
        maker=Maker(user, group, None),
        kind="skill",
        name=name,
        fields={"description": f"About {group.name}."},
        expires_at=None,
    ).full_name


def _installing(slug: str) -> str:
    """Create a cancelled installation; return its id."""
    kept = IntegrationFactory.create(slug=slug, state="pending", enabled=False)
    state = Installation.State.CANCELLED
    return str(Installation.objects.create(integration=kept, state=state).public_id)


def _sign_in(user: User, integration: Integration) -> UUID:
    """Create a pending sign-in of theirs, and a connected account."""
    begun = OAuthSignIn.objects.create(
        integration=integration, user=user, by=user, ticket_digest=user.username,
        redirect_uri="https://pegboard.example/", message="quince",
    )  # fmt: skip
    OAuthConnection.objects.create(integration=integration, user=user, issuer="https://quince/")
    OAuthClient.objects.create(integration=integration, client_id="mulberry")
    Secret.objects.create(integration=integration, user=user, name="TOKEN", sealed=b"sealed")
    return begun.public_id


def _tell_of_another_turn(world: World, space: Space) -> None:
    ended = Turn.objects.create(
        user=world.alice, group=world.mulberry, state="completed", ended_at=Now()
    )
    about: dict[str, Any] = {"group": world.mulberry, "at": Now()}
    outcome = Outcome.objects.create(
        turn=ended, status="failed", score=0, source="reported", note="quince", **about
    )
    Called.objects.create(
        outcome=outcome, capability=world.send, full_name=world.send.full_name, selected=True
    )
    OutcomeAlert.objects.create(
        scope="mulberry", space=space, severity="warning", reason="mulberry", threshold=0.5,
        value=0, samples=8, **about,
    )  # fmt: skip


def _things_of_finance(world: World) -> dict[str, Any]:
    charlie, finance = world.charlie, world.finance
    root = Space.objects.get(group=finance, parent=None)
    space = Space.objects.create(group=finance, parent=root, name="Accounts", slug="accounts")
    paying = world.payroll.capabilities.get()
    return {
        "user": charlie.username,
        "user_pk": charlie.pk,
        "group": finance.name,
        "group_pk": finance.pk,
        "space": space.slug,
        "space_pk": space.pk,
        "root_space_pk": root.pk,
        "rule_pk": lay_down(Rule.Effect.ALLOW, world.payroll, space).pk,
        "kept_pk": keep(space).pk,
        "integration": world.payroll.slug,
        "server": _server("payroll-post", world.finance),
        "integration_pk": world.payroll.pk,
        "capability": paying.full_name,
        "capability_pk": paying.pk,
        "runtime_capability": _made(charlie, finance, "ledger"),
        "other_capability": paying.full_name,
        "request_pk": AccessRequest.objects.create(user=charlie, group=finance, wish="Pay").pk,
        "key_pk": ApiKey.objects.get(groups=finance).pk,
        "entry_pk": record(by=charlie, action="story.told", target="finance").pk,
        "turn_pk": Turn.objects.create(user=charlie, group=finance).pk,
        "sign_in": _sign_in(charlie, world.payroll),
        "call_pk": waiting_call(charlie, finance, paying, "pay").pk,
        "installation": _installing("finance-new"),
        "proposal_pk": _proposed(charlie, finance, "finance"),
        "icon": _iconed(world.payroll, b"payroll"),
        "invitation": "another",
        "invitation_pk": Invitation.objects.get().pk,
        "sign_in_group_pk": SignInGroup.objects.get().pk,
        "channel_pk": _channel(owner=charlie),
        **_chat(charlie, finance, "pay"),
        "group_channel_pk": _channel(group=finance),
    }


def _chat(user: User, group: Group, text: str) -> dict[str, Any]:
    """Create a model of the group's, and a chat of the user's with it."""
    model = ChatModel.objects.create(
        name=f"Model of {group}", provider="compatible", address="https://models.example"
    )
    model.groups.add(group)
    chat = Chat.objects.create(user=user, group=group, model=model)
    ended = {"state": "cancelled", "ended_at": timezone.now()}
    ChatMessage.objects.create(chat=chat, text=text, **ended)
    return {"chat_pk": chat.pk, "chat_model_pk": model.pk}


def _channel(**whose: Any) -> int:
    """Create a notification channel of a person, or of a group."""
    mail = "" if "owner" in whose else f"{whose['group']}@example.com"
    return NotificationChannel.objects.create(
        kind="mail", topics=["answers"], origin="http://testserver/", mail_to=mail, **whose
    ).pk


# Ids without rows, to compare "someone else's" with "nobody's".
UNKNOWN: dict[str, Any] = {
    "user": "no-such-user", "user_pk": 987_654_321, "group": "no-such-group",
    "group_pk": 987_654_321, "space": "no-such-space", "space_pk": 987_654_321,
    "root_space_pk": 987_654_321, "rule_pk": 987_654_321, "kept_pk": 987_654_321,
    "integration": "no-such-thing", "server": "no-such-server",
    "other_capability": "no-such__other",
    "integration_pk": 987_654_321, "capability": "no-such__tool", "capability_pk": 987_654_321,
    "runtime_capability": "no-such__skill",
    "request_pk": 987_654_321, "key_pk": 987_654_321, "entry_pk": 987_654_321,
    "turn_pk": "00000000-0000-4000-8000-000000000000",
    "sign_in": "00000000-0000-4000-8000-000000000009",
    "call_pk": "00000000-0000-4000-8000-000000000001", "invitation": "no-such-link",
    "chat_pk": "00000000-0000-4000-8000-000000000003", "chat_model_pk": 987_654_321,
    "sign_in_group_pk": 987_654_321,
    "channel_pk": 987_654_321, "group_channel_pk": 987_654_321,
    "proposal_pk": 987_654_321, "icon": "00000000-0000-4000-8000-000000000004",
    "invitation_pk": 987_654_321, "installation": "00000000-0000-4000-8000-000000000002",
}  # fmt: skip


def filled(value: Any, things: dict[str, Any]) -> Any:
    """Fill in each "{thing}"; "{key_pk}" alone becomes the number itself."""
    if isinstance(value, dict):
        return {name: filled(inner, things) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, things) for inner in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    name = value[1:-1]
    return things[name] if name in things else value.format_map(things)


def as_json(value: Any) -> str:
    """Return a body for the API."""
    return json.dumps(value, default=str)
