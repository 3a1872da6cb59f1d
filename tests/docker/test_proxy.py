"""The configured proxy in front of a starting or restarting web server."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.embedded.served import served
from tests.local_servers import Handler, serve
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
CADDYFILE = PROJECT / "docker" / "Caddyfile"
CADDY = str(Path(sys.executable).with_name("caddy"))
PATIENCE = 60
CLIENTS = 8

pytestmark = pytest.mark.processes


class Web(Handler):
    """A web server: it answers with what the proxy tells it about the client."""

    def do_POST(self) -> None:
        self.sent()
        told = f"{self.headers['X-Forwarded-For']} {self.headers['X-Forwarded-Proto']}".encode()
        self.reply(200, told)


def test_proxy_waits_for_the_web_and_believes_nobody(tmp_path: Path) -> None:
    port, upstream = free_port(), free_port()
    with _proxy(tmp_path, port, upstream):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        client.request("POST", "/api/v1/select", b"{}", {"X-Forwarded-For": "203.0.113.9"})
        with serve(Web, upstream):  # only now, while the request waits
            answer = client.getresponse()
            told = answer.read().decode()
            client.request("POST", "/", b"x" * 17_000_000)
            too_much = client.getresponse().status

    assert (answer.status, told) == (200, "127.0.0.1 http")
    assert answer.headers["Server"] is None
    assert too_much == 413


def test_restart_of_the_web_fails_no_request(tmp_path: Path) -> None:
    port, upstream, over = free_port(), free_port(), threading.Event()
    with _proxy(tmp_path, port, upstream), ThreadPoolExecutor(CLIENTS) as clients:
        asking = [clients.submit(_asked_until, over, port) for _ in range(CLIENTS)]
        for _ in range(2):
            with served(f"127.0.0.1:{upstream}"):
                time.sleep(2)
        with served(f"127.0.0.1:{upstream}"):
            time.sleep(1)
            over.set()
            told = sum((each.result() for each in asking), Counter[str]())

    assert set(told) == {"200 ok"}


@pytest.mark.parametrize("published", ["443", "8443", "9000"])
def test_redirect_names_the_published_port_and_health_is_no_redirect(
    published: str, tmp_path: Path
) -> None:
    health, plain = free_port(), free_port()
    ports = {"HEALTH_PORT": str(health), "REDIRECT_PORT": str(plain), "HTTPS_PORT": published}
    with _proxy(tmp_path, free_port(), free_port(), **ports):
        redirect = http.client.HTTPConnection("127.0.0.1", plain, timeout=PATIENCE)
        redirect.request("GET", "/people/?q=a", headers={"Host": "pegboard.example:8080"})
        answer = redirect.getresponse()
        alive = http.client.HTTPConnection("127.0.0.1", health, timeout=PATIENCE)
        alive.request("GET", "/")
        status = alive.getresponse().status

    assert (answer.status, status) == (308, 200)
    assert answer.headers["Location"] == f"https://pegboard.example:{published}/people/?q=a"


def test_container_asks_the_port_of_its_health_by_what_busybox_has() -> None:
    compose = yaml.safe_load((PROJECT / "docker" / "compose.yaml").read_text())

    test = compose["services"]["proxy"]["healthcheck"]["test"]
    assert "http://:{$HEALTH_PORT:8081}" in CADDYFILE.read_text()
    assert test == ["CMD", "wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8081/"]


def test_what_is_tried_is_what_is_deployed() -> None:
    told = subprocess.check_output([CADDY, "version"], text=True)  # noqa: S603
    deployed = yaml.safe_load((PROJECT / "docker" / "compose.yaml").read_text())

    version = told.split()[0].removeprefix("v")
    assert deployed["services"]["proxy"]["image"] == f"caddy:{version}-alpine"


@contextmanager
def _proxy(folder: Path, port: int, upstream: int, **variables: str) -> Iterator[None]:
    environment = os.environ | {
        "PEGBOARD_SITE": f"http://127.0.0.1:{port}",
        "PEGBOARD_UPSTREAM": f"127.0.0.1:{upstream}",
        **{name: str(free_port()) for name in ("HEALTH_PORT", "REDIRECT_PORT")},
        **variables,
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    text = CADDYFILE.read_text().replace(
        "tls {$PEGBOARD_TLS:internal}", ""
    )  # plain HTTP for the test
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


def _asked_until(over: threading.Event, port: int) -> Counter[str]:
    """Send requests with bodies one after the other; return the answers."""
    told: Counter[str] = Counter()
    while not over.is_set():
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        client.request("POST", "/api/v1/select", b"x" * 2000)
        answer = client.getresponse()
        told[f"{answer.status} {answer.read().decode()}"] += 1
        client.close()
    return told


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
