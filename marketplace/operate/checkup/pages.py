"""The page Health: the checks of the installation, for admins."""

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from marketplace.operate.checkup.registry import ADVICE, OK, PROBLEM, run_checks
from marketplace.operate.checkup.visits import note_visit


@admins_only
@require_GET
def health(request: PageRequest) -> HttpResponse:
    """Run all checks, and show what is wrong first."""
    note_visit(request)
    results = run_checks()
    by_state = {
        state: [result for result in results if result.state == state]
        for state in (PROBLEM, ADVICE, OK)
    }
    context = {
        "results": [result for results in by_state.values() for result in results],
        "problems": len(by_state[PROBLEM]),
        "advice": len(by_state[ADVICE]),
    }
    return render_page(request, "health/health.html", context, frame=frame_of(request))
