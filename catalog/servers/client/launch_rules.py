"""Rules for launch commands (CMD-1, CMD-5).

Installing a server runs someone's program. So only the launchers in PEGBOARD_LAUNCHERS are used,
only with harmless options, and only at exact versions. A command is always a list; no shell sees
it.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from django.conf import settings
from django.utils.translation import gettext as _

from catalog.formats.descriptors import canonical_json
from catalog.formats.package_names import LAUNCHERS, NotAPackageError, parse_package
from catalog.servers.client.variable_rules import MOST_CHARACTERS, refusal_reason

# Digests of installed packages' code: only what was installed is started.

# Compiled modules, made by Pegboard after the installation: they have a digest of their own.
COMPILED = ".compiled"
# Files that an interpreter loads. Other files are data, which some servers keep next to their code.
_CODE = frozenset(
    {".py", ".pyc", ".pth", ".so", ".js", ".mjs", ".cjs", ".json", ".node", ".wasm", ".cfg"}
)


def code_digest(folder: Path) -> str:
    """Return one SHA-256 of all code below a folder, or "" if the folder is gone."""
    if not folder.is_dir():
        return ""
    try:
        return _digest(folder)
    except FileNotFoundError:
        return ""


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    apart = f"{COMPILED}{os.sep}"
    for entry in sorted(files_below(folder), key=lambda entry: entry.path):
        name = os.path.relpath(entry.path, folder)
        if not name.startswith(apart) and (content := _code(entry)):
            whole.update(f"{name}\x00{content}\n".encode(errors="surrogateescape"))
    return whole.hexdigest()


def files_below(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield all non-folders below; entries that vanish meanwhile are skipped."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from files_below(Path(entry.path))
        else:
            yield entry


def _code(entry: os.DirEntry[str]) -> str:
    """Return the file's part of the digest, or "" for data."""
    if entry.is_symlink():
        return f"-> {Path(entry.path).readlink()}"
    mode = entry.stat(follow_symlinks=False).st_mode
    if Path(entry.name).suffix not in _CODE and not mode & 0o111:
        return ""
    with Path(entry.path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_MOST_PARTS = 200
_MOST_CHARACTERS = 32_768
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHELLS = re.compile(
    r"(?:ba|da|z|fi|k|c|tc)?sh|cmd(?:\.exe)?|powershell|pwsh|busybox|env|sudo|su|doas|xargs|nohup"
    r"|setsid|script|ssh|perl|ruby|awk",
    re.IGNORECASE,
)
_IMAGE = re.compile(
    r"[a-z0-9][\w./:-]*?(?::(?!latest\b)[\w][\w.-]{0,127}|@sha256:[0-9a-f]{64})", re.I
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class CommandNotAllowedError(ValueError):
    """The command must not be started; the text names the part and the reason."""

    code = "command_not_allowed"


@dataclass(frozen=True, slots=True)
class Launchers:
    """Allowed launchers by name, and the folder of installed servers."""

    programs: Mapping[str, str]
    installed: Path | None = None

    @classmethod
    def from_settings(cls) -> "Launchers":
        """Return the deployment's launchers, looked up on PATH.

        Package launchers (uvx, npx) need not exist: Pegboard installs packages itself.
        """
        paths = (
            name if "/" in name or name in LAUNCHERS else shutil.which(name)
            for name in settings.PEGBOARD_LAUNCHERS
        )
        programs = {PurePath(path).name: path for path in paths if path}
        return cls(programs, Path(settings.PEGBOARD_DATA_DIR) / "servers")


def check_command(command: Sequence[str], launchers: Launchers) -> tuple[str, ...]:
    """Return the command with the full path of its program, or raise CommandNotAllowedError."""
    if not command or len(command) > _MOST_PARTS or sum(map(len, command)) > _MOST_CHARACTERS:
        raise CommandNotAllowedError(_("The command is empty or too long."))
    if any(_CONTROL.search(part) for part in command):
        raise CommandNotAllowedError(_("The command contains control characters."))
    program, arguments = command[0], command[1:]
    path = _resolve_program(program, launchers)
    _check_package(command)
    # `python3.11` is checked as `python`.
    check = _CHECKS.get(PurePath(program).name.rstrip("0123456789."))
    if check is not None:
        check(arguments)
    return (path, *arguments)


def check_variables(names: Iterable[str]) -> None:
    """Raise CommandNotAllowedError for forbidden names, before asking anyone for values."""
    for name in names:
        if why := refusal_reason(name):
            raise CommandNotAllowedError(
                _("Pegboard does not set the variable %(name)r: it %(why)s.")
                % {"name": name[:MOST_CHARACTERS], "why": why}
            )


def is_container(command: Sequence[str]) -> bool:
    """Return True if the command has an engine run a container, which is a cell of its own."""
    return PurePath(command[0]).name in ("docker", "podman") if command else False


def check_environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a server, or raise CommandNotAllowedError."""
    check_variables(values)
    for name, value in values.items():
        if "\x00" in value or len(value) > _MOST_CHARACTERS:
            raise CommandNotAllowedError(
                _("The value of the variable %(name)r cannot be set.") % {"name": name}
            )
    return dict(values)


def command_digest(
    command: Sequence[str], variables: Iterable[str], constraints: Iterable[str] = ()
) -> str:
    """Return the digest an approval is bound to: command, variable names and constraints."""
    text = canonical_json([list(command), sorted(variables), sorted(constraints)])
    return hashlib.sha256(text.encode()).hexdigest()


def _resolve_program(program: str, launchers: Launchers) -> str:
    if _SHELLS.fullmatch(PurePath(program).name):
        raise CommandNotAllowedError(
            _("%(program)r is a shell, which could run anything. Use another launcher.")
            % {"program": program[:100]}
        )
    if program in launchers.programs:
        return launchers.programs[program]
    if program in launchers.programs.values() or _is_installed(program, launchers):
        return program
    raise CommandNotAllowedError(
        _("%(program)r is not an allowed launcher. An operator can add it to PEGBOARD_LAUNCHERS.")
        % {"program": program[:100]}
    )


def _is_installed(program: str, launchers: Launchers) -> bool:
    """Return True if the program belongs to a server that Pegboard installed."""
    path = PurePath(program)
    if launchers.installed is None or ".." in path.parts:
        return False
    return path.is_relative_to(launchers.installed) and path != PurePath(launchers.installed)


def _check_package(command: Sequence[str]) -> None:
    try:
        package = parse_package(command)
    except NotAPackageError as problem:
        raise CommandNotAllowedError(str(problem)) from None
    if package is not None and not package.version:
        example = package.at("1.2.3").command()
        raise CommandNotAllowedError(
            _("%(package)r needs an exact version, for example: %(example)s")
            % {"package": package.name, "example": " ".join(example[:3])}
        )


def _check_docker(arguments: Sequence[str]) -> None:
    rest = list(arguments)
    if rest[:1] != ["run"]:
        raise CommandNotAllowedError(_("Only “docker run” is allowed."))
    rest.pop(0)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-e", "--env") and rest and _VARIABLE.fullmatch(rest[0]):
            rest.pop(0)
        elif option not in ("-i", "--interactive", "--rm", "--init"):
            raise CommandNotAllowedError(
                _("The docker option %(option)r is not allowed.") % {"option": option[:100]}
            )
    if not rest or not _IMAGE.fullmatch(rest[0]):
        raise CommandNotAllowedError(_("docker needs an image with a version or a digest."))


def _check_python(arguments: Sequence[str]) -> None:
    _check_script("python", arguments, harmless=("-u", "-I", "-B", "-s", "-E"), module="-m")


def _check_node(arguments: Sequence[str]) -> None:
    _check_script("node", arguments, harmless=("--no-warnings",), module="")


def _check_script(
    name: str, arguments: Sequence[str], *, harmless: Iterable[str], module: str
) -> None:
    rest = list(arguments)
    while rest and rest[0] in harmless:
        rest.pop(0)
    if module and rest[:1] == [module]:
        rest.pop(0)
    if not rest or rest[0].startswith("-"):
        raise CommandNotAllowedError(
            _("%(program)s needs a script file, not code.") % {"program": name}
        )


_CHECKS = {
    "docker": _check_docker,
    "podman": _check_docker,
    "python": _check_python,
    "node": _check_node,
}
