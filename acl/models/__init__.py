"""Tables of rights that need no catalogue, and bases for those that do."""

from acl.models.api_key import ApiKey
from acl.models.audit import AuditEntry, AuditHead
from acl.models.chain import ChainColumns, chain_columns
from acl.models.invitation import Invitation
from acl.models.look import Look
from acl.models.request import AccessRequest
from acl.models.rules import GroupGrantBase, RuleBase, UserGrantBase
from acl.models.service_account import ServiceAccount
from acl.models.space import GroupPolicy, Space

__all__ = [
    "AccessRequest",
    "ApiKey",
    "AuditEntry",
    "AuditHead",
    "ChainColumns",
    "GroupGrantBase",
    "GroupPolicy",
    "Invitation",
    "Look",
    "RuleBase",
    "ServiceAccount",
    "Space",
    "UserGrantBase",
    "chain_columns",
]
