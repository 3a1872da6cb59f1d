"""Random lists, renames, removals and returns: nobody may do more after than before."""

from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from catalog.models import Capability, Integration, Rule
from catalog.registration.definition_review import forget_gone, list_waiting
from discovery.calls.quotas import count_use
from discovery.models import Call, FlowRule, Quota
from marketplace.installs.integration_management import uninstall
from tests.access.worlds import usable
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import IntegrationFactory, give
from tests.trust.reviewed_server import World

pytestmark = pytest.mark.django_db
# Each tool is known by its text, whatever its name.
TEXTS = [
    "Refunds a paid order to the customer's card.",
    "Lists open tickets of a support queue by priority.",
    "Translates a paragraph into another language.",
    "Books a meeting room for the given hours.",
]
STEPS = ["rename", "rename", "remove", "return", "reword", "copy", "approve", "forget", "reinstall"]
MOST = 1_000
MODES = {"propose": 1, "allow": 2}
EFFECTS = [Rule.Effect.DENY, Rule.Effect.DENY, Rule.Effect.PROPOSE, Rule.Effect.ALLOW]


class Server:
    """A server: it renames, rewords, removes and returns its tools at random."""

    def __init__(self, random: Random, world: World) -> None:
        self.random, self.world, self.made = random, world, 0
        self.listed = {f"tool_{place}": place for place in range(len(TEXTS))}
        self.wording = dict.fromkeys(range(len(TEXTS)), "")

    def tools(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "description": TEXTS[place] + self.wording[place],
                "inputSchema": {"type": "object", "properties": {f"field_{place}": {}}},
            }
            for name, place in self.listed.items()
        ]

    def step(self, kind: str) -> None:
        """Do something that a server or an admin does; none of it says that more is allowed."""
        name = self.random.choice(sorted(self.listed)) if self.listed else ""
        if kind in ("rename", "copy") and name:
            self.made += 1
            self.listed[f"{name[:12]}_{self.made}"] = self.listed[name]
        if kind in ("rename", "remove") and name:
            del self.listed[name]
        if kind == "reword" and name:
            self.wording[self.listed[name]] += " Quickly."
        if kind == "return":
            missing = sorted(set(range(len(TEXTS))) - set(self.listed.values()))
            self.listed |= {f"tool_{place}": place for place in missing[:1]}
        if kind == "forget":
            gone = Capability.objects.filter(integration=self.world.notes, available=False)
            names = list(gone.values_list("action", flat=True))
            forget_gone(by=self.world.alice, integration=self.world.notes, names=names)
        if kind == "reinstall":
            uninstall(by=self.world.alice, integration=self.world.notes)
            self.world.notes = IntegrationFactory.create(slug="notes")
            give(self.world.notes, self.world.group)
        installed = kind == "reinstall"
        self.world.says(*self.tools(), by=self.world.alice if installed else None)
        if kind == "approve":
            waiting = [row.name for row in list_waiting(self.world.notes) if row.name]
            self.world.approve(*waiting)


def by_statement(world: World) -> dict[int, int]:
    """Return the most that bob may do with each text, by the statement of rights."""
    found: dict[int, int] = {}
    effects = usable(world.bob)
    for row in Capability.objects.filter(pk__in=effects):
        place = next(place for place, text in enumerate(TEXTS) if row.description.startswith(text))
        found[place] = max(found.get(place, 0), MODES[effects[row.pk]])
    return found


def left_of_quotas(world: World) -> dict[int, int]:
    """Return the calls of each text that its tools' quotas leave bob today, at most."""
    found: dict[int, int] = {}
    for row in Capability.objects.filter(pk__in=usable(world.bob)):
        place = next(place for place, text in enumerate(TEXTS) if row.description.startswith(text))
        uses = count_use(list(Quota.objects.filter(capability=row)), user_id=world.bob.user_id)
        left = min([MOST, *((use.quota.hard or 0) - use.used for use in uses)])
        found[place] = max(found.get(place, left), left)
    return found


def unguarded(world: World) -> set[int]:
    """Return the texts with a tool for bob that no rule on flows holds back."""
    rows = Capability.objects.filter(pk__in=usable(world.bob))
    rows = rows.exclude(pk__in=FlowRule.objects.filter(mode="refuse").values("capability"))
    return {
        next(place for place, text in enumerate(TEXTS) if row.description.startswith(text))
        for row in rows
    }


def lay_down_policies(random: Random, world: World) -> None:
    """Limit tools by quotas, use these up in part, and guard some tools' flows."""
    for row in Capability.objects.filter(integration=world.notes):
        if random.random() < 0.5:
            subjects: list[dict[str, Any]] = [{}, {"group": world.group}]
            whose = random.choice([*subjects, {"user_id": world.bob.user_id}])
            hard = random.randrange(2, 6)
            Quota.objects.create(capability=row, measure="calls", hard=hard, **whose)
        if random.random() < 0.4:
            FlowRule.objects.create(capability=row, mode="refuse")
        for _ in range(random.randrange(3)):
            Call.objects.create(
                user_id=world.bob.user_id,
                group=world.group,
                capability=row,
                full_name=row.full_name,
                side_effect="read",
                way="client",
                state="completed",
                ended_at=timezone.now(),
            )


def by_surfaces(world: World, server: Server) -> set[int]:
    """Return the texts that bob is offered by `select`, or can send to `execute`."""
    browser = Client()
    person = User.objects.get(pk=world.bob.user_id)
    browser.force_login(person, "acl.people.sign_in_attempts.PasswordBackend")
    offered = browser.post(
        "/api/v1/select", {"message": " ".join(TEXTS)}, content_type="application/json"
    ).json()
    names = {one["full_name"] for one in offered["selected"]}
    places = {f"notes__{name}": place for name, place in server.listed.items()}
    for name in places:
        sent = browser.post("/api/v1/execute", {"name": name}, content_type="application/json")
        names |= set() if sent.status_code in (404, 409) else {name}
    return {places[name] for name in names if name in places}


def lay_down_limits(random: Random, world: World) -> None:
    root = world.group.spaces.get(parent=None)
    for row in Capability.objects.filter(integration=world.notes):
        for _ in range(random.randrange(3)):
            subjects: list[dict[str, Any]] = [{}, {"group": world.group}]
            who = random.choice([*subjects, {"user_id": world.bob.user_id}])
            Rule.objects.create(space=root, effect=random.choice(EFFECTS), capability=row, **who)
        if random.random() < 0.2:
            Capability.objects.filter(pk=row.pk).update(
                ai_access=random.choice(["propose", "blocked"])
            )
    if random.random() < 0.3:
        Integration.objects.filter(pk=world.notes.pk).update(restricted=True)


@settings(max_examples=EXAMPLES_OF_STORIES * 3, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_nobody_may_do_more_whatever_a_server_calls_its_tools(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        world = World()
        server = Server(random, world)
        world.says(*server.tools(), by=world.alice)
        lay_down_limits(random, world)
        before = by_statement(world)

        history = []
        for _ in range(random.randrange(3, 9)):
            history.append(random.choice(STEPS))
            server.step(history[-1])

            now = by_statement(world)
            more = {place for place, mode in now.items() if mode > before.get(place, 0)}
            assert not more, history
        transaction.set_rollback(True)


@settings(max_examples=EXAMPLES_OF_STORIES * 3, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_no_name_sheds_a_quota_what_was_used_of_it_or_a_rule_on_flows(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        world = World()
        server = Server(random, world)
        world.says(*server.tools(), by=world.alice)
        lay_down_policies(random, world)
        before, free = left_of_quotas(world), unguarded(world)

        history = []
        for _ in range(random.randrange(3, 9)):
            history.append(random.choice(STEPS))
            server.step(history[-1])

            left = left_of_quotas(world)
            assert all(left[place] <= before[place] for place in left), history
            assert unguarded(world) <= free, history
        transaction.set_rollback(True)


@pytest.mark.parametrize("kinds", [["rename"], ["rename", "approve"], ["copy", "approve"]])
def test_surfaces_offer_no_more_than_before(
    settings: Settings, kinds: list[str], random: Random
) -> None:
    settings.PEGBOARD_CALL_WAIT_SECONDS = 0
    world = World()
    server = Server(random, world)
    world.says(*server.tools(), by=world.alice)
    lay_down_limits(random, world)
    before = by_surfaces(world, server)

    for kind in kinds * 2:
        server.step(kind)
        assert by_surfaces(world, server) <= before


@pytest.fixture(params=range(4))
def random(request: pytest.FixtureRequest) -> Random:
    return Random(request.param)
