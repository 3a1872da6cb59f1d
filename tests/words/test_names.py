"""Names are read once: the classifier of effects and the guard on flows see the same words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.effects.classifier import assess
from catalog.formats.descriptors import Descriptor
from catalog.words.names import argument_words, singular, tool_words
from discovery.flow_guard._argument_roles import creates_something
from discovery.flow_guard.tool_facts import ToolFacts

OPERATION = st.sampled_from(["create_event", "createEvent", "create-event", "CreateEvent"])
PATH = st.lists(
    st.from_regex(re.compile(r"[a-z][a-z0-9]{0,8}"), fullmatch=True).filter(
        lambda part: tool_words(f"{part}.x") != ("x",)
    ),
    max_size=4,
)
SEPARATOR = st.sampled_from([".", "/", ":"])


@given(path=PATH, separator=SEPARATOR, operation=OPERATION)
def test_path_before_an_operation_hides_it_from_nobody(
    path: list[str], separator: str, operation: str
) -> None:
    name = separator.join([*path, operation])

    assert tool_words(name)[:2] == ("create", "event")
    assert creates_something(tool_words(name))
    verb = ToolFacts(name, "write").verb
    assert verb is not None
    assert verb.base == "create"
    assert assess(_tool(name)).effect == "write"


def _tool(name: str) -> Descriptor:
    return Descriptor(
        identifier="x",
        kind="tool",
        integration="x",
        action=name,
        full_name=name,
        display_name=name,
        description="",
        category="other",
    )


@given(st.text(max_size=300))
def test_any_name_has_words_in_lower_case(name: str) -> None:
    assert all(word == word.lower() for word in argument_words(name))
    assert all(word and not set(word) & set("._-/: ") for word in tool_words(name))


@pytest.mark.parametrize(
    ("plural", "noun"),
    [("companies", "company"), ("status", "status"), ("ids", "ids"), ("files", "file")],
)
def test_singular(plural: str, noun: str) -> None:
    assert singular(plural) == noun
