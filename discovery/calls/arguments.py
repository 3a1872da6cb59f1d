"""Arguments of calls: stored text, rendering, and the digest that binds an approval to them.

The digest covers the exact text in `Call.arguments_json`, so only what was approved is sent.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.platform.strict_json import StrictJSONError, write_json
from acl.visible_text.canonical_json import Argument, Rendering, render_arguments
from catalog.formats.descriptors import JSONObject, canonical_json
from catalog.models import Capability
from discovery.calls.argument_check import ArgumentsRefusedError, check_arguments
from discovery.metatools import MetaTool
from discovery.models import Call, ToolExample

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


# Examples of arguments for a tool: saved by admins, read by everyone who may use the tool.

MOST_EXAMPLES = 20


class ExampleRefusedError(Exception):
    """The example cannot be saved; the text says why."""


def examples_of(capability: Capability) -> list[ToolExample]:
    """Return the tool's examples by title. Callers have checked that the tool may be used."""
    return list(ToolExample.objects.filter(capability=capability)[:MOST_EXAMPLES])


@transaction.atomic
def save_example(
    *, by: User, capability: Capability, title: str, arguments: JSONObject
) -> ToolExample:
    """Save arguments as an example, in place of one with the same title.

    Raises ArgumentsRefusedError, or ExampleRefusedError if there are too many.
    """
    check_arguments(capability.input_schema, arguments)
    # Locked, so that two admins at once do not exceed the limit.
    Capability.objects.select_for_update(of=("self",)).get(pk=capability.pk)
    others = ToolExample.objects.filter(capability=capability).exclude(title=title)
    if others.count() >= MOST_EXAMPLES:
        raise ExampleRefusedError(
            _("A tool has at most %(number)s examples. Delete one first.")
            % {"number": MOST_EXAMPLES}
        )
    example, _created = ToolExample.objects.update_or_create(
        capability=capability,
        title=title,
        defaults={"arguments_json": serialize_arguments(arguments), "created_by": by},
    )
    record(by=by, action="tool_example.saved", target=f"{capability.full_name}: {title}")
    return example


@transaction.atomic
def delete_example(*, by: User, example: ToolExample) -> None:
    """Delete an example."""
    target = f"{example.capability.full_name}: {example.title}"
    example.delete()
    record(by=by, action="tool_example.deleted", target=target)


# Comparison of a call with the last approved call of the same tool in the same group.

Change = Literal["", "equal", "changed", "new", "gone"]
_BADGES: dict[Change, tuple[str, str]] = {
    "": ("", ""),
    "equal": (gettext_noop("unchanged"), "quiet"),
    "changed": (gettext_noop("changed"), "caution"),
    "new": (gettext_noop("new"), "caution"),
    "gone": (gettext_noop("removed"), "caution"),
}


@dataclass(frozen=True, slots=True)
class ArgumentDifference:
    """An argument before and after; None if it is missing on a side."""

    change: Change
    before: Argument | None
    after: Argument | None

    @property
    def shown(self) -> Argument:
        """Return the later side, or the only one."""
        argument = self.after or self.before
        assert argument is not None  # noqa: S101 - one side there always is
        return argument

    @property
    def word(self) -> str:
        """Return the label of the change, or "" if there is nothing to compare with."""
        label = _BADGES[self.change][0]
        return _(label) if label else ""

    @property
    def tone(self) -> str:
        """Return the badge's CSS class."""
        return _BADGES[self.change][1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The earlier call and the differences. Only for people who may decide about this call."""

    earlier: Call
    differences: tuple[ArgumentDifference, ...]

    @property
    def is_equal(self) -> bool:
        """Return True if exactly the same arguments were approved."""
        return all(difference.change == "equal" for difference in self.differences)


def compare_with_last_approved(call: Call) -> Comparison | None:
    """Compare with the last call that was approved before this one; None if there is none.

    Callers must have checked that the viewer may decide about both.
    """
    earlier = find_last_approved(call)
    if earlier is None:
        return None
    before, after = render_call(earlier), render_call(call)
    if before.problem or after.problem:
        return None
    return Comparison(earlier, compare(before, after))


def find_last_approved(call: Call) -> Call | None:
    """Return the last approved call of the same tool in the same group."""
    approved = Call.objects.filter(
        full_name=call.full_name, group_id=call.group_id, needs_approval=True, content=0
    ).exclude(Q(pk=call.pk) | Q(approved_digest="") | Q(decided_at=None))
    if call.decided_at is not None:
        approved = approved.filter(decided_at__lt=call.decided_at)
    rows = approved.select_related("user", "decided_by", "capability")
    return rows.order_by("-decided_at", "pk").first()


def list_uncompared(rendering: Rendering) -> tuple[ArgumentDifference, ...]:
    """Return the arguments without a comparison."""
    return tuple(ArgumentDifference("", None, argument) for argument in rendering.arguments)


def compare(before: Rendering, after: Rendering) -> tuple[ArgumentDifference, ...]:
    """Compare by argument, in the order of the later call; removed arguments come last."""
    old = {entry.key: entry for entry in before.arguments}
    new = {entry.key: entry for entry in after.arguments}
    compared = [_difference(old.get(key), argument) for key, argument in new.items()]
    gone = [ArgumentDifference("gone", entry, None) for key, entry in old.items() if key not in new]
    return (*compared, *gone)


def _difference(before: Argument | None, after: Argument) -> ArgumentDifference:
    if before is None:
        return ArgumentDifference("new", None, after)
    equal = before.source == after.source
    return ArgumentDifference("equal" if equal else "changed", before, after)
