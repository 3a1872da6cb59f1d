"""Health endpoints: liveness, and readiness of each part.

Anyone may see which part has a problem. Details need the right to read metrics, because counts
of the whole catalogue disclose entries that a caller may not see.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.platform.database_failures import was_short_of_room
from acl.platform.heartbeat import worker_lives
from acl.platform.read_replica import read_replica
from acl.platform.redis_circuit import attempt
from acl.web.problems import DATABASE_GONE, SECONDS_TO_RETRY
from catalog.embedding.configured_embedder import embedder_problem
from catalog.embedding.multilingual_embedder import describe_languages
from catalog.servers.cell.report import read_report
from marketplace.config.metrics import MayReadMetrics, embedding_counts
from marketplace.operate.audit_anchor.state import anchor_problem
from marketplace.operate.embedded.disk_guard import describe_broken_part, read_broken_parts
from marketplace.operate.roles.grants import REMEDY, list_excess_rights

# Postgres needs free space to finish its work: one WAL segment alone has 16 MB.
LEAST_FREE_BYTES = 200 * 1024**2


@dataclass(frozen=True, slots=True)
class HealthPart:
    """State of a part: its problem as a sentence, or "", a note on what works less, and figures."""

    problem: str = ""
    note: str = ""
    figures: dict[str, int] = field(default_factory=dict)

    def shown(self, *, in_full: bool) -> dict[str, Any]:
        """Return the part as JSON, with details if `in_full`."""
        state: dict[str, Any] = {"ok": not self.problem}
        if not in_full:
            return state
        details = {"problem": self.problem} | ({"note": self.note} if self.note else {})
        return state | details | self.figures


def alive(request: HttpRequest) -> HttpResponse:
    """GET /healthz and /livez: the process answers, without asking other services."""
    return HttpResponse("ok\n", content_type="text/plain")


class ReadyView(APIView):
    """GET /readyz: each part by name; 503 only without the database, which everything needs."""

    permission_classes = [AllowAny]
    throttle_classes = []

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """Return the state of each part, and which parts are degraded."""
        parts = {name: check() for name, check in _CHECKS.items()}
        in_full = MayReadMetrics().has_permission(request, self)
        available = not parts["database"].problem
        return Response(
            {
                "ready": available,
                "degraded": [name for name, part in parts.items() if part.problem],
                "parts": {name: part.shown(in_full=in_full) for name, part in parts.items()},
            },
            status=200 if available else 503,
            headers={} if available else {"Retry-After": str(SECONDS_TO_RETRY)},
        )


def _database() -> HealthPart:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DATABASE_GONE:
        return HealthPart("The database does not respond.")
    return HealthPart()


def _disk() -> HealthPart:
    if was_short_of_room():
        return HealthPart(
            "The database is out of disk space. Reading still works; free disk space to write."
        )
    try:
        free = shutil.disk_usage(settings.PEGBOARD_DATA_DIR).free
    except OSError:  # nothing has been stored there yet
        return HealthPart()
    if free < LEAST_FREE_BYTES:
        return HealthPart(f"The disk of PEGBOARD_DATA_DIR has only {free // 1024**2} MB left.")
    return HealthPart()


def _migrations() -> HealthPart:
    # Applied migrations stay applied, and looking for others reads every file of every app.
    if _migrations_seen:
        return HealthPart()
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DATABASE_GONE:
        return HealthPart("The database does not respond.")
    if missing:
        return HealthPart(f"{len(missing)} migrations are missing: run `manage.py migrate`.")
    _migrations_seen.append(True)
    return HealthPart()


def _audit() -> HealthPart:
    try:
        powers, anchors = list_excess_rights(), anchor_problem()
    except DATABASE_GONE:
        return HealthPart("The database does not respond.")
    except DatabaseError:
        return HealthPart("The database has no tables yet.")
    sentences = [f"In the database, {power}. {REMEDY}" for power in powers] + [anchors]
    return HealthPart(" ".join(sentence for sentence in sentences if sentence))


def _redis() -> HealthPart:
    if attempt(lambda redis: redis.ping(), default=False):
        return HealthPart()
    return HealthPart(
        "Redis does not respond: caches are not shared, and limits apply to each process."
    )


def _replica() -> HealthPart:
    if settings.PEGBOARD_REPLICA_URL and not settings.PEGBOARD_REPLICA_STALENESS:
        return HealthPart(note="Unused, since PEGBOARD_REPLICA_STALENESS is 0.")
    if read_replica.problem:
        return HealthPart(f"Selections cannot read the replica: {read_replica.problem}.")
    return HealthPart()


def _worker() -> HealthPart:
    return HealthPart(
        "" if worker_lives() else "No worker responds: new entries are not being embedded."
    )


def _model() -> HealthPart:
    return HealthPart(embedder_problem(), note=describe_languages())


def _embeddings() -> HealthPart:
    try:
        counts = embedding_counts()
    except DATABASE_GONE:
        return HealthPart("The database does not respond.")
    except DatabaseError:
        return HealthPart("The database has no tables yet.")
    failed = counts["failed"]
    entries = "entry" if failed == 1 else "entries"
    problem = f"{failed} {entries} could not be embedded." if failed else ""
    return HealthPart(problem, figures=counts)


def _processes() -> HealthPart:
    """Return the parts of `make run` that are down; elsewhere somebody else watches processes."""
    broken = read_broken_parts(Path(settings.PEGBOARD_DATA_DIR))
    return HealthPart(" ".join(describe_broken_part(name, part) for name, part in broken.items()))


def _cells() -> HealthPart:
    report = read_report()
    return HealthPart(problem=report.words) if report.fails else HealthPart(note=report.words)


_migrations_seen: list[bool] = []
_CHECKS: dict[str, Callable[[], HealthPart]] = {
    "database": _database,
    "disk": _disk,
    "migrations": _migrations,
    "audit": _audit,
    "redis": _redis,
    "replica": _replica,
    "worker": _worker,
    "model": _model,
    "embeddings": _embeddings,
    "cells": _cells,
    "processes": _processes,
}
