"""REL-1, REL-8, REL-20 and restore, shortened: operations under load."""

import pytest

from tests.operate.deployment import Deployment
from tests.operate.scenarios import NOBODY_FAILS, SCENARIOS

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]
SECONDS = 0.5


def test_what_an_operator_does_fails_no_request(deployment: Deployment) -> None:
    deployment.start("web", "worker")

    for name, scenario in SCENARIOS.items():
        told = scenario(deployment, SECONDS)

        assert told.problems == [], name
        if name in NOBODY_FAILS:
            assert told.load.failed == [], name
        assert len(told.load.answers) > 5, name
