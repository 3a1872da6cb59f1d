"""Arguments of calls: stored text, rendering, and the digest that binds an approval to them.

The digest covers the exact text in `Call.arguments_json`, so only what was approved is sent.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from acl.platform.strict_json import StrictJSONError, write_json
from acl.visible_text.json_text import Rendering, render_arguments
from catalog.formats.descriptors import JSONObject, canonical_json
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.metatools.metatool import MetaTool
from discovery.models import Call

# The one name of a call's arguments, and the ones that clients sent before.
NAME, FORMER_NAMES = "arguments", ("params",)


class TwoNamesError(Exception):
    """The arguments came under two names. `field` is the former one."""

    def __init__(self, field: str) -> None:
        super().__init__(f"Send `{NAME}` or `{field}`, not both: they are two names of one field.")
        self.field = field


def rename_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request with a call's arguments under their one name.

    Raises TwoNamesError if they are there twice.
    """
    renamed = dict(body)
    for former in FORMER_NAMES:
        if former in renamed:
            if NAME in renamed:
                raise TwoNamesError(former)
            renamed[NAME] = renamed.pop(former)
    return renamed


def accept_former_names(tool: MetaTool, arguments: Any) -> Any:
    """Return the arguments of a meta-tool that calls another tool with its own under one name."""
    if NAME not in tool.parameters or not isinstance(arguments, dict):
        return arguments
    try:
        return rename_arguments(arguments)
    except TwoNamesError as twice:
        raise ArgumentsRefusedError(twice.field, str(twice)) from None


def render_call(call: Call) -> Rendering:
    """Render a call's arguments, each with its description from the tool's schema."""
    schema = call.capability.input_schema if call.capability else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return render_arguments(call.arguments_json, properties if isinstance(properties, dict) else {})


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
