"""Types of texts that have passed the gate, for whatever shows them to a model.

A text of a definition is a plain `str` until the gate has let its row in. Rows that `usable`
returns are reviewed: they are approved, and the database quarantines a row whose texts were changed
past the gate. So only what reads such rows, and our own wording, makes these; to pass anything else
to rendering is a type error.
"""

from typing import Any, NewType

from catalog.formats.descriptors import JSONObject

ReviewedText = NewType("ReviewedText", str)
ReviewedSchema = NewType("ReviewedSchema", dict[str, Any])


def own_words(text: str) -> ReviewedText:
    """Mark a text that is written in our own code."""
    return ReviewedText(text)


def own_schema(schema: JSONObject) -> ReviewedSchema:
    """Mark a schema that is written in our own code."""
    return ReviewedSchema(schema)
