"""Launch commands as people write them, rewritten as the one that Pegboard checks and starts.

A README's command is often within another one (`sudo`, `op run -- …`, the inspector), begins
another launcher of the same packages (`pnpm dlx`, `uv tool run`), or has options that only its
terminal needs (`docker run -t -p 8000:8000`). Variables that it sets are taken out of it.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PureWindowsPath

from catalog.formats.descriptors import Defect

_SUFFIXES = re.compile(r"\.(?:exe|cmd|bat|ps1)$", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,99})=(.{0,2000})", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")

# Programs that begin a launch. An operator may allow those of the second line; until then an
# installation says how.
PROGRAMS = frozenset(
    {
        *("uvx", "npx", "docker", "podman", "python", "python3", "node", "uv", "mcpb"),
        *("deno", "bun", "dotnet", "dnx", "java", "php", "ruby", "go", "cargo"),
    }
)
# Programs that start another one: at once, or behind a `--`, with values that they keep.
_BEFORE = frozenset({"env", "sudo", "nice", "time", "exec", "command", "nohup", "cross-env"})
# Programs that start another one in an environment that they make, which begins the launch.
_RUNNERS = re.compile(
    r"(?:mise (?:exec|x)|(?:asdf|fnm|nvm|bundle) exec|(?:volta|conda|mamba|micromamba) run"
    r"|(?:poetry|pdm|hatch|rye|pixi|pipenv) run"
    r"|(?:npx )?(?:-y |--yes )?(?:dotenvx?|env-cmd|cross-env)) "
)
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
# `>=3.12` is a bound, which was in quotes.
_REDIRECTION = re.compile(r"\d?>{1,2}(?!=).{0,200}|<(?!=).{0,200}|[|&]|2>&1")
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
    **dict.fromkeys(
        (("docker", "container", "run"), ("nerdctl", "run"), ("finch", "run")), ("docker", "run")
    ),
    ("podman", "container", "run"): ("podman", "run"),
    ("py",): ("python",),
}
_QUIET = frozenset(
    {
        *("-q", "--quiet", "--silent", "-s", "--bun", "--prefer-online", "--prefer-offline"),
        *("--refresh", "--no-cache", "--isolated", "--no-progress", "--loglevel=error", "--"),
        *("--native-tls", "--reinstall", "--upgrade", "-U", "--no-config", "--force", "-v", "-n"),
        *("--verbose", "--offline", "--no-project", "--system-certs", "--compile-bytecode"),
    }
)
# Options that choose among versions, or how much the program may use.
_NOT_TAKEN = frozenset(
    {
        *("--prerelease", "--resolution", "--exclude-newer", "--link-mode", "--color"),
        *("--node-options", "--cache-dir", "--loglevel", "--python-preference"),
    }
)
_TAKEN = frozenset({"--from", "--package", "--python", "--with", "-p", "-w"})
_SCRIPT = re.compile(r"\.(?:py|[cm]?[jt]s)(?::\w+)?\Z")
_PYTHON_VERSION = re.compile(r"(?:[a-z]*|>=|==|~=)(3\.\d{1,2})(?:\.[\d*]+)?")
_RANGE = re.compile(
    r"((?:@[\w.-]+/)?[\w.-]+(?:\[[\w, -]+\])?)"
    r"(?:(?:@|(?=[<>~^!]))[\^~<>=!a-z*].*|==[\d.]{0,20}\*|@[\d.]{1,20}\.x)"
)

# Options of `docker run`, https://docs.docker.com/reference/cli/docker/container/run/
_WITHOUT_VALUE = {
    "-i", "-t", "-it", "-ti", "-d", "--interactive", "--tty", "--detach", "--rm", "--init",
    "--privileged", "--read-only", "-q", "--quiet", "-P", "--publish-all", "--no-healthcheck",
}  # fmt: skip
_WITH_VALUE = {
    "-e", "--env", "--env-file", "-v", "--volume", "--mount", "-p", "--publish", "--name",
    "--network", "--net", "-u", "--user", "-w", "--workdir", "--entrypoint", "-l", "--label",
    "-m", "--memory", "--cpus", "--platform", "--pull", "--add-host", "--device", "--tmpfs",
    "--cap-add", "--cap-drop", "--security-opt", "-h", "--hostname", "--restart", "-a", "--attach",
    "--gpus", "--log-driver", "--log-opt", "--shm-size", "--ipc", "--pid", "--ulimit", "--runtime",
    "--dns", "--link", "--expose", "--group-add", "--userns", "--memory-swap", "--stop-timeout",
    "--sysctl", "--network-alias", "--volumes-from", "--pids-limit", "--cpuset-cpus", "--cidfile",
}  # fmt: skip
# Those that say how a person's terminal and machine show the container. All that give it more than
# a cell has stay, and are refused when it is to be started.
_OF_TERMINAL = {
    "-t", "--tty", "-d", "--detach", "--name", "--restart", "-l", "--label", "--pull", "-p",
    "--publish", "--platform", "-a", "--attach", "--log-driver", "--log-opt", "-q", "--quiet", "-P",
    "--publish-all", "--expose", "--cidfile", "--no-healthcheck",
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


def _plain_package(package: str) -> str:
    """Return the name of a package without its bounds, in its usual spelling."""
    return re.sub(r"[_.]+", "-", re.split(r"[\[<>=!~@ ]", package, maxsplit=1)[0]).lower()


def _find_launch(words: Sequence[str]) -> int:
    """Return where a launch begins behind the first word; 0 where none does."""
    starts = PROGRAMS.union(start[0] for start in _SAME)
    inner = (at for at, word in enumerate(words) if at and program_of([word]) in starts)
    # Of `npx dotenv -- npx weather`, the first launcher starts the runner.
    return next((at for at in inner if at > 1 or program_of(words[0]) != "npx"), 0)


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
            elif _RUNNERS.match(" ".join(words)) and (start := _find_launch(words)):
                words = words[start:]
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
        start = _find_launch(words)
        if "--" in words[2 : start or None]:
            return words[words.index("--") + 1 :]
        return words[start:] if start > 1 else []

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
        """Begin with the usual launcher of the same packages or images, without idle options."""
        words = self._of_project(self.words)
        program = program_of(words)
        plain = [program, *words[1:]]
        same = next(
            (
                [*usual, *words[len(start) :]]
                for start, usual in _SAME.items()
                if tuple(plain[: len(start)]) == start
            ),
            None,
        )
        words = same or words
        if program_of(words) not in ("uvx", "npx"):
            if program == "py" and re.fullmatch(r"-[23][\d.]*", "".join(words[1:2])):
                words = [words[0], *words[2:]]
            self.words = words
            return
        first, *rest = words
        options, rest = self._read_options(rest, is_npx=program_of(words) == "npx")
        if first == "npx" and same and "--" in rest:
            rest.remove("--")
        if rest and "--from" in options:
            rest[0] = _SUFFIXES.sub("", rest[0])
        elif rest and not {"--package", "-p"}.intersection(options):
            rest[0] = self._without_range(rest[0])
        self.words = [first, *options, *rest]

    def _read_options(self, words: list[str], *, is_npx: bool) -> tuple[list[str], list[str]]:
        """Return the options of a package's launcher that count, and what follows them."""
        options: list[str] = []
        while words and words[0].startswith("-"):
            option, sign, value = words.pop(0).partition("=")
            option = (
                {"--spec": "--from", "-w": "--with"}.get(option, option) if not is_npx else option
            )
            option = "--python" if option == "-p" and not is_npx else option
            if is_npx and option in ("-c", "--call") and (sign or words):
                call = value or words.pop(0)
                words[:0] = shlex.split(call) if call.count("'") % 2 == 0 else [call]
            elif option in _NOT_TAKEN:
                value = value if sign else words.pop(0) if words else ""
                reason = f"has {option}, which Pegboard does not take over"
                self.left_out.append(Defect("pasted", "command", reason))
            elif option in _TAKEN and (sign or words):
                value = value if sign else words.pop(0)
                if option == "--python":
                    match = _PYTHON_VERSION.fullmatch(value)
                    value = match[1] if match else value
                elif option != "--with":
                    value = self._without_range(value)
                options += [option, value]
            elif option not in _QUIET and option not in options:
                options.append(f"{option}{sign}{value}")
        return options, words

    def _of_project(self, words: list[str]) -> list[str]:
        """Return `uvx …` for a program that `uv run --with PACKAGE` starts, and `npx …` for a
        package of npm that Deno does; other commands as they are."""
        program = program_of(words)
        if program == "deno" and words[1:2] in (["run"], ["x"]):
            start = next((at for at, word in enumerate(words) if word.startswith("npm:")), 0)
            return ["npx", "-y", words[start][4:], *words[start + 1 :]] if start else words
        if program == "pnpm" and "dlx" in words[1:4]:
            at = words.index("dlx")
            return ["pnpm", "dlx", *words[1:at], *words[at + 1 :]]
        if program != "uv" or "run" not in words[1:4] or any(map(_SCRIPT.search, words)):
            return words
        steps = list(pairwise(words))
        packages = [after for option, after in steps if option in ("--with", "-w")]
        last = max((at for at, (option, _) in enumerate(steps) if option in _TAKEN), default=0)
        rest = words[last + 2 :]
        while rest and rest[0] in _QUIET:
            rest = rest[1:]
        is_module = program_of(rest) in ("python", "python3") and rest[1:2] == ["-m"]
        rest = rest[2:] if is_module else rest
        if not packages or not rest or rest[0].startswith("-"):
            return words
        module = _plain_package(rest[0].partition(".")[0])
        main = next((package for package in packages if _plain_package(package) == module), "")
        if not main and (is_module or len(packages) > 1):
            return words
        options = [word for pair in steps if pair[0] == "--python" for word in pair]
        more = [
            word for package in packages if main and package != main for word in ("--with", package)
        ]
        launch = [main] if main else ["--from", packages[0], rest[0]]
        return ["uvx", *options, *more, *launch, *rest[1:]]

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
            elif option == "--interactive" or re.fullmatch(r"-[dqt]*i[dqit]*", option):
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
