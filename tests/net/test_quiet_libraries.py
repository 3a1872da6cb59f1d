"""Quiet libraries: no telemetry, no looks for updates, no downloads on their own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.net import watched_run

PROJECT = Path(__file__).parents[2]
# The last two are tools of the tests; of the others every package is part of some layout.
LOCKS = (
    "requirements.lock",
    "installer.lock",
    "docker/otel.lock",
    "docker/sentence-transformers.lock",
    "tests/requirements.lock",
)
PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==", re.MULTILINE)

# In lower case, as they stand in sources and in compiled libraries.
SIGNS: tuple[bytes, ...] = (
    b"disable_telemetry",
    b"do_not_track",
    b"no_telemetry",
    b"send_telemetry",
    b"telemetry_enabled",
    b"posthog",
    b"api.segment.io",
    b"google-analytics.com/collect",
    b"events.data.microsoft",
    b"scarf.sh",
    b"ingest.sentry.io",
    b"mixpanel",
    b"api.amplitude.com",
    b"check_for_update",
    b"update_notifier",
    b"self_version_check",
    b"pypi.org/pypi/",
    b"hf_hub_download",
    b"snapshot_download",
    b"urlretrieve(",
)
_CODE = {".py", ".so", ".pyd", ".js", ".mjs", ".cjs"}
# Larger than any of ours that matter: torch's have 400 MB, and are one extra's alone.
_LARGEST = 60_000_000

_BY_NAME = "downloads a model only where the operator names one that is not a folder"
HABITS: dict[str, str] = {
    "bm25s": f"a tool of the tests; {_BY_NAME}",
    "hf-xet": f"belongs to huggingface-hub; {_BY_NAME}; DO_NOT_TRACK is set",
    "huggingface-hub": (
        f"{_BY_NAME}; HF_HUB_DISABLE_TELEMETRY is set; looks for a newer release in its own "
        "command line only, which nothing starts"
    ),
    "onnx": "downloads models in its own test runner, which nothing imports",
    "onnxruntime": "telemetry from its first session on; ORT_DISABLE_TELEMETRY is set before",
    "pygments": "generates lists of names, when its modules are run as scripts",
    "scikit-learn": "of the extra; downloads example data when its fetch functions are called",
    "sentence-transformers": f"of the extra; {_BY_NAME}",
    "tokenizers": f"{_BY_NAME}; Pegboard gives it the tokenizer's bytes",
    "torch": "of the extra; downloads in torch.hub, which nothing calls",
    "transformers": f"of the extra; {_BY_NAME}; HF_HUB_DISABLE_TELEMETRY is set",
}


def locked_packages() -> set[str]:
    """Return the names in all lock files."""
    texts = [(PROJECT / lock).read_text() for lock in LOCKS]
    return {name.lower() for text in texts for name in PINNED.findall(text)}


def find_habits(names: set[str]) -> dict[str, set[str]]:
    """Return the signs in each installed package that has any."""
    habits = {}
    for name in names:
        try:
            signs = _signs_of(distribution(name))
        except PackageNotFoundError:  # of an extra, or of another platform
            continue
        if signs:
            habits[name] = signs
    return habits


def _signs_of(package: Distribution) -> set[str]:
    signs: set[bytes] = set()
    for file in package.files or ():
        path = Path(str(file.locate()))
        is_code = path.suffix in _CODE or ".so." in path.name or path.parent.name == "bin"
        if not is_code or not path.is_file() or path.stat().st_size > _LARGEST:
            continue
        content = path.read_bytes().lower()
        signs.update(sign for sign in SIGNS if sign in content)
    return {sign.decode() for sign in signs}


CAN_UNSHARE = (
    sys.platform == "linux"
    and shutil.which("unshare") is not None
    and shutil.which("ip") is not None
    and subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode == 0  # noqa: S607
)


@pytest.mark.processes
@pytest.mark.skipif(not CAN_UNSHARE, reason="needs a network namespace: Linux, root, iproute2")
def test_whole_product_looks_no_name_up() -> None:
    """HOME-1: web, worker with beat, broker, connections, watcher; selecting, embedding, idle."""
    # A short path: sockets lie below it.
    data = Path(tempfile.mkdtemp(prefix="pegboard-watched-"))
    model = Path(os.environ["PEGBOARD_DATA_DIR"]) / "model"  # converting it again takes seconds
    shutil.copytree(model, data / "pegboard" / "model")
    command = ["unshare", "--net", "--mount", sys.executable, watched_run.__file__, str(data)]

    run = subprocess.run(command, capture_output=True, text=True)  # noqa: S603 - ours

    assert run.returncode == 0, run.stderr
    names = json.loads(run.stdout)
    assert set(names) == {watched_run.CONTROL}
    shutil.rmtree(data)


def test_every_habit_of_a_locked_package_has_its_line() -> None:
    habits = find_habits(locked_packages())

    missing = {name: signs for name, signs in habits.items() if name not in HABITS}
    assert not missing, "read what they do, and add a line to HABITS"
    assert HABITS.keys() <= locked_packages()


def test_habits_are_found_in_sources_and_in_compiled_code() -> None:
    habits = find_habits({"onnxruntime", "huggingface-hub", "django"})

    assert {"events.data.microsoft", "disable_telemetry"} <= habits["onnxruntime"]
    assert "check_for_update" in habits["huggingface-hub"]
    assert "django" not in habits
    assert all(sign == sign.lower() for sign in SIGNS)
