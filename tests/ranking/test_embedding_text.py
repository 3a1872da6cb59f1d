"""The embedded text of a capability."""

from typing import Any

from catalog.embedding.texts import embedding_text, text_without_order
from tests.ranking.conftest import Tool


def test_text_has_name_parameters_description_and_use_cases() -> None:
    schema = {"properties": {"toAddress": {"type": "string"}, "subject": {}}}
    tool = Tool(tags=("mail", "notify"), input_schema=schema, required_tools=("gmail__login",))

    text = embedding_text(tool)

    assert text.splitlines() == [
        "send email (to address, subject): Sends a mail to someone. "
        "[gmail, communication, mail, notify, gmail login]",
        "Sends a mail to someone: send email (to address, subject)",
    ]


def test_text_leaves_out_schemas_content_and_secrets() -> None:
    schema = {"properties": {"key": {"description": "inner words", "default": "s3cret"}}}

    text = embedding_text(Tool(input_schema=schema))

    assert "inner words" not in text
    assert "s3cret" not in text


def test_category_that_was_worked_out_is_not_taken_for_declared() -> None:
    text = embedding_text(Tool(category="messaging", category_inferred=True))

    assert "messaging" not in text


def test_longest_text_stays_concise() -> None:
    schema: dict[str, Any] = {"properties": {f"parameter_{number}": {} for number in range(500)}}
    tool = Tool(
        action="a" * 500,
        description="word " * 5_000,
        tags=("tag",) * 500,
        examples=("word " * 500,) * 50,
        input_schema=schema,
    )

    readings = embedding_text(tool).splitlines()

    assert len(readings) == 10
    assert max(map(len, readings)) < 1_000


def test_what_people_say_is_a_reading_of_its_own() -> None:
    readings = embedding_text(Tool(examples=("write to\nAnna", " "))).splitlines()

    assert readings[2:] == ["write to Anna"]


def test_schema_that_is_no_object_has_no_parameters() -> None:
    text = embedding_text(Tool(input_schema={"properties": ["not", "a", "mapping"]}))

    assert text.startswith("send email:")


def test_text_keeps_the_order_of_parameters_and_its_hash_does_not() -> None:
    names = ("subject", "to", "cc", "été", "body")
    tools = [
        Tool(input_schema={"properties": {key: {} for key in order}})
        for order in (names, names[::-1])
    ]

    assert embedding_text(tools[0]).startswith("send email (subject, to, cc, été, body):")
    (text,) = {text_without_order(each) for each in tools}
    # By length in bytes, then by name: as jsonb returned keys, so that earlier hashes stay valid.
    assert text.startswith("send email (cc, to, body, été, subject):")


def test_hash_covers_the_names_that_a_cut_leaves_out() -> None:
    few: dict[str, dict] = {f"a_long_name_of_parameter_{number}": {} for number in range(10)}

    tools = [Tool(input_schema={"properties": few | {last * 40: {}}}) for last in "xy"]

    assert len({text_without_order(each) for each in tools}) == 2
