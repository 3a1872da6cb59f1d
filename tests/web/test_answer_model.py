"""Answers as dataclasses: what is written, and how OpenAPI describes it."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from acl.platform.answer_model import HIDDEN, SPREAD, Answer, Shown, fields_of, write_answer
from acl.web.answer_serializer import page_serializer, serializer_for
from discovery.answer.selection import SelectAnswer
from discovery.select._candidate_rows import Candidate, row_reader
from discovery.select.selection import Selected


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool."""

    secret: str
    name: Annotated[str, Shown("Its name.", name="full_name")]
    text: Annotated[str, Shown(parts=frozenset({"long"}))] = "word"


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """A tool among others."""

    tool: Annotated[Tool, SPREAD]
    others: tuple[Tool, ...]
    best: Tool | None
    hint: Annotated[str, Shown(optional=True)]


def test_only_fields_that_are_shown_are_written() -> None:
    tool = Tool("hidden", "gmail__send")

    answer = write_answer(Found(tool, (tool,), None, hint=""))

    assert answer == {
        "full_name": "gmail__send",
        "others": [{"full_name": "gmail__send"}],
        "best": None,
    }


def test_part_is_written_where_it_is_wanted() -> None:
    answer = write_answer(Tool("hidden", "gmail__send"), frozenset({"long"}))

    assert answer == {"full_name": "gmail__send", "text": "word"}


def test_serializer_describes_the_same_fields() -> None:
    described = serializer_for(Found)().fields

    assert list(described) == ["full_name", "text", "others", "best", "hint"]
    assert described["full_name"].help_text == "Its name."
    assert described["best"].allow_null
    assert not described["text"].required
    assert not described["hint"].required


@dataclass(frozen=True, slots=True)
class Share(Answer):
    """A share."""

    component = "PartOfAll"

    part: int
    whole: Annotated[int, HIDDEN]

    @property
    def percent(self) -> Annotated[float, Shown("Of the whole.")]:
        return 100 * self.part / self.whole

    @property
    def unseen(self) -> int:
        return 7


def test_property_with_a_mark_is_answered_and_a_hidden_field_is_not() -> None:
    serializer = serializer_for(Share)

    assert write_answer(Share(1, 4)) == serializer(Share(1, 4)).data == {"part": 1, "percent": 25}
    assert serializer.__name__ == "PartOfAllSerializer"
    assert serializer().fields["percent"].help_text == "Of the whole."


def test_page_has_the_items_and_how_far_they_go() -> None:
    serializer = page_serializer(serializer_for(Share), "Shares", "A page of shares.")
    page = {"items": [Share(1, 2)], "total": 9, "has_more": True, "limit": 1, "offset": 0}

    assert serializer(page).data == {**page, "items": [{"part": 1, "percent": 50}]}
    assert (serializer.__name__, serializer.__doc__) == ("SharesSerializer", "A page of shares.")


@pytest.mark.parametrize("model", [Selected, SelectAnswer])
def test_fields_of_an_answer_are_described_once(model: type) -> None:
    names = [field.name for field in fields_of(model)]

    assert len(names) == len(set(names))
    assert {"pk", "noted", "workings", "needed_by"}.isdisjoint(names)


def test_candidates_are_read_by_the_names_of_columns() -> None:
    columns = ("usable_tokens", "usable", *reversed(Candidate._fields))
    row = (700, 7, *reversed(range(len(Candidate._fields))))

    reader = row_reader(columns)

    assert reader.totals is not None
    assert reader.totals(row) == (7, 700)
    assert reader.candidate(row) == tuple(range(len(Candidate._fields)))
    assert reader.related is None
