"""Query plan of the rights statement: rights are computed once, not per capability."""

import json

import pytest

from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from tests.access.query_plans import WORKED_OUT_ONCE, is_asked_for_each_row, nodes
from tests.access.worlds import store
from tests.oracle import CapabilityFacts, GrantFacts, IntegrationFacts, RuleFacts, World

CAPABILITIES = 400


@pytest.mark.django_db
def test_rights_are_read_once_and_not_for_each_capability() -> None:
    # The tables were never analysed, as after an import, so the planner has no statistics.
    pks = range(1, CAPABILITIES + 1)
    world = World(
        users={1: True},
        groups={1: True},
        members={(1, 1)},
        spaces={1: (1, None)},
        integrations={pk: IntegrationFacts() for pk in range(1, 21)},
        capabilities={pk: CapabilityFacts(1 + pk % 20) for pk in pks},
        rules={RuleFacts(1, 0, capability=pk) for pk in pks[::7]},
        grants={GrantFacts(group=1, capability=pk) for pk in pks[::5]},
    )
    store(world)
    caller = Caller(1, 1)
    found = Capability.objects.usable_by(caller)

    plan = list(nodes(json.loads(found.explain(format="json", analyze=True))[0]["Plan"]))

    loops = {
        node["Relation Name"]: node["Actual Loops"] for node in plan if "Relation Name" in node
    }
    assert {loops[name] for name in WORKED_OUT_ONCE & loops.keys()} == {1}
    assert not [node for node in plan if is_asked_for_each_row(node)]
