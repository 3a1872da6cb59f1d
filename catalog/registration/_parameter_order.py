"""The order of parameters of stored rows, where it is all that differs from their source.

Digests ignore it, so that a source that only reorders its keys causes no review. Rows of earlier
releases have the order of jsonb until their source is read again.
"""

import json
from collections.abc import Iterable

from django.db import connection

from catalog.formats.descriptors import Descriptor, JSONObject
from catalog.locks import lock_catalog
from catalog.registration._derived_columns import summarize_parameters

# Only rows that differ in nothing else: one that was edited past the gate stays as it is.
_FIND = """
SELECT c.id, given.place FROM catalog_capability c
JOIN unnest(%s::int[], %s::text[], %s::text[], %s::text[], %s::text[])
  AS given (place, identifier, definition_hash, input, output)
  ON given.identifier = c.identifier AND given.definition_hash = c.definition_hash
WHERE (c.input_schema::text, c.output_schema::text) IS DISTINCT FROM (given.input, given.output)
  AND (c.input_schema::jsonb::text, c.output_schema::jsonb::text)
    IS NOT DISTINCT FROM (given.input::jsonb::text, given.output::jsonb::text)
ORDER BY c.id
"""
_RESTORE = """
UPDATE catalog_capability c
SET input_schema = given.input, output_schema = given.output, parameters_summary = given.summary
FROM unnest(%s::bigint[], %s::json[], %s::json[], %s::text[]) AS given (id, input, output, summary)
WHERE c.id = given.id
"""


def restore_order(descriptors: Iterable[Descriptor]) -> int:
    """Write the schemas of stored, otherwise equal definitions in their source's order.

    Nothing is reviewed or embedded again. Return the number of rows written.
    """
    with_schemas = [item for item in descriptors if item.input_schema or item.output_schema]
    schemas = [
        (_as_stored(item.input_schema), _as_stored(item.output_schema)) for item in with_schemas
    ]
    inputs, outputs = [item for item, _ in schemas], [item for _, item in schemas]
    names, hashes = (
        [item.identifier for item in with_schemas],
        [item.definition_hash for item in with_schemas],
    )
    with connection.cursor() as cursor:
        cursor.execute(_FIND, [list(range(len(with_schemas))), names, hashes, inputs, outputs])
        rows = cursor.fetchall()
    if not rows:
        return 0
    lock_catalog()
    places = [place for _, place in rows]
    summaries = [summarize_parameters(with_schemas[place].input_schema) for place in places]
    some = [[column[place] for place in places] for column in (inputs, outputs)]
    with connection.cursor() as cursor:
        cursor.execute(_RESTORE, [[key for key, _ in rows], *some, summaries])
    return len(rows)


def _as_stored(schema: JSONObject | None) -> str | None:
    """Serialize a schema as `OrderedJSONField` does."""
    return None if schema is None else json.dumps(schema)
