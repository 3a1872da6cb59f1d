"""Django admin of the catalogue."""

from catalog.admin.entry_admin import CapabilityAdmin, IntegrationAdmin, RuleAdmin
from catalog.admin.graph_admin import EdgeAdmin, MentionAdmin, PresetAdmin, TraitAdmin
from catalog.admin.manifest_admin import ManifestFileAdmin
from catalog.admin.server_admin import HealthCheckAdmin, SecretAdmin
from catalog.admin.trust_admin import DefinitionAdmin, ServerProposalAdmin, SyncAdmin
from catalog.admin.vector_admin import (
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
