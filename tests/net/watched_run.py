"""Run the whole product where every name that is looked up is written down and denied.

A script of its own: `unshare --net --mount` starts it, so that nothing but loopback is there and
the name server's address is its own. Prints the names as JSON. Linux, as root.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PROJECT = Path(__file__).parents[2]
CONTROL = "control.example"  # looked up by this script, to show that the server sees questions
PORT = 8123
PATIENCE = 180  # seconds, on a busy machine too
WATCHED = 25  # seconds; ONNX Runtime asked again after ten


def main(data: Path) -> None:
    names: list[str] = []
    _serve_names(names, data)
    _look_up(CONTROL)
    output = data / "output"
    product = _start_product(data, output)
    try:
        _wait_until_it_runs(product, output)
        _use_it(data)
        time.sleep(WATCHED)
    finally:
        product.terminate()
        product.wait(PATIENCE)
    sys.stdout.write(json.dumps(names))


def _serve_names(names: list[str], data: Path) -> None:
    """Become the machine's name server, which says of every name that it does not exist."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # noqa: S607
    resolver = data / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], check=True)  # noqa: S603, S607
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))

    def answer() -> None:
        while True:
            question, sender = server.recvfrom(2048)
            labels, at = [], 12
            while length := question[at]:
                labels.append(question[at + 1 : at + 1 + length].decode("latin-1"))
                at += length + 1
            names.append(".".join(labels))
            denied = b"\x81\x83" + question[4:6] + bytes(6)
            server.sendto(question[:2] + denied + question[12 : at + 5], sender)

    threading.Thread(target=answer, daemon=True).start()


def _look_up(name: str) -> None:
    try:
        socket.getaddrinfo(name, 443)
    except socket.gaierror:
        return


def _start_product(data: Path, output: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(PROJECT / "manage.py"), "up", f"--port={PORT}"]
    with output.open("wb") as file:
        return subprocess.Popen(  # noqa: S603 - ours
            command, env=_environment(data), stdout=file, stderr=subprocess.STDOUT
        )


def _environment(data: Path) -> dict[str, str]:
    """Build an environment of its own: neither servers nor switches of the one who runs the tests,
    which would hide what the product forgets to switch off.
    """
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {
        "PEGBOARD_DATA_DIR": str(data / "pegboard"),
        "HOME": str(data / "home"),
    }


def _wait_until_it_runs(product: subprocess.Popen[bytes], output: Path) -> None:
    end = time.monotonic() + PATIENCE
    while "Pegboard runs on" not in output.read_text():
        if product.poll() is not None or time.monotonic() > end:
            raise SystemExit(output.read_text())
        time.sleep(0.2)


def _use_it(data: Path) -> None:
    """Select by the running web, and embed a new entry by the worker."""
    import httpx  # after the namespace is set up: it reads the machine's settings

    httpx.get(f"http://127.0.0.1:{PORT}/readyz", timeout=60)
    key = _command(
        data, "create_api_key", "--group=everyone", "--scope=select", "--acts-for-users", "--json"
    )
    answer = httpx.post(
        f"http://127.0.0.1:{PORT}/api/v1/select",
        json={"message": "post a note to the team", "user": "admin", "group": "everyone"},
        headers={"Authorization": f"Bearer {json.loads(key)['key']}"},
        timeout=60,
    )
    if answer.status_code >= 500:
        raise SystemExit(answer.text)
    skill = data / "skill" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: water-plants\ndescription: Waters the plants.\n---\nWater them.\n")
    _command(data, "import_catalog", str(skill.parent), "--group=everyone", "--json")


def _command(data: Path, *arguments: str) -> str:
    ended = subprocess.run(  # noqa: S603 - ours
        [sys.executable, str(PROJECT / "manage.py"), *arguments],
        env=_environment(data),
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        raise SystemExit(f"{arguments}: {ended.stdout}{ended.stderr}")
    return ended.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
