"""REL-7, shortened: a misbehaving server affects no other, is backed off, and leaves nothing."""

from dataclasses import replace

import pytest

from catalog.servers.client.server_problems import Reason
from catalog.servers.client.targets import MB, ServerLimits
from catalog.servers.connections._policy import Policy
from lab.soak.soaking import GREEDY, MODES, Pace, soak
from tests.connections.evil_server import QUICK

SHORT = Pace(
    seconds=0.6,
    healthy_every=0.05,
    evil_every=0.05,
    evil_seconds=0.2,
    policy=Policy(failures=3, rest_seconds=60, first_pause=0.001, longest_pause=0.002),
    limits=replace(QUICK, connect_seconds=2, goodbye_seconds=0.1),
)
# A busy machine starts Python and reads a flood slowly: only who never answers gets little time.
PATIENT = replace(SHORT, limits=replace(SHORT.limits, connect_seconds=10))
LONG = replace(PATIENT, evil_seconds=30)
PACES = {"hang_at_connect": SHORT, "hang_at_call": PATIENT, "drip": PATIENT}
TIGHT = ServerLimits(connect_seconds=10, goodbye_seconds=0.1, memory_bytes=200 * MB, processes=30)
# A call may be told that the server is busy or backed off.
ALSO = {Reason.BUSY, Reason.RESTING, "answered"}


@pytest.mark.parametrize("mode", [*MODES, *GREEDY])
def test_evil_server_disturbs_no_other_and_leaves_nothing(mode: str) -> None:
    expected = {**MODES, **GREEDY}[mode]
    pace = PACES.get(mode, LONG)
    pace = replace(pace, limits=TIGHT) if mode in GREEDY else pace

    told = soak(mode, pace)

    assert told.healthy_failed == 0
    assert len(told.healthy_processes) == 1  # one process answered all calls
    assert len(told.healthy_ms) > 1
    assert told.left == 0
    if expected is None:
        assert told.evil["answered"]
    else:
        assert told.evil[expected]
        assert set(told.evil) <= {expected, *ALSO}
        assert not told.evil["answered"]
