"""A call of a meta-tool."""

from dataclasses import dataclass
from uuid import UUID

from acl.rights.caller import Caller
from catalog.formats.descriptors import JSONObject


@dataclass(frozen=True, slots=True)
class MetaCall:
    """A call of a meta-tool, with checked arguments and their defaults.

    `turn_id` is the turn whose selection was not enough, if the caller names it.
    """

    caller: Caller
    arguments: JSONObject
    turn_id: UUID | None = None
