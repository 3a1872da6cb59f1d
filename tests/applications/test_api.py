"""The API of applications: what is said of them, their keys, defaults, limits and conversations."""

import itertools
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from acl.keys.lifecycle import create_key
from acl.models import ApiKey, Application, AuditEntry
from acl.models.application import stored_conversation
from catalog.models import Capability
from discovery.applications.service import CHOICES, check_defaults
from discovery.calls.approval_queue import withdraw_calls
from discovery.calls.quotas import ApplicationLimitError, check_application_limits
from discovery.models import Call, Turn
from discovery.turns.outcomes import list_alerts, report_outcome, verdict_of_status
from discovery.turns.select_serializers import SelectInModeRequestSerializer
from marketplace.today._work import list_alerts as list_today_alerts
from tests.access.people import People
from tests.applications.applications import key_of, make_application
from tests.examples import EXAMPLES_OF_TEXTS
from tests.factories import UserFactory
from tests.sessions import session_of

pytestmark = pytest.mark.django_db
ALL = "/api/v1/applications"
SEND = "gmail__send_email"
FULL = {
    "name": "Website",
    "description": "The chat on our website",
    "group": "support",
    "defaults": {"mode": "auto", "format": "openai", "context_window": 32_000},
    "integrations": ["gmail", "wiki"],
    "calls_a_minute": 10,
    "calls_a_day": 100,
    "tokens_a_day": 50_000,
    "cpu_a_minute": 20_000,
    "alert_below": 0.5,
}
JSON = "application/json"


@pytest.fixture
def admin(people: People) -> Client:
    return session_of(UserFactory.create(username="root", is_staff=True, is_superuser=True))


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(path, body, content_type=JSON)


def test_an_application_is_created_read_changed_and_deleted(people: People, admin: Client) -> None:
    made = post(admin, ALL, FULL)
    place = f"{ALL}/{made.json()['id']}"
    changed = admin.put(place, {**FULL, "name": "Shop", "integrations": []}, content_type=JSON)
    listed = admin.get(ALL).json()["applications"]
    gone = admin.delete(place)

    assert made.status_code == 201
    assert {name: made.json()[name] for name in FULL} == FULL
    assert (changed.json()["name"], changed.json()["all_integrations"]) == ("Shop", True)
    assert [row["name"] for row in listed] == ["Shop"]
    assert (gone.status_code, admin.get(place).status_code) == (204, 404)
    entries = AuditEntry.objects.filter(action__startswith="application.").order_by("pk")
    assert [entry.action.partition(".")[2] for entry in entries] == [
        "created",
        "changed",
        "deleted",
    ]
    assert entries[1].details == {
        "name": ["Website", "Shop"],
        "integrations": [["gmail", "wiki"], []],
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 81),
        ("name", "Web\u202esite"),
        ("group", "no such group"),
        ("integrations", ["no-such-integration"]),
        ("defaults", {"mode": "no such mode"}),
        ("defaults", {"format": 7}),
        ("defaults", {"context_window": 1}),
        ("defaults", {"message": "x"}),
        ("alert_below", 2),
        *itertools.product(
            ["calls_a_minute", "calls_a_day", "tokens_a_day", "cpu_a_minute"], [0, -1, 2**31, "1"]
        ),
    ],
)
def test_what_no_application_can_have_is_refused_at_its_field(
    admin: Client, field: str, value: object
) -> None:
    answer = post(admin, ALL, {**FULL, field: value})

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"].startswith(field)
    assert not Application.objects.exists()


def test_a_name_is_taken_once_however_it_is_written(admin: Client) -> None:
    post(admin, ALL, {"name": "Website"})

    assert post(admin, ALL, {"name": "wEBSITE"}).status_code == 400


def test_the_last_integration_that_goes_does_not_open_all_others(
    people: People, admin: Client
) -> None:
    place = f"{ALL}/{post(admin, ALL, {**FULL, 'integrations': ['gmail']}).json()['id']}"
    people.gmail.delete()

    row = admin.get(place).json()
    same = {name: row[name] for name in (*FULL, "all_integrations")}
    again = admin.put(place, same, content_type=JSON).json()

    assert (row["integrations"], row["all_integrations"]) == ([], False)
    assert (again["integrations"], again["all_integrations"]) == ([], False)
    _, client = key_of(Application.objects.get(), people.support)
    assert client.get("/api/v1/names", {"user": "alice"}).json()["names"] == []


def test_deleting_an_application_revokes_its_keys_and_withdraws_what_waits(
    people: People, admin: Client
) -> None:
    Capability.objects.filter(pk=people.send.pk).update(ai_access="propose")
    application = make_application(people.support)
    _, client = key_of(application, people.support)
    other, _ = key_of(None, people.support)
    call = post(client, "/api/v1/execute", {"user": "alice", "name": SEND}).json()["call_id"]

    admin.delete(f"{ALL}/{application.pk}")

    assert client.get("/api/v1/names", {"user": "alice"}).status_code == 401
    assert list(ApiKey.objects.filter(revoked_at=None)) == [other]
    withdraw_calls()
    assert Call.objects.get(pk=call).state == "cancelled"


def test_keys_are_put_into_an_application_and_taken_out(people: People, admin: Client) -> None:
    first, second = make_application(people.support, people.wiki), make_application(people.support)
    key, client = key_of(None, people.support)

    def names() -> list[str]:
        return [
            row["name"] if isinstance(row, dict) else row
            for row in client.get("/api/v1/names", {"user": "alice"}).json()["names"]
        ]

    before = names()
    put = post(admin, f"{ALL}/{first.pk}/keys", {"key": key.pk})
    within = names()
    post(admin, f"{ALL}/{second.pk}/keys", {"key": key.pk})
    keys = [admin.get(f"{ALL}/{each.pk}/keys").json() for each in (first, second)]
    admin.delete(f"{ALL}/{second.pk}/keys/{key.pk}")

    assert put.status_code == 204
    assert SEND in str(before)
    assert SEND not in str(within)
    assert [len(rows) for rows in keys] == [0, 1]
    assert names() == before
    moves = AuditEntry.objects.filter(action="application.key").order_by("pk")
    assert [entry.details for entry in moves] == [
        {"before": None, "after": first.name},
        {"before": first.name, "after": second.name},
        {"before": second.name, "after": None},
    ]


def test_a_key_of_an_application_changes_none(people: People) -> None:
    boss = UserFactory.create(
        username="boss", is_staff=True, is_superuser=True, groups=[people.support]
    )
    application = make_application(people.support, people.wiki)
    key, raw = create_key(
        by=None, name="k", all_groups=True, scopes=["admin"], owner=boss, application=application
    )
    client = Client(headers={"Authorization": f"Bearer {raw}"})
    place = f"{ALL}/{application.pk}"

    statuses = [
        post(client, ALL, {"name": "Another"}).status_code,
        client.put(place, {"name": "Wide"}, content_type=JSON).status_code,
        client.delete(place).status_code,
        client.delete(f"{place}/keys/{key.pk}").status_code,
    ]

    assert statuses == [422] * 4
    assert Application.objects.get().integrations == [people.wiki.pk]


def test_defaults_hold_where_a_request_leaves_them_out(people: People) -> None:
    defaults = {"format": "anthropic", "mode": "direct", "context_window": 200_000}
    application = make_application(people.support, name="Website", defaults=defaults)
    _, client = key_of(application, people.support)
    _, plain = key_of(None, people.support)
    body = {"user": "alice", "message": "send an email"}

    def shape(client: Client, **more: Any) -> tuple[bool, str]:
        answer = post(client, "/api/v1/select", {**body, **more}).json()
        return "input_schema" in answer["tools"][0], answer["mode"]["mode"]

    assert shape(client) == shape(plain, application="Website") == (True, "direct")
    assert shape(client, format="openai", mode="selected") == shape(plain, format="openai")
    assert shape(plain) != shape(client)
    for path in ("plan", "discover"):
        assert post(client, f"/api/v1/{path}", body).status_code == 200


@settings(max_examples=EXAMPLES_OF_TEXTS, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    defaults=st.fixed_dictionaries(
        {},
        optional={
            **{name: st.sampled_from(values) for name, values in CHOICES.items()},
            "client_executes": st.booleans(),
            "context_window": st.integers(1_000, 100_000_000),
        },
    )
)
def test_every_default_that_is_taken_is_one_that_requests_take(defaults: dict[str, Any]) -> None:
    check_defaults(defaults)

    fields = SelectInModeRequestSerializer._declared_fields
    of_select = {name: value for name, value in defaults.items() if name in fields}
    serializer = SelectInModeRequestSerializer(data={"message": "x", **of_select})
    assert serializer.is_valid(), serializer.errors


@pytest.mark.parametrize(
    ("limits", "allowed", "said"),
    [
        ({"calls_a_minute": 2}, 2, "2 calls a minute"),
        ({"calls_a_day": 3}, 3, "3 calls a day"),
        ({"tokens_a_day": 5}, 2, "5 tokens a day"),
        ({"calls_a_minute": 9, "calls_a_day": 1}, 1, "1 calls a day"),
        ({}, 4, ""),
    ],
)
def test_all_keys_of_an_application_share_its_limits(
    people: People, limits: dict[str, Any], allowed: int, said: str
) -> None:
    application = make_application(people.support, **limits)
    clients = [key_of(application, people.support)[1] for _ in range(2)]
    _, other = key_of(make_application(people.support), people.support)
    body = {"user": "alice", "name": SEND, "arguments": {"to": "ann"}}

    answers = [post(client, "/api/v1/execute", body) for client in (*clients, *clients)]

    refusals = [answer.status_code == 429 for answer in answers]
    assert refusals == [number >= allowed for number in range(len(answers))]
    if said:
        refused = answers[-1]
        assert said in refused.json()["detail"]
        assert int(refused["Retry-After"]) > 0
    assert post(other, "/api/v1/execute", body).status_code != 429


def test_near_the_end_of_a_day_it_is_said(people: People) -> None:
    application = make_application(people.support, calls_a_day=5)
    call = Call(application_id=application.pk)

    notices = [check_application_limits(call)]
    _, client = key_of(application, people.support)
    for user in ("alice", "bob", "alice"):
        post(client, "/api/v1/execute", {"user": user, "name": SEND})
    notices.append(check_application_limits(call))
    post(client, "/api/v1/execute", {"user": "bob", "name": SEND})
    post(client, "/api/v1/execute", {"user": "bob", "name": SEND})

    assert notices == ["", f"4 of 5 calls of “{application.name}” used today."]
    with pytest.raises(ApplicationLimitError):
        check_application_limits(call)


def test_an_application_has_a_share_of_the_cpu(people: People) -> None:
    application = make_application(people.support, cpu_a_minute=1)
    clients = [key_of(application, people.support)[1] for _ in range(2)]

    answers = [client.get("/api/v1/names", {"user": "alice"}) for client in clients * 3]

    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429
    assert "CPU" in answers[-1].json()["detail"]


def test_a_conversation_joins_turns_and_calls(people: People, admin: Client) -> None:
    application = make_application(people.support)
    _, client = key_of(application, people.support)
    for conversation in ("4711", "4711", "other", ""):
        message = {"user": "alice", "message": "send an email", "conversation": conversation}
        turn = post(client, "/api/v1/select", message).json()["turn_id"]
    body: dict[str, Any] = {"user": "alice", "name": SEND, "arguments": {"to": "ann"}}
    post(client, "/api/v1/execute", {**body, "conversation": "4711"})
    of_turn = Turn.objects.filter(conversation="other").get().pk
    post(client, "/api/v1/execute", {**body, "turn_id": str(of_turn)})
    post(client, "/api/v1/execute", {**body, "turn_id": turn})

    place = f"{ALL}/{application.pk}/conversations"
    rows = admin.get(place).json()["conversations"]
    one = admin.get(place, {"conversation": "4711"}).json()

    assert {row["conversation"]: (row["turns"], row["calls"]) for row in rows} == {
        "4711": (2, 1),
        "other": (1, 1),
    }
    assert [step["kind"] for step in one["steps"]] == ["turn", "turn", "call"]
    assert one["conversations"][0]["tokens"] == sum(step["tokens"] for step in one["steps"])
    assert admin.get(place, {"conversation": "unknown"}).status_code == 404
    use = admin.get(f"{ALL}/{application.pk}").json()["use"]
    assert (use["turns"], use["conversations"], use["calls"], use["people"]) == (4, 2, 3, 1)
    assert use["tokens"] > 0


def test_conversations_are_hashed_where_the_operator_wants_it(
    people: People, admin: Client, settings: Settings
) -> None:
    settings.PEGBOARD_HASH_CONVERSATIONS = True
    application = make_application(people.support)
    _, client = key_of(application, people.support)
    name = "alice@example.com"
    post(client, "/api/v1/select", {"user": "alice", "message": "hi", "conversation": name})

    stored = Turn.objects.get().conversation
    answer = admin.get(f"{ALL}/{application.pk}/conversations", {"conversation": name}).json()

    assert stored == stored_conversation(name) != name
    assert len(stored) == 64
    assert [row["conversation"] for row in answer["conversations"]] == [stored]


def test_owners_are_alerted_when_an_applications_turns_go_badly(
    people: People, admin: Client, settings: Settings
) -> None:
    settings.PEGBOARD_ALERT_SAMPLES = 4
    settings.PEGBOARD_ALERT_BELOW = 0.0
    application = make_application(people.finance, alert_below=0.5)
    _, client = key_of(application, people.support)
    fine = make_application(people.support, alert_below=0.5)

    for each, status in [(application, "failed"), (fine, "success")] * 4:
        _, client = key_of(each, people.support)
        body = {"user": "alice", "message": "send an email"}
        turn = Turn.objects.get(pk=post(client, "/api/v1/select", body).json()["turn_id"])
        report_outcome(turn=turn, verdict=verdict_of_status(status))

    [alert] = list_alerts(None)
    assert (alert.scope, alert.group) == (f"application:{application.pk}", people.finance)
    assert (alert.threshold, alert.value, alert.samples) == (0.5, 0.0, 4)
    told = [admin.get(f"/api/v1/outcomes/{what}").json() for what in ("windows", "alerts")]
    assert {(row["scope"], row["place"]["application"]) for row in told[0]["windows"]} >= {
        ("application", application.name),
        ("application", fine.name),
    }
    assert told[1]["alerts"][0]["place"]["application"] == application.name
    assert list_today_alerts().rows[0].title == application.name
    Application.objects.filter(pk=application.pk).delete()
    assert list_today_alerts().rows[0].title == f"#{application.pk}"


def test_insights_sum_up_by_application(people: People, admin: Client) -> None:
    website, intranet = (make_application(people.support, name=name) for name in ("Web", "Net"))
    for application, calls in ((website, 2), (intranet, 1), (None, 3)):
        _, client = key_of(application, people.support)
        post(client, "/api/v1/select", {"user": "alice", "message": "send an email"})
        for _ in range(calls):
            post(client, "/api/v1/execute", {"user": "alice", "name": SEND})
    Application.objects.filter(pk=intranet.pk).delete()

    def use(**query: str) -> dict[str, tuple[int, int]]:
        items = admin.get("/api/v1/figures/use", query).json()["items"]
        return {item["name"]: (item["calls"], item["turns"]) for item in items}

    assert use(by="application") == {"": (3, 1), "Web": (2, 1), f"#{intranet.pk}": (1, 1)}
    assert use(by="tool", application="Web") == {SEND: (2, 0)}
    assert use(by="person", application="Web") == {"alice": (2, 1)}
    figures = [
        admin.get("/api/v1/figures", query).json()["counts"]["turns"]
        for query in ({}, {"application": "Web"})
    ]
    assert figures == [3, 1]
    assert admin.get("/api/v1/figures", {"application": "unknown"}).status_code == 403
    table: Any = admin.get("/insights/csv/use_application/")
    assert "Web" in table.getvalue().decode()


def test_a_key_is_made_for_an_application(people: People, admin: Client) -> None:
    website = make_application(people.support, name="Website")
    make_application(people.finance, name="Payroll")
    boss = UserFactory.create(username="boss", is_staff=True, groups=[people.support])
    _, raw = create_key(
        by=None, name="k", group=people.support, scopes=["admin", "select"], owner=boss
    )
    group_key = Client(headers={"Authorization": f"Bearer {raw}"})
    body = {"name": "new", "group": "support", "scopes": ["select"], "owner": "boss"}

    made = post(admin, "/api/v1/keys", {**body, "owner": "alice", "application": "Website"})
    answers = [
        post(group_key, "/api/v1/keys", {**body, "application": name})
        for name in ("Website", "Payroll", "unknown")
    ]
    call_command(
        "create_api_key", "--group=support", "--scope=select", "--owner=alice",
        "--application=Website", stdout=StringIO(),
    )  # fmt: skip

    assert made.json()["application"] == "Website"
    assert [answer.status_code for answer in answers] == [201, 403, 403]
    assert answers[1].json()["detail"] == answers[2].json()["detail"]
    assert website.keys.count() == 3
    listed = admin.get("/api/v1/keys").json()
    assert sorted({row["application"] or "" for row in listed}) == ["", "Website"]


def test_calls_over_mcp_belong_to_the_conversation_that_meta_names(people: People) -> None:
    application = make_application(people.support)
    _, client = key_of(application, people.support, owner=people.alice)
    send = {"name": SEND, "arguments": {"to": "ann"}}
    through = {"name": "execute_tool", "arguments": send}
    for params, conversation in ((send, "a"), (through, "b"), (send, 7), (send, "x" * 129)):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        meta = {"_meta": {"pegboard/conversation": conversation}}
        client.post(
            "/mcp", {**message, "params": {**params, **meta}}, content_type=JSON,
            headers={"Accept": "application/json, text/event-stream"},
        )  # fmt: skip

    calls = Call.objects.filter(full_name=SEND).order_by("created_at")
    assert [call.conversation for call in calls] == ["a", "b", "", ""]
    assert {call.application_id for call in calls} == {application.pk}
