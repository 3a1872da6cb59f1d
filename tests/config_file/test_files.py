"""The file's text: what is read, what is refused, and where."""

import pytest

from marketplace.config_file.text import ConfigurationRefused, read_document, write_document


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("pegboard: 2", "line 1: pegboard: input should be 1"),
        ("groups: []", "line 1: pegboard: is missing"),
        ("pegboard: 1\ngruops: []", "line 2: gruops: is no field of the file"),
        ("pegboard: 1\ngroups:\n  - default: open", "line 3: groups[0].name: is missing"),
        (
            "pegboard: 1\ngroups:\n  - name: a\n    name: b",
            "line 4: groups[0].name: is there twice",
        ),
        ("pegboard: 1\ngroups: &a []", "line 2: anchors and aliases are not used here"),
        ("pegboard: 1\ngroups: !!python/tuple []", "line 2: tags are not used here"),
        ("pegboard: 1\ngroups: " + "[" * 40 + "]" * 40, "line 2: the file is nested too deeply"),
        ("pegboard: 1\ngroups: [", "line 3: is not valid YAML"),
        ("pegboard: 1\n? [a]\n: b", "line 2: has a key that is no word"),
        (
            "pegboard: 1\nintegrations:\n  - {slug: a__b, kind: mcp, title: A}",
            "line 3: integrations[0].slug: is not a slug",
        ),
        (
            "pegboard: 1\nintegrations:\n  - {slug: mcp, kind: mcp, title: A}",
            "line 3: integrations[0].slug: is a name of Pegboard's own",
        ),
        (
            "pegboard: 1\nintegrations:\n  - {slug: a, kind: mcp, title: A, command: [npx]}",
            "line 3: integrations[0]: a command needs transport: stdio",
        ),
        (
            "pegboard: 1\ngroups:\n  - name: a\n    rules:\n      - {space: root, effect: deny}",
            "line 5: groups[0].rules[0]: needs either integration or tool",
        ),
        ('pegboard: 1\ngroups:\n  - name: "a\\u0000"', "groups[0].name: has control characters"),
        ("pegboard: 1\ngroups:\n  - name: 5", "groups[0].name: input should be a valid string"),
    ],
)
def test_an_unusable_file_is_refused_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ConfigurationRefused) as refused:
        read_document(text)

    assert told in str(refused.value)


NAMES = ["no", "on", "012", "09", "1:30", "0x1F", "~", "null", "1e3", "=", "<<"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(name: str) -> None:
    text = write_document({"groups": [{"name": name}]})

    assert read_document(text).document.groups[0].name == name  # type: ignore[index]


def test_unquoted_words_are_words() -> None:
    text = "pegboard: 1\ngroups:\n  - name: no\n  - name: on\n  - name: 1:30\n"

    groups = read_document(text).document.groups or []

    assert [group.name for group in groups] == ["no", "on", "1:30"]
