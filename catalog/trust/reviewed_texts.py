"""Types for texts that passed the gate, required by everything that shows them to a model.

Definitions' texts are plain `str` until the gate admits their row. Rows returned by `usable` are
reviewed: they are approved, and the database quarantines a row edited past the gate. Only readers
of such rows, and constants, create these types; passing anything else to rendering is a type error.
"""

from typing import Any, NewType

from catalog.formats.descriptors import JSONObject

ReviewedText = NewType("ReviewedText", str)
ReviewedSchema = NewType("ReviewedSchema", dict[str, Any])


def trust_own_text(text: str) -> ReviewedText:
    """Mark a constant text."""
    return ReviewedText(text)


def trust_own_schema(schema: JSONObject) -> ReviewedSchema:
    """Mark a constant schema."""
    return ReviewedSchema(schema)
