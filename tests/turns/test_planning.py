"""Plans: mode, policy, retries, offered tools, and the reasons."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.test import override_settings

from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from discovery.models import Outcome, Turn
from discovery.select.selection import Selection, SelectRequest
from discovery.select.selector import select_capabilities
from discovery.turns._plan import Plan, Wanted, plan_turn
from tests.access.people import People
from tests.turns.conftest import MAIL, NONSENSE, report

Discover = Callable[[SelectRequest], Selection]


class Waited(list[float]):
    """Records the seconds that a plan would have slept."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def plan(
    caller: Caller, message: str = MAIL, *, discover: Discover = select_capabilities, **more: object
) -> tuple[Plan, Waited]:
    waited = Waited()
    wanted = replace(Wanted(SelectRequest(message, caller)), **more)  # type: ignore[arg-type]
    return plan_turn(wanted, discover=discover, sleep=waited), waited


def failing(times: int) -> Discover:
    """Return a selector that fails this often before it answers."""
    left = [None] * times

    def discover(asked: SelectRequest) -> Selection:
        if left:
            left.pop()
            raise RuntimeError("the extension is gone")
        return select_capabilities(asked)

    return discover


def offered(plan: Plan) -> set[str]:
    return {tool.name for tool in plan.injection.tools}


def usable(caller: Caller) -> set[str]:
    return set(Capability.objects.usable_by(caller).values_list("full_name", flat=True))


def test_what_fits_is_offered_by_default(people: People) -> None:
    done, waited = plan(people.caller)

    assert done.selection.selected[0].full_name == "gmail__send_email"
    assert (done.course.mode, done.course.policy) == ("discovered", "fail_open")
    assert (done.state, done.attempts, waited) == ("planned", 1, [])
    assert "What fits the message" in done.decision
    turn = Turn.objects.get(pk=done.turn_id)
    assert (turn.state, turn.mode, turn.plan["decision"]) == (
        "planned",
        "discovered",
        done.decision,
    )
    assert turn.selected[0][0] == "tool:gmail__send_email"


@pytest.mark.parametrize(
    ("message", "failures"), [(NONSENSE, 0), (MAIL, 2)], ids=["finds nothing", "breaks"]
)
def test_failed_discovery_is_tried_again_and_then_everything_is_offered(
    people: People, message: str, failures: int
) -> None:
    done, waited = plan(people.caller, message, discover=failing(failures))

    assert offered(done) == usable(people.caller) == {
        "gmail__search", "gmail__send_email", "wiki__read_page",
    }  # fmt: skip
    assert (done.state, done.attempts, waited) == ("degraded", 2, [0.15])
    [failure, *_] = done.selection.degraded
    assert failure.startswith("Discovery f")
    assert failure in done.decision
    turn = Turn.objects.get(pk=done.turn_id)
    assert (turn.state, turn.mode, turn.selected) == ("degraded", "all", [])
    assert turn.created_at <= turn.executing_at == turn.degraded_at  # type: ignore[operator]


def test_second_try_may_answer(people: People) -> None:
    done, waited = plan(people.caller, discover=failing(1))

    assert (done.state, done.attempts, waited) == ("planned", 2, [0.15])
    assert done.selection.selected


@pytest.mark.parametrize(("retries", "backoff", "waits"), [(0, 150, []), (3, 40, [0.04] * 3)])
def test_retries_and_backoff_are_settings(
    people: People, retries: int, backoff: int, waits: list[float]
) -> None:
    with override_settings(PEGBOARD_PLAN_RETRIES=retries, PEGBOARD_PLAN_BACKOFF_MS=backoff):
        done, waited = plan(people.caller, discover=failing(9))

    assert (waited, done.attempts) == (waits, retries + 1)


@pytest.mark.parametrize(
    ("message", "failures"), [(NONSENSE, 0), (MAIL, 9)], ids=["finds nothing", "breaks"]
)
def test_fail_closed_offers_nothing_and_the_turn_has_failed(
    people: People, message: str, failures: int
) -> None:
    done, _ = plan(people.caller, message, discover=failing(failures), policy="fail_closed")

    assert (done.selection.selected, offered(done), done.offered) == ((), set(), 0)
    assert (done.state, done.course.policy) == ("errored", "fail_closed")
    assert "Nothing." in done.decision
    outcome = Outcome.objects.get(turn=done.turn_id)
    assert (outcome.status, outcome.score, outcome.source) == ("failed", 0.0, "worked_out")


def test_small_talk_needs_nothing_so_finding_nothing_is_right(people: People) -> None:
    done, waited = plan(people.caller, "thank you very much!", policy="fail_closed")

    assert (done.state, done.attempts, waited) == ("planned", 1, [])


def test_who_may_use_nothing_loses_nothing(people: People) -> None:
    people.bob.groups.set([people.finance])
    people.finance.integrationgrouppermission_set.all().delete()

    done, _ = plan(Caller(people.bob.pk, people.finance.pk), NONSENSE)

    assert (done.state, done.offered, offered(done)) == ("planned", 0, set())


def test_whole_answer_without_a_find_is_not_asked_for_twice(people: People) -> None:
    def discover(asked: SelectRequest) -> Selection:
        return replace(select_capabilities(asked), degraded=())

    done, waited = plan(people.caller, NONSENSE, discover=discover)

    assert (done.state, done.attempts, waited) == ("degraded", 1, [])


def test_everything_is_offered_where_the_request_asks_for_it(people: People) -> None:
    done, _ = plan(people.caller, mode="all")

    assert offered(done) == usable(people.caller)
    assert (done.state, done.attempts, done.selection.degraded) == ("planned", 0, ())
    assert Turn.objects.get(pk=done.turn_id).tokens_all > 0

    asked = SelectRequest(MAIL, people.caller, kind="skill")
    none, _ = plan(people.caller, mode="all", asked=asked)
    assert offered(none) == set()


def test_everything_is_written_as_the_budget_allows(people: People) -> None:
    modes = []
    for window in (100_000, 600):
        done, _ = plan(people.caller, mode="all", context_window=window)
        modes.append(done.injection.choice.mode)
        assert done.injection.choice.reason in done.decision

    assert modes == ["direct", "discovery"]


def test_deployment_may_offer_everything_or_close(people: People) -> None:
    with override_settings(PEGBOARD_PLAN_MODE="all", PEGBOARD_PLAN_POLICY="fail_closed"):
        done, _ = plan(people.caller)
        asked_otherwise, _ = plan(people.caller, mode="discovered", policy="fail_open")

    assert (done.course.mode, done.course.policy) == ("all", "fail_closed")
    assert (asked_otherwise.course.mode, asked_otherwise.course.policy) == (
        "discovered",
        "fail_open",
    )


@pytest.mark.parametrize(
    ("adaptive", "pinned", "mode", "policy"),
    [
        ("both", None, "all", "fail_open"),
        ("both", "fail_closed", "all", "fail_closed"),
        ("both", "fail_open", "all", "fail_open"),
        ("all", None, "all", "fail_closed"),
        ("fail_open", None, "discovered", "fail_open"),
        ("off", None, "discovered", "fail_closed"),
    ],
)
@override_settings(PEGBOARD_PLAN_POLICY="fail_closed")
def test_where_turns_go_badly_the_planner_offers_everything(
    people: People, adaptive: str, pinned: str | None, mode: str, policy: str
) -> None:
    for status in ("failed", "failed", "success", "success", "success"):  # 0.6 of five
        report(people, status)

    with override_settings(PEGBOARD_ADAPTIVE=adaptive):
        done, _ = plan(people.caller, policy=pinned)

    assert (done.course.mode, done.course.policy) == (mode, policy)
    adapted = done.course.window is not None
    assert adapted == (adaptive != "off")
    assert ("since the last 5 turns of this space" in done.decision.lower()) == adapted


@pytest.mark.parametrize(
    "statuses",
    [("failed",) * 4, ("failed", "partial", *("success",) * 3)],
    ids=["four samples are too few", "0.7 is enough"],
)
def test_planner_stays_as_it_is_at_the_threshold(people: People, statuses: tuple[str, ...]) -> None:
    for status in statuses:
        report(people, status)

    done, _ = plan(people.caller)

    assert (done.course.mode, done.course.window) == ("discovered", None)


def test_turns_of_another_group_change_nothing_here(people: People) -> None:
    for _ in range(9):
        report(people, "failed", caller=people.stranger)

    done, _ = plan(people.caller)

    assert done.course.mode == "discovered"


@override_settings(PEGBOARD_OUTCOME_SCOPE="global")
def test_figures_of_everyone_are_told_to_nobody(people: People) -> None:
    for _ in range(9):
        report(people, "failed", caller=people.stranger)

    done, _ = plan(people.caller)

    assert done.course.mode == "all"
    assert "turns have gone badly lately" in done.decision
    assert "0.00" not in done.decision
