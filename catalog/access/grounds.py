"""Grounds: the reasons why a caller may use a capability, addressed to them or to an admin."""

from collections.abc import Sequence
from dataclasses import dataclass

from acl.rights.caller import Caller
from catalog.access.explanation import Explanation, Step, explain_many
from catalog.models import Capability


@dataclass(frozen=True, slots=True)
class Ground:
    """A sentence in three parts, so that a page can emphasize the middle one."""

    before: str
    name: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.name}{self.after}"


def grounds_for(
    *, caller: Caller, capabilities: Sequence[Capability], to_themselves: bool = True
) -> dict[int, Ground]:
    """Return the grounds by capability key, with one statement; integrations must be loaded.

    `to_themselves` addresses the caller, otherwise an admin.
    """
    names = [capability.full_name for capability in capabilities]
    explained = explain_many(caller=caller, full_names=names)
    describe = _for_caller if to_themselves else _for_admin
    return {
        capability.pk: describe(explained.get(capability.full_name), capability)
        for capability in capabilities
    }


def _for_admin(explanation: Explanation | None, capability: Capability) -> Ground:
    """Return Explain's sentence, to follow "because"."""
    step = explanation.ground if explanation else None
    if step is None:
        return Ground("it was theirs a moment ago")
    sentence = step.sentence.removesuffix(".")
    return Ground(f"a{sentence[1:]}" if step.kind == "rule" else sentence)


def _for_caller(explanation: Explanation | None, capability: Capability) -> Ground:
    step = explanation.ground if explanation else None
    title = capability.integration.title
    on_integration = step is not None and step.target_kind == "integration"
    if step is None:  # revoked since the list was read
        return Ground("it was yours a moment ago")
    match step:
        case Step(kind="rule"):
            after = " lets it ask first" if step.effect == "propose" else " allows it"
            return Ground("a rule in ", step.space_name, after)
        case Step(kind="grant", subject_kind="user"):
            if on_integration:
                return Ground("", title, " was given to you")
            return Ground("it was given to you")
        case Step(kind="grant"):
            after = f" has {title}" if on_integration else " has this one"
            return Ground("your group ", step.subject, after)
        case _:
            return Ground("your group ", step.subject, " is open")
