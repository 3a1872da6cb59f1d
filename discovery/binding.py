"""What a call is bound to: digests over all of it, so that what was approved is what is sent."""

import hashlib
import json
from typing import Any

from catalog.descriptors import JSONObject, canonical_json
from discovery.models import Call


def written(arguments: JSONObject) -> str:
    """The arguments as a row keeps them: as they came, in their own order."""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def hash_of(value: Any) -> str:
    """Equal for equal values, whatever the order of their keys."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of(call: Call) -> str:
    """Who asks for what, and by which definition. Worked out from the row as it is now."""
    bound = [call.pk.hex, call.user_id, call.group_id, call.space_id, call.full_name]
    return hash_of([*bound, call.definition_hash, call.arguments])


def is_whole(call: Call) -> bool:
    """Whether the arguments are those that were checked and, where that was needed, approved."""
    if hash_of(call.arguments) != call.arguments_hash:
        return False
    return not call.needs_approval or call.approved_digest == digest_of(call)
