"""Deliveries: who is told what, once, how it is signed, repeated and given up."""

import json
from datetime import timedelta

import pytest
import yaml
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core import mail
from django.utils import timezone
from pytest_django import Settings

from acl.models import AccessRequest
from acl.platform.task_names import DELIVER_MAIL, DELIVER_NOTIFICATION
from acl.rights.access_requests import decline_request
from catalog.models import Capability, Integration
from catalog.servers.secrets.sealed_values import rotate_secrets, unseal
from discovery.calls.approvals import approve_call
from discovery.calls.arguments import digest_of
from discovery.models import Call, OutcomeAlert
from marketplace.config.celery import app
from marketplace.management.commands import up
from marketplace.models import NotificationChannel, NotificationDelivery
from marketplace.notifications import tasks
from marketplace.notifications.channels import NewChannel, add_channel, send_test, signed_headers
from marketplace.notifications.deliveries import (
    AT_ONCE,
    BACK_OFF,
    add_deliveries,
    claim_due,
    deliver_mails,
    is_mail_due,
)
from marketplace.notifications.tasks import deliver
from marketplace.operate.secret_broker import may_open
from tests.factories import GroupFactory, IntegrationFactory, UserFactory, give, waiting_call
from tests.notifications.conftest import Receiver
from tests.ports import free_port

pytestmark = pytest.mark.django_db
ALL = ["approvals", "requests", "failures", "alerts", "reviews"]
SECRET = "Dear Ms Abebe, the code is 4711"


def add(by: User, **values: object) -> NotificationChannel:
    whole = {"kind": "webhook", "topics": ALL, "origin": "https://pegboard.example/", **values}
    channel, _ = add_channel(by=by, values=NewChannel(**whole))  # type: ignore[arg-type]
    return channel


def send_all() -> None:
    add_deliveries()
    for key in claim_due():
        deliver(key)
    while is_mail_due():
        deliver_mails()


def titles(channel: NotificationChannel) -> list[str]:
    return sorted(row.content["title"] for row in channel.deliveries.all())


def test_signature_is_that_of_the_specifications_example() -> None:
    headers = signed_headers(
        secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        at=1614265330,
        body=b'{"test": 2432232314}',
    )

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_call_is_told_once_without_its_arguments_and_signed(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    wanted = NewChannel("webhook", ALL, "https://pegboard.example/", address=receiver.url)
    channel, secret = add_channel(by=admin, values=wanted)
    call = waiting_call(alice, support, gmail, SECRET)

    send_all()
    send_all()

    (body,), (headers,) = receiver.bodies, receiver.headers
    told = json.loads(body)
    assert told["type"] == "pegboard.approvals"
    assert told["data"]["url"] == f"https://pegboard.example/approvals/{call.pk}/"
    assert SECRET not in body.decode()
    assert SECRET not in str(channel.deliveries.values())
    expected = signed_headers(
        secret=secret,
        message_id=headers["webhook-id"],
        at=int(headers["webhook-timestamp"]),
        body=body,
    )
    assert headers["webhook-signature"] == expected["webhook-signature"]
    assert channel.deliveries.get().state == "delivered"


def test_arguments_go_along_only_where_an_admin_said_so(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    add(admin, address=receiver.url, kind="slack", with_arguments=True)
    own = add(alice, owner=alice, address=receiver.url, with_arguments=True, topics=["answers"])
    waiting_call(alice, support, gmail, SECRET)

    send_all()

    assert SECRET in receiver.bodies[0].decode()
    assert not own.with_arguments
    assert SECRET not in str(NotificationDelivery.objects.values())


def test_groups_channels_are_told_of_their_group_only(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    other = GroupFactory.create(name="Finance")
    mine, theirs, everyones = (
        add(admin, address=receiver.url, group=group) for group in (support, other, None)
    )
    waiting_call(alice, support, gmail, "x")
    AccessRequest.objects.create(user=alice, group=support, wish="Fly")
    slack = IntegrationFactory.create(
        slug="slack", title="Slack", connection="failing", failing_since=timezone.now()
    )
    give(slack, support)
    common = {"severity": "warning", "reason": "low", "threshold": 0.5, "value": 0.2, "samples": 9}
    OutcomeAlert.objects.create(scope="g", group=other, at=timezone.now(), **common)

    add_deliveries()

    assert titles(mine) == [
        "A call of gmail__send_email waits for approval",
        "Slack is failing",
        "alice requests access in Support",
    ]
    assert titles(theirs) == ["The outcomes in Finance are below the threshold"]
    assert len(titles(everyones)) == 4


def test_people_are_told_what_they_may_decide_and_members_only_their_answers(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    second = User.objects.create_superuser("second")
    topics = [*ALL, "answers"]
    of_admin, of_alice = (
        add(person, owner=person, address=receiver.url, topics=topics) for person in (admin, alice)
    )
    call = waiting_call(alice, support, gmail, "x")
    waiting_call(admin, support, gmail, "own")
    wish = AccessRequest.objects.create(user=alice, group=support, wish="Fly")
    add_deliveries()
    before = titles(of_admin), titles(of_alice)
    approve_call(by=second, call=call, digest=digest_of(call))
    decline_request(by=second, request=wish, note="No wings.")

    add_deliveries()

    approval = "A call of gmail__send_email waits for approval"
    assert before == ([approval, "alice requests access in Support"], [])
    assert titles(of_alice) == ["A call of yours was approved", "Your request was declined"]


def test_whoever_is_no_admin_any_more_is_told_nothing_that_was_queued(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    channel = add(admin, owner=admin, address=receiver.url)
    waiting_call(alice, support, gmail, "x")
    add_deliveries()
    User.objects.filter(pk=admin.pk).update(is_staff=False)

    send_all()

    assert receiver.bodies == []
    assert channel.deliveries.get().state == "dropped"


def test_a_call_that_was_decided_meanwhile_is_not_told(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    channel = add(admin, address=receiver.url)
    call = waiting_call(alice, support, gmail, "x")
    add_deliveries()
    Call.objects.filter(pk=call.pk).update(state="cancelled", ended_at=timezone.now())

    send_all()

    assert receiver.bodies == []
    assert channel.deliveries.get().message == "The call was decided before it was told."


def test_failures_are_repeated_later_and_given_up(admin: User, receiver: Receiver) -> None:
    receiver.status = 503
    channel = add(admin, address=receiver.url)
    IntegrationFactory.create(slug="slack", failing_since=timezone.now(), connection="failing")
    waits = []

    for _ in range(len(BACK_OFF) + 2):
        send_all()
        row = channel.deliveries.get()
        waits.append(row.due_at - timezone.now())
        NotificationDelivery.objects.update(due_at=timezone.now() - timedelta(seconds=1))

    assert (row.state, row.status, row.attempts) == ("failed", 503, len(BACK_OFF) + 1)
    assert row.message == "The address answered with status 503."
    assert waits[0] < timedelta(seconds=11) < timedelta(seconds=50) < waits[1]
    assert len({headers["webhook-id"] for headers in receiver.headers}) == 1


def test_a_receiver_that_wants_no_more_pauses_its_channel(admin: User, receiver: Receiver) -> None:
    receiver.status = 410
    channel = add(admin, address=receiver.url)
    send_test(channel=channel)

    send_all()

    channel.refresh_from_db()
    assert channel.paused
    assert channel.deliveries.get().state == "failed"


def test_the_guarded_door_refuses_private_addresses(
    admin: User, receiver: Receiver, settings: Settings
) -> None:
    channel = add(admin, address=receiver.url)
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = []
    send_test(channel=channel)

    send_all()

    assert receiver.bodies == []
    assert channel.deliveries.get().state == "failed"


def test_one_channel_takes_few_places_at_a_time(admin: User, receiver: Receiver) -> None:
    channel, other = (add(admin, address=receiver.url) for _ in range(2))
    for _ in range(AT_ONCE + 3):
        send_test(channel=channel)
    send_test(channel=other)

    claimed = claim_due()

    assert len(claimed) == AT_ONCE + 1
    assert len(claim_due()) == 3


def test_mail_is_sent_to_the_owner_with_a_link_and_never_claimed_without_a_server(
    admin: User, alice: User, support: Group, gmail: Capability, settings: Settings
) -> None:
    channel = add(admin, kind="mail", owner=admin)
    call = waiting_call(alice, support, gmail, SECRET)
    send_all()
    (sent,) = mail.outbox
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    send_test(channel=channel)
    send_all()

    assert sent.to == ["root@example.com"]
    assert f"https://pegboard.example/approvals/{call.pk}/" in sent.body
    assert SECRET not in sent.body
    test = channel.deliveries.get(topic="test")
    assert test.state == "failed"
    assert "no mail was sent" in test.message


def test_mail_goes_to_the_process_that_knows_the_mail_server(
    admin: User, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels = [add(admin, address=receiver.url), add(admin, kind="mail", owner=admin)]
    hook, letter = (send_test(channel=channel).pk for channel in channels)
    sent: dict[str, list[list[int]]] = {}
    monkeypatch.setattr(tasks, "send_each", lambda task, calls: sent.update({task: list(calls)}))

    tasks.notify()
    deliver(letter)  # as an earlier release had queued it

    assert sent == {DELIVER_NOTIFICATION: [[hook]], DELIVER_MAIL: [[]]}
    assert (mail.outbox, NotificationDelivery.objects.get(pk=letter).attempts) == ([], 0)
    queues = [app.amqp.router.route({}, task)["queue"].name for task in sent]
    assert queues == ["servers", "celery"]


def test_one_attempt_shows_that_the_mail_server_is_away(admin: User, settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    for channel in (add(admin, kind="mail", owner=admin), add(admin, kind="mail", owner=admin)):
        for _ in range(AT_ONCE):
            send_test(channel=channel)

    deliver_mails()
    deliver_mails()

    rows = NotificationDelivery.objects.filter(channel__kind="mail")
    assert sorted(rows.values_list("attempts", flat=True)) == [0] * (2 * AT_ONCE - 1) + [1]
    waiting = rows.filter(state="pending", due_at__lte=timezone.now() + timedelta(minutes=2))
    assert (waiting.count(), is_mail_due()) == (2 * AT_ONCE - 1, False)


def test_only_processes_that_read_the_other_queue_know_the_mail_server() -> None:
    compose = yaml.safe_load((settings.BASE_DIR / "docker/compose.outgoing.yaml").read_text())
    services = compose["services"].items()
    knowing = {name for name, one in services if "PEGBOARD_EMAIL_URL" in one["environment"]}

    assert knowing == {"web", "worker"}
    assert "PEGBOARD_EMAIL_URL" in up._WEB_VARIABLES  # what connections do not get


def test_words_of_strangers_are_plain_text(
    admin: User, alice: User, support: Group, receiver: Receiver
) -> None:
    add(admin, kind="slack", address=receiver.url)
    add(admin, kind="teams", address=receiver.url)
    UserFactory.create(username="<!channel>", groups=[support])
    hostile = "<!channel> [click](https://evil.example) *now*"
    evil = User.objects.get(username="<!channel>")
    AccessRequest.objects.create(user=evil, group=support, wish=hostile)

    send_all()

    slack, teams = sorted(map(json.loads, receiver.bodies), key=lambda one: "blocks" not in one)
    assert "<!channel>" not in slack["text"]
    assert slack["blocks"][0]["text"]["type"] == "plain_text"
    (block,) = teams["attachments"][0]["content"]["body"]
    assert block["type"] == "RichTextBlock"
    assert hostile in block["inlines"][1]["text"]


def test_the_broker_opens_an_address_only_while_something_is_sent(
    admin: User, receiver: Receiver
) -> None:
    channel = add(admin, address=receiver.url)
    before = may_open(channel.address_purpose)
    row = send_test(channel=channel)
    NotificationDelivery.objects.filter(pk=row.pk).update(attempts=1)
    during = may_open(channel.address_purpose), may_open(channel.secret_purpose)
    deliver(row.pk)

    assert not before
    assert during == (True, True)
    assert not may_open(channel.address_purpose)
    assert not may_open(f"channel/{channel.pk}/other")


def test_addresses_are_sealed_and_sealed_anew(admin: User, receiver: Receiver) -> None:
    channel = add(admin, address=receiver.url)
    before = bytes(channel.sealed_address)

    report = rotate_secrets()

    channel.refresh_from_db()
    assert b"hush" not in before
    assert report.sealed == 2
    assert bytes(channel.sealed_address) != before
    assert unseal(bytes(channel.sealed_address), purpose=channel.address_purpose) == receiver.url


def test_events_before_the_channel_are_old_news(
    admin: User, alice: User, support: Group, gmail: Capability, receiver: Receiver
) -> None:
    waiting_call(alice, support, gmail, "x")
    add(admin, address=receiver.url)

    assert add_deliveries() == 0
    assert Integration.objects.exists()
