"""The answers of select: a selection, and what goes to the model for it.

The fields of a selection itself are in `discovery/select/selection.py`.
"""

import time
from dataclasses import dataclass
from typing import Annotated, Any

from acl.platform.answer_model import SPREAD, Answer, Shown, write_answer
from catalog.capabilities.detail_levels import Detail
from catalog.token_counter import estimate_tokens
from discovery.answer.formats.registry import renamed
from discovery.answer.injection import Injection
from discovery.answer.modes import ModeChoice
from discovery.select.selection import Selected, Selection


@dataclass(frozen=True, slots=True)
class SelectedEntry(Answer):
    """A selected capability and the reasons for it."""

    component = "Selected"

    item: Annotated[Selected, SPREAD]
    tokens: Annotated[int, Shown("Estimated tokens of this entry as it is here.")]


@dataclass(frozen=True, slots=True)
class Tokens(Answer):
    """Estimates: everything the caller may use, what was selected, the difference."""

    all: int
    selected: int
    saved: int
    injected: Annotated[int, Shown("Tokens of `prompt` and `tools` as they are written.")]


@dataclass(frozen=True, slots=True)
class Renamed(Answer):
    """A provider's spelling of a tool's name and arguments, where it has its own."""

    full_name: str
    arguments: Annotated[
        dict[str, str], Shown("The arguments' original names, by their names in `tools`.")
    ]


Renames = Annotated[
    dict[str, Any],
    Shown("What to call, by names in `tools`. Most have no entry.", type=dict[str, Renamed]),
]
SearchResult = Annotated[
    Any,
    Shown(
        "With `defer_loading`: the response to the model's search, in its provider's form.",
        optional=True,
    ),
]
Timings = Annotated[dict[str, float], Shown("Milliseconds by phase.")]


@dataclass(frozen=True, slots=True)
class SelectionAnswer(Answer):
    """The answer to a message."""

    component = "Selection"

    selected: Annotated[list[dict[str, Any]], Shown(type=list[SelectedEntry])]
    selection: Annotated[Selection, SPREAD]
    tokens: Tokens
    prompt: str
    tools: list[dict[str, Any]] | None
    renamed: Renames
    timings: Timings


@dataclass(frozen=True, slots=True)
class SelectAnswer(Answer):
    """The answer to a message, in the requested mode."""

    component = "SelectionInMode"

    answer: Annotated[SelectionAnswer, SPREAD]
    mode: ModeChoice
    search_result: SearchResult


def answer_selection(
    selection: Selection,
    *,
    injection: Injection,
    provider: str,
    detail: Detail,
    explain: bool,
    started: float | None = None,
) -> SelectionAnswer:
    """Build the answer to a message; `injection` is what goes to the model.

    The time that writing took is part of the timings, since `started` where that began before.
    """
    started = started or time.perf_counter()
    parts = frozenset({detail, "explain"} if explain else {detail})
    rendering = (time.perf_counter() - started) * 1000
    timings = dict(selection.timings)
    for part in ("rendering", "total"):
        timings[part] = timings.get(part, 0.0) + rendering
    return SelectionAnswer(
        selected=[_entry(item, parts) for item in selection.selected],
        selection=selection,
        tokens=_tokens(selection, injection),
        prompt=injection.prompt,
        tools=injection.written,
        renamed=renamed(injection.tools, provider),
        timings={part: round(milliseconds, 3) for part, milliseconds in timings.items()},
    )


def _entry(item: Selected, parts: frozenset[str]) -> dict[str, Any]:
    body = write_answer(item, parts)
    body["tokens"] = estimate_tokens(body)
    return body


def _tokens(selection: Selection, injection: Injection) -> Tokens:
    """Count what was selected, or everything that goes to the model in its place."""
    is_selection = injection.choice.mode == "selected"
    after = selection.tokens_selected if is_selection else injection.tokens
    return Tokens(
        all=selection.tokens_all,
        selected=after,
        saved=max(0, selection.tokens_all - after),
        injected=injection.tokens,
    )
