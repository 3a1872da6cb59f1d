"""Tables of the catalogue."""

from catalog.models.access_tables import (
    CapabilityGroupPermission,
    CapabilityUserPermission,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    KeptLimit,
    Rule,
)
from catalog.models.capability import Capability, RuntimeCapability
from catalog.models.definition import ApiDocument, Definition, ManifestFile, ServerProposal
from catalog.models.integration import (
    HealthCheck,
    IconImage,
    IconSource,
    Integration,
    OutgoingHost,
    PrivateHost,
    Sync,
)
from catalog.models.oauth_tables import (
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
    Secret,
)
from catalog.models.personal import Memo, Todo
from catalog.models.relation import Edge, Mention, Preset, PresetMember, Trait
from catalog.models.vectors import (
    CatalogVersion,
    Embedding,
    EmbeddingModel,
    IndexVersion,
    LexicalVector,
)

__all__ = [
    "ApiDocument",
    "Capability",
    "CapabilityGroupPermission",
    "CapabilityUserPermission",
    "CatalogVersion",
    "Definition",
    "Edge",
    "Embedding",
    "EmbeddingModel",
    "HealthCheck",
    "IconImage",
    "IconSource",
    "IndexVersion",
    "Integration",
    "IntegrationGroupPermission",
    "IntegrationUserPermission",
    "KeptLimit",
    "LexicalVector",
    "ManifestFile",
    "Memo",
    "Mention",
    "OAuthClient",
    "OAuthConnection",
    "OAuthRevocation",
    "OAuthSignIn",
    "OutgoingHost",
    "Preset",
    "PresetMember",
    "PrivateHost",
    "Rule",
    "RuntimeCapability",
    "Secret",
    "ServerProposal",
    "Sync",
    "Todo",
    "Trait",
]
