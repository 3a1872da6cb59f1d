"""Calling a capability: whether the caller may, whether the arguments fit, and what comes of it.

Nothing here goes outward. A skill is answered with its content; what has no connection of ours is
handed back with the checked arguments, for the chat backend to carry out.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from acl.callers import Caller
from catalog.descriptors import JSONObject
from catalog.models import Capability, Integration
from discovery.arguments import check_arguments
from discovery.metatools.registry import META_TOOLS
from discovery.near_names import near_names

MOST_CONTENT = 20_000  # characters of a skill: some 5,000 tokens
LONGEST_SHOWN = 200

Status = Literal["completed", "client_executes", "approval_needed"]


class NotFoundError(Exception):
    """Nothing of that name is the caller's: no such one, or not theirs. `did_you_mean` has only
    names that are theirs."""

    def __init__(self, asked: str, did_you_mean: tuple[str, ...], what: str = "tool") -> None:
        near = f" Did you mean {' or '.join(did_you_mean)}?" if did_you_mean else ""
        shown = asked[:LONGEST_SHOWN]
        super().__init__(f"There is no {what} '{shown}' among those that you may use.{near}")
        self.did_you_mean = did_you_mean


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a call. `arguments` are the checked ones, where somebody else is to use them."""

    status: Status
    tool: str
    message: str
    content: str | None = None
    truncated: bool = False
    arguments: JSONObject | None = None
    # What a meta-tool that is a capability, too, has answered.
    result: JSONObject | None = None

    def as_answer(self) -> JSONObject:
        """Without what this status does not have."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def execute(*, caller: Caller, full_name: str, arguments: Any) -> Execution:
    """Call one capability of the caller's, or say why not yet.

    Raises NotFoundError alike for an unknown name and for somebody else's, and
    ArgumentsRefusedError.
    """
    capability = find_usable(caller=caller, full_name=full_name)
    check_arguments(capability.input_schema, arguments)
    if getattr(capability, "asks_first", True):
        return _needs_approval(capability, arguments)
    if capability.kind == Capability.Kind.SKILL:
        return _read_skill(capability)
    if _is_ours(capability):
        return _answer(caller, capability, arguments)
    return _hand_back(capability, arguments)


def find_usable(*, caller: Caller, full_name: str) -> Capability:
    """The capability with `asks_first`; NotFoundError unless the caller may use it now."""
    usable = Capability.objects.usable_by(caller).filter(full_name=full_name)
    found = usable.with_access(caller).select_related("integration").first()
    if found is None:
        raise not_found(caller=caller, full_name=full_name)
    return found


def not_found(*, caller: Caller, full_name: str) -> NotFoundError:
    """The one answer to every name that is not the caller's."""
    usable = Capability.objects.usable_by(caller).connected()
    return NotFoundError(
        full_name, near_names(full_name, usable.values_list("full_name", flat=True))
    )


def _needs_approval(capability: Capability, arguments: JSONObject) -> Execution:
    message = "A person has to approve this call first. Nothing has been run."
    return Execution("approval_needed", capability.full_name, message, arguments=arguments)


def _read_skill(capability: Capability) -> Execution:
    content = capability.content[:MOST_CONTENT]
    truncated = len(capability.content) > MOST_CONTENT
    message = "Follow these instructions." + (" They are cut off here." if truncated else "")
    return Execution("completed", capability.full_name, message, content, truncated)


def _is_ours(capability: Capability) -> bool:
    """Whether it is a meta-tool. Another integration's tool of that name is only a tool."""
    builtin = capability.integration.kind == Integration.Kind.BUILTIN
    return builtin and capability.full_name in META_TOOLS


def _answer(caller: Caller, capability: Capability, arguments: JSONObject) -> Execution:
    # Here, because what answers the meta-tools calls this module for `execute_tool`.
    from discovery.services.metatools.calling import call_meta_tool

    name = capability.full_name
    result = call_meta_tool(caller=caller, name=name, arguments=arguments)
    return Execution("completed", name, "Answered by Pegboard.", result=result)


def _hand_back(capability: Capability, arguments: JSONObject) -> Execution:
    message = "The arguments fit. The application that asked is to carry out the call."
    return Execution("client_executes", capability.full_name, message, arguments=arguments)
