"""Descriptors go into columns and JSON, and come back as they were."""

import json
from dataclasses import asdict

from catalog.formats.descriptors import (
    Descriptor,
    EdgeDescriptor,
    IntegrationDescriptor,
    column_values,
    from_columns,
)


def test_capability_comes_back_from_json() -> None:
    one = Descriptor(
        kind="tool",
        integration="mail",
        action="send",
        full_name="mail__send",
        identifier="tool:mail__send",
        display_name="Send",
        description="Sends a mail.",
        category="mail",
        tags=("post",),
        examples=("mail it",),
        input_schema={"required": ["to"]},
        edges=(EdgeDescriptor("mail__search", "REQUIRES", 0.5),),
    )

    assert from_columns(Descriptor, json.loads(json.dumps(column_values(one)))) == one


def test_integration_comes_back_without_fields_that_it_does_not_have() -> None:
    one = IntegrationDescriptor("mail", "mcp", "Mail", command=("npx", "mail"))

    stored = json.loads(json.dumps(column_values(one))) | {"state": "approved"}

    assert from_columns(IntegrationDescriptor, stored) == one
    assert from_columns(IntegrationDescriptor, stored | {"command": None}).command == ()


def test_columns_of_an_integration_have_lists_in_place_of_tuples() -> None:
    descriptor = IntegrationDescriptor(
        slug="clock", kind="mcp", title="Clock", command=("uvx", "clock"), source_ref={"file": "x"}
    )

    values = column_values(descriptor)

    lists = {"command": ["uvx", "clock"], "required_secrets": []}
    assert values == asdict(descriptor) | lists
    assert values["source_ref"] is not descriptor.source_ref


def test_columns_of_a_capability_have_its_relations_as_plain_values() -> None:
    edge = EdgeDescriptor(target="clock.set", type="follows", weight=0.5)
    descriptor = Descriptor(
        kind="tool",
        integration="clock",
        action="get",
        full_name="clock_get",
        identifier="clock.get",
        display_name="Get",
        description="Tell the time.",
        category="time",
        edges=(edge,),
        tags=("time",),
    )

    values = column_values(descriptor)

    assert values["edges"] == [{"target": "clock.set", "type": "follows", "weight": 0.5}]
    assert (values["tags"], values["examples"]) == (["time"], [])
