"""Pages are rendered with the static files as they are."""

from tests.pages.conftest import _folder_of_static_files as _folder_of_static_files
from tests.pages.conftest import _plain_static_files as _plain_static_files
