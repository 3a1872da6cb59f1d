"""Rules on the mode of the guard on flows, and the values that any text may choose."""

from django.contrib.auth.models import Group, User
from django.db import transaction

from acl.audit.recorder import record
from acl.models import Space
from catalog.models import Capability
from discovery.models import FlowRule, TrustedValue


@transaction.atomic
def set_flow_rule(
    *,
    by: User | None,
    mode: str,
    capability: Capability | None = None,
    space: Space | None = None,
    group: Group | None = None,
) -> bool:
    """Set the mode for a tool, a space or a group, or a combination; False if it was set."""
    rule, is_new = FlowRule.objects.select_for_update().get_or_create(
        capability=capability, space=space, group=group, defaults={"mode": mode}
    )
    if not is_new and rule.mode == mode:
        return False
    if not is_new:
        rule.mode = mode
        rule.save(update_fields=["mode"])
    record(by=by, action=f"flowrule.{'add' if is_new else 'change'}", target=str(rule))
    return True


@transaction.atomic
def remove_flow_rule(*, by: User | None, rule: FlowRule) -> None:
    """Remove a rule; wider ones and the setting decide again."""
    record(by=by, action="flowrule.delete", target=str(rule))
    rule.delete()


@transaction.atomic
def trust_value(*, by: User | None, value: str, note: str) -> bool:
    """Trust a value, or change its note; return False if nothing changes."""
    row, is_new = TrustedValue.objects.select_for_update().get_or_create(
        value=value, defaults={"note": note, "created_by": by}
    )
    if not is_new and row.note == note:
        return False
    if not is_new:
        row.note = note
        row.save(update_fields=["note"])
    action = f"trustedvalue.{'add' if is_new else 'change'}"
    record(by=by, action=action, target=value, details={"note": note})
    return True


@transaction.atomic
def distrust_value(*, by: User | None, value: str) -> None:
    """Trust a value no longer."""
    if TrustedValue.objects.filter(value=value).delete()[0]:
        record(by=by, action="trustedvalue.delete", target=value)
