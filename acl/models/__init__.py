"""Tables of rights that need no catalogue, and bases for those that do."""

from acl.models.api_key import (
    ApiKey,
    Invitation,
    PersonLanguage,
    ScimRecord,
    ServiceAccount,
    SignInGroup,
)
from acl.models.application import Application, ApplicationColumns, ConversationColumns
from acl.models.audit_entry import (
    AuditArchive,
    AuditEntry,
    AuditHead,
    ChainColumns,
    Look,
    ReplicaBeat,
    chain_columns,
)
from acl.models.registered_client import (
    AuthorizationCode,
    ClientConnection,
    ClientDocument,
    ClientToken,
    RegisteredClient,
)
from acl.models.rights_change import RightsChange, RightsPeriod
from acl.models.space import (
    AccessRequest,
    GroupGrantBase,
    GroupPolicy,
    RuleBase,
    Space,
    UserGrantBase,
)

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
