"""The matrix, from a requested change to a stored one."""

import re

import pytest
from django.contrib.auth.models import Group, User
from django.http import QueryDict
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from acl.models import AuditEntry, GroupPolicy
from catalog.access.pages.matrix import read_boxes
from catalog.models import Capability, Integration
from tests.factories import (
    CapabilityFactory,
    GroupFactory,
    IntegrationFactory,
    give,
    take_away,
)
from tests.pages.access_changes import look_at, may_use, save


@pytest.fixture
def sales(db: None) -> Group:
    return GroupFactory.create(name="Sales")


@pytest.fixture
def jira(db: None) -> Capability:
    return CapabilityFactory.create(
        integration=IntegrationFactory.create(slug="jira", title="Jira"), action="search"
    )


def box(group: Group, integration: Integration) -> str:
    return f"group-{group.pk}|integration-{integration.pk}"


def test_only_admins_see_the_way_there(as_alice: Client, gmail: Capability) -> None:
    text = as_alice.get("/tools/").content.decode()

    assert not any(path in text for path in ("/access/", "/integrations/"))


def test_the_matrix_shows_what_was_given_and_what_is_open(
    as_admin: Client, support: Group, gmail: Capability, jira: Capability
) -> None:
    opened = GroupFactory.create(name="Open house", open=True)
    IntegrationFactory.create(slug="payroll", restricted=True)

    page = as_admin.get("/access/")

    cells = {
        (row.integration.slug, cell.column.group.name): (cell.granted, cell.by_default)
        for row in page.context["matrix"].rows
        for cell in row.cells
    }
    assert cells["gmail", "Support"] == (True, False)
    assert cells["jira", "Support"] == (False, False)
    assert cells["jira", opened.name] == (False, True)
    assert cells["payroll", opened.name] == (False, False)


def test_single_tools_and_rules_are_counted_beside_the_hole(
    as_admin: Client, support: Group, jira: Capability
) -> None:
    give(jira, support)

    text = as_admin.get("/access/").content.decode()

    assert re.search(r"1 tool\s.*for Jira in Support", text, re.DOTALL)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("q=jir", ["jira"]),
        ("show=nobody", ["jira"]),
        ("show=given", ["gmail"]),
        ("show=restricted", []),
        ("q=nothing+like+it", []),
        ("show=nonsense&page=x", ["gmail", "jira"]),
    ],
)
def test_the_matrix_is_searched(
    as_admin: Client, gmail: Capability, jira: Capability, query: str, shown: list[str]
) -> None:
    page = as_admin.get(f"/access/?{query}")

    assert [row.integration.slug for row in page.context["matrix"].rows] == shown


def test_the_matrix_is_read_a_window_at_a_time(as_admin: Client, support: Group) -> None:
    for number in range(50):
        IntegrationFactory.create(slug=f"server-{number:03}")
        GroupFactory.create(name=f"team {number:03}")

    matrix = as_admin.get("/access/?page=2&column=7").context["matrix"]

    assert (matrix.page, matrix.pages, len(matrix.rows)) == (2, 2, 10)
    assert (matrix.column, matrix.column_pages, len(matrix.columns)) == (7, 7, 3)


@pytest.mark.parametrize("rows", [2, 20])
def test_more_rows_cost_no_more_questions(
    as_admin: Client, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(rows):
        give(CapabilityFactory.create().integration, GroupFactory.create())

    with django_assert_num_queries(13):
        as_admin.get("/access/")


def test_looking_stores_nothing_and_says_who_gains(
    as_admin: Client, support: Group, alice: User, jira: Capability
) -> None:
    text = look_at(as_admin, f"grant|{box(support, jira.integration)}||").content.decode()

    assert not may_use(alice, support, jira)
    assert "Grant Jira to Support" in text
    assert "jira__search" in text
    assert "alice" in text
    assert not AuditEntry.objects.filter(action__startswith="grant").exists()


def test_what_was_looked_at_is_stored_with_its_entry(
    as_admin: Client, support: Group, alice: User, jira: Capability
) -> None:
    response = save(as_admin, f"grant|{box(support, jira.integration)}||")

    assert response.status_code == 302
    assert may_use(alice, support, jira)
    assert AuditEntry.objects.filter(action="grant.add", target="group Support").exists()


def test_what_would_do_something_else_by_now_is_shown_again(
    as_admin: Client, support: Group, alice: User, jira: Capability
) -> None:
    lines = f"grant|{box(support, jira.integration)}||"
    page = look_at(as_admin, lines).content.decode()
    seen = re.search(r'name="seen" value="(\w+)"', page)
    assert seen
    Integration.objects.filter(slug="jira").update(enabled=False)

    response = as_admin.post("/access/changes/save/", {"changes": lines, "seen": seen[1]})

    assert response.status_code == 409
    assert "Access rights changed in the meantime." in response.content.decode()
    assert not AuditEntry.objects.filter(action="grant.add").exists()


def test_a_saved_change_can_be_taken_back(
    as_admin: Client, support: Group, alice: User, gmail: Capability
) -> None:
    save(as_admin, f"revoke|{box(support, gmail.integration)}||")
    assert not may_use(alice, support, gmail)

    notice = as_admin.get("/access/").content.decode()
    undo = as_admin.get("/access/changes/undo/").context["lines"]
    save(as_admin, undo)

    assert "/access/changes/undo/" in notice
    assert may_use(alice, support, gmail)


def test_the_notice_of_a_change_is_shown_once(
    as_admin: Client, support: Group, gmail: Capability
) -> None:
    save(as_admin, f"revoke|{box(support, gmail.integration)}||")

    shown = ["change saved" in as_admin.get("/access/").content.decode() for _ in range(2)]

    assert shown == [True, False]


def test_boxes_become_changes_by_what_they_were(
    as_admin: Client, support: Group, sales: Group, gmail: Capability, jira: Capability
) -> None:
    posted = {
        "was_grant": box(support, gmail.integration),
        "grant": [box(sales, jira.integration)],
        "was_open": "",
        "open": [f"group-{sales.pk}|"],
        "was_restrict": f"|integration-{jira.integration_id}",
        "pending": f"grant|{box(sales, gmail.integration)}||",
    }

    sentences = as_admin.post("/access/changes/", posted).context["sentences"]

    assert sorted(sentences) == [
        "Allow Jira by default in open groups",
        "Allow Sales everything that is not restricted",
        "Grant Gmail to Sales",
        "Grant Jira to Sales",
        "Revoke Gmail from Support",
    ]


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ("row", ["Grant Jira to Sales", "Grant Jira to Support"]),
        ("column", ["Grant Jira to Support"]),
        ("whole column", ["Revoke Gmail from Sales", "Revoke Jira from Sales"]),
    ],
)
def test_a_row_or_a_column_changes_at_once_without_scripts(
    as_admin: Client,
    support: Group,
    sales: Group,
    gmail: Capability,
    jira: Capability,
    side: str,
    expected: list[str],
) -> None:
    shown = as_admin.get("/access/").content.decode()
    posted = dict(re.findall(r'name="(\w+_shown)"\s+value="([^"]*)"', shown))
    posted["was_grant"] = box(support, gmail.integration)
    posted["all"] = f"integration-{jira.integration_id}"
    if side != "row":
        posted["all"] = f"group-{support.pk}"
    if side == "whole column":
        posted["was_grant"] = f"{box(sales, gmail.integration)} {box(sales, jira.integration)}"
        posted["all"] = f"group-{sales.pk}"

    sentences = as_admin.post("/access/changes/", posted).context["sentences"]

    assert sorted(sentences) == expected


def test_opening_a_group_is_looked_at_and_saved(
    as_admin: Client, support: Group, alice: User, jira: Capability
) -> None:
    save(as_admin, f"open|group-{support.pk}|||")

    assert GroupPolicy.objects.get(group=support).open_default
    assert may_use(alice, support, jira)


@pytest.mark.parametrize(
    "lines",
    ["", "grant|group-0|integration-0||", "nonsense", "grant|user-x|integration-1||", "a|b|c|d|e"],
)
def test_what_names_nothing_changes_nothing(as_admin: Client, lines: str) -> None:
    response = look_at(as_admin, lines)

    assert response.status_code == 422
    assert "Nothing to change" in response.content.decode()


def test_a_change_that_cannot_be_made_is_refused(
    as_admin: Client, support: Group, jira: Capability
) -> None:
    response = look_at(as_admin, f"grant||integration-{jira.integration_id}||")

    assert response.status_code == 422
    assert "This change is not possible." in response.content.decode()


def test_the_way_back_stays_in_access(as_admin: Client, support: Group, jira: Capability) -> None:
    lines = f"grant|{box(support, jira.integration)}||"

    for back in ("https://elsewhere.example/access/", "//elsewhere.example", "/admin/"):
        posted = {"changes": lines, "back": back}
        assert as_admin.post("/access/changes/", posted).context["back"] == "/access/"


def test_a_grant_that_is_already_taken_back_is_no_trouble(
    as_admin: Client, support: Group, gmail: Capability
) -> None:
    take_away(gmail.integration, support)

    response = save(as_admin, f"revoke|{box(support, gmail.integration)}||")

    assert response.status_code == 302


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.sampled_from(["select", "clear"]))
def test_select_and_clear_say_what_they_do_whatever_was_granted(
    granted: set[int], shown: set[int], verb: str
) -> None:
    posted = QueryDict(mutable=True)
    posted["was_grant"] = " ".join(f"group-1|integration-{key}" for key in granted)
    posted["rows_shown"] = " ".join(f"integration-{key}" for key in shown)
    posted["all"] = f"{verb} group-1"

    lines = set(read_boxes(posted).splitlines())

    changed = shown - granted if verb == "select" else shown & granted
    line = "grant" if verb == "select" else "revoke"
    assert lines == {f"{line}|group-1|integration-{key}||" for key in changed}


def test_a_group_has_a_matrix_of_its_own(
    as_admin: Client, support: Group, sales: Group, gmail: Capability, jira: Capability
) -> None:
    give(jira, sales)
    for number in range(60):
        IntegrationFactory.create(slug=f"server-{number:03}")

    page = as_admin.get(f"/access/?group={support.pk}")
    granted = as_admin.get(f"/access/?group={support.pk}&show=given").context["matrix"]

    assert [column.group for column in page.context["matrix"].columns] == [support]
    assert len(page.context["matrix"].rows) == 62  # all on a page
    assert [row.integration.slug for row in granted.rows] == ["gmail"]
    assert "Select all shown" in page.text
    assert "Select all shown" not in as_admin.get("/access/").text
    assert f"/access/?group={support.pk}" in as_admin.get(f"/access/groups/{support.pk}/").text
    assert as_admin.get("/access/?group=999999").status_code == 404
