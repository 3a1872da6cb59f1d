"""Takeover: a second process of a kind waits until the first is killed."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db.models.functions import Now

from acl.platform.database_work import lock_key
from acl.platform.processes import CONNECTIONS_KEY, was_alive
from catalog.models import Capability
from discovery.calls.state import send_call
from discovery.models import Call
from tests.factories import UserFactory, waiting_call
from tests.operate.deployment import Deployment, wait_for
from tests.registration.folders import manifest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
]
QUIET_SECONDS = 12.0  # a beat on standby looks every five
ECHO = "echo__echo"


@pytest.fixture(autouse=True)
def talkative(deployment: Deployment) -> None:
    deployment.environment["PEGBOARD_LOG_LEVEL"] = "INFO"


def kill(deployment: Deployment, name: str) -> None:
    os.kill(deployment.pid(name), signal.SIGKILL)
    deployment.stop(name)


def test_beat_on_standby_sends_only_once_the_other_is_killed(deployment: Deployment) -> None:
    deployment.start("beat")
    wait_for(lambda: "Sending due task" in deployment.log("beat"), "The first sending")
    deployment.start("beat@2")
    time.sleep(QUIET_SECONDS)
    assert "Sending due task" not in deployment.log("beat@2")

    kill(deployment, "beat")

    wait_for(lambda: "Sending due task" in deployment.log("beat@2"), "The takeover")
    deployment.stop("beat@2")


def test_watcher_on_standby_reads_only_once_the_other_is_killed(
    deployment: Deployment, tmp_path: Path
) -> None:
    deployment.environment["PEGBOARD_CAPABILITY_DIRS"] = str(tmp_path)
    deployment.start("manifests")
    write(tmp_path, "lamp")
    wait_for(lambda: is_registered(deployment, "lamp"), "The first manifest")
    deployment.start("manifests@2")
    wait_for(lambda: "watching for manifests" in deployment.log("manifests@2"), "The start")
    write(tmp_path, "fan")
    wait_for(lambda: is_registered(deployment, "fan"), "The second manifest")
    assert "manifests read" not in deployment.log("manifests@2")

    kill(deployment, "manifests")
    write(tmp_path, "heater")

    wait_for(lambda: "manifests read" in deployment.log("manifests@2"), "The takeover")
    assert is_registered(deployment, "heater")
    deployment.stop("manifests@2")


def test_connections_on_standby_end_the_calls_of_the_killed_process_and_go_on(
    deployment: Deployment,
) -> None:
    with deployment.connected():
        deployment.start("connections")
        wait_for(lambda: was_alive(CONNECTIONS_KEY), "The start")
        deployment.start("connections@2")
        wait_for(lambda: "takes over when it dies" in deployment.log("connections@2"), "Standby")
        before = make_call("read")
        wait_for(lambda: state_of(before) == Call.State.COMPLETED, "A call")
        os.kill(deployment.pid("connections"), signal.SIGSTOP)
        under_way = {"state": Call.State.RUNNING, "started_at": Now()}
        lost = {effect: make_call(effect, **under_way) for effect in ("read", "write")}

        began = time.monotonic()
        kill(deployment, "connections")

        wait_for(lambda: state_of(lost["write"]) != Call.State.RUNNING, "The end of a call")
        seconds = time.monotonic() - began
        after = make_call("read")
        wait_for(lambda: state_of(after) == Call.State.COMPLETED, "A call after the takeover")
        wait_for(lambda: state_of(lost["read"]) == Call.State.COMPLETED, "The call that only reads")
        lost["write"].refresh_from_db()
        deployment.stop("connections@2")

    assert (lost["write"].state, lost["write"].reason) == (Call.State.UNKNOWN, "gave_up")
    assert seconds < 60  # a sweep would take minutes


def test_one_of_two_keeps_the_connections_after_a_restart_of_postgres(
    deployment: Deployment,
) -> None:
    deployment.start("connections")
    wait_for(lambda: holders(deployment) == 1, "The lease")
    deployment.start("connections@2")
    deployment.postgres.stop()
    deployment.postgres.start()

    wait_for(lambda: holders(deployment) == 1, "A new lease")
    with deployment.connected():
        row = make_call("read")
        wait_for(lambda: state_of(row) == Call.State.COMPLETED, "A call")
    deployment.stop("connections", "connections@2")


def holders(deployment: Deployment) -> int:
    """Return how many processes have the lease of connections."""
    rows = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = %s"
    return len(deployment.sql(rows, lock_key("pegboard/connections") & 0xFFFFFFFF))


def make_call(side_effect: str, **columns: Any) -> Call:
    """Make a call of the echo, and send it unless it is under way already."""
    group = Group.objects.get(name="everyone")
    user = UserFactory.create(groups=[group])
    row = waiting_call(user, group, Capability.objects.get(full_name=ECHO), "hello")
    columns = {"state": Call.State.QUEUED, **columns}
    Call.objects.filter(pk=row.pk).update(side_effect=side_effect, needs_approval=False, **columns)
    if columns["state"] == Call.State.QUEUED:
        send_call(str(row.pk))
    return row


def state_of(row: Call) -> str:
    row.refresh_from_db()
    return str(row.state)


def write(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "CAPABILITY.yaml").write_text(manifest(name))


def is_registered(deployment: Deployment, name: str) -> bool:
    rows = "SELECT 1 FROM catalog_capability WHERE full_name = %s"
    return bool(deployment.sql(rows, name))
