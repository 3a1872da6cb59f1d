"""What a call is bound to: digests over all of it, so that what was approved is what is sent."""

import hashlib
from typing import Any

from acl.platform.strict_json import StrictJSONError, write_json
from catalog.formats.descriptors import JSONObject, canonical_json
from discovery.models import Call


def written(arguments: JSONObject) -> str:
    """Return the arguments as a row keeps them and a page renders them: in their own order."""
    return write_json(arguments, ensure_ascii=False)


def hash_of(value: Any) -> str:
    """Equal for equal values, whatever the order of their keys."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of(call: Call) -> str:
    """Digest of who asks for what by which definition, from the row as it is now.

    Over the whole chain, and over the very text that the approval page renders: as values, 1 and
    1.0 would be equal.
    """
    chain = [call.actor_id, call.actor_kind, call.credential, call.key_id, call.key_prefix]
    bound = [call.pk.hex, call.user_id, call.group_id, call.space_id, call.full_name]
    effect = [call.definition_hash, call.side_effect, call.way]
    return hash_of([*chain, *bound, *effect, call.arguments_json])


def is_whole(call: Call) -> bool:
    """Whether the arguments are those that were checked and, where that was needed, approved."""
    try:
        if hash_of(call.arguments) != call.arguments_hash:
            return False
    except StrictJSONError:
        return False
    return not call.needs_approval or call.approved_digest == digest_of(call)
