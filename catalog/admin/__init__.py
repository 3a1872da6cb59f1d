"""Django admin of the catalogue."""

from catalog.admin.entry_admin import CapabilityAdmin, IntegrationAdmin, RuleAdmin
from catalog.admin.graph_admin import EdgeAdmin, MentionAdmin, PresetAdmin, TraitAdmin
from catalog.admin.read_only_admin import (
    ApiDocumentAdmin,
    CatalogVersionAdmin,
    DefinitionAdmin,
    EmbeddingAdmin,
    EmbeddingModelAdmin,
    HealthCheckAdmin,
    IconImageAdmin,
    IconSourceAdmin,
    IndexVersionAdmin,
    LexicalVectorAdmin,
    ManifestFileAdmin,
    OutgoingHostAdmin,
    RuntimeCapabilityAdmin,
    SecretAdmin,
    ServerProposalAdmin,
    SyncAdmin,
)

__all__ = [
    "ApiDocumentAdmin",
    "CapabilityAdmin",
    "CatalogVersionAdmin",
    "DefinitionAdmin",
    "EdgeAdmin",
    "EmbeddingAdmin",
    "EmbeddingModelAdmin",
    "HealthCheckAdmin",
    "IconImageAdmin",
    "IconSourceAdmin",
    "IndexVersionAdmin",
    "IntegrationAdmin",
    "LexicalVectorAdmin",
    "ManifestFileAdmin",
    "MentionAdmin",
    "OutgoingHostAdmin",
    "PresetAdmin",
    "RuleAdmin",
    "RuntimeCapabilityAdmin",
    "SecretAdmin",
    "ServerProposalAdmin",
    "SyncAdmin",
    "TraitAdmin",
]
