"""The proxy as it is configured, in front of a web that is not there yet."""

import http.client
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
CADDYFILE = PROJECT / "docker" / "Caddyfile"
CADDY = shutil.which("caddy", path=f"{PROJECT}/.venv/caddy/usr/bin:{os.environ['PATH']}") or ""
PATIENCE = 60

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not CADDY, reason="needs Debian's caddy, which `make test` fetches"),
]


class Web(BaseHTTPRequestHandler):
    """Tells what it is told of who asks."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        told = f"{self.headers['X-Forwarded-For']} {self.headers['X-Forwarded-Proto']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: object) -> None:
        """Nothing to tell."""


def test_proxy_waits_for_the_web_and_believes_nobody(tmp_path: Path) -> None:
    port, upstream = _free_port(), _free_port()
    with _proxy(tmp_path, port, upstream):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        client.request("POST", "/api/v1/select", b"{}", {"X-Forwarded-For": "203.0.113.9"})
        with _web(upstream):  # only now, while the request waits
            answer = client.getresponse()
            told = answer.read().decode()
            client.request("POST", "/", b"x" * 17_000_000)
            too_much = client.getresponse().status

    assert (answer.status, told) == (200, "127.0.0.1 http")
    assert answer.headers["Server"] is None
    assert too_much in {413, 502}  # older versions say that the web could not be asked


@contextmanager
def _proxy(folder: Path, port: int, upstream: int) -> Iterator[None]:
    environment = os.environ | {
        "PEGBOARD_SITE": f"http://127.0.0.1:{port}",
        "PEGBOARD_UPSTREAM": f"127.0.0.1:{upstream}",
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    text = CADDYFILE.read_text().replace("tls {$PEGBOARD_TLS:internal}", "")  # plain, for once
    (folder / "Caddyfile").write_text(text)
    command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with (folder / "told").open("wb") as told:
        proxy = subprocess.Popen(command, env=environment, stdout=told, stderr=told)  # noqa: S603
    try:
        _wait_until_listening(port, proxy)
        yield
    finally:
        proxy.terminate()
        proxy.wait(PATIENCE)


@contextmanager
def _web(port: int) -> Iterator[None]:
    server = HTTPServer(("127.0.0.1", port), Web)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_configuration_is_valid_with_tls(tmp_path: Path) -> None:
    check = subprocess.run(  # noqa: S603
        [CADDY, "validate", "--adapter", "caddyfile", "--config", str(CADDYFILE)],
        env=os.environ | {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert check.returncode == 0, check.stderr


def _wait_until_listening(port: int, proxy: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert proxy.poll() is None, "the proxy has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the proxy does not listen")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
