"""Each real sample that is a source of listings is offered, or reported with a reason."""

import pytest

from marketplace.models import Listing
from tests.sources.conftest import Read
from tests.sources.places import SAMPLES

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not SAMPLES.is_dir(), reason="the folder shared is not beside the project"),
]

# Listings, lines of the report, and listings that the scanner holds, verified by hand.
EXPECTED = [
    ("docker", "docker-mcp-registry", 67, 0, 0),
    ("docker", "toolhive-registry", 20, 0, 0),
    ("registry", "mcp-registry-server-json", 98, 0, 0),
    ("registry", "mcp-registry-server-json-legacy-2025-05", 24, 0, 0),
    ("registry", "mcp-registry-api", 129, 0, 0),
    ("skills", "agent-skills", 50, 1, 1),  # two skills are called skill-creator and differ
    ("skills", "agent-skills-full", 2, 0, 0),
    ("plugins", "claude-plugin-marketplace", 494, 85, 0),  # other forms of the same plugins
    ("plugins", "claude-plugin-json", 27, 0, 0),
    ("mcp_json", "mcp-json-client-config", 12, 1, 0),  # thirteen files, one server twice
    ("skills", "mcp-tools-list", 0, 0, 0),  # holds no skills
    ("registry", "schemas", 0, 6, 0),  # JSON schemas are no servers
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("kind", "name", "listings", "told", "held"), EXPECTED)
def test_sample_is_offered_or_explained(
    kind: str, name: str, listings: int, told: int, held: int, read: Read
) -> None:
    source = read(kind, SAMPLES / name)

    defects = source.report["defects"]
    assert (source.state, Listing.objects.count(), len(defects)) == ("ready", listings, told), (
        defects[:5]
    )
    assert source.report["held"] == Listing.objects.filter(review="held").count() == held, [
        (row.slug, row.findings) for row in Listing.objects.filter(review="held")
    ]
    assert all(one["file"] and one["field"] and one["reason"] for one in defects)
    assert not Listing.objects.filter(title="").exists()
