"""What an answer is made for."""

from dataclasses import dataclass
from uuid import UUID

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject


@dataclass(frozen=True, slots=True)
class MetaCall:
    """One call of a meta-tool, with checked arguments and their defaults filled in.

    `turn_id` is the turn of the selection that was not enough, where the caller says which.
    """

    caller: Caller
    arguments: JSONObject
    turn_id: UUID | None = None
