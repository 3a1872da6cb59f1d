"""Random configurations come back as they were: exported, wiped, applied and exported again."""

import re
from random import Random
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from acl.models import Application, Space
from acl.people.groups import create_group, map_group, stored_pairs
from acl.people.spaces import create_space, rename_space
from catalog.access.grants import grant, set_application_executes, set_requestable, set_restricted
from catalog.access.rules import add_rule
from catalog.formats.descriptors import IntegrationDescriptor, Loaded
from catalog.models import (
    Capability,
    Integration,
    IntegrationUserPermission,
    KeptLimit,
    Rule,
)
from catalog.readiness.obstacles import OWN_INTEGRATIONS
from catalog.registration.admin_corrections import correct_capability
from catalog.registration.register import register
from catalog.servers.program_network import set_network
from catalog.servers.secrets.store import set_own_secrets
from discovery.applications.service import ApplicationFields, create_application
from discovery.calls.flow_check import set_flow_rule, trust_value
from discovery.calls.quotas import set_call_limit, set_quota
from discovery.models import FlowRule, Quota, TrustedValue
from marketplace.config_file.apply_service import apply_text
from marketplace.config_file.export_service import export_document
from marketplace.config_file.text import write_document
from marketplace.installs.integration_management import set_enabled
from marketplace.installs.own_servers import allow_own_servers
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import CapabilityFactory, IntegrationFactory, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.long]
# Words that YAML might take for something else, or that need quotes.
NAMES = ["no", "012", "09", "1:30", "~", "null", "Ärzte: Süd", "a #b", "- x", "{x}", "فريق", "1e3"]
SERVERS = ["mail", "wiki", "build"]


@settings(max_examples=EXAMPLES_OF_STORIES, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_a_wiped_configuration_comes_back(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        tools = _tools(random)
        _configure(random, tools)
        exported = write_document(export_document())

        _wipe(tools)
        applied = apply_text(by=None, text=exported, source="world.yaml")
        again = apply_text(by=None, text=exported, source="world.yaml", prune=True)

        assert not applied.waiting
        assert write_document(export_document()) == exported
        assert not again.changes
        transaction.set_rollback(True)


@settings(max_examples=EXAMPLES_OF_STORIES * 3, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_export_changes_nothing_where_it_comes_from(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        _configure(random, _tools(random))
        _add_oddities(random)
        exported = write_document(export_document())

        assert not {"abcdefghijklmnop", "user:pass", "abc123"} & set(
            re.findall(r"[\w:]+", exported)
        )
        for prune in (False, True):
            applied = apply_text(by=None, text=exported, source="world.yaml", prune=prune)

            assert (applied.changes, applied.waiting) == ((), ())
        assert write_document(export_document()) == exported
        assert "hers-1" not in exported
        assert IntegrationUserPermission.objects.filter(content_object__slug="hers-1").exists()
        transaction.set_rollback(True)


@settings(max_examples=EXAMPLES_OF_STORIES, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_one_configuration_becomes_another_by_pruning(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        tools = _tools(random)
        _configure(random, tools)
        wanted = write_document(export_document())
        _wipe(tools)
        _configure(random, tools)

        plan = apply_text(by=None, text=wanted, source="world.yaml", prune=True, dry_run=True)
        applied = apply_text(by=None, text=wanted, source="world.yaml", prune=True)

        # What pruning leaves alone: settings of tools that the file does not name.
        unlike = {**export_document(), "tools": []}
        apply_again = apply_text(by=None, text=wanted, source="world.yaml", prune=True)
        assert applied == plan
        assert not apply_again.changes
        assert _without_settings(write_document(unlike)) == _without_settings(wanted)
        transaction.set_rollback(True)


def _add_oddities(random: Random) -> None:
    """Store what files of people have not: redacted addresses, contents, long and odd values."""
    address = random.choice(
        [
            "https://hooks.slack.com/services/" + "/".join(("T0000", "B0000", "a" * 16)),
            "https://user:pass@odd.example/mcp",
            "https://odd.example/mcp?token=abc123&x=1",
            "https://odd.example/" + "a" * 400,
        ]
    )
    odd: dict[str, Any] = {
        "title": random.choice(["'", "x" * 200, "a: b # c", "Ünïcode: “x”", "null"]),
        "description": random.choice(["", "line\n\nline: -", "x" * 9_000]),
        "enabled": random.random() < 0.5,
    }
    own = IntegrationFactory.create(
        slug="hers-1", transport="http", restricted=True, owner=UserFactory.create(), enabled=True
    )
    grant(by=None, target=own, user=own.owner)
    tool = CapabilityFactory.create(integration=own, core=True)
    root = Space.objects.filter(parent=None).first()
    if root is not None:
        add_rule(by=None, space=root, effect=Rule.Effect.DENY, capability=tool)
    IntegrationFactory.create(slug="odd", kind="mcp", transport="http", endpoint=address, **odd)
    kind = random.choice(["skill", "extension", "channel", "voice", "manifest", "catalog"])
    IntegrationFactory.create(slug="contents", kind=kind, transport="", endpoint="", **odd)


def _without_settings(text: str) -> str:
    head, _, rest = text.partition("\ntools:")
    return head + "\nflow_rules" + rest.partition("\nflow_rules")[2]


def _tools(random: Random) -> list[Capability]:
    """Create people, and servers whose tools are known already."""
    for name in ("alice", "bob", "no"):
        UserFactory.create(username=name)
    servers = [IntegrationFactory.create(slug=f"known-{place}") for place in range(2)]
    servers += [
        IntegrationFactory.create(slug=slug, kind="builtin", transport="", endpoint="")
        for slug in OWN_INTEGRATIONS
    ]
    return [
        CapabilityFactory.create(integration=random.choice(servers), action=f"act_{place}")
        for place in range(5)
    ]


def _configure(random: Random, tools: list[Capability]) -> None:
    _register_servers(random)
    groups = [
        create_group(by=None, name=name, is_open=random.random() < 0.5)
        for name in random.sample(NAMES, random.randrange(1, 4))
    ]
    for group in groups:
        _plant_spaces(random, group)
    targets: list[Any] = [*tools, *Integration.objects.all()]
    people = list(User.objects.order_by("pk"))
    for _ in range(random.randrange(12)):
        subject: dict[str, Any] = random.choice(
            [{"group": random.choice(groups)}, {"user": random.choice(people)}]
        )
        grant(by=None, target=random.choice(targets), **subject)
    for _ in range(random.randrange(15)):
        _lay_down_rule(random, random.choice(targets), groups, people)
    for _ in range(random.randrange(4)):
        _set_policies(random, tools, groups)
    _leave_limits(random, groups, people)
    _add_applications(random, groups)


def _leave_limits(random: Random, groups: list[Group], people: list[User]) -> None:
    """Lay down rules about a server and a tool that are gone afterwards."""
    server = IntegrationFactory.create(slug="gone")
    tool = CapabilityFactory.create(integration=server, action="act")
    for _ in range(random.randrange(4)):
        _lay_down_rule(random, random.choice([server, tool]), groups, people)
    set_restricted(by=None, integration=server, restricted=random.random() < 0.5)
    set_call_limit(by=None, integration=server, a_minute=random.choice([0, 9]))
    tool.ai_access = random.choice(["execute", "propose", "blocked"])
    correct_capability(by=None, capability=tool, changed=["ai_access"])
    for _ in range(random.randrange(3)):
        group = random.choice([None, random.choice(groups)])
        space = random.choice([None, random.choice(list(Space.objects.order_by("pk")))])
        mode = random.choice(["off", "ask", "refuse"])
        set_flow_rule(by=None, mode=mode, capability=tool, space=space, group=group)
        _limit(random, tool, groups)
    server.delete()


def _register_servers(random: Random) -> None:
    for slug in random.sample(SERVERS, random.randrange(len(SERVERS) + 1)):
        is_program = slug != "wiki"
        register(
            Loaded(
                integrations=(
                    IntegrationDescriptor(
                        slug=slug,
                        kind="mcp",
                        title=random.choice(["Mail", "yes", "A: b"]),
                        description=random.choice(["", "Two\nlines.", "Reads mail."]),
                        transport="stdio" if is_program else "http",
                        endpoint="" if is_program else f"https://{slug}.example/mcp",
                        command=("npx", f"{slug}-server@1.0.0", "--verbose") if is_program else (),
                        required_secrets=random.choice([(), ("API_KEY",)]),
                        source_ref=random.choice(
                            [{}, {"headers": {"Authorization": "Bearer ${API_KEY}"}}]
                        ),
                    ),
                )
            ),
            by=None,
            source="configuration",
            came_from="configuration",
        )
        row = Integration.objects.get(slug=slug)
        set_own_secrets(by=None, integration=row, allowed=random.random() < 0.5)
        set_restricted(by=None, integration=row, restricted=random.random() < 0.5)
        set_requestable(by=None, integration=row, requestable=random.random() < 0.5)
        set_application_executes(by=None, integration=row, executes=random.random() < 0.5)
        set_call_limit(by=None, integration=row, a_minute=random.choice([0, 30]))
        set_enabled(by=None, integration=row, enabled=random.random() < 0.7)
        if is_program:
            hosts = random.choice([[], ["api.example.com", "*.example.org:8443"]])
            set_network(by=None, integration=row, whole=random.random() < 0.3, hosts=hosts)


def _plant_spaces(random: Random, group: Group) -> None:
    spaces = [Space.objects.get(group=group, parent=None)]
    rename_space(by=None, space=spaces[0], name=random.choice(["Root", "Everyone"]))
    for _ in range(random.randrange(5)):
        parent, name = random.choice(spaces), random.choice(NAMES)
        spaces.append(create_space(by=None, group=group, parent=parent, name=name))


def _lay_down_rule(random: Random, target: Any, groups: list[Group], people: list[User]) -> None:
    about = {"integration" if isinstance(target, Integration) else "capability": target}
    subject: dict[str, Any] = random.choice(
        [{}, {"group": random.choice(groups)}, {"user": random.choice(people)}]
    )
    space = random.choice(list(Space.objects.order_by("pk")))
    effect = random.choice(Rule.Effect.values)
    add_rule(by=None, space=space, effect=effect, **about, **subject)


def _set_policies(random: Random, tools: list[Capability], groups: list[Group]) -> None:
    allow_own_servers(by=None, allowed=random.random() < 0.5)
    pairs = {(random.choice(NAMES), random.choice(groups)) for _ in range(random.randrange(4))}
    for value, given_group in pairs - {(row.value, row.group) for row in stored_pairs()}:
        map_group(by=None, value=value, group=given_group)
    row = Capability.objects.get(pk=random.choice(tools).pk)
    changes: dict[str, Any] = random.choice(
        [
            {"ai_access": "propose"},
            {"core": True, "pinned": True},
            {"side_effect": "delete", "effect_flags": ["reaches_outside"]},
            {"effect_flags": []},
        ]
    )
    for name, value in changes.items():
        setattr(row, name, value)
    correct_capability(by=None, capability=row, changed=list(changes))
    space = random.choice([None, random.choice(list(Space.objects.order_by("pk")))])
    group = random.choice([None, random.choice(groups)])
    tool = row if random.random() < 0.5 or not (space or group) else None
    mode = random.choice(["off", "advise", "ask", "refuse"])
    set_flow_rule(by=None, mode=mode, capability=tool, space=space, group=group)
    trust_value(by=None, value=random.choice(["@example.org", "no"]), note="")
    _limit(random, tool, groups)


def _limit(random: Random, tool: Capability | None, groups: list[Group]) -> None:
    user = random.choice([None, *User.objects.order_by("pk")])
    hard = random.choice([None, random.randrange(1000)])
    soft = random.randrange(hard + 1) if hard is not None else random.randrange(1000)
    set_quota(
        by=None, measure=random.choice(["calls", "tokens"]), soft=soft,
        hard=hard, user=user, group=random.choice([None, *groups]), capability=tool,
        each_person=user is None and random.random() < 0.5,
    )  # fmt: skip


def _add_applications(random: Random, groups: list[Group]) -> None:
    rows = list(Integration.objects.exclude(state="pending").order_by("pk"))
    for name in random.sample(NAMES, random.randrange(3)):
        create_application(
            by=None,
            fields=ApplicationFields(
                name=name,
                description=random.choice(["", "a #b: c"]),
                group=random.choice([None, *groups]),
                defaults=random.choice([{}, {"format": "mcp", "client_executes": False}]),
                integrations=tuple(random.sample(rows, random.randrange(len(rows) + 1))),
                all_integrations=random.choice([None, True, False]),
                calls_a_day=random.choice([None, 7]),
                alert_below=random.choice([None, 0.0, 0.25]),
            ),
        )


def _wipe(tools: list[Capability]) -> None:
    """Remove all that a new installation lacks. Known servers keep their tools, as listed."""
    Application.objects.all().delete()
    Group.objects.all().delete()
    FlowRule.objects.all().delete()
    Quota.objects.all().delete()
    TrustedValue.objects.all().delete()
    allow_own_servers(by=None, allowed=False)
    Rule.objects.all().delete()
    known = {tool.integration_id for tool in tools}
    others = Integration.objects.exclude(pk__in=known).exclude(slug__in=OWN_INTEGRATIONS)
    others.exclude(slug__startswith="known-").delete()
    KeptLimit.objects.all().delete()
    for table in (Integration, Capability):
        for name in ("user", "group"):
            model = table._meta.get_field(f"{table._meta.model_name}{name}permission")
            model.related_model._default_manager.all().delete()  # type: ignore[union-attr]
    Capability.objects.update(
        ai_access="execute", core=False, pinned=False, effect_evidence={}, effect_flags=[]
    )
