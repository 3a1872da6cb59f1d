"""A package index in a folder: a small MCP server and its library."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

SERVER = """
import json
import sys

import tiny_sdk

TOOLS = {tools!r}


def main():
    if tiny_sdk.VERSION > 1:
        tiny_sdk.Server()  # a version that the server was not written for
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        about = {{"name": "tiny", "version": "1"}}
        answers = {{
            "initialize": {{"protocolVersion": "2025-11-25", "capabilities": {{"tools": {{}}}},
                           "serverInfo": about}},
            "tools/list": {{"tools": TOOLS}},
            "tools/call": {{"content": [{{"type": "text", "text": json.dumps(sys.argv[1:])}}]}},
        }}
        answer = {{"jsonrpc": "2.0", "id": number}}
        if method in answers:
            answer["result"] = answers[method]
        else:
            answer["error"] = {{"code": -32601, "message": "Method not found"}}
        print(json.dumps(answer), flush=True)
"""


def tool(name: str, description: str) -> dict[str, object]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    }


def add_server(
    folder: Path, version: str, *tools: dict[str, object], needs: str = "tiny-sdk>=1.0"
) -> None:
    """Add the server `tiny-server` with these tools."""
    code = SERVER.format(tools=list(tools))
    add_wheel(
        folder,
        "tiny-server",
        version,
        {"tiny_server.py": code},
        needs=needs,
        program="tiny-server = tiny_server:main",
    )


def add_library(folder: Path, version: str) -> None:
    """Add the library `tiny-sdk`; the server does not work with version 2."""
    code = f"VERSION = {version.partition('.')[0]}\n"
    add_wheel(folder, "tiny-sdk", version, {"tiny_sdk.py": code})


def remove_all_wheels(folder: Path) -> None:
    """Empty the index: nothing more can be fetched."""
    for wheel in folder.glob("*.whl"):
        wheel.unlink()


def add_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    *,
    needs: str | Sequence[str] = "",
    program: str = "",
    python: str = "",
) -> None:
    """Build a wheel of these files."""
    folder.mkdir(exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    about += f"Requires-Python: {python}\n" if python else ""
    for needed in filter(None, [needs] if isinstance(needs, str) else needs):
        about += f"Requires-Dist: {needed}\n"
    inside = dict(files) | {
        f"{stem}.dist-info/METADATA": about,
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if program:
        inside[f"{stem}.dist-info/entry_points.txt"] = f"[console_scripts]\n{program}\n"
    lines = [f"{path},{_hash(text)},{len(text.encode())}" for path, text in inside.items()]
    inside[f"{stem}.dist-info/RECORD"] = "\n".join([*lines, f"{stem}.dist-info/RECORD,,"]) + "\n"
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as wheel:
        for path, text in inside.items():
            wheel.writestr(path, text)
    (folder / f"{stem}-py3-none-any.whl").write_bytes(written.getvalue())


def _hash(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def use_folder_as_index(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a folder pip's only index."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    folder.mkdir(exist_ok=True)
