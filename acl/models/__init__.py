"""Tables of rights that need no catalogue, and bases for those that do."""

from acl.models.api_key import ApiKey
from acl.models.application import Application, ApplicationColumns, ConversationColumns
from acl.models.audit_entry import AuditArchive, AuditEntry, AuditHead, Look, ReplicaBeat
from acl.models.chain_columns import ChainColumns, chain_columns
from acl.models.registered_client import (
    AuthorizationCode,
    ClientConnection,
    ClientDocument,
    ClientToken,
    RegisteredClient,
)
from acl.models.rights_change import RightsChange
from acl.models.rights_period import RightsPeriod
from acl.models.rule_bases import AccessRequest, GroupGrantBase, RuleBase, UserGrantBase
from acl.models.service_account import (
    Invitation,
    PersonLanguage,
    ScimRecord,
    ServiceAccount,
    SignInGroup,
)
from acl.models.space import GroupPolicy, Space

__all__ = [
    "AccessRequest",
    "ApiKey",
    "Application",
    "ApplicationColumns",
    "AuditArchive",
    "AuditEntry",
    "AuditHead",
    "AuthorizationCode",
    "ChainColumns",
    "ClientConnection",
    "ClientDocument",
    "ClientToken",
    "ConversationColumns",
    "GroupGrantBase",
    "GroupPolicy",
    "Invitation",
    "Look",
    "PersonLanguage",
    "RegisteredClient",
    "ReplicaBeat",
    "RightsChange",
    "RightsPeriod",
    "RuleBase",
    "ScimRecord",
    "ServiceAccount",
    "SignInGroup",
    "Space",
    "UserGrantBase",
    "chain_columns",
]
