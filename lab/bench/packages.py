"""Real packages of both indexes, used as an admin does: `python -m lab.bench.packages [NAME …]`.

Each of `packages.yaml` is pasted without a version, confirmed, installed, listed, called once where
nothing is needed, and uninstalled, by the API of a Pegboard of its own. `--report FILE` keeps every
outcome as JSON. Packages come from the configured indexes; what was installed reaches no host.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.table import Table

from catalog.formats.package_names import Index, Package
from lab.atlas.packages import AtlasPackage
from lab.atlas.product import Product, running
from lab.atlas.survey import Finding, survey_once
from lab.bench.machine import describe_machine

PACKAGES = Path(__file__).with_suffix(".yaml")
_AT_ONCE = 2
_PREFIXES: dict[str, Index] = {"pypi": "pypi", "npm": "npm"}


@dataclass(frozen=True, slots=True)
class PastedPackage(AtlasPackage):
    """A package without a version, with values for its variables."""

    values: tuple[tuple[str, str], ...] = ()

    def made_up(self) -> dict[str, str]:
        """Return the values of its variables."""
        return dict(self.values)


def main() -> None:
    """Survey the packages, a few at once, and print outcomes by what the packages need."""
    options = _options()
    packages = [
        package for package in read_packages() if not options.names or package.name in options.names
    ]
    findings: list[tuple[PastedPackage, Finding]] = []
    with running() as product, ThreadPoolExecutor(_AT_ONCE) as threads:
        surveys = {threads.submit(_survey, product, package): package for package in packages}
        for done in as_completed(surveys):
            findings.append((surveys[done], done.result()))
            sys.stdout.write(f"{len(findings)}/{len(packages)} {_line(*findings[-1])}\n")
            sys.stdout.flush()
            if options.report:
                _write_report(options.report, findings)
    console = Console(width=120)
    console.print(describe_machine())
    console.print(outcome_table(findings))


def read_packages(file: Path = PACKAGES) -> list[PastedPackage]:
    """Return all packages, by their order in the file."""
    return [_package(entry) for entry in yaml.safe_load(file.read_text(encoding="utf-8"))]


def _package(entry: dict[str, Any]) -> PastedPackage:
    prefix, _, name = entry["package"].partition(":")
    index, program = _PREFIXES[prefix], entry.get("program", "")
    arguments, variables = entry.get("arguments", ()), entry.get("variables", {})
    package = Package(index, name, "", program=program, arguments=tuple(arguments))
    return PastedPackage(
        slug=f"{prefix}-{name}".lower(),
        index=index,
        name=name,
        version="",
        command=package.command(),
        variables=tuple(variables),
        needs=entry.get("needs", ""),
        values=tuple(variables.items()),
    )


def _survey(product: Product, package: PastedPackage) -> Finding:
    try:
        return survey_once(product, package)
    except Exception as problem:  # one package must not end the others
        return Finding(reason="survey_failed", told=repr(problem))


def _line(package: PastedPackage, finding: Finding) -> str:
    details = f"\n    {finding.told}" if finding.told else ""
    return (
        f"{package.index}:{package.name} ({package.needs or 'nothing needed'}): {finding.state} "
        f"{finding.reason}, {len(finding.tools)} tools, called {finding.called or 'none'}, "
        f"{finding.seconds:.1f} s {' '.join(finding.bounds)}{details}"
    )


def _write_report(file: Path, findings: Iterable[tuple[PastedPackage, Finding]]) -> None:
    rows = [
        {"package": f"{package.index}:{package.name}", "needs": package.needs, **asdict(finding)}
        for package, finding in findings
    ]
    file.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")


def outcome_table(findings: Sequence[tuple[PastedPackage, Finding]]) -> Table:
    """Return how many packages ended in which way, by what they need."""
    table = Table("needs", "packages", "started", "of them called", "else")
    for needs in ("", "network", "account", "machine", "server"):
        ended = [finding for package, finding in findings if package.needs == needs]
        reasons = Counter(finding.reason for finding in ended if finding.state == "fails")
        table.add_row(
            needs or "nothing",
            str(len(ended)),
            str(sum(finding.state != "fails" for finding in ended)),
            str(sum(bool(finding.called) for finding in ended)),
            ", ".join(f"{number} {reason}" for reason, number in reasons.most_common()),
        )
    return table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="packages of the list")
    parser.add_argument("--report", type=Path, help="a file for all outcomes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
