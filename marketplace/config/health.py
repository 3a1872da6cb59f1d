"""Health endpoints, and metrics for Prometheus."""

import os
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from drf_spectacular.utils import extend_schema
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from rest_framework.permissions import AllowAny, BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.platform.redis_circuit import redis_circuit
from acl.web.authentication import HasScope, has_scope
from acl.web.problems import SECONDS_TO_RETRY
from acl.web.request_callers import is_installation_admin
from catalog.embedding.jobs import embedding_counts
from marketplace.operate.audit_anchor.state import count_unanchored_entries
from marketplace.operate.checkup.registry import OK, PROBLEM, run_checks

# GET /metrics for Prometheus, and request metrics.
#
# Open to the machine itself, to staff, and to admin keys of staff. With PROMETHEUS_MULTIPROC_DIR
# one answer covers all web processes; without it, each process reports only itself.

_requests = Counter("pegboard_requests", "Requests answered.", ["route", "method", "status"])
_seconds = Histogram(
    "pegboard_request_seconds",
    "Duration of requests.",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class MetricsMiddleware:
    """Counts requests by route name, since paths would create too many label values."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        response = self._get_response(request)
        match = request.resolver_match
        route = (match.view_name or match.route) if match else "none"
        method = request.method if request.method in _METHODS else "other"
        _requests.labels(route, method, str(response.status_code)).inc()
        _seconds.labels(route).observe(time.perf_counter() - started)
        return response


class StateCollector(Collector):
    """Gauges of what the checks say, and of rows, at scrape time."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield gauges of the checks, embeddings, the audit anchor and Redis."""
        failing = GaugeMetricFamily(
            "pegboard_check_failing",
            "1 for a check of `manage.py doctor` with a problem, else 0.",
            labels=["check"],
        )
        for result in run_checks(may_go_out=False):
            failing.add_metric([result.check.name], int(result.state == PROBLEM))
        yield failing
        yield GaugeMetricFamily(
            "pegboard_redis_failing", "1 while Redis does not respond.", int(redis_circuit.failing)
        )
        try:
            counts, not_noted = embedding_counts(), count_unanchored_entries()
        except DatabaseError:
            return
        if settings.PEGBOARD_AUDIT_ANCHOR:
            yield GaugeMetricFamily(
                "pegboard_audit_entries_not_noted",
                "Audit entries since the last recorded anchor.",
                not_noted,
            )
        for state, number in counts.items():
            yield GaugeMetricFamily(f"pegboard_embeddings_{state}", f"Vectors {state}.", number)


class MayReadMetrics(BasePermission):
    """Permission for the machine itself, staff, and admin keys of staff."""

    message = HasScope.message

    def has_permission(self, request: Request, view: APIView) -> bool:
        if from_this_machine(request._request):
            return True
        return has_scope(request.user, ApiKey.Scope.ADMIN) and is_installation_admin(request)


class MetricsView(APIView):
    """Metrics in Prometheus' text format."""

    required_scope = ApiKey.Scope.ADMIN
    permission_classes = [MayReadMetrics]
    throttle_classes = []

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Return the counters of the web processes, and gauges of the database."""
        registry = CollectorRegistry()
        registry.register(StateCollector())
        return HttpResponse(
            _counters() + generate_latest(registry), content_type=CONTENT_TYPE_LATEST
        )


def from_this_machine(request: HttpRequest) -> bool:
    """Return True for a direct request over loopback or a local socket, without a proxy."""
    forwarded = {"X-Forwarded-For", "Forwarded", "X-Real-IP"} & set(request.headers)
    return request.META.get("REMOTE_ADDR", "") in {"127.0.0.1", "::1", ""} and not forwarded


def _counters() -> bytes:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


# Health endpoints: liveness, and readiness of each part.
#
# Anyone may see which part has a problem. Details need the right to read metrics, because counts of
# the whole catalogue disclose entries that a caller may not see.


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
        with override("en"):  # for programs
            results = run_checks(for_readiness=True)
        findings = {result.check.name: result.finding for result in results}
        in_full = MayReadMetrics().has_permission(request, self)
        available = findings["database"].state == OK
        return Response(
            {
                "ready": available,
                "degraded": [
                    name for name, finding in findings.items() if finding.state == PROBLEM
                ],
                "parts": {
                    name: finding.as_json(in_full=in_full) for name, finding in findings.items()
                },
            },
            status=200 if available else 503,
            headers={} if available else {"Retry-After": str(SECONDS_TO_RETRY)},
        )
