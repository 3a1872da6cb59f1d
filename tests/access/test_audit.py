"""The audit log: append-only, and chained by hashes."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import Error, connection, transaction

from acl.audit.log_verification import Checked, check_log
from acl.audit.recorder import record
from acl.keys.lifecycle import revoke_key
from acl.models import ApiKey, AuditEntry, AuditHead
from tests.access.audit_log import commit, tamper
from tests.access.people import People
from tests.databases import as_superuser
from tests.factories import UserFactory
from tests.web.conftest import client_with, new_key


def write(*targets: str, by: User | None = None) -> None:
    """Write entries as if each had a transaction of its own."""
    for target in targets:
        record(by=by, action="test.change", target=target, details={"before": 1.50, "after": "ß"})
        commit()


@pytest.fixture
def log(db: None) -> None:
    write("one", "two", "three", "four", "five")


def test_entries_are_numbered_without_a_gap_and_chained(log: None) -> None:
    entries = list(AuditEntry.objects.order_by("number"))

    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5]
    assert entries[0].previous == "0" * 64
    for before, after in pairwise(entries):
        assert after.previous == before.digest
    assert AuditHead.objects.get().digest == entries[-1].digest


def test_log_that_nobody_touched_is_sound(log: None) -> None:
    assert check_log() == Checked(1, 5, AuditHead.objects.get().digest)


@pytest.mark.django_db
def test_empty_log_is_sound() -> None:
    assert check_log().fault is None


def test_several_entries_of_one_transaction_follow_each_other(log: None) -> None:
    with transaction.atomic():
        record(by=None, action="test.change", target="six")
        record(by=None, action="test.change", target="seven")
    commit()

    numbered = dict(AuditEntry.objects.values_list("target", "number"))
    assert (numbered["six"], numbered["seven"]) == (6, 7)
    assert check_log().fault is None


def test_entry_of_a_change_that_was_rolled_back_leaves_no_gap(log: None) -> None:
    with transaction.atomic():
        record(by=None, action="test.change", target="never")
        transaction.set_rollback(True)
    write("six")

    assert AuditEntry.objects.get(target="six").number == 6


REFUSED = {
    "an update": "UPDATE acl_auditentry SET target = 'other' WHERE number = 2",
    "an update of the place": "UPDATE acl_auditentry SET number = 9 WHERE number = 2",
    "a delete": "DELETE FROM acl_auditentry WHERE number = 2",
    "a truncate": "TRUNCATE acl_auditentry",
    "a truncate with others": "TRUNCATE acl_auditentry, acl_audithead CASCADE",
    "an update of the head": "UPDATE acl_audithead SET number = 1",
    "a delete of the head": "DELETE FROM acl_audithead",
    "the function of the chain": "SELECT acl_audit_append()",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_database_refuses(log: None, statement: str) -> None:
    with pytest.raises(Error, match="permission denied"), transaction.atomic():
        connection.cursor().execute(statement)

    assert check_log().number == 5


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_triggers_refuse_even_a_superuser(log: None, statement: str) -> None:
    with pytest.raises(Error, match="append-only"), transaction.atomic():
        as_superuser(statement)

    assert check_log().number == 5


def test_even_the_entry_of_this_transaction_is_not_changed(log: None) -> None:
    entry = record(by=None, action="test.change", target="six")

    with pytest.raises(Error, match="permission denied"), transaction.atomic():
        AuditEntry.objects.filter(pk=entry.pk).update(target="other")


def test_nobody_chooses_the_place_of_an_entry(log: None) -> None:
    AuditEntry.objects.create(action="forged", target="x", number=3, previous="p", digest="d")
    commit()

    assert AuditEntry.objects.get(action="forged").number == 6
    assert check_log().fault is None


FIELDS = [
    "at = at + interval '1 microsecond'", "by_id = 1", "by_name = 'bob'", "action = 'x'",
    "target = 'x'", "details = '{}'", "request_id = 'x'", "key_prefix = 'x'", "address = 'x'",
]  # fmt: skip


@pytest.mark.parametrize("change", FIELDS)
def test_check_names_the_entry_that_was_changed(log: None, change: str) -> None:
    tamper(f"UPDATE acl_auditentry SET {change} WHERE number = 3")  # noqa: S608 - from above

    assert fault() == ("changed", 3)


def test_check_names_the_first_entry_that_is_missing(log: None) -> None:
    tamper("DELETE FROM acl_auditentry WHERE number IN (3, 4)")

    assert fault() == ("missing", 3)
    assert "3 to 4 are missing" in sentence()


def test_check_names_the_first_entry_that_changed_its_place(log: None) -> None:
    tamper("UPDATE acl_auditentry SET number = number + 10 WHERE number IN (2, 4)")
    tamper("UPDATE acl_auditentry SET number = 16 - number WHERE number > 10")

    assert fault() == ("reordered", 2)


def test_check_notices_a_gap_that_was_closed(log: None) -> None:
    tamper("DELETE FROM acl_auditentry WHERE number = 3")
    tamper("UPDATE acl_auditentry SET number = number - 1 WHERE number > 3")

    assert fault() == ("reordered", 3)


def test_check_notices_an_entry_that_was_added_past_the_chain(log: None) -> None:
    tamper(
        "INSERT INTO acl_auditentry (at, by_name, action, target, details, request_id, key_prefix,"
        " address) VALUES (now(), '', 'x', 'x', '{}', '', '', '')"
    )

    assert fault() == ("unchained", 6)


@pytest.mark.parametrize("last", [4, 0])
def test_check_notices_that_the_end_is_cut_off(log: None, last: int) -> None:
    tamper(f"DELETE FROM acl_auditentry WHERE number > {last}")  # noqa: S608 - from above

    assert fault() == ("missing", last + 1)
    assert "cut off" in sentence()


def test_check_notices_that_the_head_is_gone_and_nothing_can_be_recorded(log: None) -> None:
    tamper("DELETE FROM acl_audithead")

    assert fault() == ("missing", 6)
    with pytest.raises(Error), transaction.atomic():
        write("six")


def test_noted_head_tells_of_a_log_that_was_cut_off_with_its_head(log: None) -> None:
    noted = AuditHead.objects.get().digest
    tamper("DELETE FROM acl_auditentry WHERE number > 3")
    tamper(
        "UPDATE acl_audithead SET (number, digest) ="
        " (SELECT number, digest FROM acl_auditentry WHERE number = 3)"
    )

    assert check_log().fault is None
    assert fault(expect=noted) == ("unknown-head", 0)


def test_noted_head_is_found_in_a_log_that_went_on(log: None) -> None:
    noted = AuditHead.objects.get().digest
    write("six")

    assert check_log(expect=noted).fault is None


def test_last_entries_can_be_checked_alone(log: None) -> None:
    tamper("UPDATE acl_auditentry SET target = 'x' WHERE number = 1")

    checked = check_log(most=2)

    assert (checked.first, checked.number, checked.fault) == (4, 5, None)
    tamper("UPDATE acl_auditentry SET target = 'x' WHERE number = 4")
    assert fault(most=2) == ("changed", 4)


def fault(**options: Any) -> tuple[str, int]:
    found = check_log(**options).fault
    assert found
    return found.kind, found.number


def sentence() -> str:
    found = check_log().fault
    assert found
    return found.sentence


def test_user_can_be_deleted_and_the_log_keeps_the_name(log: None) -> None:
    olga = UserFactory.create(username="olga")
    write("six", by=olga)
    number = olga.pk

    olga.delete()

    entry = AuditEntry.objects.get(target="six")
    assert (entry.by_id, entry.by_name) == (number, "olga")
    assert check_log().fault is None


def test_entry_tells_request_key_and_address(people: People) -> None:
    raw = new_key(people.support, "admin", owner=people.alice)
    client = client_with(raw)

    made = client.post(
        "/api/v1/keys", {"name": "x", "group": "support", "scopes": ["admin"]}, "application/json"
    )

    assert made.status_code == 201
    entry = AuditEntry.objects.get(action="key.created", request_id="story")
    assert (entry.key_prefix, entry.address, entry.by) == (raw[:11], "127.0.0.1", people.alice)


def test_next_request_has_nothing_of_the_one_before(people: People) -> None:
    client_with(new_key(people.support)).get("/api/v1/names")

    write("later")

    entry = AuditEntry.objects.get(target="later")
    assert (entry.request_id, entry.key_prefix, entry.address) == ("", "", "")


def test_change_without_its_entry_does_not_happen(people: People) -> None:
    new_key(people.support)
    key = people.support.api_keys.get()
    commit()
    tamper("DELETE FROM acl_audithead")  # from now on no entry can be written

    with pytest.raises(Error):
        revoke_and_commit(people.alice, key)

    key.refresh_from_db()
    assert key.revoked_at is None


@transaction.atomic
def revoke_and_commit(by: User, key: ApiKey) -> None:
    revoke_key(by=by, key=key)
    commit()


def verify(*arguments: str) -> tuple[int, str, str]:
    """Run the command; return its exit code, output and errors."""
    out = StringIO()
    try:
        call_command("verify_audit", *arguments, stdout=out, verbosity=0)
    except CommandError as problem:
        return problem.returncode, out.getvalue(), str(problem)
    return 0, out.getvalue(), ""


def test_command_prints_the_head_to_note(log: None) -> None:
    code, told, _ = verify()

    assert code == 0
    assert "5 entries" in told
    assert AuditHead.objects.get().digest in told


def test_command_names_the_bad_entry_and_exits_with_1(log: None) -> None:
    tamper("UPDATE acl_auditentry SET by_name = 'bob' WHERE number = 3")

    assert verify()[0] == 1
    assert verify()[2] == "Entry 3 was changed."


def test_command_tells_scripts_in_json(log: None) -> None:
    tamper("UPDATE acl_auditentry SET by_name = 'bob' WHERE number = 3")

    code, told, _ = verify("--json")

    report = json.loads(told)
    assert code == 1
    assert (report["sound"], report["entries"]) == (False, 2)
    assert report["fault"]["number"] == 3
    assert report["fault"]["kind"] == "changed"


def test_command_expects_a_noted_head(log: None) -> None:
    noted = AuditHead.objects.get().digest

    assert verify("--expect", noted)[0] == 0
    assert verify("--expect", "f" * 64)[0] == 1


@pytest.mark.parametrize("text", ["abc", "g" * 64])
def test_command_refuses_what_is_no_digest(log: None, text: str) -> None:
    code, told, complaint = verify("--expect", text)

    assert (code, told) == (1, "")
    assert "64 hexadecimal digits" in complaint


def in_threads(work: Callable[[int], None], threads: int = 8) -> None:
    """Run in real threads, each with its own connection."""

    def one(number: int) -> None:
        try:
            work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(threads)))


@pytest.mark.django_db(transaction=True)
def test_eight_writers_at_once_make_one_chain() -> None:
    def write_some(thread: int) -> None:
        for number in range(10):
            with transaction.atomic():
                record(by=None, action="test.change", target=f"{thread}-{number}-a")
                record(by=None, action="test.change", target=f"{thread}-{number}-b")
                transaction.set_rollback(number % 5 == 4)

    in_threads(write_some)

    checked = check_log()
    assert (checked.entries, checked.fault) == (8 * 8 * 2, None)
    numbers = dict(AuditEntry.objects.values_list("target", "number"))
    assert all(numbers[f"{t}-0-b"] == (numbers[f"{t}-0-a"] or 0) + 1 for t in range(8))


@pytest.mark.django_db(transaction=True)
def test_writers_that_record_before_they_change_do_not_lock_each_other_out() -> None:
    people = [UserFactory.create() for _ in range(4)]

    def change_all(thread: int) -> None:
        for _ in range(5):
            with transaction.atomic():
                for person in people:  # all in the same order, between two entries
                    record(by=None, action="test.change", target=f"before {person.pk}")
                    User.objects.filter(pk=person.pk).update(first_name=str(thread))
                    record(by=None, action="test.change", target=f"after {person.pk}")

    in_threads(change_all)

    checked = check_log()
    assert (checked.entries, checked.fault) == (8 * 5 * 8, None)


def test_settings_of_the_session_do_not_change_the_digest(log: None) -> None:
    with connection.cursor() as cursor:
        for setting in ("timezone = 'Asia/Kolkata'", "datestyle = 'German'"):
            cursor.execute(f"SET LOCAL {setting}")
        write("six")
        cursor.execute("SET LOCAL timezone = 'UTC'")

    assert check_log().fault is None
