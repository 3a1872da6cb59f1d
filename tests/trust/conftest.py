"""Fixtures of admins' pages, with and without a browser."""

from tests.pages.conftest import (  # noqa: F401 - fixtures
    _folder_of_static_files,
    _plain_static_files,
    admin,
    alice,
    as_admin,
    as_alice,
    page,
    support,
)
