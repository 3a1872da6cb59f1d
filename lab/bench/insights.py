"""Latency of the Insights pages with many turns, compared with the sign-in page in the same run.

    python -m lab.bench.insights 100000

Prints the table of lab/benchmarks.md as Markdown. Starts its own servers. The turns cover sixty
days, twenty groups and three hundred tools; the pages show thirty days.
"""

import statistics
import sys
import time

import django

from lab.bench.inside import run_inside

ROUNDS = 12
GROUPS, TOOLS = 20, 300
# One turn in three names several tools, one in ten searched, one in fifty searched in vain.
_FILL = [
    """
    INSERT INTO auth_group (name) SELECT 'group ' || n FROM generate_series(1, %(groups)s) n
    """,
    """
    INSERT INTO auth_user (username, password, is_superuser, is_staff, is_active, first_name,
                           last_name, email, date_joined)
    SELECT 'user ' || n, '!', false, false, true, '', '', '', now() FROM generate_series(1, 200) n
    """,
    """
    INSERT INTO auth_user_groups (user_id, group_id)
    SELECT u.id, g.id FROM auth_user u JOIN auth_group g ON g.id %% 20 = u.id %% 20
    """,
    """
    INSERT INTO discovery_turn (id, user_id, group_id, other_groups, message, mode, plan, selected,
        tokens_all, tokens_selected, degraded, milliseconds, discovery_calls, discovery_empty,
        state, created_at, ended_at)
    SELECT gen_random_uuid(), m.user_id, m.group_id, '{}', '', 'discovered', '{}',
           (SELECT jsonb_agg(jsonb_build_array('tool:server__tool_' || (n * 7 + k * k) %% 300, 0.5))
            FROM generate_series(1, 9) k),
           20000, 1800, '[]', 10 + random() * 40, (n %% 10 = 0)::int, (n %% 50 = 0)::int,
           'completed', now() - random() * interval '60 days', now()
    FROM generate_series(1, %(turns)s) n
    JOIN LATERAL (SELECT user_id, group_id FROM auth_user_groups OFFSET n %% 200 LIMIT 1) m ON true
    """,
    """
    INSERT INTO discovery_outcome (turn_id, group_id, status, score, source, called, called_known,
                                   called_selected, note, at)
    SELECT id, group_id, CASE WHEN random() < 0.9 THEN 'success' ELSE 'failed' END, 1, 'reported',
           '[]', 1, 1, '', created_at
    FROM discovery_turn ORDER BY created_at
    """,
    """
    INSERT INTO discovery_called (outcome_id, capability_id, full_name, selected)
    SELECT o.id, c.id, c.full_name, true
    FROM discovery_outcome o JOIN catalog_capability c ON c.action = 'tool_' || (o.id * o.id) %% 240
    """,
    """
    INSERT INTO discovery_called (outcome_id, capability_id, full_name, selected)
    SELECT o.id, c.id, c.full_name, true
    FROM discovery_outcome o JOIN catalog_capability c ON c.action = 'tool_' || (240 + o.id %% 30)
    WHERE o.id %% 3 = 0
    """,
]


def main() -> None:
    """Start the servers, and measure in a process that knows them."""
    if "--inside" in sys.argv:
        _print(int(sys.argv[-1]), measure(int(sys.argv[-1])))
        return
    turns = sys.argv[1] if len(sys.argv) > 1 else "100000"
    run_inside("lab.bench.insights", "--inside", turns)


def measure(turns: int) -> dict[str, list[float]]:
    """Measure each page in turn, as an admin and as a group member."""
    django.setup()
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.test import Client
    from django.test.utils import setup_test_environment

    call_command("migrate", verbosity=0)
    settings.STORAGES["staticfiles"] = {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
    }
    fill(turns)
    setup_test_environment()
    admin, person, nobody = Client(), Client(), Client()
    admin.force_login(User.objects.create_superuser("root"))
    person.force_login(User.objects.get(username="user 7"))
    pages = {"sign in": (nobody, "/sign-in/")}
    for period in ("7d", "30d"):
        pages |= {
            f"figures, {period}": (admin, f"/insights/?period={period}"),
            f"tools, {period}": (admin, f"/insights/tools/?period={period}"),
        }
    pages |= {
        "outcomes and alerts": (admin, "/insights/outcomes/"),
        "figures of one group, 30d": (admin, "/insights/?period=30d&group=group+3"),
        "figures of one person, 30d": (person, "/insights/?period=30d"),
        "tools of one person, 30d": (person, "/insights/tools/?period=30d"),
    }
    taken: dict[str, list[float]] = {name: [] for name in pages}
    for number in range(ROUNDS + 2):
        for name, (client, path) in pages.items():
            started = time.perf_counter()
            answer = client.get(path)
            if number >= 2:
                taken[name].append((time.perf_counter() - started) * 1000)
            assert answer.status_code == 200, answer.content
    return taken


def fill(turns: int) -> None:
    """Create tools through the product, and all else by a few statements."""
    from django.contrib.auth.models import Group
    from django.db import connection

    from catalog.access.grants import grant_integrations
    from catalog.models import Integration
    from tests.factories import CapabilityFactory, IntegrationFactory

    integration = IntegrationFactory.create(slug="server")
    for number in range(TOOLS):
        CapabilityFactory.create(integration=integration, action=f"tool_{number}")
    with connection.cursor() as cursor:
        for statement in _FILL:
            cursor.execute(statement, {"groups": GROUPS, "turns": turns})
    for group in Group.objects.all():
        grant_integrations(integrations=Integration.objects.all(), group=group, by=None)
    connection.set_autocommit(True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def _print(turns: int, taken: dict[str, list[float]]) -> None:
    beside = statistics.median(taken["sign in"])
    sys.stdout.write(
        f"{turns:,} turns\n\n| page | ms, least / p50 | times sign in |\n|---|--:|--:|\n"
    )
    for name, values in taken.items():
        least, half = min(values), statistics.median(values)
        sys.stdout.write(f"| {name} | {least:.0f} / {half:.0f} | {half / beside:.0f} |\n")


if __name__ == "__main__":
    main()
