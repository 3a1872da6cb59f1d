"""Grounds: the reasons why a caller may use a capability, addressed to them or to an admin."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from acl.rights.caller_lookup import Caller
from catalog.access.explanation import Explanation, ExplanationStep, explain_many
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
    step = explanation.ground if explanation else None
    names = {"target": step.target, "subject": step.subject} if step else {}
    match step:
        case None:  # revoked since the list was read
            return Ground(_("it was theirs a moment ago"))
        case ExplanationStep(kind="rule"):
            return _ground_of_rule(step)
        case ExplanationStep(kind="grant", subject_kind="user"):
            return Ground(_("%(target)s is granted to %(subject)s") % names)
        case ExplanationStep(kind="grant"):
            return Ground(_("%(target)s is granted to the group %(subject)s") % names)
        case ExplanationStep():
            return Ground(_("%(subject)s is open and %(target)s is not restricted") % names)


def _for_caller(explanation: Explanation | None, capability: Capability) -> Ground:
    step = explanation.ground if explanation else None
    title = capability.integration.title
    on_integration = step is not None and step.target_kind == "integration"
    match step:
        case None:
            return Ground(_("it was yours a moment ago"))
        case ExplanationStep(kind="rule"):
            return _ground_of_rule(step)
        case ExplanationStep(kind="grant", subject_kind="user"):
            if on_integration:
                return _emphasize(_("%(name)s is granted to you"), title)
            return Ground(_("it is granted to you"))
        case ExplanationStep(kind="grant"):
            if on_integration:
                return _emphasize(_("%(name)s is granted to your group"), title)
            return _emphasize(_("it is granted to your group %(name)s"), step.subject)
        case ExplanationStep():
            return _emphasize(_("your group %(name)s is open"), step.subject)


def _ground_of_rule(step: ExplanationStep) -> Ground:
    asks, allows = _("a rule in %(name)s makes it ask first"), _("a rule in %(name)s allows it")
    return _emphasize(asks if step.effect == "propose" else allows, step.space_name)


def _emphasize(message: str, name: str) -> Ground:
    """Split a message, which follows "because", around its `%(name)s`."""
    before, after = message.partition("%(name)s")[::2]
    return Ground(before, name, after)
