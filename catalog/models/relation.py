"""Relations between capabilities: their kinds, and the data they are computed from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from django.contrib.auth.models import Group
from django.db import models
from django.db.models import F, Q

from acl.platform.migration_operations import Triggers
from catalog.models.capability import Capability
from catalog.models.vectors import count_index_change

# Kinds of relations between capabilities: one table for all that reads relations.
#
# These are the tables' constraints, SQL, the index, the ranking, pages and the API.


class Kind(models.TextChoices):
    """Names of the kinds, with their labels on pages."""

    DEPENDS_ON = "DEPENDS_ON", "depends on"
    COMPOSED_WITH = "COMPOSED_WITH", "composed with"
    TAGGED_WITH = "TAGGED_WITH", "tagged alike"
    SAME_CATEGORY = "SAME_CATEGORY", "of the same category"
    DECLARED = "DECLARED", "declared"


@dataclass(frozen=True, slots=True)
class RelationKind:
    """Storage, weight and use of the relations of one kind.

    A `directed` one leads from its source to its target. `pulls_in` says which partners of a result
    get places of their own. `weight` is that of a relation which nobody weighed: for each shared
    tag, or for a shared category; `most` bounds the sum.
    """

    directed: bool = False
    pulls_in: Literal["", "target", "both"] = ""
    weight: float = 1.0
    most: float = 1.0


RELATION_KINDS: dict[Kind, RelationKind] = {
    Kind.DEPENDS_ON: RelationKind(directed=True, pulls_in="target"),
    Kind.COMPOSED_WITH: RelationKind(pulls_in="both", weight=0.5),
    Kind.TAGGED_WITH: RelationKind(weight=0.3, most=0.9),
    Kind.SAME_CATEGORY: RelationKind(weight=0.1, most=0.1),
    Kind.DECLARED: RelationKind(directed=True),
}
DIRECTED = tuple(kind.value for kind, row in RELATION_KINDS.items() if row.directed)
PULLS_IN_TARGET = tuple(kind.value for kind, row in RELATION_KINDS.items() if row.pulls_in)
PULLS_IN_SOURCE = tuple(
    kind.value for kind, row in RELATION_KINDS.items() if row.pulls_in == "both"
)


def weight_of_shared(kind: Kind, count: int) -> float:
    """Return the weight of a relation by `count` shared tags, or by a shared category."""
    row = RELATION_KINDS[kind]
    return min(row.most, row.weight * count)


def sql_names(kinds: Iterable[str]) -> str:
    """Return the names as a list for SQL, such as `'DEPENDS_ON', 'DECLARED'`."""
    return ", ".join(f"'{kind}'" for kind in kinds)


# Relations between capabilities, and the data they are computed from.

# Presets: capabilities used together.


class Preset(models.Model):
    """A named set of capabilities; every pair of them is related."""

    name = models.CharField(max_length=120, unique=True)
    description = models.CharField(max_length=500, blank=True)
    capabilities = models.ManyToManyField(
        Capability, through="PresetMember", related_name="presets"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class PresetMember(models.Model):
    """A capability of a preset."""

    preset = models.ForeignKey(Preset, models.CASCADE, related_name="members", db_index=False)
    capability = models.ForeignKey(Capability, models.CASCADE, related_name="memberships")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["preset", "capability"], name="catalog_preset_member_once"
            ),
        ]

    def __str__(self) -> str:
        return str(self.capability)


class Edge(models.Model):
    """A relation of two capabilities, independent of all others.

    Relations that depend on how many others share something (most TAGGED_WITH and SAME_CATEGORY)
    are computed per caller from `Trait`. An undirected edge stores the lower key as its source. An
    edge with a group holds for that group's callers only.
    """

    triggers: ClassVar[Triggers] = (count_index_change("catalog_edge"),)

    Kind = Kind

    class Origin(models.TextChoices):
        METADATA = "metadata"
        PRESET = "preset"
        MANIFEST = "manifest"
        SCHEMA = "schema"  # a lookup of a required argument, read off names
        ADMIN = "admin"

    source = models.ForeignKey(Capability, models.CASCADE, related_name="edges_out", db_index=False)
    target = models.ForeignKey(Capability, models.CASCADE, related_name="edges_in")
    kind = models.CharField(max_length=16, choices=Kind.choices)
    weight = models.FloatField(help_text="0 to 1. An admin's weight replaces others; 0 means none.")
    origin = models.CharField(max_length=8, choices=Origin.choices)
    preset = models.ForeignKey(
        Preset, models.CASCADE, null=True, blank=True, related_name="edges", editable=False
    )
    group = models.ForeignKey(
        Group,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
        help_text="Whose callers alone it holds for; empty: for everyone.",
    )

    class Meta:
        ordering = ["source", "kind", "target", "origin", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "target", "kind", "origin", "preset", "group"],
                nulls_distinct=False,
                name="catalog_edge_once",
            ),
            models.CheckConstraint(
                condition=~Q(source=F("target")), name="catalog_edge_between_two"
            ),
            models.CheckConstraint(
                condition=Q(weight__gte=0, weight__lte=1), name="catalog_edge_weight"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=list(DIRECTED)) | Q(source__lt=F("target")),
                name="catalog_edge_without_direction",
            ),
            models.CheckConstraint(
                condition=Q(origin="preset", preset__isnull=False)
                | (~Q(origin="preset") & Q(preset__isnull=True)),
                name="catalog_edge_preset",
            ),
            models.CheckConstraint(
                condition=Q(origin="admin") | Q(group__isnull=True), name="catalog_edge_group"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.get_kind_display()} {self.target}"


class Mention(models.Model):
    """A reference from a capability to another by name, which may not exist (yet)."""

    capability = models.ForeignKey(
        Capability, models.CASCADE, related_name="mentions", db_index=False
    )
    name = models.CharField(max_length=300, help_text="An id or a full name.")
    kind = models.CharField(max_length=16, choices=Edge.Kind.choices)
    weight = models.FloatField()
    origin = models.CharField(max_length=8, choices=Edge.Origin.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["capability", "name", "kind", "origin"], name="catalog_mention_once"
            ),
        ]
        indexes = [models.Index(fields=["name"], name="catalog_mention_name")]

    def __str__(self) -> str:
        return f"{self.capability_id} {self.kind} {self.name}"


class Trait(models.Model):
    """A trait shared by capabilities: `#tag`, or `kind:category`."""

    triggers: ClassVar[Triggers] = (count_index_change("catalog_trait"),)

    capability = models.ForeignKey(
        Capability, models.CASCADE, related_name="traits", db_index=False
    )
    name = models.CharField(max_length=90)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["capability", "name"], name="catalog_trait_once"),
        ]
        indexes = [models.Index(fields=["name", "capability"], name="catalog_trait_shared")]

    def __str__(self) -> str:
        return f"{self.capability_id} {self.name}"
