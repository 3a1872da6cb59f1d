"""Packages from PyPI and npm, and MCP bundles, each in a folder of its own.

Only the outgoing worker imports this: package clients connect to indexes, and what
they fetch is untrusted. No code of a package runs before its server starts: no build, no install
script.
"""
