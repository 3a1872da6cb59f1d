"""Health endpoints: liveness, and readiness of each part.

Anyone may see which part has a problem. Details need the right to read metrics, because counts
of the whole catalogue disclose entries that a caller may not see.
"""

from django.http import HttpRequest, HttpResponse
from django.utils.translation import override
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.web.problems import SECONDS_TO_RETRY
from marketplace.config.metrics import MayReadMetrics
from marketplace.operate.checkup.registry import OK, PROBLEM, run_checks


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
