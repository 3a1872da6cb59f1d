"""Visible files of a cell: the system's libraries, and what the program's command names."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from django.conf import settings

_OWN_FILES = Path(__file__).parent / "etc"
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
)
# Neither accounts nor hosts: certificates, the loader's cache, the time zone, names of services.
_CONFIGURATION = (
    "ssl", "ca-certificates", "pki", "crypto-policies", "alternatives", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "localtime", "timezone", "mime.types", "protocols", "services", "fonts",
    "magic", "host.conf", "gai.conf",
)  # fmt: skip
_NETWORK_CONFIGURATION = ("resolv.conf", "hosts")


def system_options(*, whole_network: bool) -> list[str]:
    """Return bubblewrap's options for the system's files, with Pegboard's own folders covered."""
    options: list[str] = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            options += ["--ro-bind", name, name]
    options += ["--perms", "0755", "--dir", "/etc"]
    for name in _CONFIGURATION:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for file in sorted(_OWN_FILES.iterdir()):
        if not (whole_network and file.name in _NETWORK_CONFIGURATION):
            options += ["--ro-bind", str(file), f"/etc/{file.name}"]
    if whole_network:
        for name in _NETWORK_CONFIGURATION:
            # Often a link into /run, which no cell shows.
            options += ["--ro-bind-try", os.path.realpath(f"/etc/{name}"), f"/etc/{name}"]
    return options


def folder_options(readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Return bubblewrap's options for the program's own folders.

    Pegboard's folders are covered where they lie within a folder that is shown, and the program's
    own ones shown again on top of the cover.
    """
    readable_paths = sorted({path for path in readable if not _is_system(path)})
    outer = [path for path in readable_paths if _holds_protected(path)]
    mounted = [*(Path(name) for name in _SYSTEM), *outer]
    covers = [
        str(hidden)
        for hidden in sorted(protected_folders())
        if hidden.is_dir() and any(hidden.is_relative_to(mount) for mount in mounted)
    ]
    options: list[str] = []
    for path in outer:
        options += [*parent_options(path), "--ro-bind", str(path), str(path)]
    options += [part for cover in covers for part in ("--tmpfs", cover)]
    inner = [(path, "--ro-bind") for path in readable_paths if path not in outer]
    for path, kind in [*inner, *((path, "--bind") for path in sorted(set(writable)))]:
        options += [*parent_options(path), kind, str(path), str(path)]
    return options + [part for cover in covers for part in ("--remount-ro", cover)]


def parent_options(path: Path) -> list[str]:
    """Return options that make empty folders for the way to a path.

    bubblewrap's own would be closed to the program where the real ones are.
    """
    way = [str(folder) for folder in reversed(path.parents) if folder != Path("/")]
    return [part for folder in way for part in ("--perms", "0755", "--dir", folder)]


def protected_folders() -> set[Path]:
    """Return the folders that no cell shows as a whole: keys, sockets, source, homes."""
    folders = {
        Path(settings.PEGBOARD_DATA_DIR),
        Path(settings.BASE_DIR),
        Path(os.environ.get("HOME", "/root")),
        Path("/root"),
        Path("/home"),
    }
    return {path.resolve() for path in folders} - {Path("/")}


def program_files(command: Sequence[str]) -> list[Path]:
    """Return what a command needs to read: its program with its libraries, and its script."""
    files = [*_installation(Path(command[0]))]
    for argument in command[1:]:
        path = Path(argument)
        if path.is_absolute() and path.is_file():
            files += _script(path)
            break  # the script; other files are shown only by PEGBOARD_CELL_FOLDERS
    return files


def named_folders(command: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """Return the readable and writable ones of PEGBOARD_CELL_FOLDERS that the command names.

    Whole folders: what is below a writable one, a program could replace by a link elsewhere.
    """
    readable: list[Path] = []
    writable: list[Path] = []
    paths = [Path(part).resolve() for part in command[1:] if Path(part).is_absolute()]
    for text in settings.PEGBOARD_CELL_FOLDERS:
        folder = Path(text.removesuffix(":rw")).resolve()
        is_named = any(path.is_relative_to(folder) for path in paths)
        if is_named and folder.is_dir() and may_show(folder):
            (writable if text.endswith(":rw") else readable).append(folder)
    return readable, writable


def python_files(program: Path) -> list[Path]:
    """Return the files that `program -m pip` and `-m venv` need: of Pegboard's Python only pip."""
    if program != Path(sys.executable) or sys.prefix == sys.base_prefix:
        return _installation(program)
    home = Path(sys.prefix)
    packages = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    pip = (packages / "site-packages").glob("pip*")
    paths = [*_installation(program.resolve()), home / "pyvenv.cfg", home / "bin", *pip]
    return [path for path in paths if path.exists()]


def _installation(program: Path) -> list[Path]:
    """Return the folders of a program: each link on the way, and where the last one leads."""
    folders: list[Path] = []
    for _ in range(20):
        folders += _prefix(program)
        if not program.is_symlink():
            break
        program = Path(os.path.normpath(program.parent / program.readlink()))
    return folders + _prefix(program.resolve())


def _prefix(program: Path) -> list[Path]:
    """Return the installation that a program belongs to, or the program alone."""
    prefix = program.parent.parent
    if _is_system(program) or not program.exists():
        return []
    if program.parent.name != "bin" or prefix == Path("/") or _holds_protected(prefix):
        return [program]
    return [prefix]


def _script(path: Path) -> list[Path]:
    """Return the folder of a script, or the script alone where the folder holds other things."""
    settled = path.resolve()
    if settled.is_relative_to(Path(settings.PEGBOARD_DATA_DIR).resolve()):
        return []
    folder = settled.parent
    ours = settled.is_relative_to(Path(settings.BASE_DIR).resolve())
    alone = ours or _holds_protected(folder) or folder.parent == Path("/home")
    return [path if alone else path.parent]


def may_show(path: Path) -> bool:
    """Return True unless the path is, or holds, a folder that no cell shows as a whole."""
    return len(path.parts) > 2 and not _holds_protected(path.resolve())


def _holds_protected(folder: Path) -> bool:
    return any(protected.is_relative_to(folder) for protected in protected_folders())


def _is_system(path: Path) -> bool:
    """Return True if the system's folders show the path: nothing of ours covers it."""
    if any(path.resolve().is_relative_to(protected) for protected in protected_folders()):
        return False
    return any(path.is_relative_to(name) for name in _SYSTEM)


# Owners and modes of a cell's files, where Pegboard runs as root and its programs do not.

_READABLE = 0o005  # r-x for others


def give_folder(folder: Path, user: int, *, fully: bool = False) -> None:
    """Make the folder and all in it the user's own; does nothing unless we are root.

    `fully` looks for files of ours in a folder that is the user's own already.
    """
    if os.geteuid() != 0 or (folder.stat().st_uid == user and not fully):
        return
    for path, folders, names in os.walk(folder):
        for name in (*folders, *names):
            os.chown(Path(path) / name, user, user, follow_symlinks=False)
    # Last: it says that everything below is done.
    os.chown(folder, user, user)


def open_folder(folder: Path) -> None:
    """Make the folder readable for every user; only we may enter the folder above."""
    if os.geteuid() != 0 or folder.stat().st_mode & _READABLE == _READABLE:
        return
    for path, folders, names in os.walk(folder):
        for name in folders:
            _add_mode(Path(path) / name, 0o055)
        for name in names:
            file = Path(path) / name
            _add_mode(file, 0o055 if not file.is_symlink() and os.access(file, os.X_OK) else 0o044)
    _add_mode(folder, 0o055)


def _add_mode(path: Path, mode: int) -> None:
    if not path.is_symlink():
        path.chmod(path.stat().st_mode | mode)


def prepare_files(place: Path | None, home: Path | None, user: int) -> None:
    """Make a program's package readable for it, and its lasting folder its own."""
    if place is not None:
        open_folder(place)
    if home is not None:
        give_folder(home, user)
