"""Pages of admins, in a browser and without one."""

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
