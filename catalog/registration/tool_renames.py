"""Renames of tools: a new name for a definition on which something hangs waits for a review.

Whatever hangs on the old name, be it a deny or a learned use, is shown beside the new one, and goes
along unless the person who decides says otherwise. So no server sheds a rule by another name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.apps import apps
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import RawSQL

from catalog.access.kept_limits import count_kept, give_kept, kept_texts
from catalog.effects.assessment import CORRECTABLE, corrected_columns
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability, Definition, Integration
from catalog.models.relation import DIRECTED
from catalog.registration._derived_columns import DERIVED_COLUMNS, fill_derived_columns
from catalog.registration.descriptor_rows import set_corrected_category, write_derived
from catalog.trust.findings import Finding, Severity, read_findings
from catalog.trust.gate import marked_as_reviewed
from catalog.trust.stored_definition import descriptor_of_row, texts_of_descriptor
from catalog.trust.text_differences import ALIKE, TWIN, DefinitionFeatures, features_of, find_like
from catalog.trust.tool_list import parse_definition

# Rows that hang on a capability: counted for a review, and carried to its new name.
#
# Tables of other apps are named, not imported. A test finds every table that points at a
# capability, and asks that it is in one of the two lists here.


class Hanging(NamedTuple):
    """A table whose rows hang on capabilities: its column, what to call it, which rows limit.

    `names` is the column with the tool's earlier names, which its new one is added to.
    """

    column: str
    kind: str
    limits: Q | None = None
    names: str = ""


_ALL = Q(pk__isnull=False)
CARRIED: Mapping[str, Hanging] = {
    "catalog.rule": Hanging("capability", "rules", Q(effect__lt=2)),
    "catalog.capabilityuserpermission": Hanging("content_object", "grants"),
    "catalog.capabilitygrouppermission": Hanging("content_object", "grants"),
    "catalog.presetmember": Hanging("capability", "presets"),
    "discovery.quota": Hanging("capability", "quotas", _ALL, "former_names"),
    "discovery.flowrule": Hanging("capability", "flow_rules", Q(mode__in=("ask", "refuse"))),
    "discovery.toolexample": Hanging("capability", "examples"),
    "discovery.experience": Hanging("capability", "learned"),
    "discovery.taughtmessage_tools": Hanging("capability", "taught"),
}
# An admin's relations point at two capabilities.
RELATIONS = "catalog.edge"
# Made from the definition itself, or history under the name of its time.
LEFT: frozenset[str] = frozenset(
    {
        *("catalog.mention", "catalog.trait", "catalog.lexicalvector", "catalog.embedding"),
        *("catalog.manifestfile", "discovery.call", "discovery.called"),
        "discovery.taughtmessage",  # where its words came from; its tools are carried
    }
)
_STRICTNESS = [access.value for access in Capability.AIAccess]
_MARKS = ("core", "pinned", "example_requests")
_CORRECTED = (*CORRECTABLE, "category")
# Columns with words of the source, which an admin may replace.
TEXT_COLUMNS = ("full_name", "display_name", "description")


def find_hanging(integration: Integration, *, only_limits: bool = False) -> set[int]:
    """Return the keys of an integration's capabilities on which something hangs."""
    keys: set[int] = set()
    for table, hanging in _tables(only_limits=only_limits):
        of_these = Q(**{f"{hanging.column}__integration": integration})
        keys.update(table.filter(of_these).values_list(f"{hanging.column}_id", flat=True))
    rows = Capability.objects.filter(integration=integration)
    if not only_limits:
        edges = apps.get_model(RELATIONS)._default_manager.filter(origin="admin")
        for end in ("source", "target"):
            keys.update(edges.filter(**{f"{end}__in": rows}).values_list(end, flat=True))
    columns = ("ai_access", "effect_evidence", "source_texts", *_CORRECTED, *_MARKS, *TEXT_COLUMNS)
    settings = rows.only(*columns)
    return keys | {row.pk for row in settings if _settings(row, only_limits=only_limits)}


def count_hanging(capability: Capability, *, only_limits: bool = False) -> dict[str, int]:
    """Return how many rows of each kind hang on a capability, and its own settings."""
    counts: Counter[str] = Counter()
    for _, hanging, rows in _rows_of(capability, only_limits=only_limits):
        if hanging.kind != "rules":
            counts[hanging.kind] += rows.count()
            continue
        for effect, kind in enumerate(("deny", "propose", "allow")):
            counts[kind] += rows.filter(effect=effect).count()
    if not only_limits:
        counts["relations"] += _relations(capability).count()
    counts["settings"] += len(_settings(capability, only_limits=only_limits))
    return {kind: number for kind, number in counts.items() if number}


def carry_over(old: Capability, new: Capability, *, only_limits: bool = False) -> None:
    """Give the new capability what hangs on the old one, which keeps it under its own name."""
    for table, hanging, rows in _rows_of(old, only_limits=only_limits):
        already = table.filter(**{hanging.column: new})
        existing = {_content(row, hanging.column) for row in already}
        copies = []
        for row in rows.order_by("pk"):
            if _content(row, hanging.column) not in existing:
                row.pk, row._state.adding = None, True
                setattr(row, hanging.column, new)
                if hanging.names:
                    setattr(row, hanging.names, [*getattr(row, hanging.names), old.full_name])
                copies.append(row)
        table.model._default_manager.bulk_create(copies, ignore_conflicts=True)
    if not only_limits:
        _carry_relations(old, new)
    if settings := _settings(old, only_limits=only_limits):
        settings["ai_access"] = max(old.ai_access, new.ai_access, key=_STRICTNESS.index)
        _carry_settings(old, new, settings)
    write_derived([Capability.objects.get(pk=new.pk)])


def _rows_of(
    capability: Capability, *, only_limits: bool
) -> Iterator[tuple[QuerySet[Any], Hanging, QuerySet[Any]]]:
    """Yield each table with a query of its rows that hang on the capability."""
    for table, hanging in _tables(only_limits=only_limits):
        yield table, hanging, table.filter(**{hanging.column: capability})


def _tables(*, only_limits: bool) -> Iterator[tuple[QuerySet[Any], Hanging]]:
    """Yield each table, or the rows of each that limit what may be done."""
    for label, hanging in CARRIED.items():
        rows = apps.get_model(label)._default_manager.all()
        if not only_limits:
            yield rows, hanging
        elif hanging.limits is not None:
            yield rows.filter(hanging.limits), hanging


def _content(row: Model, column: str) -> tuple[str, ...]:
    """Return what a row says beside which capability it is about, to compare two by."""
    names = [
        field.attname
        for field in row._meta.concrete_fields
        if not field.primary_key and field.name not in (column, "created_at")
    ]
    return tuple(str(getattr(row, name)) for name in names)


def _relations(capability: Capability) -> QuerySet[Any]:
    edges: QuerySet[Any] = apps.get_model(RELATIONS)._default_manager.filter(origin="admin")
    return edges.filter(Q(source=capability) | Q(target=capability))


def _carry_relations(old: Capability, new: Capability) -> None:
    copies = []
    for edge in _relations(old).order_by("pk"):
        ends = [new.pk if end == old.pk else end for end in (edge.source_id, edge.target_id)]
        if ends[0] == ends[1]:
            continue
        if edge.kind not in DIRECTED:
            ends.sort()  # an undirected edge begins at the lower key
        edge.pk, edge._state.adding, (edge.source_id, edge.target_id) = None, True, ends
        copies.append(edge)
    apps.get_model(RELATIONS)._default_manager.bulk_create(copies, ignore_conflicts=True)


def _carry_settings(old: Capability, new: Capability, settings: dict[str, Any]) -> None:
    """Write an admin's settings with the evidence that keeps corrections from being overwritten."""
    new = Capability.objects.get(pk=new.pk)
    corrections = {name: old.effect_evidence[name] for name in _CORRECTED if name in settings}
    settings["effect_evidence"] = {**new.effect_evidence, **corrections}
    texts = {name: settings.pop(name) for name in TEXT_COLUMNS if name in settings}
    if category := settings.pop("category", ""):
        set_corrected_category(new.pk, category)
    Capability.objects.filter(pk=new.pk).update(**settings)
    if not texts:
        return
    # The old name is free first: it is called as its source calls it again.
    for key, words in ((old.pk, old.source_texts), (new.pk, texts)):
        row = Capability.objects.get(pk=key)
        row.source_texts = {} if key == old.pk else {name: getattr(row, name) for name in texts}
        write_texts(row, words)


def write_texts(row: Capability, words: Mapping[str, str]) -> None:
    """Store words that an admin wrote, with all that follows from a tool's texts."""
    for column, text in words.items():
        setattr(row, column, text)
    fill_derived_columns(row)
    # The mark vouches for the whole row, so a row changed past the gate does not get it.
    as_reviewed = RawSQL("catalog_texts_digest(catalog_capability)", ())
    passed = Capability.objects.filter(pk=row.pk, reviewed=as_reviewed).exists()
    with marked_as_reviewed() if passed else nullcontext():
        row.save(update_fields=[*words, "source_texts", *DERIVED_COLUMNS, "updated_at"])


def note_former_name(capability: Capability, name: str) -> None:
    """Add an earlier full name to the rows that count what was called by it."""
    for _, hanging, rows in _rows_of(capability, only_limits=False):
        for row in rows if hanging.names else ():
            setattr(row, hanging.names, [*getattr(row, hanging.names), name])
            row.save(update_fields=[hanging.names])


def _settings(capability: Capability, *, only_limits: bool) -> dict[str, Any]:
    """Return the columns that an admin has set, as far as they differ from a new tool's.

    A category that its source declares is none of them: the source says it under each name.
    """
    values: dict[str, Any] = {}
    if capability.ai_access not in Capability.OF_SOURCES:
        values["ai_access"] = capability.ai_access
    if only_limits:
        return values
    values |= {name: value for name in _MARKS if (value := getattr(capability, name))}
    corrected = corrected_columns(capability.effect_evidence)
    values |= {name: getattr(capability, name) for name in _CORRECTED if name in corrected}
    return values | {name: getattr(capability, name) for name in capability.source_texts}


RENAMED, COPIED = "renamed", "copied"
_CODES = (RENAMED, COPIED)


@dataclass(frozen=True, slots=True)
class Rename:
    """An old name, and the number of rows of each kind that hang on it.

    `only_limits` is True where the old name stays in use: then limits alone go along.
    """

    old: str
    hangs: Mapping[str, int]
    only_limits: bool = False


def find_renames(
    integration: Integration, new: Mapping[str, JSONObject], *, listed: Iterable[str]
) -> dict[str, Finding]:
    """Return a finding for each new text that a tool with something hanging on it has already.

    `new` are texts by name; `listed` are all names that the source still has.
    """
    if not new:
        return {}
    listed = set(listed)
    waiting_texts = kept_texts(integration)
    hanging, limited = (find_hanging(integration, only_limits=only) for only in (False, True))
    stored = Capability.objects.filter(pk__in=hanging)
    # What was changed last has gone last.
    stored = stored.select_related("integration").order_by("updated_at", "pk")
    rows = {row.action: row for row in stored}
    all_features = {
        **{name: features_of(text) for name, text in waiting_texts.items()},
        **_known_texts(rows),
    }
    findings: dict[str, Finding] = {}
    for name, text in new.items():
        others = {
            tool_name: features for tool_name, features in all_features.items() if tool_name != name
        }
        gone = {
            tool_name: features for tool_name, features in others.items() if tool_name not in listed
        }
        # What waits for a name that is listed again will hold for it in a moment.
        limited_texts = {
            tool_name: features
            for tool_name, features in others.items()
            if tool_name in waiting_texts or (tool_name in rows and rows[tool_name].pk in limited)
        }
        for code, texts, bound in ((RENAMED, gone, ALIKE), (COPIED, limited_texts, TWIN)):
            if old := find_like(text, texts, at_least=bound):
                findings[name] = _finding(code, old)
                break
    return findings


def rename_of(row: Definition) -> Rename | None:
    """Return the rename that a waiting definition would be, with what hangs on the old name."""
    for finding in read_findings(row.findings):
        if finding.code in _CODES:
            only_limits = finding.code == COPIED
            old = _capability(row.integration_id, finding.excerpt)
            if old is not None:
                hangs = count_hanging(old, only_limits=only_limits)
            else:
                hangs = count_kept(row.integration, finding.excerpt)
            return Rename(finding.excerpt, hangs, only_limits)
    return None


def carry_rename(row: Definition, rename: Rename) -> None:
    """Give an approved definition's capability what hangs on its old name."""
    old, new = (_capability(row.integration_id, name) for name in (rename.old, row.name))
    if old is not None and new is not None:
        carry_over(old, new, only_limits=rename.only_limits)
    elif new is not None:
        give_kept(row.integration, rename.old, to=new)


def without_renames(findings: Iterable[Finding]) -> list[Finding]:
    """Return the other findings: which names are alike changes with every list."""
    return [finding for finding in findings if finding.code not in _CODES]


def _known_texts(stored: Mapping[str, Capability]) -> dict[str, DefinitionFeatures]:
    """Return what is compared of each stored tool: its source's words, else the stored ones."""
    integrations = {row.integration_id for row in stored.values()}
    rows = Definition.objects.filter(integration__in=integrations, name__in=list(stored))
    approved_texts = {row.name: row.approved for row in rows.exclude(approved_hash="")}
    return {
        name: features_of(
            parse_definition(approved_texts[name])
            if name in approved_texts
            else texts_of_descriptor(descriptor_of_row(row))
        )
        for name, row in stored.items()
    }


def _finding(code: str, old: str) -> Finding:
    if code == RENAMED:
        message = "It is a tool under a new name: what hangs on the old name goes along."
    else:
        message = "It is a tool under a second name: the limits of the first one hold for it, too."
    return Finding(code, Severity.HIGH, "name", message, old)


def _capability(integration: int, action: str) -> Capability | None:
    return Capability.objects.filter(integration=integration, action=action).first()
