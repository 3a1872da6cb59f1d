"""Child processes that end with their parent."""

import contextlib
import ctypes
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from marketplace.operate.embedded.data_folder import CannotRun

# The operating system account of the embedded servers.
#
# Postgres refuses to run as root. An ordinary user runs it directly. Root runs it as `nobody`; or,
# if `nobody` cannot reach the folders (a project below a home with mode 0700), in a user namespace,
# where root's files belong to an ordinary account and root has no powers.


@dataclass(frozen=True, slots=True)
class ServerAccount:
    """An account: uid and gid if they are not our own, and a prefix for commands."""

    uid: int | None = None
    gid: int | None = None
    prefix: tuple[str, ...] = ()

    def own(self, folder: Path) -> Path:
        """Create `folder` for this account only, taking over what another account left there."""
        uid = os.geteuid() if self.uid is None else self.uid
        gid = os.getegid() if self.gid is None else self.gid
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink():  # someone else may have put it into /tmp
            raise CannotRun(f"{folder} is a symbolic link: remove it.")
        try:
            if folder.stat().st_uid != uid:
                for path in (folder, *folder.rglob("*")):
                    os.chown(path, uid, gid, follow_symlinks=False)
            folder.chmod(0o700)
        except PermissionError:
            raise CannotRun(f"{folder} belongs to another account: remove it.") from None
        return folder


OURSELVES = ServerAccount()


def server_account(*reached: Path) -> ServerAccount:
    """Return an account for servers, which must be able to reach all the paths."""
    if os.geteuid() != 0:
        return OURSELVES
    nobody = pwd.getpwnam("nobody")
    hidden = next((path for path in reached if not _others_reach(path)), None)
    if hidden is None:
        return ServerAccount(uid=nobody.pw_uid, gid=nobody.pw_gid)
    unshare = shutil.which("unshare")
    if unshare:
        mapping = ("--user", f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}", "--")
        account = ServerAccount(prefix=(unshare, *mapping))
        command = [*account.prefix, "true"]
        trial = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - ours
        if trial.returncode == 0:
            return account
    raise CannotRun(
        f"Postgres does not run as root, and the account 'nobody' cannot reach {hidden}: "
        "run Pegboard as an ordinary user, or move it to a folder that all may enter, such as /srv."
    )


def _others_reach(path: Path) -> bool:
    """Return True if everyone may enter every folder down to `path`."""
    resolved = path.resolve(strict=True)
    return all(folder.stat().st_mode & 0o001 for folder in (resolved, *resolved.parents))


# Loaded here, because nothing may be imported between fork and exec.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1
# Our environment contains keys, so servers get a minimal one: other accounts can read theirs.
MINIMAL_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
_TAIL_BYTES = 4000
START_SECONDS = 180  # a small machine under load takes more than one minute
_ERROR_LINE = re.compile(r"FATAL|ERROR|rror:")


def start_child(
    command: Sequence[str | Path],
    *,
    log: Path | None,
    account: ServerAccount = OURSELVES,
    environment: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    when_parent_dies: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own session, with its output in `log` or on our own stdout.

    Ctrl-C then reaches only the supervisor, which stops the children in order.
    """
    with _open_log(log) as output:
        return subprocess.Popen(  # noqa: S603 - the commands are ours
            [*account.prefix, *command],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            env=environment,
            user=account.uid,
            group=account.gid,
            extra_groups=[] if account.uid is not None else None,
            start_new_session=True,
            preexec_fn=_tie_to(os.getpid(), when_parent_dies),
        )


def stop_child(
    child: subprocess.Popen[bytes],
    *,
    by: signal.Signals = signal.SIGTERM,
    seconds: float = 10,
) -> None:
    """Send a signal, wait, then kill whatever is left of its session."""
    if child.poll() is None:
        child.send_signal(by)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing is left
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def wait_until(
    ready: Callable[[], bool], *, child: subprocess.Popen[bytes], name: str, log: Path
) -> None:
    """Wait until `ready()`. CannotRun if the child ends first, or takes over three minutes."""
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if child.poll() is not None:
            reason = last_error(log)
            raise CannotRun(f"{name} failed to start ({reason}); see {log}.")
        if time.monotonic() > deadline:
            raise CannotRun(f"{name} was not ready after {START_SECONDS // 60} minutes; see {log}.")
        time.sleep(0.02)


def wait_for_leftovers(folder: Path, *, name: str) -> None:
    """Wait for processes of a killed earlier run. They are found by their working directory."""
    deadline = time.monotonic() + 30
    while _is_used(folder):
        if time.monotonic() > deadline:
            raise CannotRun(f"{name} of an earlier run still uses {folder}: stop it first.")
        time.sleep(0.1)


def last_error(log: Path) -> str:
    """Return the last line of a log that looks like an error, else the last line."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    errors = [line for line in lines if _ERROR_LINE.search(line)] or [
        line for line in lines if line
    ]
    return errors[-1] if errors else "no output"


def _open_log(log: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    if log is None:
        return contextlib.nullcontext()
    if log.exists():
        log.replace(log.with_name(f"{log.name}.1"))  # the log of the run before
    return log.open("wb")


def _is_used(folder: Path) -> bool:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended, or we may not look
            if process.cwd() == str(folder):
                return True
    return False


def _tie_to(parent: int, when_parent_dies: signal.Signals) -> Callable[[], None]:
    """Return a function for the child, which requests a signal at its parent's death."""

    def tie() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, when_parent_dies)
            if os.getppid() != parent:  # the parent died before prctl
                os._exit(1)

    return tie
