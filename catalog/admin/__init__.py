"""The admin of the catalogue."""

from catalog.admin.entries import CapabilityAdmin, IntegrationAdmin, RuleAdmin
from catalog.admin.graph import EdgeAdmin, MentionAdmin, PresetAdmin, TraitAdmin
from catalog.admin.manifests import ManifestFileAdmin
from catalog.admin.servers import HealthCheckAdmin, SecretAdmin
from catalog.admin.trust import DefinitionAdmin, ServerProposalAdmin, SyncAdmin
from catalog.admin.vectors import (
    CatalogVersionAdmin,
    EmbeddingAdmin,
    EmbeddingModelAdmin,
    LexicalVectorAdmin,
)

__all__ = [
    "CapabilityAdmin",
    "CatalogVersionAdmin",
    "DefinitionAdmin",
    "EdgeAdmin",
    "EmbeddingAdmin",
    "EmbeddingModelAdmin",
    "HealthCheckAdmin",
    "IntegrationAdmin",
    "LexicalVectorAdmin",
    "ManifestFileAdmin",
    "MentionAdmin",
    "PresetAdmin",
    "RuleAdmin",
    "SecretAdmin",
    "ServerProposalAdmin",
    "SyncAdmin",
    "TraitAdmin",
]
