"""Tables of the catalogue."""

from catalog.models.access_tables import (
    CapabilityGroupPermission,
    CapabilityUserPermission,
    IntegrationGroupPermission,
    IntegrationUserPermission,
    Rule,
)
from catalog.models.api_document import ApiDocument
from catalog.models.capability import Capability
from catalog.models.catalog_version import CatalogVersion
from catalog.models.definition import Definition
from catalog.models.edge import Edge, Mention, Trait
from catalog.models.health_check import HealthCheck
from catalog.models.icon import IconImage, IconSource
from catalog.models.index_version import IndexVersion
from catalog.models.integration import Integration
from catalog.models.kept_limit import KeptLimit
from catalog.models.manifest_file import ManifestFile
from catalog.models.oauth_tables import OAuthClient, OAuthConnection, OAuthRevocation, OAuthSignIn
from catalog.models.outgoing_host import OutgoingHost
from catalog.models.preset import Preset, PresetMember
from catalog.models.proposal import ServerProposal
from catalog.models.runtime_capability import RuntimeCapability
from catalog.models.secret import Secret
from catalog.models.sync_record import Sync
from catalog.models.vectors import Embedding, EmbeddingModel, LexicalVector

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
    "Mention",
    "OAuthClient",
    "OAuthConnection",
    "OAuthRevocation",
    "OAuthSignIn",
    "OutgoingHost",
    "Preset",
    "PresetMember",
    "Rule",
    "RuntimeCapability",
    "Secret",
    "ServerProposal",
    "Sync",
    "Trait",
]
