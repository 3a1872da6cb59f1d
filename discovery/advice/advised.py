"""Selections with the advice of an operator's chat model.

The answer without advice is always ready: it is made first. What comes in time, steps and then an
order, is used for a second one, which finds and shows nothing that the caller may not use.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings
from django.utils.translation import gettext as _

from discovery.advice.policies import policy_for
from discovery.advice.questions import (
    AdviceQuestion,
    ask,
    order_question,
    plan_question,
    read_order,
    read_texts,
)
from discovery.models import AdvicePolicy
from discovery.select.selection import ModelAdvice, Selection, SelectRequest
from discovery.select.selector import select_capabilities

_ADVISABLE = {"fits", "nothing_fits"}


def select_advised(request: SelectRequest) -> Selection:
    """Select, with advice where the caller's group has some: one statement more to find out."""
    started = time.perf_counter()
    selection = select_capabilities(request)
    if not settings.PEGBOARD_ADVICE or selection.fit not in _ADVISABLE:
        return selection
    policy = policy_for(request.caller)
    if policy is None:
        return selection
    if policy.used_today >= policy.daily_tokens:
        return _without(selection, _("Today's tokens for advice are used up."))
    advisor = _Advisor(policy, request.message)
    steps = advisor.steps()
    if policy.orders or steps:
        advised = replace(request, steps=steps)
        selection = select_capabilities(advised, order=advisor.order if policy.orders else None)
    spent = (time.perf_counter() - started) * 1000
    timings = selection.timings | {"advice": advisor.waited * 1000, "total": spent}
    advice = ModelAdvice(model=policy.model.name, steps=steps, ordered=advisor.has_ordered)
    selection = replace(selection, timings=timings, advice=advice)
    if advisor.is_missed:
        return _without(selection, _("The chat model gave no advice in time."))
    return selection


def _without(selection: Selection, note: str) -> Selection:
    return replace(selection, degraded=(*selection.degraded, note))


@dataclass(slots=True)
class _Advisor:
    """The model of a policy, asked about one message within the policy's time."""

    policy: AdvicePolicy
    message: str
    waited: float = 0.0  # seconds
    is_missed: bool = False
    has_ordered: bool = False
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.policy.milliseconds / 1000

    def steps(self) -> tuple[str, ...]:
        if not self.policy.plans:
            return ()
        steps = read_texts(self._ask(plan_question(self.message)) or "")
        return steps if len(steps) > 1 else ()  # one step is the message itself

    def order(self, tools: Sequence[tuple[str, str]]) -> tuple[int, ...]:
        """Return the places of the tools that the model puts first."""
        places = read_order(self._ask(order_question(self.message, tools)) or "", len(tools))
        self.has_ordered = bool(places)
        return places

    def _ask(self, question: AdviceQuestion) -> str | None:
        began = time.monotonic()
        answer = ask(self.policy, question, until=self.until)
        self.waited += time.monotonic() - began
        self.is_missed = self.is_missed or answer is None
        return answer
