"""Operations on a running Pegboard, each with the results of the requests meanwhile."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil
import psycopg
from django.core.management import call_command

from tests.operate.deployment import MISSING, PATIENCE, PROJECT, Deployment, wait_for
from tests.operate.load import MESSAGES, Load, ask, steady_load
from tests.operate.standin import DIMENSION, MODEL, embeddings_server

_TURNS = "SELECT count(*) FROM discovery_turn WHERE id = ANY (%s::uuid[])"
_ACTIVE = "SELECT name, dimension FROM catalog_embeddingmodel WHERE active"
_UNEMBED = (
    "UPDATE catalog_embedding SET vector_hash = ''"
    " WHERE id = (SELECT min(id) FROM catalog_embedding)"
)
RATE = 10.0


@dataclass(slots=True)
class Told:
    """The requests' results, and other figures by name."""

    load: Load
    figures: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def check(self, holds: bool, problem: str) -> None:
        """Record a failed expectation."""
        if not holds:
            self.problems.append(problem)


def restore_backup(deployment: Deployment, seconds: float) -> Told:
    """Back up, lose everything selectable, restore: all under load."""
    from catalog.models import Integration

    file, before = str(deployment.data / "backup"), _answers(deployment)
    with steady_load(deployment.port, deployment.key, rate=RATE) as load, deployment.connected():
        time.sleep(seconds)
        call_command("backup", file, "--json", stdout=io.StringIO())
        Integration.objects.all().delete()
        time.sleep(seconds)
        started = load.now
        told = io.StringIO()
        call_command("restore", file, "--yes", stdout=told)
        took = load.now - started
        time.sleep(seconds)
    told_of = Told(load, {"restoring took, s": f"{took:.1f}", "it says": told.getvalue().strip()})
    told_of.check(_answers(deployment) == before, "Answers are not what they were.")
    return told_of


def migrate(deployment: Deployment, seconds: float) -> Told:
    """Run an additive migration while another transaction holds the table."""
    with (
        psycopg.connect(deployment.postgres.url()) as holding,
        steady_load(deployment.port, deployment.key, rate=RATE) as load,
    ):
        holding.execute("SELECT count(*) FROM catalog_capability")  # locked until the commit
        time.sleep(seconds)
        waited = _migrate_to_later(deployment, release=holding.commit)
        time.sleep(seconds)
    told_of = Told(load, {"it was told to wait": str(waited)})
    added = deployment.sql("SELECT to_regclass('later_thing') IS NOT NULL")
    told_of.check(added == [(True,)], "The migration did not run.")
    told_of.check(waited > 0, "The migration did not meet the lock.")
    return told_of


def change_model(deployment: Deployment, seconds: float) -> Told:
    """Configure another model with another dimension, restart web and worker, await its answers."""
    old = _answers(deployment)
    with (
        embeddings_server() as url,
        steady_load(deployment.port, deployment.key, rate=RATE) as load,
    ):
        time.sleep(seconds)
        before = dict(deployment.environment)
        deployment.environment |= {
            "PEGBOARD_EMBEDDER": "openai",
            "PEGBOARD_EMBEDDING_URL": url,
            "PEGBOARD_EMBEDDING_MODEL": MODEL,
            "PEGBOARD_EMBEDDING_DIMENSION": str(DIMENSION),
        }
        started = load.now
        _restart(deployment)
        wait_for(lambda: deployment.sql(_ACTIVE)[0][1] == DIMENSION, "the switch")
        switched = load.now
        new = _settled(deployment, old)
        time.sleep(seconds)
        forth = load.now
        deployment.environment.clear()
        deployment.environment.update(before)
        _restart(deployment)
        _settled(deployment, new)
        back = load.now
    told_of = Told(
        load,
        {
            "restart and the new vectors took, s": f"{switched - started:.1f}",
            "restart and going back took, s": f"{back - forth:.1f}",
            "slowest answer, ms": f"{load.p(1):.0f}",
        },
    )
    mixed = [a for a in load.answers if a.ok and a.names not in (old[a.message], new[a.message])]
    told_of.check(not mixed, f"{len(mixed)} answers are of neither model: {mixed[:1]}")
    told_of.check(old != new, "Both models answer alike, so that nothing could be told.")
    return told_of


def restart_postgres(deployment: Deployment, seconds: float) -> Told:
    """REL-1: an outage of Postgres under double load; requests get a Retry-After."""
    with steady_load(deployment.port, deployment.key, rate=2 * RATE) as load:
        time.sleep(seconds)
        down = load.now
        deployment.postgres.stop()
        time.sleep(seconds)
        wait_for(lambda: bool(load.failed), "noticing it")
        deployment.postgres.start()
        up = load.now
        time.sleep(seconds)
        _work_for_the_worker(deployment)
    late = [answer for answer in load.failed if answer.due > up]
    first = min((a.ended for a in load.answers if a.ok and a.due > down), default=float("inf"))
    kept = [answer.turn for answer in load.answers if answer.turn]
    told_of = Told(
        load,
        {
            "away, s": f"{up - down:.1f}",
            "answered with 503": str(sum(answer.status == 503 for answer in load.answers)),
            "first answer after it was back, s": f"{max(0.0, first - up):.1f}",
        },
    )
    told_of.check(not late, f"{len(late)} requests failed after it was back: {late[:1]}")
    odd = [answer for answer in load.failed if answer.status != 503 or answer.ended < down]
    told_of.check(not odd, f"Some failed otherwise: {odd[:1]}")
    told_of.check(len(set(kept)) == len(kept), "A turn was told twice.")
    told_of.check(deployment.sql(_TURNS, kept) == [(len(kept),)], "A turn is missing or doubled.")
    return told_of


def stop_gracefully(deployment: Deployment, seconds: float) -> Told:
    """REL-20: SIGTERM to the web server under load: later requests fail, no process stays."""
    pid = deployment.pid("web")
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    with steady_load(deployment.port, deployment.key, rate=2 * RATE, dial_seconds=0) as load:
        time.sleep(seconds)
        os.kill(pid, signal.SIGTERM)
        _, left = psutil.wait_procs(family, timeout=PATIENCE)
        time.sleep(seconds)
    reset = [answer for answer in load.failed if not answer.is_refused]
    answered = str(len(load.answers) - len(load.failed))
    told_of = Told(load, {"answered": answered, "reset": str(len(reset))})
    told_of.check(not reset, f"{len(reset)} were neither answered nor refused: {reset[:1]}")
    told_of.check(not left, f"{len(left)} processes are left.")
    told_of.check(len(load.failed) < len(load.answers), "Nobody was answered at all.")
    with suppress(KeyError):
        deployment.stop("web")
    return told_of


SCENARIOS: dict[str, Callable[[Deployment, float], Told]] = {
    "restore": restore_backup,
    "migrate": migrate,
    "model": change_model,
    "postgres": restart_postgres,
    "stop": stop_gracefully,
}
# These may refuse no request; the others state which they may refuse, and when.
NOBODY_FAILS = ("restore", "migrate", "model")


def _migrate_to_later(deployment: Deployment, *, release: Callable[[], None]) -> int:
    """Migrate to a later release; return how often it waited until the lock was released."""
    times = 0
    with subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, str(PROJECT / "manage.py"), "migrate", "--no-input", "--verbosity=0"],
        env=deployment.environment | {"DJANGO_SETTINGS_MODULE": "tests.operate.later.settings"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "in use" in line:
                times += 1
                release()
    return times


def _restart(deployment: Deployment) -> None:
    deployment.stop("web", "worker")
    deployment.start("web", "worker")


def _answers(deployment: Deployment) -> dict[str, tuple[str, ...]]:
    return {each: ask(deployment.port, deployment.key, each).names for each in MESSAGES}


def _settled(
    deployment: Deployment, unlike: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the answers once all processes have noticed: twice equal, and not the old ones."""
    answers = [_answers(deployment)]

    def settled() -> bool:
        answers.append(_answers(deployment))
        return answers[-1] == answers[-2] == answers[-3] != unlike

    answers.append(_answers(deployment))
    wait_for(settled, "noticing it")
    return answers[-1]


def _work_for_the_worker(deployment: Deployment) -> None:
    """Wait until the worker uses its database again."""
    deployment.sql(_UNEMBED)
    wait_for(lambda: deployment.sql(MISSING) == [(0,)], "embedding")
