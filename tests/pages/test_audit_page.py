"""The audit log for admins: search, reading, verification and export."""

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from acl.audit import log as audit_log
from acl.audit import pages as audit_view
from acl.audit.log import PAGE, DetailRow, detail_rows
from acl.audit.recorder import record
from acl.models import AuditEntry, AuditHead
from tests.access.audit_log import commit, tamper

HTMX = {"HX-Request": "true"}


@pytest.fixture
def log(admin: User, alice: User) -> None:
    """Three changes on three days by three people."""
    changes = ((1, admin, "grant.add"), (2, alice, "key.created"), (3, None, "grant.add"))
    for day, by, action in changes:
        with time_machine.travel(datetime(2026, 3, day, 12, tzinfo=UTC), tick=False):
            record(by=by, action=action, target=f"thing-{day}", details={"before": 1, "after": day})
    commit()


def shown(client: Client, query: str = "") -> list[str]:
    """Return the targets on the page, top down."""
    response = client.get(f"/audit/{query}")
    assert response.status_code == 200
    return re.findall(r'class="entry-target"[^>]*>([^<]*)<', response.content.decode())


def test_rail_leads_admins_there(as_admin: Client, alice: User) -> None:
    assert 'href="/audit/"' in as_admin.get("/tools/").content.decode()
    as_admin.force_login(alice)
    assert 'href="/audit/"' not in as_admin.get("/tools/").content.decode()


@pytest.mark.usefixtures("log")
def test_newest_entry_comes_first_with_what_was_before(as_admin: Client) -> None:
    text = as_admin.get("/audit/").content.decode()

    assert shown(as_admin) == ["thing-3", "thing-2", "thing-1"]
    assert "command line" in text
    assert re.search(r"<del>.*?1</del>.*<ins>.*?3</ins>", text, re.DOTALL)


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("query", "targets"),
    [
        ("?by=alice", ["thing-2"]),
        ("?by=Pegboard", ["thing-3"]),
        ("?by=command+line", []),
        ("?by=nobody", []),
        ("?action=grant.add", ["thing-3", "thing-1"]),
        ("?target=NG-2", ["thing-2"]),
        ("?since=2026-03-02", ["thing-3", "thing-2"]),
        ("?until=2026-03-02", ["thing-2", "thing-1"]),
        ("?since=2026-03-02&until=2026-03-02", ["thing-2"]),
        ("?action=grant.add&by=root", ["thing-1"]),
        ("?before=x&after=-1", ["thing-3", "thing-2", "thing-1"]),
    ],
)
def test_filters_leave_what_fits(as_admin: Client, query: str, targets: list[str]) -> None:
    assert shown(as_admin, query) == targets


@pytest.mark.usefixtures("log")
def test_wrong_day_is_told(as_admin: Client) -> None:
    assert "Enter a date such as" in as_admin.get("/audit/?since=yesterday").content.decode()
    assert as_admin.get("/audit/export.csv?since=yesterday").status_code == 404


def test_empty_log_says_what_will_stand_there(as_admin: Client) -> None:
    assert "Nothing has been recorded yet" in as_admin.get("/audit/").content.decode()
    assert "No entry matches" in as_admin.get("/audit/?target=x").content.decode()


def test_pages_follow_each_other_both_ways(as_admin: Client) -> None:
    for number in range(2 * PAGE + 5):
        record(by=None, action="x", target=f"{number}")
    commit()

    first = shown(as_admin)
    older = follow(as_admin, "/audit/", "next")
    second = shown(as_admin, older)
    third = shown(as_admin, follow(as_admin, f"/audit/{older}", "next"))

    assert [*first, *second, *third] == [f"{number}" for number in reversed(range(2 * PAGE + 5))]
    assert shown(as_admin, follow(as_admin, f"/audit/{older}", "prev")) == first
    assert f"{2 * PAGE + 5} entries" in as_admin.get("/audit/").content.decode()


def follow(client: Client, path: str, rel: str) -> str:
    """Return the query of the page's link to the next or previous page."""
    text = client.get(path).content.decode()
    found = re.search(rf'href="/audit/(\?[^"]*)"\s+rel="{rel}"', text)
    assert found
    return found[1]


def test_page_asks_as_much_for_twenty_entries_as_for_two(as_admin: Client) -> None:
    for _ in range(2):
        record(by=None, action="x", target="x")
    as_admin.get("/audit/")
    with CaptureQueriesContext(connection) as few:
        as_admin.get("/audit/")

    for number in range(18):
        record(by=None, action=f"x{number}", target="x")
    with CaptureQueriesContext(connection) as many:
        as_admin.get("/audit/")

    assert len(many) == len(few)


def test_count_of_a_filter_stops_somewhere(
    as_admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_log, "MOST_COUNTED", 3)
    monkeypatch.setattr(audit_view, "MOST_COUNTED", 3)
    for _ in range(5):
        record(by=None, action="x", target="x")

    text = " ".join(as_admin.get("/audit/?action=x").content.decode().split())

    assert "More than 3 entries" in text


@pytest.mark.usefixtures("log")
def test_button_says_up_to_where_the_log_is_sound(as_admin: Client) -> None:
    text = as_admin.post("/audit/check/", headers=HTMX).content.decode()

    assert "Verified just now up to entry 3" in text
    assert AuditHead.objects.get().digest in text
    assert "thing-3" not in text


@pytest.mark.usefixtures("log")
def test_button_names_the_entry_that_is_wrong(as_admin: Client) -> None:
    tamper("UPDATE acl_auditentry SET target = 'x' WHERE number = 2")

    assert "Entry 2 was changed." in as_admin.post("/audit/check/").content.decode()


@pytest.mark.usefixtures("log")
def test_button_says_what_it_has_not_checked(
    as_admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_view, "MOST_CHECKED", 2)

    text = as_admin.post("/audit/check/").content.decode()

    assert "from entry 2 up to entry 3" in text
    assert "manage.py verify_audit" in text


@pytest.mark.usefixtures("log")
def test_json_lines_have_what_fits_in_the_order_of_the_chain(as_admin: Client) -> None:
    response = as_admin.get("/audit/export.jsonl?action=grant.add")

    lines = b"".join(response.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    entries = [json.loads(line) for line in lines]
    assert [entry["target"] for entry in entries] == ["thing-1", "thing-3"]
    assert entries[0]["details"] == {"before": 1, "after": 1}
    assert entries[0]["digest"] == AuditEntry.objects.get(number=1).digest
    assert "attachment" in response["Content-Disposition"]
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(1)", " =1+1", "\t=1", "\r=1", "\n=1", "|x", "%x"]
)
def test_no_cell_of_the_csv_is_a_formula(as_admin: Client, text: str) -> None:
    record(by=None, action="x", target=text, details={"a": text})

    [row] = csv_of(as_admin)

    assert row["target"] == f"'{text}"
    assert json.loads(row["details"]) == {"a": text}


def test_csv_keeps_texts_as_they_are(as_admin: Client) -> None:
    text = 'a, "b";\nc ß العربية <script>'
    record(by=None, action="x", target=text)

    assert csv_of(as_admin)[0]["target"] == text


def csv_of(client: Client) -> list[dict[str, str]]:
    content = b"".join(client.get("/audit/export.csv").streaming_content)  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def test_export_reads_in_portions(as_admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "AT_ONCE", 2)
    for number in range(5):
        record(by=None, action="x", target=f"{number}")

    assert [row["target"] for row in csv_of(as_admin)] == ["0", "1", "2", "3", "4"]


def test_markup_in_an_entry_is_text(as_admin: Client) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    record(by=None, action=hostile, target=hostile, details={hostile: [hostile], "before": hostile})

    assert hostile not in as_admin.get("/audit/").content.decode()


@pytest.mark.parametrize(
    ("details", "rows"),
    [
        ({"group": "Support"}, [DetailRow("group", '"Support"')]),
        ({"acts_for_users": False}, [DetailRow("acts for users", "no")]),
        ({"scopes": ["a", "b"]}, [DetailRow("scopes", '["a", "b"]')]),
        ({"owner": None, "note": "", "list": []}, []),
        ({"ends": "2026-03-01T12:30:00.5+02:00"}, [DetailRow("ends", "1 Mar 2026, 10:30 UTC")]),
        ({"deep": [{"a": 1}]}, [DetailRow("deep", "[{a: 1}]")]),
        ({"before": "a", "after": "b"}, [DetailRow("change", "", '"a"', '"b"', changed=True)]),
        ({"name": {"from": "a", "to": None}}, [DetailRow("name", "", '"a"', "none", changed=True)]),
        (
            {"before": {"x": 1, "y": 1}, "after": {"x": 2, "y": 1}},
            [DetailRow("x", "", "1", "2", changed=True)],
        ),
        ([1, 2], [DetailRow("details", "[1, 2]")]),
        (
            {"n": "5", "m": 5, "f": "yes"},
            [DetailRow("n", '"5"'), DetailRow("m", "5"), DetailRow("f", '"yes"')],
        ),
        ({"who": "b\u200b"}, [DetailRow("who", '"b[U+200B ZERO WIDTH SPACE]"')]),
        ({"at": "2026-99-99T12:30:00+02:00"}, [DetailRow("at", '"2026-99-99T12:30:00+02:00"')]),
        ({}, []),
        (None, []),
    ],
)
def test_details_of_any_shape_can_be_read(details: object, rows: list[DetailRow]) -> None:
    assert detail_rows(details) == rows


@pytest.mark.usefixtures("log")
def test_page_of_djangos_admin_only_shows(as_admin: Client, alice: User) -> None:
    entry = AuditEntry.objects.get(by=alice)
    alice.delete()
    path = f"/admin/acl/auditentry/{entry.pk}/change/"

    assert as_admin.get("/admin/acl/auditentry/").status_code == 200
    assert "alice" in as_admin.get(path).content.decode()
    assert as_admin.post(path, {"target": "other"}).status_code == 403
