"""Launch commands as people write them, rewritten as the one that Pegboard checks and starts.

A README's command is often within another one (`sudo`, `op run -- …`, the inspector), begins
another launcher of the same packages (`pnpm dlx`, `uv tool run`), or has options that only its
terminal needs (`docker run -t -p 8000:8000`). Variables that it sets are taken out of it.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from catalog.formats.descriptors import Defect

_SUFFIXES = re.compile(r"\.(?:exe|cmd|bat|ps1)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=(.{0,2000})", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

# Programs that start another one: at once, or behind a `--`, with values that they keep.
_BEFORE = frozenset({"env", "sudo", "nice", "time", "exec", "command", "nohup", "cross-env"})
_KEEPERS = frozenset({"op", "doppler", "infisical", "dotenv", "dotenvx", "aws-vault", "chamber"})
# Programs that put a server over standard streams at a port, with its command behind an option.
_SERVING = re.compile(r"(?:[\w@/.-]*/)?(?:supergateway|mcp-proxy|mcpo|mcp-bridge)(?:@[\w.-]+)?")
_WEB = re.compile(r"https?://", re.IGNORECASE)
# Shells, each with the options that a whole command follows; and what stands before it in one.
_SHELLS = {
    **dict.fromkeys(("sh", "bash", "zsh"), re.compile(r"-[a-z]*c")),
    **dict.fromkeys(("powershell", "pwsh"), re.compile(r"-c(?:ommand)?", re.IGNORECASE)),
    "cmd": re.compile(r"/[ck]", re.IGNORECASE),
    "wsl": re.compile(r"--|-e|--exec"),
}
_SHELL_SIGNS = re.compile(r"[|<>`(){}]|\$\(")
_SETTERS = frozenset({"export", "set", "setx"})
_SET_BY_POWERSHELL = re.compile(
    r"\$env:([A-Za-z_]\w{0,99})=?(.{0,2000})", re.IGNORECASE | re.DOTALL
)
_NEXT_COMMAND = frozenset({"&&", "||", ";"})
_REDIRECTION = re.compile(r"\d?>{1,2}.{0,200}|<.{0,200}|[|&]|2>&1")
_FOLDERS = frozenset({"cd", "pushd", "source", "."})
_INSPECTOR = re.compile(r"@modelcontextprotocol/inspector(?:@[\w.-]+)?")

# Launchers of the packages that uvx and npx start, and options that change nothing of them.
_SAME = {
    **dict.fromkeys((("uv", "tool", "run"), ("pipx", "run")), ("uvx",)),
    **dict.fromkeys(
        (
            *(("bunx",), ("pnpx",), ("bun", "x"), ("pnpm", "dlx")),
            *(("yarn", "dlx"), ("npm", "exec"), ("npm", "x")),
        ),
        ("npx", "-y"),
    ),
}
_QUIET = frozenset(
    {
        *("-q", "--quiet", "--silent", "-s", "--bun", "--prefer-online", "--prefer-offline"),
        *("--refresh", "--no-cache", "--isolated", "--no-progress", "--loglevel=error", "--"),
    }
)
_RANGE = re.compile(r"((?:@[\w.-]+/)?[\w.-]+(?:\[[\w, -]+\])?)(?:@|(?=[<>~^!]))[\^~<>=!a-z*].*")

# Options of `docker run`, https://docs.docker.com/reference/cli/docker/container/run/
_WITHOUT_VALUE = {
    "-i", "-t", "-it", "-ti", "-d", "--interactive", "--tty", "--detach", "--rm", "--init",
    "--privileged", "--read-only",
}  # fmt: skip
_WITH_VALUE = {
    "-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name",
    "--network", "--net", "-u", "--user", "-w", "--workdir", "--entrypoint", "-l", "--label",
    "-m", "--memory", "--cpus", "--platform", "--pull", "--add-host", "--device", "--tmpfs",
    "--cap-add", "--cap-drop", "--security-opt", "-h", "--hostname", "--restart",
}  # fmt: skip
# Those that say how a person's terminal and machine show the container. All that give it more than
# a cell has stay, and are refused when it is to be started.
_OF_TERMINAL = {
    "-t", "--tty", "-d", "--detach", "--name", "--restart", "-l", "--label", "--pull", "-p",
    "--publish", "--platform",
}  # fmt: skip


def program_of(words: Sequence[str]) -> str:
    """Return the plain name of a command's program: `npx` for `C:\\node\\npx.cmd`."""
    return _SUFFIXES.sub("", PureWindowsPath(words[0]).name).lower() if words else ""


def is_container_run(words: Sequence[str]) -> bool:
    """Return True for `docker run …` and its like."""
    return program_of(words) in ("docker", "podman") and len(words) > 2 and words[1] == "run"


def parse_docker_image(command: Sequence[str]) -> str:
    """Return the image of a `docker run` command without its tag; "" for other commands."""
    if not is_container_run(command):
        return ""
    rest = list(command[2:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _WITH_VALUE and rest:
            rest.pop(0)
        # An unknown option may take a value, which would pass for the image.
        elif option not in _WITHOUT_VALUE and not re.match(r"--[a-z-]+=", option):
            return ""
    if not rest:
        return ""
    head, slash, last = rest[0].partition("@")[0].rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def split_line(words: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Return the commands of a shell's line, and the variables that it sets for them.

    What says where output goes is a matter of the shell.
    """
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _NEXT_COMMAND:
            commands.append([])
        elif word.endswith(";") and len(word) > 1:
            commands[-1].append(word[:-1])
            commands.append([])
        else:
            commands[-1].append(word)
    telling: list[list[str]] = []
    variables: list[str] = []
    for command in commands:
        ends = (at for at, word in enumerate(command) if _REDIRECTION.fullmatch(word))
        command = command[: next(ends, len(command))]
        by_powershell = _SET_BY_POWERSHELL.fullmatch(command[0]) if command else None
        if by_powershell:
            value = by_powershell[2] or "".join(command[1:]).removeprefix("=")
            variables.append(f"{by_powershell[1]}={value}")
        elif command[:1] and command[0].lower() in _SETTERS:
            variables += filter(_ASSIGNMENT.fullmatch, command[1:])
        elif command and all(map(_ASSIGNMENT.fullmatch, command)):
            variables += command  # as in a file of variables
        elif command:
            telling.append(command)
    return telling, variables


_HOST = r"[a-z0-9](?:[a-z0-9-]{0,62}\.)+[a-z]{2,24}"
_WITHOUT_SCHEME = re.compile(
    rf"(?:{_HOST}(?=[:/])|localhost|(?:\d{{1,3}}\.){{3}}\d{{1,3}}|[a-z][a-z0-9-]{{0,62}}(?=:\d{{2,5}}/))"
    r"(?::\d{1,5})?(?:/\S*)?",
    re.IGNORECASE,
)
_LOCAL = re.compile(r"localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|[a-z][\w-]*:")


def with_scheme(address: str) -> str:
    """Return an address that was written without its scheme with it; "" for any other text."""
    if not _WITHOUT_SCHEME.fullmatch(address):
        return ""
    return f"{'http' if _LOCAL.match(address) else 'https'}://{address}"


@dataclass(slots=True)
class Launch:
    """A plain command, the variables that its text sets or passes on, and what was taken off."""

    words: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    left_out: list[Defect] = field(default_factory=list)

    @classmethod
    def read(cls, words: Sequence[str]) -> "Launch":
        """Return the launch within a command; another command stays as it is."""
        launch = cls(list(words))
        launch._take_off_programs()
        launch._use_usual_launcher()
        if is_container_run(launch.words):
            launch._read_container()
        return launch

    def _take_off_programs(self) -> None:
        """Take off variables in front of the program, and programs that start it."""
        words = self.words
        while words:
            program = program_of(words)
            if assignment := _ASSIGNMENT.fullmatch(words[0]):
                self.environment[assignment[1]] = assignment[2]
                words = words[1:]
            elif program in _BEFORE and len(words) > 1:
                words = words[1:]
                while words and words[0].startswith("-"):
                    words = words[1:]
            elif program in _KEEPERS and "--" in words[:-1]:
                self.left_out.append(
                    Defect(
                        "pasted",
                        "command",
                        f"has values that {program} keeps: enter them as secrets",
                    )
                )
                words = words[words.index("--") + 1 :]
            elif inner := (self._inspected(words) or self._served(words) or self._in_shell(words)):
                words = inner
            else:
                break
        self.words = words or self.words

    def _inspected(self, words: list[str]) -> list[str]:
        """Return the command that the inspector is given to look at; none for another program."""
        place = next((at for at, word in enumerate(words[:4]) if _INSPECTOR.fullmatch(word)), None)
        rest = words[place + 1 :] if place is not None else []
        while rest and rest[0].startswith("-"):
            option, value = rest[0], rest[1] if len(rest) > 1 else ""
            assignment = _ASSIGNMENT.fullmatch(value)
            if option == "-e" and assignment:
                self.environment[assignment[1]] = assignment[2]
            if option in ("--url", "--server-url") and value:
                return [value]
            rest = rest[2:] if option in ("-e", "--config", "--server", "--transport") else rest[1:]
        return rest[:1] if rest and _WEB.match(rest[0]) else rest

    def _served(self, words: list[str]) -> list[str]:
        """Return the command that a program puts at a port; none for another program."""
        if not any(map(_SERVING.fullmatch, words[:3])):
            return []
        if "--stdio" in words[:-1]:
            try:
                return shlex.split(words[words.index("--stdio") + 1])
            except ValueError:
                return []
        return words[words.index("--") + 1 :] if "--" in words[2:] else []

    def _in_shell(self, words: list[str]) -> list[str]:
        """Return the command that a shell starts; none where the shell does more than that."""
        option = _SHELLS.get(program_of(words))
        place = next(
            (at for at, word in enumerate(words[1:7], 1) if option and option.fullmatch(word)), 0
        )
        rest = words[place + 1 :] if place or program_of(words) == "wsl" else []
        if len(rest) != 1:
            return rest if program_of(words) in ("cmd", "wsl", "powershell", "pwsh") else []
        try:
            inner = shlex.split(rest[0])
        except ValueError:
            return []
        commands, variables = split_line(inner)
        telling = [command for command in commands if command[0] not in _FOLDERS]
        if len(telling) != 1 or any(map(_SHELL_SIGNS.search, telling[0])):
            return []
        if len(commands) > 1:
            reason = "names folders and files of another machine, which are left out"
            self.left_out.append(Defect("pasted", "command", reason))
        return [*variables, *telling[0]]

    def _use_usual_launcher(self) -> None:
        """Begin with uvx or npx where the packages are theirs, without idle options."""
        words = self.words
        program = program_of(words)
        same = next(
            (
                (*usual, *words[len(start) :])
                for start, usual in _SAME.items()
                if (program, *words[1 : len(start)]) == start
            ),
            None,
        )
        if same is None and program not in ("uvx", "npx"):
            return
        first, *rest = same or words
        options: list[str] = []
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            option = "--from" if option == "--spec" and same else option
            if option not in _QUIET and option not in options:
                options.append(option)
            if option in ("--from", "--package", "-p", "--python", "--with") and rest:
                options.append(self._without_range(rest.pop(0)))
        if rest and "--from" in options:
            rest[0] = _SUFFIXES.sub("", rest[0])
        elif rest and not {"--package", "-p"}.intersection(options):
            rest[0] = self._without_range(rest[0])
        self.words = [program if same is None else first, *options, *rest]

    def _without_range(self, package: str) -> str:
        """Return a package without a range or a tag, of which the newest version counts."""
        match = _RANGE.fullmatch(package)
        if match is None or package.endswith("@latest") or "://" in package:
            return package
        self.left_out.append(
            Defect(
                "pasted", "command", f"names no exact version of {match[1]}: the newest is taken"
            )
        )
        return match[1]

    def _read_container(self) -> None:
        """Pass variables on by name, and leave out what only a terminal needs."""
        words, rest = self.words[:2], self.words[2:]
        while rest and rest[0].startswith("-"):
            option, sign, value = rest.pop(0), "", ""
            if option.startswith("--"):
                option, sign, value = option.partition("=")
            parts = [f"{option}={value}" if sign else option]
            if not sign and option in _WITH_VALUE and rest:
                value = rest.pop(0)
                parts.append(value)
            elif _ASSIGNMENT.fullmatch(option[2:]) and option.startswith("-e"):
                option, value = "-e", option[2:]
            name, is_set, text = value.partition("=")
            if option in ("-e", "--env") and _NAME.fullmatch(name):
                if is_set or name not in self.environment:
                    self.environment[name] = text
                words += ["-e", name]
            elif option == "--env-file":
                self.left_out.append(
                    Defect(
                        "pasted",
                        "command",
                        "reads a file of another machine: enter its values as secrets",
                    )
                )
            elif option in ("-it", "-ti", "--interactive"):
                words.append("-i")
            elif option in _OF_TERMINAL:
                self.left_out.append(
                    Defect(
                        "pasted",
                        "command",
                        f"has {option}, which only another machine's terminal needs",
                    )
                )
            else:
                words += parts
        # A server over standard streams is spoken to there.
        is_open = "-i" in words
        self.words = [*words[:2], *(() if is_open else ("-i",)), *words[2:], *rest]
