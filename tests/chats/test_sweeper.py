"""The sweeper of chats: lost requests, and chats that are old."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from discovery.chats.tasks import sweep
from discovery.models import Call, Chat, ChatMessage, ModelRequest
from marketplace.operate.retention.terms import apply_terms
from tests.chats.conftest import Bench
from tests.chats.fake_models import Say

LONG_AGO = Now() - timedelta(days=40)


def test_a_request_whose_worker_died_is_sent_once_more(bench: Bench) -> None:
    message = bench.say()
    requests = ModelRequest.objects.all()
    requests.update(state="running", attempts=1, sent_at=LONG_AGO)

    sweep()
    again = requests.get().state
    requests.update(state="running", attempts=2, sent_at=LONG_AGO)
    sweep()
    bench.work(message)

    assert again == ModelRequest.State.QUEUED
    assert (message.state, message.reason) == ("failed", "lost")


@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
def test_chats_are_deleted_that_nobody_used_for_long(bench: Bench, used: bool) -> None:
    bench.fake.script = [Say("Dear Sir")]
    bench.work(bench.say())
    Chat.objects.update(created_at=LONG_AGO)
    if not used:
        ChatMessage.objects.update(created_at=LONG_AGO)

    apply_terms()

    assert Chat.objects.exists() == used
    assert not Call.objects.exists()
