"""Lookups: tools that find what another tool of their server requires, such as a `contact_id`.

They are read off names alone: `update_contact` requires `contact_id`, and `search_contacts` reads
contacts. So a message that asks to change a contact also gets the tool that finds it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count

from catalog.embedding.texts import split_identifier
from catalog.models import Capability, Edge
from catalog.words.names import singular

# First words of an argument's name tell what it identifies, the last that it does.
_IDENTIFIES = {"guid", "id", "identifier", "ids", "jid", "key", "ref", "sha", "urn", "uuid"}
_SEARCHES = {"find", "lookup", "query", "search"}
_LISTS = {"browse", "list", "ls"}
_LOOKS = _SEARCHES | _LISTS | {"fetch", "get", "read", "retrieve", "show", "view"}
# Of a tool, in the order of its schema, and the length of a name. They are a stranger's.
MOST_ARGUMENTS, LONGEST_NAME = 8, 100
# A tenth of a declared dependency: it takes a place of its own, and hardly moves another.
MOST_WEIGHT = 0.1
_LARGEST_MISFIT = 128
_Words = frozenset[str]


class NamedTool(NamedTuple):
    """A tool by its key, its action's name, and the names of the arguments that it requires."""

    key: int
    action: str
    required: tuple[str, ...]
    reads: bool  # it changes nothing


def find_lookups(tools: Sequence[NamedTool]) -> Iterator[tuple[int, int, float]]:
    """Yield tools of one server, each with a lookup for an argument that it requires, and a weight.

    All that fit are found, and each weighs by the two tools alone, so that a tool which a caller
    may not use changes nothing for them: who reads the pairs takes the heaviest that they may use.
    """
    lookups = _by_word(tools)
    subjects = {tool.key: set(_subjects(tool)) for tool in tools}
    for tool in tools:
        misfits: dict[int, int] = {}
        for subject in subjects[tool.key]:
            for lookup in _fitting(subject, lookups, subjects):
                # Count missing words most; then searches are best, lists, and what requires little
                # itself.
                words = set(_words(lookup.action))
                missing, searches, lists = len(subject - words), words & _SEARCHES, words & _LISTS
                misfit = (
                    8 * min(missing, 7)
                    + 4 * (not searches)
                    + 2 * (not lists)
                    + (len(subjects[lookup.key]) > 0)
                )
                misfits[lookup.key] = min(misfit, misfits.get(lookup.key, misfit))
        for key, misfit in misfits.items():
            yield tool.key, key, MOST_WEIGHT * (1 - misfit / _LARGEST_MISFIT)


def _fitting(
    subject: _Words, lookups: Mapping[str, list[NamedTool]], subjects: Mapping[int, set[_Words]]
) -> set[NamedTool]:
    """Return the lookups with a word of the subject that do not require the subject themselves."""
    candidates = {tool for word in subject for tool in lookups.get(word, ())}
    return {
        tool
        for tool in candidates
        if not any(subject & required for required in subjects[tool.key])
    }


def _by_word(tools: Sequence[NamedTool]) -> Mapping[str, list[NamedTool]]:
    """Return the tools that look something up, by the words of what that is."""
    lookups: dict[str, list[NamedTool]] = defaultdict(list)
    for tool in tools:
        words = set(_words(tool.action))
        if tool.reads and words & _LOOKS:
            for word in words - _LOOKS:
                lookups[word].append(tool)
    return lookups


def _subjects(tool: NamedTool) -> Iterator[_Words]:
    """Yield what the required arguments identify; `id` alone is of what the tool is named after."""
    for argument in tool.required[:MOST_ARGUMENTS]:
        *subject, last = _words(argument) or ("",)
        if last in _IDENTIFIES:
            yield frozenset(subject or _words(tool.action)[1:]) - _LOOKS


@lru_cache(maxsize=1000)  # each pair of tools asks, and under the catalogue's lock
def _words(name: str) -> tuple[str, ...]:
    """Split a name of any style into words in lower case and the singular."""
    return tuple(singular(word) for word in split_identifier(name[:LONGEST_NAME]).split())


# Stored edges from tools to the lookups of their arguments, within each server.
# They depend on all tools of the server, so they are computed anew whenever one of those changes,
# in that change's transaction. Only differences are written. Statements name their columns, since
# a migration uses them on tables of any later release.

# On a larger server, one word is shared by too many tools to lead to the right one.
MOST_TOOLS = 200
_COLUMNS = ("integration", "pk", "action", "input_schema", "side_effect")


def refresh_lookups(ids: Sequence[int]) -> None:
    """Compute the lookups of the servers that have these capabilities."""
    rows = Capability.objects.filter(pk__in=ids).order_by("integration")
    servers = list(rows.values_list("integration", flat=True).distinct())
    computed = {
        (source, target): weight
        for _, rows in groupby(_tools(servers), key=itemgetter(0))
        for source, target, weight in find_lookups([_named(*row) for row in rows])
    }
    edges = Edge.objects.filter(source__integration__in=servers, origin=Edge.Origin.SCHEMA)
    stored = {row[:2]: row[2:] for row in edges.values_list("source", "target", "weight", "pk")}
    gone = [key for pair, (weight, key) in stored.items() if computed.get(pair) != weight]
    new = [
        (*pair, weight) for pair, weight in computed.items() if stored.get(pair, (0,))[0] != weight
    ]
    if gone:
        Edge.objects.filter(pk__in=gone).delete()
    if new:
        sources, targets, weights = map(list, zip(*sorted(new), strict=True))
        columns = {"sources": sources, "targets": targets, "weights": weights}
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, columns)


def _tools(servers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the tools of the servers that are not too large."""
    all_ = Capability.objects.filter(integration__in=servers, kind=Capability.Kind.TOOL)
    counts = all_.order_by().values("integration").annotate(number=Count("pk"))
    small = counts.filter(number__lte=MOST_TOOLS).values("integration")
    rows = all_.filter(integration__in=small).order_by("integration", "pk")
    return rows.values_list(*_COLUMNS).iterator(chunk_size=1000)


def _named(_: int, key: int, action: str, schema: object, side_effect: str) -> NamedTool:
    """Return the tool; a schema comes from a stranger, and may require no list of names."""
    required = schema.get("required") if isinstance(schema, dict) else None
    names = required if isinstance(required, list) else []
    texts = tuple(name for name in names if isinstance(name, str))
    return NamedTool(key, action, texts, reads=side_effect == Capability.SideEffect.READ)


_INSERT = f"""
INSERT INTO catalog_edge (source_id, target_id, kind, weight, origin)
SELECT source, target, '{Edge.Kind.DEPENDS_ON}', weight, '{Edge.Origin.SCHEMA}'
FROM unnest(%(sources)s::bigint[], %(targets)s::bigint[], %(weights)s::float8[])
  new (source, target, weight)
ON CONFLICT DO NOTHING
"""  # noqa: S608 - constants
