"""Description of the machine for the benchmarks' reports."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path


def describe_machine() -> str:
    """Return processor, cores, load and versions in one line."""
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {model}, {os.cpu_count()} cores, load {load:.1f}, "
        f"Python {platform.python_version()}"
    )
