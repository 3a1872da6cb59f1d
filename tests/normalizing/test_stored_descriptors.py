"""Descriptors come back from columns and JSON as they were."""

import json

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
