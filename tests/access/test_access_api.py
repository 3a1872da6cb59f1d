"""The access API: answers and permissions."""

from itertools import chain
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.keys.lifecycle import create_key
from acl.models import AuditEntry, GroupPolicy, Space
from acl.people.spaces import create_space
from catalog.access.grants import list_grants
from catalog.models import Rule
from tests.access.people import People, client_of
from tests.access.worlds import usable
from tests.factories import UserFactory, give, lay_down

EXPLAIN, REACH = "/api/v1/access/explain", "/api/v1/access/reach"
HOLDERS, RULES = "/api/v1/access/holders", "/api/v1/access/rules"
GRANTS = "/api/v1/grants"
SEND = "gmail__send_email"


def root_of(group: Group) -> Space:
    return Space.objects.get(group=group, parent=None)


def signed_in(user: User) -> Client:
    client = Client(headers={"X-Request-ID": "story"})
    client.force_login(user)
    return client


@pytest.fixture
def staff(people: People) -> Client:
    return signed_in(UserFactory.create(username="root", is_staff=True))


@pytest.fixture
def key(people: People) -> Client:
    """Return an admin key of support."""
    _, raw = create_key(by=None, name="admin", group=people.support, scopes=["admin"])
    return Client(headers={"Authorization": f"Bearer {raw}", "X-Request-ID": "story"})


def post(client: Client, **rule: Any) -> Any:
    return client.post(RULES, rule, content_type="application/json")


# Explain


def test_explanation_names_the_rule_and_the_way_to_it(people: People, staff: Client) -> None:
    desk = create_space(by=None, group=people.support, parent=None, name="Desk")
    deny = lay_down(Rule.Effect.DENY, people.gmail, desk)

    asked = {"user": "alice", "group": "support", "space": "desk", "capability": SEND}
    told = staff.get(EXPLAIN, asked).json()

    assert told["decision"] == "no"
    assert told["because"] == "A rule in Desk denies gmail for everyone."
    assert [place["slug"] for place in told["path"]] == ["desk", "root"]
    assert [(step["kind"], step["rule"]) for step in told["steps"] if step["decides"]] == [
        ("rule", deny.pk)
    ]
    assert [step["kind"] for step in told["steps"]] == ["rule", "grant", "default"]


def test_explanation_gives_advice_where_the_answer_surprises(people: People, staff: Client) -> None:
    root = root_of(people.support)
    lay_down(Rule.Effect.DENY, people.gmail, root)
    lay_down(Rule.Effect.ALLOW, people.send, root)

    told = staff.get(EXPLAIN, {"user": "alice", "capability": SEND}).json()

    assert [advice["case"] for advice in told["advice"]] == [27]
    assert "grant only gmail__send_email" in told["advice"][0]["instead"]
    assert [step["target"] for step in told["beaten"]] == [SEND]


def test_person_explains_what_is_theirs(people: People) -> None:
    told = signed_in(people.alice).get(EXPLAIN, {"capability": SEND}).json()

    assert (told["decision"], told["because"]) == (
        "allow",
        "gmail is granted to the group support.",
    )


@pytest.mark.parametrize("name", ["payroll__pay", "wiki__delete_page"])
def test_person_is_told_the_same_of_foreign_and_unknown_names(people: People, name: str) -> None:
    client = signed_in(people.alice)
    client.get(EXPLAIN, {"capability": SEND})

    assert refusal(client, {"capability": name}) == refusal(client, {"capability": "no__such"})
    assert refusal(client, {"capability": name})[0] == 404


def refusal(client: Client, asked: dict[str, str], path: str = EXPLAIN) -> tuple[int, str, int]:
    with CaptureQueriesContext(connection) as statements:
        answer = client.get(path, asked)
    return answer.status_code, answer.content.decode(), len(statements)


def test_person_may_not_ask_about_another(people: People) -> None:
    asked = {"user": "bob", "capability": SEND}

    assert signed_in(people.alice).get(EXPLAIN, asked).status_code == 403


def test_staff_are_told_why_someone_may_nothing(people: People, staff: Client) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_active=False)

    deactivated = staff.get(EXPLAIN, {"user": "alice", "capability": SEND}).json()
    stranger = staff.get(EXPLAIN, {"user": "charlie", "group": "support", "capability": SEND})

    assert deactivated["because"] == "alice is deactivated."
    assert stranger.json()["because"] == "charlie is not a member of support."


def test_staff_are_told_of_unknown_names_alike(people: People, staff: Client) -> None:
    unlike = (
        {"user": "nobody", "capability": SEND},
        {"user": "alice", "group": "no such", "capability": SEND},
        {"user": "alice", "space": "no-such", "capability": SEND},
    )

    assert {staff.get(EXPLAIN, asked).status_code for asked in unlike} == {403}
    assert staff.get(EXPLAIN, {"user": "alice", "capability": "no__such"}).status_code == 404


def test_admin_key_explains_what_its_group_has(people: People, key: Client) -> None:
    lay_down(Rule.Effect.DENY, people.gmail, root_of(people.support))

    told = key.get(EXPLAIN, {"user": "alice", "capability": SEND}).json()

    assert told["decision"] == "no"


def test_to_an_admin_key_the_rest_of_the_catalogue_does_not_exist(
    people: People, key: Client
) -> None:
    key.get(EXPLAIN, {"user": "alice", "capability": SEND})

    unlike = [
        refusal(key, {"user": "alice", "capability": name})
        for name in ("payroll__pay", "wiki__delete_page", "no__such")
    ]

    assert len(set(unlike)) == 1
    assert unlike[0][0] == 404


def test_to_an_admin_key_people_of_other_groups_do_not_exist(people: People, key: Client) -> None:
    unlike = [
        refusal(key, {"user": user, "capability": SEND, **more})
        for user, more in (
            ("charlie", {}),
            ("nobody", {}),
            ("charlie", {"group": "finance"}),
            ("alice", {"group": "finance"}),
        )
    ]

    assert {status for status, _, _ in unlike} == {403}
    assert len({body for _, body, _ in unlike}) == 1


def test_explain_asks_for_a_capability(people: People, staff: Client) -> None:
    answer = staff.get(EXPLAIN, {"user": "alice"})

    assert (answer.status_code, answer.json()["field"]) == (400, "capability")


# What a caller has, and who has a capability


def test_reach_lists_everything_with_its_ground(people: People, staff: Client) -> None:
    told = staff.get(REACH, {"user": "alice"}).json()

    assert told["count"] == 3
    assert {item["full_name"]: item["ground"]["sentence"] for item in told["items"]} == {
        "gmail__search": "gmail is granted to the group support.",
        "gmail__send_email": "gmail is granted to the group support.",
        "wiki__read_page": "wiki__read_page is granted to the group support.",
    }


def test_reach_needs_the_same_statements_for_any_number(people: People) -> None:
    client = client_of(people.support)
    client.get(REACH, {"user": "alice"})
    three = refusal(client, {"user": "alice"}, REACH)[2]

    give(people.wiki, people.support)
    give(people.payroll, people.support)

    assert refusal(client, {"user": "alice"}, REACH)[2] == three


def test_holders_are_listed_by_group_and_space(people: People, staff: Client) -> None:
    give(people.payroll, people.alice)
    desk = create_space(by=None, group=people.support, parent=None, name="Desk")
    lay_down(Rule.Effect.PROPOSE, people.payroll, desk)

    told = staff.get(HOLDERS, {"capability": "payroll__pay"}).json()

    assert [
        (row["group"], row["space"], row["user"], row["decision"], row["ground"]["kind"])
        for row in told["items"]
    ] == [
        ("finance", "root", "charlie", "allow", "grant"),
        ("support", "root", "alice", "allow", "grant"),
        ("support", "desk", "alice", "propose", "rule"),
        ("support", "desk", "bob", "propose", "rule"),
    ]
    assert told["count"] == 4


def test_admin_key_is_told_of_holders_in_its_group_only(people: People, key: Client) -> None:
    give(people.gmail, people.finance)

    assert {row["group"] for row in key.get(HOLDERS, {"capability": SEND}).json()["items"]} == {
        "support"
    }
    unlike: tuple[dict[str, str], ...] = (
        {"capability": "payroll__pay"},
        {"capability": "no__such"},
        {"capability": SEND, "group": "finance"},
    )
    for asked in unlike:
        assert key.get(HOLDERS, asked).status_code == 404


def test_page_of_holders_that_is_not_there_is_the_last_one(people: People, staff: Client) -> None:
    for _ in range(60):
        UserFactory.create(groups=[people.support])

    told = staff.get(HOLDERS, {"capability": SEND, "page": "9"}).json()

    assert (told["count"], told["page"], told["pages"], len(told["items"])) == (62, 2, 2, 12)


# Rules


def test_rule_is_laid_down_and_lifted(people: People, key: Client) -> None:
    made = post(key, effect="deny", integration="gmail")

    assert made.status_code == 201
    told = made.json()
    assert (told["group"], told["space"], told["effect"]) == ("support", "root", "deny")
    assert (told["integration"], told["capability"], told["warnings"]) == ("gmail", None, [])
    assert people.send.pk not in usable(people.caller)
    assert key.get(RULES).json()["items"] == [
        {name: value for name, value in told.items() if name != "warnings"}
    ]

    assert key.delete(f"{RULES}/{told['id']}").status_code == 204
    assert people.send.pk in usable(people.caller)
    assert [entry.action for entry in AuditEntry.objects.order_by("pk")][-2:] == [
        "rule.add",
        "rule.remove",
    ]


def test_rule_is_for_one_person(people: People, staff: Client) -> None:
    post(staff, group="support", effect="propose", capability=SEND, for_user="alice")

    assert usable(people.caller)[people.send.pk] == "propose"
    rule = Rule.objects.get()
    assert (rule.user, rule.space) == (people.alice, root_of(people.support))


def test_rule_that_surprises_says_so(people: People, key: Client) -> None:
    post(key, effect="deny", integration="gmail")

    told = post(key, effect="allow", capability=SEND).json()

    assert [warning["case"] for warning in told["warnings"]] == [27]


def test_same_rule_twice_is_one_rule(people: People, key: Client) -> None:
    first, second = (post(key, effect="deny", integration="gmail").json() for _ in range(2))

    assert first["id"] == second["id"]
    assert AuditEntry.objects.filter(action="rule.add").count() == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"effect": "deny"}, "capability"),
        ({"effect": "deny", "integration": "gmail", "capability": SEND}, "capability"),
        ({"effect": "forbid", "integration": "gmail"}, "effect"),
        ({"effect": 0, "integration": "gmail"}, "effect"),
        ({"integration": "gmail"}, "effect"),
        (
            {"effect": "deny", "integration": "gmail", "for_user": "alice", "for_group": "support"},
            "for_group",
        ),
        ({"effect": "deny", "integration": "gmail", "user": "alice"}, "user"),
        ({"effect": "deny", "integration": "gmail", "space": "no-such"}, "space"),
        ({"effect": "deny", "integration": "no-such"}, "integration"),
        ({"effect": "deny", "integration": "payroll"}, "integration"),
        ({"effect": "deny", "capability": "payroll__pay"}, "capability"),
        ({"effect": "deny", "integration": "wiki"}, "integration"),
        ({"effect": "deny", "integration": "gmail", "for_user": "charlie"}, "for_user"),
        ({"effect": "deny", "integration": "gmail", "for_group": "finance"}, "for_group"),
        ({"effect": "deny", "integration": "gmail", "id": 7}, "id"),
    ],
)
def test_wrong_rule_is_refused_by_its_field(
    people: People, key: Client, body: dict[str, Any], field: str
) -> None:
    answer = post(key, **body)

    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Rule.objects.exists()


def test_key_gives_its_group_nothing_new(people: People, key: Client) -> None:
    for target in ({"integration": "payroll"}, {"integration": "wiki"}):
        foreign = post(key, effect="allow", **target).json()
        unknown = post(key, effect="allow", integration="no-such").json()
        assert foreign == unknown
    GroupPolicy.objects.filter(group=people.support).update(open_default=True)
    type(people.payroll).objects.filter(pk=people.payroll.pk).update(restricted=True)

    assert post(key, effect="allow", integration="payroll").status_code == 400
    assert post(key, effect="allow", integration="wiki").status_code == 201


def test_key_lays_down_rules_in_its_own_group_only(people: People, key: Client) -> None:
    for group in ("finance", "no such group"):
        answer = post(key, group=group, effect="deny", integration="gmail")
        assert answer.status_code == 403
    assert post(key, group="support", effect="deny", integration="gmail").status_code == 201


def test_rules_of_another_group_are_as_if_they_were_not_there(people: People, key: Client) -> None:
    foreign = lay_down(Rule.Effect.DENY, people.payroll, root_of(people.finance))

    answers = {
        (answer.status_code, answer.content)
        for answer in (key.delete(f"{RULES}/{pk}") for pk in (foreign.pk, foreign.pk + 1000))
    }

    assert {status for status, _ in answers} == {404}
    assert len(answers) == 1
    assert key.get(RULES).json()["items"] == []
    assert key.get(RULES, {"group": "finance"}).json()["total"] == 0
    assert Rule.objects.filter(pk=foreign.pk).exists()


def test_staff_see_the_rules_of_all_groups_and_name_the_group(
    people: People, staff: Client
) -> None:
    lay_down(Rule.Effect.DENY, people.gmail, root_of(people.support))
    lay_down(Rule.Effect.DENY, people.pay, root_of(people.finance))

    assert [rule["group"] for rule in staff.get(RULES).json()["items"]] == ["finance", "support"]
    assert staff.get(RULES, {"capability": "payroll__pay"}).json()["total"] == 1
    answer = post(staff, effect="deny", integration="gmail")
    assert (answer.status_code, answer.json()["field"]) == (400, "group")


def test_list_of_rules_needs_the_same_statements_for_any_number(
    people: People, key: Client
) -> None:
    root = root_of(people.support)
    for count in (2, 20):
        Rule.objects.all().delete()
        for number in range(count):
            lay_down(Rule.Effect(number % 3), people.gmail, root, user=people.alice)
        key.get(RULES)
        with CaptureQueriesContext(connection) as statements:
            assert key.get(RULES).json()["total"] == count
        if count == 2:
            few = len(statements)
    assert len(statements) == few


def test_rules_are_paged(people: People, key: Client) -> None:
    for number in range(3):
        lay_down(Rule.Effect(number), people.gmail, root_of(people.support))

    page = key.get(RULES, {"limit": 2, "offset": 1}).json()

    assert [rule["effect"] for rule in page["items"]] == ["propose", "allow"]
    assert (page["total"], page["has_more"]) == (3, False)


# Grants


@pytest.mark.parametrize("kind", ["integration", "capability"])
def test_a_key_revokes_what_its_own_group_was_granted(
    people: People, key: Client, kind: str
) -> None:
    target = (
        people.gmail if kind == "integration" else people.gmail.capabilities.get(full_name=SEND)
    )
    for group in (people.support, people.finance):
        give(target, group)

    def revoked(group: str, name: str = str(target), client: Client = key) -> int:
        return client.delete(GRANTS, query_params={"group": group, kind: name}).status_code

    assert revoked("finance") == revoked("nowhere") == 403
    assert key.delete(GRANTS, query_params={"user": "alice", kind: str(target)}).status_code == 403
    assert key.post(GRANTS, {"group": "support", kind: str(target)}).status_code == 403
    assert (revoked("support"), revoked("support", "unknown")) == (204, 400)
    assert str(target) not in chain(*list_grants(group=people.support))
    assert str(target) in chain(*list_grants(group=people.finance))
    assert AuditEntry.objects.filter(action="grant.remove").count() == 1
