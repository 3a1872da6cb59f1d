"""The atlas of packages, made anew: `make atlas`, or `python -m lab.atlas`.

    python -m lab.atlas                      # every package that has no finding for its version
    python -m lab.atlas --anew               # every package
    python -m lab.atlas --only excel time    # these, whatever is known of them
    python -m lab.atlas --limit 5            # at most so many

Findings are written after each package, so that an interrupted run goes on where it was. Packages
come from the configured indexes; what is installed reaches nothing else, and no answer is kept.
"""

import argparse
import sys
from collections.abc import Iterable
from datetime import UTC, datetime

from lab.atlas.packages import AtlasPackage, read_packages
from lab.atlas.product import Product, running
from lab.atlas.results import entry_of, read_results, write_results
from lab.atlas.survey import Finding, survey


def main() -> None:
    """Survey the wanted packages, one after the other."""
    options = _options()
    wanted = choose_packages(
        read_packages(), only=options.only, anew=options.anew, limit=options.limit
    )
    if not wanted:
        _tell("Every package has a finding for its version.")
        return
    with running() as product:
        for number, package in enumerate(wanted, 1):
            finding = record_survey(product, package)
            _tell(f"{number}/{len(wanted)} {_line(package, finding)}")


def choose_packages(
    packages: Iterable[AtlasPackage], *, only: list[str], anew: bool, limit: int
) -> list[AtlasPackage]:
    """Return the packages to survey: those named, or else those without a finding."""
    known = {} if anew else {slug: one["version"] for slug, one in read_results().items()}
    wanted = [
        one
        for one in packages
        if (one.slug in only if only else known.get(one.slug) != one.version)
    ]
    return wanted[:limit] if limit else wanted


def record_survey(product: Product, package: AtlasPackage) -> Finding:
    """Survey a package and store the finding; an earlier one stays if no index answers."""
    finding = survey(product, package)
    if finding.reason != "index_not_reachable":
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        write_results(read_results() | {package.slug: entry_of(package, finding, tested_on=today)})
    return finding


def _line(package: AtlasPackage, finding: Finding) -> str:
    told = f"\n{finding.told}" if finding.told else ""
    return (
        f"{package.index}:{package.name} {package.version}: {finding.state} {finding.reason}, "
        f"{len(finding.tools)} tools, called {finding.called or 'none'}, {finding.seconds:.1f} s, "
        f"again {finding.seconds_again:.1f} s, {finding.megabytes:.0f} MB "
        f"{' '.join(finding.bounds)}{told}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="+", default=[], metavar="SLUG", help="these listings")
    parser.add_argument("--limit", type=int, default=0, help="at most so many packages")
    parser.add_argument("--anew", action="store_true", help="those with a finding, too")
    return parser.parse_args()


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
