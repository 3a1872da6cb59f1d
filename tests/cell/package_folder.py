"""The hostile server as an installed package."""

import shutil
import sys
from pathlib import Path

FILES = ("escapes.py", "hostile_server.py")


def lay_out(place: Path) -> list[str]:
    """Write the package into a new folder, and return the command that starts it."""
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    for name in FILES:
        shutil.copy(Path(__file__).parent / name, place)
    # As `make run` leaves them, which starts everything with a umask of 077.
    for path in (place, place / "bin", *(place / name for name in FILES)):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return [str(place / "bin" / "python"), "-I", "-B", str(place / FILES[1])]
