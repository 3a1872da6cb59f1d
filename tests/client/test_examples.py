"""The examples of `docs/examples` against a real Pegboard and a stand-in provider."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from catalog.models import Capability
from discovery.models import Call, Turn
from tests.access.people import People
from tests.client.conftest import meanwhile_approved

if TYPE_CHECKING:
    from tests.client.providers import StandIn

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
Chat = Callable[[str], str]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    # Imported here: loading SDKs takes seconds, which other test processes are spared.
    from tests.client.providers import stand_in

    with stand_in() as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.address)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("CHAT_MODEL", "stand-in")
        yield provider


@pytest.fixture(params=["anthropic", "openai"])
def chat(
    request: pytest.FixtureRequest,
    provider: StandIn,
    key: str,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Chat:
    """Run the example as a user would for alice; return its output."""
    monkeypatch.setenv("PEGBOARD_URL", live_server.url)
    monkeypatch.setenv("PEGBOARD_KEY", key)
    main = runpy.run_path(str(EXAMPLES / f"chat_{request.param}.py"), run_name="example")["main"]

    def run(message: str) -> str:
        capsys.readouterr()
        main([message, "--user", "alice", "--patience", "60"])
        return capsys.readouterr().out.splitlines()[-1]

    return run


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_worker")
def test_chat_from_plan_to_outcome(
    people: People,
    root: User,
    notes: Capability,
    ledger: Capability,
    provider: StandIn,
    chat: Chat,
) -> None:
    provider.wishes = [("notes__echo", {"words": 1}), ("notes__echo", {"text": "hello"})]
    said = [chat("write a line to notes__echo")]
    provider.wishes = [("ledger__echo", {"text": "a sum"})]
    said += [meanwhile_approved(root, lambda: chat("write a line to ledger__echo"))]
    provider.wishes = [("notes__echo", {"text": "again"})]
    said += [chat("zyx qwv")]  # matches nothing: everything is offered

    turns = Turn.objects.order_by("created_at").select_related("outcome")
    calls = Call.objects.order_by("created_at")
    assert said == [
        "Done. The tool says: 1: hello",
        "Done. The tool says: 1: a sum",
        "Done. The tool says: 2: again",
    ]
    assert {(turn.state, turn.outcome.status, turn.user) for turn in turns} == {
        ("completed", "success", people.alice)
    }
    assert [bool(turn.recovered_at) for turn in turns] == [False, False, True]
    assert [(call.full_name, call.turn_id, call.needs_approval) for call in calls] == [
        ("notes__echo", turns[0].pk, False),
        ("ledger__echo", turns[1].pk, True),
        ("notes__echo", turns[2].pk, False),
    ]
    assert {call.state for call in calls} == {Call.State.COMPLETED}
    assert calls[1].decided_by == root
    assert len(provider.asked) == 3 + 2 + 2  # wrong arguments were returned to the model


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_worker", "notes")
def test_turn_that_breaks_is_told_as_failed(provider: StandIn, chat: Chat) -> None:
    provider.wishes = [("payroll__pay", {})]

    with pytest.raises(Exception, match="payroll__pay was not offered"):
        chat("write a line to notes__echo")

    assert Turn.objects.get().outcome.status == "failed"
