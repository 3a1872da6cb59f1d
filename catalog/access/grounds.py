"""On what grounds a caller may use a capability, said to the person themselves or to an admin."""

from collections.abc import Sequence
from dataclasses import dataclass

from acl.rights.caller import Caller
from catalog.access.explanation import Explanation, Step, explain_many
from catalog.models import Capability


@dataclass(frozen=True, slots=True)
class Ground:
    """A sentence in three pieces, so that a page can stress the middle one."""

    before: str
    name: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.name}{self.after}"


def grounds_for(
    *, caller: Caller, capabilities: Sequence[Capability], to_themselves: bool = True
) -> dict[int, Ground]:
    """The ground for each of the capabilities, by key; their integrations must be loaded.

    One statement, however many they are. `to_themselves` speaks to the caller, otherwise it is
    told to an admin.
    """
    names = [capability.full_name for capability in capabilities]
    explained = explain_many(caller=caller, full_names=names)
    split_identifier = _in_words if to_themselves else _to_an_admin
    return {
        capability.pk: split_identifier(explained.get(capability.full_name), capability)
        for capability in capabilities
    }


def _to_an_admin(explanation: Explanation | None, capability: Capability) -> Ground:
    """As Explain says it, to go on after "because"."""
    step = explanation.ground if explanation else None
    if step is None:
        return Ground("it was theirs a moment ago")
    sentence = step.sentence.removesuffix(".")
    return Ground(f"a{sentence[1:]}" if step.kind == "rule" else sentence)


def _in_words(explanation: Explanation | None, capability: Capability) -> Ground:
    step = explanation.ground if explanation else None
    title = capability.integration.title
    on_integration = step is not None and step.target_kind == "integration"
    if step is None:  # taken away since the list was read
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
