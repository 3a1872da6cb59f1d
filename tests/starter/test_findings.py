"""Findings that come with Pegboard: complete, of the offered versions, and shown in the docs."""

import pytest

from catalog.formats.package_names import check_constraint
from lab.atlas.__main__ import choose_packages
from lab.atlas.packages import AtlasPackage, read_packages
from lab.atlas.results import KEPT, read_results, write_results
from marketplace.offers.kinds.starter import read_findings, starter_listings
from marketplace.offers.offer import WORKING, offer_of, read_package_test
from tests.docs.atlas_page import PAGE, render_atlas

PACKAGES = read_packages()
OFFERED = {one.slug for one in starter_listings() if one.command}
FINDINGS = read_findings()

each_package = pytest.mark.parametrize("package", PACKAGES, ids=[one.slug for one in PACKAGES])


@each_package
def test_package_has_a_finding_of_its_version_and_is_offered_if_it_works(
    package: AtlasPackage,
) -> None:
    found = FINDINGS[package.slug]

    assert (found["package"], found["version"]) == (
        f"{package.index}:{package.name}",
        package.version,
    )
    assert (found["state"] in WORKING) == (package.slug in OFFERED)
    assert bool(found["tools"]) == (package.slug in OFFERED)
    assert bool(found["reason"]) != (package.slug in OFFERED)
    assert [check_constraint(one) for one in found["bounds"]] == found["bounds"]
    assert not found["called"] or (found["tools"][found["called"]] == "read" and not package.needs)


def test_no_finding_is_left_of_a_package_that_nobody_lists() -> None:
    assert FINDINGS.keys() == {one.slug for one in PACKAGES}


def test_listings_have_the_findings_and_the_effects_of_their_tools() -> None:
    listings = {one.slug: one for one in starter_listings()}
    sqlite = listings["sqlite"]

    test = read_package_test(sqlite.source_ref)

    assert test is not None
    assert (test.version, test.bounds, test.called) == (sqlite.version, ("mcp<2",), "list_tables")
    assert {"name": "read_query", "side_effect": "read"} in offer_of(sqlite).tools
    assert read_package_test(listings["github"].source_ref) is None  # reached over the network


def test_findings_are_written_as_they_are_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("atlas") / "atlas.json"

    write_results(dict(reversed(read_results().items())), file)

    assert file.read_bytes() == KEPT.read_bytes()


def test_a_run_takes_what_has_no_finding_what_is_named_or_everything() -> None:
    newer = AtlasPackage("time", "pypi", "mcp-server-time", "9999.1.1", ("uvx",))
    packages = [newer, *(one for one in PACKAGES if one.slug == "git")]

    def chosen(*only: str, anew: bool = False, limit: int = 0) -> list[str]:
        wanted = choose_packages(packages, only=list(only), anew=anew, limit=limit)
        return [one.slug for one in wanted]

    assert chosen() == ["time"]
    assert chosen("git") == ["git"]
    assert chosen(anew=True) == ["time", "git"]
    assert chosen(anew=True, limit=1) == ["time"]


def test_page_has_all_figures() -> None:
    assert PAGE.read_text("utf-8") == render_atlas(), "run python -m tests.docs"
