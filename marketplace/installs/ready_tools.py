"""Tools of an integration that has just become ready, for whoever wants to try one."""

from collections.abc import Sequence

from django.db.models import Case, IntegerField, Value, When

from acl.rights.caller import Caller
from catalog.models import Capability, Integration

MOST = 6
_HARMLESS_FIRST = Case(
    When(side_effect=Capability.SideEffect.READ, then=Value(0)),
    default=Value(1),
    output_field=IntegerField(),
)


def tools_to_try(integration: Integration, caller: Caller | None) -> Sequence[Capability]:
    """Return some of its tools that the caller may use, those that only read first."""
    if caller is None:
        return []
    usable = Capability.objects.usable_by(caller).of_kind("tool").filter(integration=integration)
    shown = usable.only("full_name", "display_name", "description", "side_effect")
    return list(shown.order_by(_HARMLESS_FIRST, "display_name", "pk")[:MOST])
