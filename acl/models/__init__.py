"""Tables of rights that need no catalogue, and bases for those that do."""

from acl.models.access_request import AccessRequest
from acl.models.api_key import ApiKey
from acl.models.audit_entry import AuditEntry, AuditHead
from acl.models.chain_columns import ChainColumns, chain_columns
from acl.models.client_document import ClientDocument
from acl.models.invitation import Invitation
from acl.models.look import Look
from acl.models.person_language import PersonLanguage
from acl.models.registered_client import (
    AuthorizationCode,
    ClientConnection,
    ClientToken,
    RegisteredClient,
)
from acl.models.replica_beat import ReplicaBeat
from acl.models.rule_bases import GroupGrantBase, RuleBase, UserGrantBase
from acl.models.scim_record import ScimRecord
from acl.models.service_account import ServiceAccount
from acl.models.space import GroupPolicy, Space

__all__ = [
    "AccessRequest",
    "ApiKey",
    "AuditEntry",
    "AuditHead",
    "AuthorizationCode",
    "ChainColumns",
    "ClientConnection",
    "ClientDocument",
    "ClientToken",
    "GroupGrantBase",
    "GroupPolicy",
    "Invitation",
    "Look",
    "PersonLanguage",
    "RegisteredClient",
    "ReplicaBeat",
    "RuleBase",
    "ScimRecord",
    "ServiceAccount",
    "Space",
    "UserGrantBase",
    "chain_columns",
]
