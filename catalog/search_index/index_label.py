"""Versions in SQL of everything that an index is built from."""

from typing import NamedTuple

from catalog.access.usable_ids import VERSION_SQL

# xmin distinguishes states with the same numbers, as in `VERSION_SQL`.
_COUNTERS_SQL = (
    "SELECT string_agg(concat_ws('-', id, number, xmin), ',' ORDER BY id) FROM catalog_indexversion"
)
# Columns that make an `IndexLabel`; empty where nothing was counted yet.
LABEL_SQL = f"COALESCE(({VERSION_SQL}), ''), COALESCE(({_COUNTERS_SQL}), '')"
# The comparison with a label, by the parameters `catalog_version` and `index_version`.
IS_CURRENT_SQL = (
    f"(COALESCE(({VERSION_SQL}), ''), COALESCE(({_COUNTERS_SQL}), ''))"
    " = (%(catalog_version)s::text, %(index_version)s::text)"
)


class IndexLabel(NamedTuple):
    """The versions of the catalogue, and of its vectors, words and relations."""

    catalog_version: str
    index_version: str

    @property
    def is_counted(self) -> bool:
        """Return True if changes are counted: not in a scratch catalogue, which has no triggers."""
        return bool(self.catalog_version and self.index_version)
