"""Tables of what there is."""

from catalog.models.access import (
    CapabilityGroupPermission,
    CapabilityUserPermission,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
)
from catalog.models.capability import Capability
from catalog.models.definition import Definition
from catalog.models.edge import Edge, Mention, Trait
from catalog.models.embedding import Embedding, EmbeddingModel, LexicalVector
from catalog.models.health import HealthCheck
from catalog.models.integration import Integration
from catalog.models.manifest import ManifestFile
from catalog.models.oauth import (
    OAuthClient,
    OAuthConnection,
    OAuthRevocation,
    OAuthSignIn,
)
from catalog.models.preset import Preset, PresetMember
from catalog.models.proposal import ServerProposal
from catalog.models.secret import Secret
from catalog.models.sync import Sync
from catalog.models.version import CatalogVersion

__all__ = [
    "Capability",
    "CapabilityGroupPermission",
    "CapabilityUserPermission",
    "CatalogVersion",
    "Definition",
    "Edge",
    "Embedding",
    "EmbeddingModel",
    "HealthCheck",
    "Integration",
    "IntegrationGroupPermission",
    "IntegrationUserPermission",
    "LexicalVector",
    "ManifestFile",
    "Mention",
    "OAuthClient",
    "OAuthConnection",
    "OAuthRevocation",
    "OAuthSignIn",
    "Preset",
    "PresetMember",
    "Rule",
    "Secret",
    "ServerProposal",
    "Sync",
    "Trait",
]
