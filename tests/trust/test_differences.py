"""Displayed differences of a changed definition: marked by words, complete, and bounded."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from catalog.trust.text_differences import LONGEST_TEXT, compare, visible

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def told(pieces: Any, *, marked: bool) -> str:
    return "|".join(piece.text for piece in pieces if piece.marked is marked)


def test_only_the_words_that_differ_are_marked() -> None:
    before = {"description": "Reads a note by its name.", "title": "Read"}

    description, title = compare(before, {**before, "description": "Reads all notes by name."})

    (line,) = description.lines
    assert (description.label, title.is_changed) == ("Description", False)
    assert told(line.before, marked=True) == "a|note|its "
    assert told(line.after, marked=True) == "all|notes"
    assert "".join(piece.text for piece in line.before) == before["description"]


def test_schemas_are_compared_line_by_line() -> None:
    old = {"inputSchema": {"properties": {"a": {"type": "string"}}}}
    new = {"inputSchema": {"properties": {"a": {"type": "integer"}, "b": {}}}}

    (field,) = compare(old, new)

    assert field.folded
    assert [line.kind for line in field.lines if line.kind != "same"] != []
    after = "\n".join("".join(piece.text for piece in line.after) for line in field.lines)
    assert '"type": "integer"' in after
    assert '"b": {}' in after


def test_hidden_characters_are_written_out() -> None:
    assert visible("a\u200bb\x1b[0m\n\U000e0041 é") == "a⟨U+200B⟩b⟨U+001B⟩[0m\n⟨U+E0041⟩ é"


@given(st.dictionaries(st.sampled_from(["description", "annotations", "inputSchema"]), JSON))
def test_whatever_is_compared_is_all_there(definition: dict[str, Any]) -> None:
    for field in compare({}, definition):
        assert all(line.kind == "in" for line in field.lines)
        assert all(
            visible(piece.text) == piece.text for line in field.lines for piece in line.after
        )


def test_endless_texts_are_cut_and_said_to_be() -> None:
    (field,) = compare({"description": "a " * 50_000}, {"description": "b " * 50_000})

    assert field.left_out > 0
    assert sum(len(piece.text) for line in field.lines for piece in line.after) <= LONGEST_TEXT
