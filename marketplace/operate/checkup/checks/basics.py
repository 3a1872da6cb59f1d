"""Checks of what Pegboard works with: Postgres, Redis, and its own workers."""

import time
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from acl.platform.processes import BEAT, CONNECTIONS_KEY, was_alive, worker_lives
from acl.platform.read_replica import read_replica
from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import parse_json
from marketplace.operate.audit_anchor.state import anchor_problem
from marketplace.operate.checkup.registry import CheckFinding, check
from marketplace.operate.roles.grants import REMEDY, list_excess_rights

LEAST_POSTGRES = 15
LEAST_PGVECTOR = (0, 8)
LEAST_REDIS = (6, 2)
FULL = 0.9  # of the memory that Redis may use
LONGEST_WAIT_SECONDS = 120
QUEUES = ("celery", "servers")
_migrations_applied: list[bool] = []


@check("database", gettext_lazy("Database"), topic="running#your-own-servers", for_readiness=True)
def database() -> CheckFinding:
    """Ask the database for anything at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return CheckFinding()


@check("database_version", gettext_lazy("Database version"), topic="running#your-own-servers")
def database_version() -> CheckFinding:
    """Compare versions with what Pegboard needs: Postgres 15, pgvector 0.8."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version_num')::int, current_setting('server_version'),"
            " (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
        )
        number, version, vector = cursor.fetchone()
    facts = {"postgres": version, "pgvector": vector or "", "least": LEAST_POSTGRES}
    if number < LEAST_POSTGRES * 10_000:
        problem = _("Postgres %(postgres)s is too old: Pegboard needs %(least)d or later.")
        return CheckFinding(problem % facts, _("Upgrade Postgres."))
    if not vector:
        remedy = _("Run `CREATE EXTENSION vector` as a superuser, or `manage.py prepare_database`.")
        return CheckFinding(_("The database has no extension `vector`."), remedy)
    if _version(vector) < LEAST_PGVECTOR:
        problem = _("pgvector %(pgvector)s is too old: Pegboard needs 0.8 or later.")
        remedy = _("Upgrade pgvector, and run `ALTER EXTENSION vector UPDATE`.")
        return CheckFinding(problem % facts, remedy)
    return CheckFinding(note=_("Postgres %(postgres)s with pgvector %(pgvector)s.") % facts)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdecimal())


@check("migrations", gettext_lazy("Tables"), topic="running#upgrades", for_readiness=True)
def migrations() -> CheckFinding:
    """Look for migrations that are missing."""
    # Applied migrations stay applied, and looking for others reads every file of every app.
    if _migrations_applied:
        return CheckFinding()
    executor = MigrationExecutor(connection)
    count = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if not count:
        _migrations_applied.append(True)
        return CheckFinding()
    problem = ngettext(
        "%(count)d migration is missing.", "%(count)d migrations are missing.", count
    )
    return CheckFinding(problem % {"count": count}, _("Run `manage.py migrate`."))


@check("audit", gettext_lazy("Database role and audit log"), topic="audit", for_readiness=True)
def audit() -> CheckFinding:
    """Look for rights by which the application could change its audit log, and for its anchor."""
    if powers := list_excess_rights():
        return CheckFinding(" ".join(f"In the database, {power}." for power in powers), REMEDY)
    problem = anchor_problem()
    return CheckFinding(
        problem, _("Let the place of PEGBOARD_AUDIT_ANCHOR answer.") if problem else ""
    )


@check("redis", gettext_lazy("Redis"), topic="running#your-own-servers", for_readiness=True)
def redis_answer() -> CheckFinding:
    """Ask Redis for anything at all."""
    if attempt(lambda redis: redis.ping(), default=False):
        return CheckFinding()
    return CheckFinding(
        _("Redis does not respond: caches are not shared, and limits apply to each process."),
        _("Start it, or correct REDIS_URL. Nothing is lost meanwhile."),
    )


@check("redis_memory", gettext_lazy("Memory of Redis"), topic="running#your-own-servers")
def redis_memory() -> CheckFinding:
    """Look for Redis before 6.2, keys that may be evicted, and nine tenths full."""
    none: dict[str, Any] = {}
    facts = attempt(lambda redis: redis.info("server") | redis.info("memory"), default=none)
    if not facts:
        return CheckFinding(note=_("Redis does not tell its version and memory."))
    version, policy = str(facts.get("redis_version", "")), str(facts.get("maxmemory_policy", ""))
    if version and _version(version) < LEAST_REDIS:
        problem = _("Redis %(version)s is too old: Pegboard needs 6.2 or later.")
        return CheckFinding(problem % {"version": version}, _("Upgrade Redis."))
    limit, used = int(facts.get("maxmemory", 0)), int(facts.get("used_memory", 0))
    if limit and policy != "noeviction":
        return CheckFinding(
            _("Redis may evict keys (%(policy)s), and the task queue is among them.")
            % {"policy": policy},
            _("Set `maxmemory-policy noeviction`, or use another Redis for Pegboard."),
        )
    if limit and used > FULL * limit:
        return CheckFinding(
            _("Redis uses %(percent)d %% of the memory that it may use.")
            % {"percent": 100 * used // limit},
            _("Raise `maxmemory`. A full Redis takes no task any more."),
        )
    return CheckFinding()


@check("replica", gettext_lazy("Read replica"), topic="scaling", for_readiness=True)
def replica() -> CheckFinding:
    """Look whether selections can read the replica."""
    if settings.PEGBOARD_REPLICA_URL and not settings.PEGBOARD_REPLICA_STALENESS:
        return CheckFinding(note=_("Unused, since PEGBOARD_REPLICA_STALENESS is 0."))
    if not read_replica.problem:
        return CheckFinding()
    problem = _("Selections cannot read the replica: %(problem)s.")
    return CheckFinding(
        problem % {"problem": read_replica.problem},
        _("The primary answers meanwhile. Start the replica, or correct PEGBOARD_REPLICA_URL."),
    )


@check("worker", gettext_lazy("Worker"), topic="running#processes", for_readiness=True)
def worker() -> CheckFinding:
    """Look for the heartbeat of a worker."""
    if worker_lives():
        return CheckFinding()
    return CheckFinding(
        _("No worker responds: new entries are not being embedded."),
        _("Start one. Its log says why it ended."),
    )


@check("connections", gettext_lazy("Connections"), topic="outgoing#connections")
def connections() -> CheckFinding:
    """Look for the heartbeat of the process that keeps connections."""
    if was_alive(CONNECTIONS_KEY):
        return CheckFinding()
    return CheckFinding(
        _("The process Connections does not respond: calls of tools and installations wait."),
        _("Start it. Its log says why it ended."),
    )


@check("beat", gettext_lazy("Schedule"), topic="running#processes")
def beat() -> CheckFinding:
    """Look for the heartbeat of the schedule."""
    if was_alive(BEAT):
        return CheckFinding()
    return CheckFinding(
        _("The schedule (beat) does not run: nothing is checked, renewed or repeated."),
        _("Start exactly one."),
    )


@check("queue", gettext_lazy("Queue"), topic="operations")
def queue() -> CheckFinding:
    """Look for a task that has waited for more than two minutes."""
    waiting = {name: _oldest(name) for name in QUEUES}
    figures = {f"waiting_{name}": count for name, (count, _age) in waiting.items()}
    name, (count, age) = max(waiting.items(), key=lambda pair: pair[1][1])
    if age <= LONGEST_WAIT_SECONDS:
        return CheckFinding(figures=figures)
    facts = {"queue": name, "count": count, "minutes": age // 60}
    problem = ngettext(
        "%(count)d task waits in the queue %(queue)s, the oldest for %(minutes)d minutes.",
        "%(count)d tasks wait in the queue %(queue)s, the oldest for %(minutes)d minutes.",
        count,
    )
    remedy = _("Start its worker, or give it more processes or CPU time.")
    return CheckFinding(problem % facts, remedy, figures=figures)


def _oldest(name: str) -> tuple[int, int]:
    """Return the length of a queue, and the age of its oldest task in seconds."""
    count: int = attempt(lambda redis: redis.llen(name), default=0)
    oldest: bytes | str | None = attempt(lambda redis: redis.lindex(name, -1), default=None)
    try:
        sent_at = float(parse_json(oldest)["headers"]["sent_at"]) if oldest else time.time()
    except (KeyError, TypeError, ValueError):  # sent by another version
        return count, 0
    return count, int(time.time() - sent_at)
