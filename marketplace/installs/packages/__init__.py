"""Packages from PyPI and npm, each installation's in a place of its own.

Only the process that goes out imports this: package clients speak with the indexes that the machine
is set up for, and what they fetch is somebody else's. Nothing of a package runs before its server
is started: no build, no install script.
"""

__all__ = [
    "installed_package",
    "npm",
    "package_client",
    "package_folders",
    "package_problem",
    "pypi",
    "suggested_bounds",
]
