"""The operating system account of the embedded servers.

Postgres refuses to run as root. An ordinary user runs it directly. Root runs it as `nobody`; or, if
`nobody` cannot reach the folders (a project below a home with mode 0700), in a user namespace,
where root's files belong to an ordinary account and root has no powers.
"""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from marketplace.operate.embedded.data_folder import CannotRun


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
