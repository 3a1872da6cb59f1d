"""Digests that bind an approval to the whole call, so that exactly what was approved is sent."""

import hashlib
from typing import Any

from acl.platform.strict_json import StrictJSONError, write_json
from catalog.formats.descriptors import JSONObject, canonical_json
from discovery.models import Call


def serialize_arguments(arguments: JSONObject) -> str:
    """Serialize the arguments in their own order, as stored and displayed."""
    return write_json(arguments, ensure_ascii=False)


def hash_of(value: Any) -> str:
    """Return a digest that is independent of the order of keys."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def digest_of(call: Call) -> str:
    """Return the digest of the call's whole chain, tool definition and arguments.

    It covers the text that the approval page displays: compared as values, 1 and 1.0 would be
    equal.
    """
    chain = [call.actor_id, call.actor_kind, call.credential, call.key_id, call.key_prefix]
    bound = [call.pk.hex, call.user_id, call.group_id, call.space_id, call.full_name]
    effect = [call.definition_hash, call.side_effect, call.way]
    return hash_of([*chain, *bound, *effect, call.arguments_json])


def is_unaltered(call: Call) -> bool:
    """Return True if the arguments are those that were checked and, if required, approved."""
    try:
        if hash_of(call.arguments) != call.arguments_hash:
            return False
    except StrictJSONError:
        return False
    return not call.needs_approval or call.approved_digest == digest_of(call)
