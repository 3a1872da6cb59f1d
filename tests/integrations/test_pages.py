"""The pages of integrations and their use: for admins, and for everyone else."""

import ast
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from acl.models import AuditEntry
from acl.platform.redis_circuit import attempt
from catalog.models import Capability, HealthCheck, Integration, Rule
from catalog.readiness.obstacles import Obstacle
from catalog.servers.secrets.sealed_values import values_for
from discovery.insights.use import list_people_using, use_by_integration
from discovery.models import Call
from marketplace.installs.preparation import find_receivers
from marketplace.integrations import listing
from marketplace.integrations.listing import (
    IntegrationFilters,
    describe_status,
    list_integrations,
    rows_of,
)
from marketplace.integrations.server_health import HEIGHT, chart_of
from marketplace.models import Installation, Listing
from tests.access.people import People
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    UserFactory,
    give,
    lay_down,
    waiting_call,
)
from tests.integrations.conftest import CANARY, installed
from tests.sessions import session_of


def words(client: Client, path: str) -> str:
    return " ".join(client.get(path).content.decode().split())


def test_list_tells_how_each_stands(as_admin: Client, mail: Integration, support: Group) -> None:
    Listing.objects.create(slug="mail", kind="mcp", title="Mail", version="1.1.0")
    Integration.objects.filter(pk=mail.pk).update(listing="mail")
    installed("off", support, mail.installations.get().by, enabled=False)  # type: ignore[arg-type]
    failing = IntegrationFactory.create(
        slug="failing",
        transport="http",
        connection="failing",
        health="The server exited unexpectedly.",
    )

    text = words(as_admin, "/integrations/")

    for part in (
        "3 integrations",
        "needs a secret",
        "off",
        "failing",
        "The server exited unexpectedly.",
        "Support",
    ):
        assert part in text
    assert "update to 1.1.0" in text
    shown = {
        show: [slug for slug in ("mail", "off", "failing") if f">{slug}<" in found]
        for show in ("works", "off", "trouble", "update", "waiting")
        for found in [words(as_admin, f"/integrations/?show={show}")]
    }
    assert shown == {
        "works": [],
        "off": ["off"],
        "trouble": ["mail", "failing"],
        "update": ["mail"],
        "waiting": [],
    }
    failing.delete()
    assert "No integration matches" in words(as_admin, "/integrations/?q=nothing+like+that")


def test_list_asks_as_much_for_two_as_for_twenty(
    as_admin: Client, support: Group, admin: User
) -> None:
    asked = []
    for count in (2, 18):
        for number in range(count):
            give(IntegrationFactory.create(slug=f"row-{count}-{number}"), support)
        attempt(lambda redis: [redis.delete(key) for key in redis.scan_iter()], default=None)
        with CaptureQueriesContext(connection) as queries:
            as_admin.get("/integrations/")
        asked.append(len(queries))

    assert asked[0] == asked[1]


def test_page_tells_everything_in_plain_words(as_admin: Client, mail: Integration) -> None:
    text = words(as_admin, "/integrations/mail/")

    for part in (
        "Needs a secret.",
        "It cannot run until these secrets are set: TOKEN.",
        "1 of the last 2 checks passed.",
        "The slowest took 120 ms.",
        "The server exited unexpectedly. Check its log; another version may work.",
        "ImportError: no module named x",
        "missing",
        "Support",
        "in quarantine",
        "2 tools are stored.",
        "https://mail.example/mcp",
    ):
        assert part in text
    assert "<script>" not in text.replace("<script>alert", "")
    assert as_admin.get("/integrations/none/").status_code == 404


def test_secret_is_set_replaced_and_forgotten_and_never_shown(
    as_admin: Client, mail: Integration, admin: User
) -> None:
    path = "/integrations/mail/secrets/"
    wrong = as_admin.post(path, {"name": "TOKEN", "value": f"{CANARY}\x00"})
    as_admin.post(path, {"name": "TOKEN", "value": CANARY})
    before = values_for(mail)
    shown = words(as_admin, "/integrations/mail/")
    as_admin.post(path, {"name": "TOKEN", "forget": "on"})

    assert wrong.status_code == 400
    assert CANARY not in wrong.content.decode() + shown
    assert (before, values_for(mail)) == ({"TOKEN": CANARY}, {})
    assert as_admin.post(path, {"name": "oauth:token", "value": "x"}).status_code == 422
    told = AuditEntry.objects.filter(action__startswith="secret").order_by("pk")
    assert [entry.action for entry in told] == ["secret.set", "secret.forget"]


def test_switching_off_and_uninstalling_by_name(as_admin: Client, mail: Integration) -> None:
    as_admin.post("/integrations/mail/switch/", {"enabled": ""})
    off = words(as_admin, "/integrations/mail/")
    wrong = as_admin.post("/integrations/mail/uninstall/", {"name": "Mail"})
    there = Integration.objects.filter(slug="mail").exists()
    as_admin.post("/integrations/mail/uninstall/", {"name": "mail"})

    assert "It is switched off: nobody can use it." in off
    assert (wrong.status_code, there) == (422, True)
    assert not Integration.objects.filter(slug="mail").exists()


def test_repair_is_confirmed_and_begins_once(as_admin: Client, mail: Integration) -> None:
    offered = words(as_admin, "/integrations/mail/")
    asked = words(as_admin, "/integrations/mail/repair/")
    before = Installation.objects.count()
    begun = as_admin.post("/integrations/mail/repair/", follow=True)
    Integration.objects.filter(pk=mail.pk).update(state="pending")
    nothing = words(as_admin, "/integrations/mail/repair/")
    refused = as_admin.post("/integrations/mail/repair/", follow=True)

    assert 'href="/integrations/mail/repair/"' in offered
    assert "Pegboard fetches" in asked
    assert before + 1 == Installation.objects.count()
    assert "See its progress below." in begun.content.decode()
    assert ("Nothing to repair" in nothing, "Pegboard fetches" in nothing) == (True, False)
    assert "It is not installed." in refused.content.decode()


def test_look_is_asked_for_and_awaited(as_admin: Client, mail: Integration) -> None:
    answer = as_admin.post("/integrations/mail/check/")
    waiting = words(as_admin, answer["Location"])
    last = HealthCheck.objects.latest("pk").pk
    part = as_admin.get(
        f"/integrations/mail/?since={last}&left=1", headers={"HX-Request": "true"}
    ).content.decode()
    done = words(as_admin, f"/integrations/mail/?since={last - 1}")

    assert "A worker is checking the server." in waiting
    assert "There is no result yet." in part
    assert "<html" not in part
    assert "A worker is checking the server." not in done


NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "obstacle", "install_state", "label"),
    [
        ({"health_checked_at": NOON}, "NONE", "", "ready"),
        ({}, "NONE", "", "never checked"),
        ({"kind": "skill", "transport": ""}, "NONE", "", "ready"),
        ({"kind": "builtin", "transport": ""}, "NONE", "", "carried out by your application"),
        ({"kind": "builtin", "transport": "", "slug": "mcp"}, "NONE", "", "ready"),
        ({}, "FAILING", "", "failing"),
        ({}, "NOT_CONNECTED", "", "not connected"),
        ({}, "NOT_CONFIRMED", "", "not confirmed"),
        ({"required_secrets": ["KEY"]}, "SHARED_SECRET", "", "needs a secret"),
        ({}, "SHARED_ACCOUNT", "", "needs sign-in"),
        ({}, "OWN_SECRET", "", "personal"),
        ({}, "NOT_ALLOWED", "", "not allowed"),
        ({"enabled": False}, "FAILING", "ready", "off"),
        ({"state": "pending"}, "NONE", "connecting", "installing"),
        ({"state": "pending"}, "NONE", "failed", "not installed"),
        ({"state": "pending"}, "NONE", "needs_approval", "needs approval"),
        ({"state": "quarantined"}, "NONE", "ready", "in quarantine"),
    ],
)
def test_standing_says_the_first_thing_that_is_wrong(
    fields: dict[str, object], obstacle: str, install_state: str, label: str
) -> None:
    usual = {"slug": "x", "kind": "mcp", "transport": "http"}
    row = Integration(title="X", **{**usual, **fields})

    standing = describe_status(row, Obstacle[obstacle], install_state, "Why.")

    assert standing.label == label
    assert standing.words


def test_chart_draws_a_bar_for_each_look(mail: Integration) -> None:
    chart = chart_of(list(mail.checks.all()))

    failed, well = chart.bars
    assert (chart.well, chart.count, chart.longest) == (1, 2, 120)
    assert (failed.well, failed.height, well.well) == (False, HEIGHT, True)
    assert failed.x < well.x


def test_person_sets_their_own_where_that_is_allowed(
    as_alice: Client, admin: User, alice: User, charlie: User, mail: Integration
) -> None:
    path, body = "/tools/connections/mail/", {"name": "TOKEN", "value": CANARY}
    refused = as_alice.post(path, body).status_code
    as_alice.force_login(admin)
    as_alice.post("/integrations/mail/own-secrets/", {"own": "on"})
    as_alice.force_login(alice)

    set_one = as_alice.post(path, body)
    other_name = as_alice.post(path, {"name": "PATH", "value": "x"}).status_code
    shown = words(as_alice, path) + words(as_alice, "/tools/connections/")

    mail.refresh_from_db()
    assert (refused, set_one.status_code, other_name) == (404, 302, 404)
    assert CANARY not in shown
    assert values_for(mail, user_id=alice.pk) == {"TOKEN": CANARY}
    assert values_for(mail) == {}
    as_alice.force_login(charlie)
    answers = [as_alice.get(path), as_alice.get("/tools/connections/no-such/")]
    assert [answer.status_code for answer in answers] == [404, 404]
    as_alice.force_login(admin)
    assert "1 person has their own" in words(as_alice, "/integrations/mail/")


def test_failed_installation_begins_again(as_admin: Client, mail: Integration) -> None:
    Installation.objects.update(state="failed", message="It wants a sign-in.")
    Integration.objects.update(state="pending", enabled=False)

    page = words(as_admin, "/integrations/mail/")
    as_admin.post("/integrations/mail/retry/")

    assert "Not installed." in page
    assert "It wants a sign-in." in page
    assert Installation.objects.get().state == "queued"


def test_card_of_an_integration_that_is_described_only_says_so(as_admin: Client) -> None:
    IntegrationFactory.create(slug="letters", kind="builtin", transport="")

    page = as_admin.get("/integrations/").content.decode()

    assert "carried out by your application" in page
    assert "Pegboard only describes these" in page


def test_numbers_stand_with_several_states_only(as_admin: Client) -> None:
    letters = IntegrationFactory.create(slug="letters", kind="builtin", transport="")
    CapabilityFactory.create(integration=letters, action="write")
    CapabilityFactory.create(integration=letters, action="fold")

    page = words(as_admin, "/integrations/")

    assert 'title="Carried out by your application">2</span>' in page
    assert "(Carried out by your application" not in page  # the status has said it


def test_page_and_api_list_what_could_not_be_read(as_admin: Client, mail: Integration) -> None:
    defects = [{"tool": "draft", "field": "inputSchema", "reason": "must be a mapping <b>"}]
    Integration.objects.filter(pk=mail.pk).update(list_defects=defects)

    page = words(as_admin, "/integrations/mail/")
    installation = as_admin.get(
        f"/api/v1/installations/{mail.installations.get().public_id}"
    ).json()

    assert "must be a mapping &lt;b&gt;" in page
    assert installation["defects"] == defects


@pytest.fixture
def as_root(people: People) -> Client:
    return session_of(UserFactory.create(username="root", is_staff=True, is_superuser=True))


def called(user: User, tool: Capability, *, days: float, state: str = "completed") -> None:
    call = waiting_call(user, user.groups.get(), tool, "x")
    at = timezone.now() - timedelta(days=days)
    Call.objects.filter(pk=call.pk).update(
        state=state, needs_approval=False, created_at=at, ended_at=at
    )


def test_row_counts_calls_and_errors_of_the_week(people: People, as_root: Client) -> None:
    called(people.alice, people.send, days=1)
    called(people.bob, people.search, days=2, state="failed")
    called(people.alice, people.send, days=9)
    called(people.charlie, people.pay, days=40)

    use = use_by_integration([people.gmail.pk, people.wiki.pk, people.payroll.pk])
    page = " ".join(as_root.get("/integrations/").content.decode().split())

    gmail, payroll = use[people.gmail.pk], use[people.payroll.pk]
    assert (gmail.calls, gmail.failed, gmail.people) == (2, 1, 2)
    assert (payroll.calls, payroll.people) == (0, 0)
    assert people.wiki.pk not in use
    assert re.search(r"integration=gmail\" [^>]*>2</a>", page)
    assert "/calls/?integration=gmail&amp;state=failed" in page


def test_unused_ones_are_found(people: People, as_root: Client) -> None:
    called(people.alice, people.send, days=29)
    called(people.charlie, people.pay, days=31)
    IntegrationFactory.create(slug="off", enabled=False)

    found = list_integrations(IntegrationFilters(show="unused"))

    assert {integration.slug for integration in found} == {"wiki", "payroll"}
    assert as_root.get("/integrations/?show=unused").status_code == 200


def is_on(slug: str) -> bool:
    return Integration.objects.get(slug=slug).enabled


def test_page_says_who_uses_it_before_it_is_switched_off(people: People, as_root: Client) -> None:
    for days in (1, 2):
        called(people.alice, people.send, days=days)
    called(people.bob, people.search, days=40)

    page = " ".join(as_root.get("/integrations/gmail/").content.decode().split())

    assert [(one.user, one.group, one.calls) for one in list_people_using(people.gmail.pk)] == [
        ("alice", "support", 2)
    ]
    assert "2 calls, last" in page
    switch = "/integrations/gmail/switch/"
    asked = as_root.post(switch, {"enabled": ""})
    kept = is_on("gmail")
    assert asked.status_code == 200
    assert "2 calls, last" in " ".join(asked.content.decode().split())
    as_root.post(switch, {"enabled": "", "confirmed": "on"})
    as_root.post("/integrations/wiki/switch/", {"enabled": ""})  # nobody to ask about
    assert (kept, is_on("gmail"), is_on("wiki")) == (True, False, False)
    assert "Nobody has called its tools" in as_root.get("/integrations/wiki/").content.decode()


def test_rows_take_the_same_statements_for_two_and_for_twenty(people: People) -> None:
    counts = []
    for more in (0, 17):
        for _ in range(more):
            called(people.alice, CapabilityFactory.create(), days=1)
        with CaptureQueriesContext(connection) as statements:
            rows_of(list(list_integrations(IntegrationFilters())))
        counts.append(len(statements))

    assert counts[0] == counts[1]


WAYS = ("nothing", "deny", "group", "tool", "person", "person's tool", "allow", "open")


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_access_is_told_alike_where_it_ends_and_where_it_is_kept(
    as_admin: Client, admin: User, way: str
) -> None:
    row = IntegrationFactory.create(slug="stock", title="Stock", transport="http")
    tool = CapabilityFactory.create(integration=row, action="count")
    group = GroupFactory.create(name="Depot", open=way == "open")
    root = group.spaces.get(parent=None)
    ways: dict[str, Callable[[], object]] = {
        "deny": lambda: lay_down(Rule.Effect.DENY, row, root),
        "group": lambda: give(row, group),
        "tool": lambda: give(tool, group),
        "person": lambda: give(row, admin),
        "person's tool": lambda: give(tool, admin),
        "allow": lambda: lay_down(Rule.Effect.ALLOW, tool, root),
    }
    if way in ways:
        ways[way]()
    done = Installation.objects.create(integration=row, by=admin, state="ready", descriptor={})

    kept = words(as_admin, "/integrations/stock/")
    ended = words(as_admin, f"/marketplace/installations/{done.public_id}/")

    is_empty = way in {"nothing", "deny"}
    assert ("Nobody has access." in kept) == is_empty
    assert ("Nobody has access yet, you included." in ended) == is_empty
    assert ("Grant access" in ended) == is_empty
    only = f"/access/spaces/{root.pk}/?effect=0&amp;target=capability-{tool.pk}"
    assert (only in kept) == (way in {"group", "open"})
    if only in kept:
        form = as_admin.get(only.replace("&amp;", "&"))
        assert form.context["form"]["target"].value() == f"capability-{tool.pk}"
        denies = rf'value="{Rule.Effect.DENY.value}"[^>]*checked'
        assert re.search(denies, form.content.decode())


@pytest.mark.parametrize("count", range(4))
def test_a_form_suggests_the_group_where_there_is_one(
    as_admin: Client, support: Group, count: int
) -> None:
    GroupFactory.create_batch(count)

    form = as_admin.get("/people/invite/").content.decode()
    suggested = find_receivers(suggest=True).ticked_groups

    ticked = re.findall(r"<input[^>]*name=\"groups\"[^>]*checked", form)
    assert len(ticked) == (count == 0)
    assert suggested == ({support.pk} if count == 0 else set())
    assert find_receivers().ticked_groups == set()
    assert find_receivers(suggest=True, groups=[support.pk]).ticked_groups == {support.pk}


PAGE = Path(__file__).parents[2] / "docs/integrations.md"


def labels() -> set[str]:
    """Return the first argument of each IntegrationStatus in the module."""
    tree = ast.parse(Path(listing.__file__).read_text(encoding="utf-8"))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    made = [one.args[0] for one in calls if getattr(one.func, "id", "") == "IntegrationStatus"]
    return {ast.literal_eval(one.args[0]) for one in made if isinstance(one, ast.Call)}


def test_table_has_exactly_the_states_of_integrations() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z, -]+) \|", table, re.MULTILINE)

    told = {state for row in rows for state in row.split(", ")} - {"state"}

    assert told == labels()
    assert "works" not in told
