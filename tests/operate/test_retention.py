"""Retention: every table that grows has a term by the database's clock, and what is over goes."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest
import time_machine
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import Error, connection, models, transaction
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from acl.audit.archive import cut_log, write_archive
from acl.audit.log_verification import check_log
from acl.audit.recorder import record
from acl.keys.lifecycle import rotate_key
from acl.models import ApiKey, AuditArchive, AuditEntry, Invitation, RightsPeriod
from acl.people._invitations import invite as invite_person
from acl.platform.database_work import database_now
from discovery.calls.approvals import CannotDecideError, approve_call
from discovery.calls.arguments import digest_of
from discovery.insights.figures import figures_by_group, report_figures
from discovery.models import Call, Chat, DayFigures, Outcome, ServerRequest, Turn
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.operate.retention import TERMS, Term, apply_terms
from marketplace.operate.roles.owner import as_owner
from tests.access.people import People, invite
from tests.databases import as_superuser
from tests.examples import EXAMPLES_OF_STORIES
from tests.factories import CapabilityFactory, UserFactory, give, waiting_call
from tests.web.conftest import client_with, new_key

pytestmark = pytest.mark.django_db


def call_of(people: People, at: datetime) -> Call:
    return Call.objects.create(
        user=people.alice, group=people.support, full_name="gmail__send_email", side_effect="read",
        way="api", definition_hash="", arguments_hash="", state="completed", ended_at=at,
    )  # fmt: skip


def turn_of(people: People, at: datetime, **columns: Any) -> Turn:
    turn = Turn.objects.create(user=people.alice, **{"group": people.support, **columns})
    Turn.objects.filter(pk=turn.pk).update(created_at=at)
    return turn


def delivery_of(people: People, at: datetime) -> NotificationDelivery:
    channel = NotificationChannel.objects.create(
        owner=people.alice, kind="mail", topics=["alerts"], origin="http://localhost"
    )
    return NotificationDelivery.objects.create(
        channel=channel, event=f"alert {channel.pk}", topic="alerts", state="delivered", ended_at=at
    )


def aged(model: type[models.Model], column: str, at: datetime, **columns: Any) -> models.Model:
    row = model._default_manager.create(**columns)
    model._default_manager.filter(pk=row.pk).update(**{column: at})
    return row


def period_of(people: People, at: datetime) -> RightsPeriod:
    people.gmail.enabled = not people.gmail.enabled
    people.gmail.save()
    period = RightsPeriod.objects.filter(table="catalog_integration").exclude(ended=None).last()
    assert period is not None
    as_superuser(
        f"UPDATE acl_rightsperiod SET ended = '{at.isoformat()}' WHERE id = {period.pk}"  # noqa: S608
    )
    return period


# A row of each term, whose moment is the given one.
MAKE: dict[tuple[type[models.Model], str], Callable[[People, datetime], models.Model]] = {
    (Turn, "PEGBOARD_TURN_DAYS"): turn_of,
    (Turn, "PEGBOARD_MESSAGE_DAYS"): lambda p, at: turn_of(p, at, message="send it"),
    (Call, "PEGBOARD_CALL_DAYS"): call_of,
    (ServerRequest, "PEGBOARD_CALL_DAYS"): lambda p, at: aged(
        ServerRequest, "created_at", at, user=p.alice, group=p.support, integration=p.gmail,
        method="resources/list",
    ),
    (NotificationDelivery, "PEGBOARD_DELIVERY_DAYS"): delivery_of,
    (AccessLog, "PEGBOARD_SIGN_IN_DAYS"): lambda p, at: aged(
        AccessLog, "attempt_time", at, username="alice"
    ),
    (AccessFailureLog, "PEGBOARD_SIGN_IN_DAYS"): lambda p, at: aged(
        AccessFailureLog, "attempt_time", at, username="alice"
    ),
    (AccessAttempt, "PEGBOARD_SIGN_IN_DAYS"): lambda p, at: aged(
        AccessAttempt, "attempt_time", at, username=f"alice {at}", failures_since_start=1
    ),
    (Session, "PEGBOARD_SIGN_IN_DAYS"): lambda p, at: Session.objects.create(
        session_key=str(at.timestamp()), session_data="", expire_date=at
    ),
    (LogEntry, "PEGBOARD_SIGN_IN_DAYS"): lambda p, at: aged(
        LogEntry, "action_time", at, user=p.alice, object_repr="x", action_flag=1
    ),
    (Chat, "PEGBOARD_CHAT_DAYS"): lambda p, at: aged(
        Chat, "created_at", at, user=p.alice, group=p.support
    ),
    (RightsPeriod, "PEGBOARD_RIGHTS_DAYS"): period_of,
}  # fmt: skip


def is_there(row: models.Model, term: Term) -> bool:
    rows = type(row)._default_manager.filter(pk=row.pk)
    return rows.exclude(message="").exists() if "MESSAGE" in term.setting else rows.exists()


@pytest.mark.parametrize("term", TERMS, ids=lambda term: f"{term.model.__name__}-{term.setting}")
def test_what_is_older_than_its_term_goes_and_the_rest_stays(term: Term, people: People) -> None:
    make, now = MAKE[term.model, term.setting], database_now()
    old, young = (make(people, now - timedelta(days=term.days + more)) for more in (2, -2))

    apply_terms()

    assert (is_there(old, term), is_there(young, term)) == (False, True)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: f"{term.model.__name__}-{term.setting}")
def test_a_backlog_goes_in_batches(term: Term, people: People) -> None:
    old = database_now() - timedelta(days=term.days + 5)
    rows = [MAKE[term.model, term.setting](people, old - timedelta(hours=n)) for n in range(5)]

    apply_terms(batch=2)

    assert not any(is_there(row, term) for row in rows)


# Tables with a moment for each row and no term, and why.
BOUNDED = {
    "audit": {"acl_auditentry", "acl_auditarchive"},  # archived by a command
    "of people, groups and keys, by hand": {
        "acl_apikey", "acl_registeredclient", "acl_accessrequest", "acl_serviceaccount",
        "acl_application",
        "acl_invitation", "acl_scimrecord", "mfa_authenticator", "auth_user", "catalog_rule",
        "catalog_oauthconnection", "catalog_keptlimit", "catalog_memo", "catalog_todo",
        "discovery_quota",
        "discovery_toolexample", "discovery_chatmodel", "catalog_privatehost", "discovery_flowrule",
        "discovery_trustedvalue", "catalog_preset", "marketplace_notificationchannel",
        "socialaccount_socialaccount", "account_emailconfirmation",
    },
    "of the catalogue": {
        "catalog_integration", "catalog_capability", "catalog_runtimecapability",
        "catalog_iconimage", "catalog_iconsource", "catalog_embeddingmodel", "catalog_definition",
        "catalog_serverproposal", "catalog_apidocument", "marketplace_listing",
        "marketplace_source", "marketplace_installation", "marketplace_installationevent",
    },
    "the newest of each, or by a sweep of their own": {
        "catalog_healthcheck", "catalog_sync", "catalog_oauthrevocation", "catalog_oauthsignin",
        "catalog_embedding", "marketplace_listingvector", "discovery_turnreading",
        "discovery_experience", "discovery_taughtmessage",
        "marketplace_addition", "axes_accessattemptexpiration",
    },
    "a single row": {"marketplace_eventlogstate"},
    "with rows that have one": {"discovery_chatmessage", "discovery_modelrequest"},
}  # fmt: skip


def test_every_table_whose_rows_have_a_beginning_has_a_term_or_a_reason() -> None:
    growing = {
        model._meta.db_table
        for model in apps.get_models()
        for field in model._meta.fields
        if isinstance(field, models.DateTimeField)
        and (field.auto_now_add or field.default is not models.NOT_PROVIDED)
    }
    with_term = {term.model._meta.db_table for term in TERMS}

    assert growing - with_term <= set().union(*BOUNDED.values())
    assert with_term.isdisjoint(set().union(*BOUNDED.values()))


def figures_of(people: People, since: datetime, until: datetime) -> list[Any]:
    reports = [
        report_figures(since=since, until=until, group_id=group, by="day")
        for group in (None, people.support.pk)
    ]
    rows = [
        part for report in reports for part in (report.counts, *(d.counts for d in report.days))
    ]
    rows += [part.counts for part in figures_by_group(since=since, until=until)]
    latencies = {"median_ms", "p95_ms"}
    return [
        {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for row in ({k: v for k, v in row.items() if k not in latencies} for row in rows)
    ]


@settings(max_examples=EXAMPLES_OF_STORIES, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_sums_outlive_their_rows(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        people = invite()
        midnight = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
        for _ in range(random.randrange(5, 25)):
            at = midnight - timedelta(days=random.randrange(380, 420), hours=random.randrange(24))
            turn = turn_of(
                people, at, group=random.choice([people.support, people.finance]),
                mode=random.choice(["all", "discovered"]), tokens_all=random.randrange(99),
                tokens_selected=random.randrange(99), discovery_calls=random.randrange(3),
            )  # fmt: skip
            if random.random() < 0.6:
                Outcome.objects.create(
                    turn=turn, group=turn.group, status=random.choice(["success", "failed"]),
                    score=random.random(), source="reported", called_known=2, at=at,
                    called_selected=random.randrange(3),
                )  # fmt: skip
        period = midnight - timedelta(days=500), midnight
        before = figures_of(people, *period)
        apply_terms(batch=random.randrange(1, 6))
        between = figures_of(people, *period)
        left = Turn.objects.filter(created_at__lt=midnight - timedelta(days=400)).count()
        kept = DayFigures.objects.count()
        transaction.set_rollback(True)

    assert (between, left) == (before, 0)
    assert kept


@pytest.mark.parametrize("days", [0])
def test_a_term_of_nothing_is_for_ever(days: int, people: People, settings: Settings) -> None:
    settings.PEGBOARD_TURN_DAYS = days
    turn = turn_of(people, timezone.now() - timedelta(days=9000))

    apply_terms()

    assert Turn.objects.filter(pk=turn.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_the_sweep_waits_for_nobody(people: People) -> None:
    old = database_now() - timedelta(days=500)
    held, free = turn_of(people, old), turn_of(people, old)
    second = connection.copy()
    second.set_autocommit(False)
    try:
        with second.cursor() as cursor:
            cursor.execute("SELECT 1 FROM discovery_turn WHERE id = %s FOR UPDATE", [held.pk])
        apply_terms()
        left = set(Turn.objects.values_list("pk", flat=True))
    finally:
        second.rollback()
        second.close()
    apply_terms()

    assert free.pk not in left
    assert held.pk in left
    assert not Turn.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_log_is_sound_before_and_after_its_beginning_is_archived(tmp_path: Path) -> None:
    alice = UserFactory.create(username="alice")
    for number in range(12):
        record(by=alice, action="test.change", target=f"thing {number}")
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    head = check_log()

    for file, day in ((first, 6), (second, 9)):
        archive = write_archive(file, number=day)
        with as_owner():
            cut_log(archive, file=file)

    after = check_log()
    call_command("verify_audit", archive=[first, second], verbosity=0, stdout=StringIO())
    assert (head.entries, head.fault) == (12, None)
    assert (after.first, after.number, after.fault) == (10, 14, None)
    assert check_log(expect=head.digest).fault is None
    assert check_log(most=3).fault is None
    assert AuditEntry.objects.order_by("number").values_list("number", flat=True)[0] == 10


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["thing 1", "cut"])
def test_a_changed_archive_is_found(tmp_path: Path, change: str) -> None:
    for number in range(4):
        record(by=None, action="test.change", target=f"thing {number}")
    file = tmp_path / "log.jsonl"
    archive = write_archive(file, number=3)
    with as_owner():
        cut_log(archive, file=file)
    text = file.read_text()
    lines = text.splitlines(keepends=True)
    file.write_text("".join(lines[:-1]) if change == "cut" else text.replace(change, "other"))

    with pytest.raises(CommandError, match=r"Entry 2 was changed|not an archive of this log"):
        call_command("verify_audit", archive=[file], verbosity=0, stdout=StringIO())


@pytest.mark.django_db(transaction=True)
def test_only_archived_entries_go_and_only_by_the_owner(tmp_path: Path) -> None:
    for number in range(3):
        record(by=None, action="test.change", target=f"thing {number}")
    archive = write_archive(tmp_path / "log.jsonl", number=2)
    delete = "DELETE FROM acl_auditentry WHERE number = {}"

    with pytest.raises(Error, match="permission denied"), connection.cursor() as cursor:
        cursor.execute(delete.format(1))
    with as_owner(), connection.cursor() as cursor:
        with pytest.raises(Error, match="append-only"):
            cursor.execute(delete.format(1))
        with pytest.raises(Error, match="no such end"):
            AuditArchive.objects.create(number=2, digest="0" * 64, file="x", checksum="")
        cut_log(archive, file=tmp_path / "log.jsonl")
        with pytest.raises(Error, match="append-only"):
            cursor.execute(delete.format(3))

    assert check_log().fault is None


@pytest.mark.django_db(transaction=True)
def test_the_command_archives_what_is_older_than_a_day(tmp_path: Path) -> None:
    record(by=None, action="test.change", target="thing")
    tomorrow = (database_now() + timedelta(days=1)).date()
    out = StringIO()

    call_command("archive_audit", tmp_path / "log.jsonl", before=tomorrow, stdout=out)

    assert "entries 1 to 1, sound. 1 were deleted" in out.getvalue()
    assert check_log().fault is None
    with pytest.raises(CommandError, match="PEGBOARD_AUDIT_DAYS keeps all"):
        call_command("archive_audit", tmp_path / "other.jsonl")
    with pytest.raises(CommandError, match="No entry is that old"):
        call_command("archive_audit", tmp_path / "other.jsonl", before=date(2020, 1, 1))


SOON = timedelta(minutes=30)


@pytest.mark.parametrize("hours", [-1, 1])
def test_ends_are_by_the_databases_clock(people: People, hours: int) -> None:
    root = UserFactory.create(username="root", is_superuser=True, is_staff=True)
    good, over = new_key(people.support), new_key(people.support)
    first, second = ApiKey.objects.order_by("pk")
    ApiKey.objects.filter(pk=first.pk).update(expires_at=Now() + SOON)
    ApiKey.objects.filter(pk=second.pk).update(expires_at=Now() - SOON)
    capability = CapabilityFactory.create()
    give(capability.integration, people.support)
    calls = [waiting_call(people.alice, people.support, capability, text) for text in "ab"]
    Call.objects.filter(pk=calls[0].pk).update(expires_at=Now() + SOON)
    Call.objects.filter(pk=calls[1].pk).update(expires_at=Now() - SOON)

    with time_machine.travel(timezone.now() + timedelta(hours=hours)):
        successor, _ = rotate_key(by=root, key=first, lifetime=timedelta(days=1))
        invitation, _ = invite_person(by=root, email="eve@example.com", groups=[people.support])

        assert [_status(raw) for raw in (good, over)] == [200, 401]
        approve_call(by=root, call=calls[0], digest=digest_of(calls[0]))
        with pytest.raises(CannotDecideError):
            approve_call(by=root, call=calls[1], digest=digest_of(calls[1]))

    ends = [successor.expires_at, Invitation.objects.get(pk=invitation.pk).expires_at]
    left = [end - database_now() for end in ends if end is not None]
    assert timedelta(hours=23, minutes=30) < left[0] < timedelta(hours=24, minutes=30)
    assert timedelta(days=6, hours=23, minutes=30) < left[1] < timedelta(days=7, minutes=30)


def _status(raw: str) -> int:
    body = {"message": "hello", "user": "alice"}
    return client_with(raw).post("/api/v1/select", body, "application/json").status_code
