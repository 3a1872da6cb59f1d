"""The MCP servers on offer from the first start on."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.names import SLUG
from marketplace.offers.kinds.starter import starter_collection, starter_listings
from marketplace.offers.offer import offer_of

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples" / "mcp-tools-list"
LISTINGS = starter_listings()
REAL_SERVERS = {
    *("mcp-server-time", "mcp-server-git", "mcp-server-fetch", "mcp-server-sqlite"),
    *("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem"),
    *("@modelcontextprotocol/server-memory", "@modelcontextprotocol/server-sequential-thinking"),
}

each_listing = pytest.mark.parametrize("listing", LISTINGS, ids=[each.slug for each in LISTINGS])


def test_reference_servers_are_offered() -> None:
    packages = {each.source_ref["package"]["name"] for each in LISTINGS if each.command}

    assert packages >= REAL_SERVERS


def test_listings_never_share_a_slug_with_one_another_or_with_the_collection() -> None:
    slugs = [each.slug for each in (*LISTINGS, *starter_collection().integrations)]

    assert max(Counter(slugs).values()) == 1


@each_listing
def test_listing_says_what_an_admin_asks_first_and_has_one_way_to_connect(
    listing: IntegrationDescriptor,
) -> None:
    assert SLUG.fullmatch(listing.slug)
    assert listing.kind == "mcp"
    assert listing.title
    assert listing.publisher
    assert 30 <= len(listing.description) <= 400
    assert listing.homepage.startswith("https://")
    local = listing.transport == "stdio"
    assert bool(listing.command) == local
    assert listing.endpoint.startswith("https://") != local


@each_listing
def test_packages_are_pinned_to_an_exact_version(listing: IntegrationDescriptor) -> None:
    if not listing.command:
        assert listing.version == ""
        return

    pinned = [part for part in listing.command if part.endswith(listing.version)]

    assert listing.command[0] in ("uvx", "npx")
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", listing.version)
    assert len(pinned) == 1
    assert listing.licence


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the recorded answers are not beside the project")
def test_named_tools_are_those_that_the_real_servers_list() -> None:
    named = {
        _package_stem(each): {one["name"] for one in offer_of(each).tools} for each in LISTINGS
    }

    answers = {path.stem: json.loads(path.read_text("utf-8")) for path in SAMPLES.glob("*.json")}
    listed = {server: {t["name"] for t in answer["tools"]} for server, answer in answers.items()}

    assert len(listed) >= 6
    assert listed == {server: named.get(server) for server in listed}


def _package_stem(listing: IntegrationDescriptor) -> str:
    package = listing.source_ref.get("package", {"name": listing.slug})
    return str(package["name"]).split("/")[-1]
