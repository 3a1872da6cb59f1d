"""A publisher of client documents: a real server with TLS, to the guard at a public address.

Only the network beyond this machine is replaced: the name, the way to its address, and who signed
its certificate.
"""

import json
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpcore2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from catalog.servers.net.address_check import AllowedHosts
from catalog.servers.net.guarded_transport import GuardedBackend
from tests.mcp.signing_in import REDIRECT
from tests.net.network import Names

PUBLIC = "1.1.1.1"
NAME = "client.example"
ADDRESS = f"https://{NAME}/mcp.json"
Answer = tuple[int, dict[str, str], bytes]


def document(**changed: Any) -> dict[str, Any]:
    """Return a good document; None leaves a member out."""
    told = {"client_id": ADDRESS, "client_name": "Harbour", "redirect_uris": [REDIRECT], **changed}
    return {name: value for name, value in told.items() if value is not None}


@dataclass
class Publisher:
    """Answers by path, the paths that were asked for, and the client's way to it."""

    port: int = 0
    trust: ssl.SSLContext = field(default_factory=lambda: ssl.create_default_context())
    answers: dict[str, Answer] = field(default_factory=dict)
    hits: list[str] = field(default_factory=list)

    def publish(self, told: Any = None, status: int = 200, **headers: str) -> None:
        """Publish a document, or the body of one."""
        body = told if isinstance(told, bytes) else json.dumps(told or document()).encode()
        head = {"Content-Type": "application/json"}
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers["/mcp.json"] = (status, head, body)

    def backend(self, allowed: AllowedHosts) -> GuardedBackend:
        """Return the real guard on a network where the name is a public address."""
        return GuardedBackend(
            allowed, resolve=Names(client_example=[[PUBLIC]]), network=_Way(self.port)
        )


class _Way(httpcore2.AnyIOBackend):
    def __init__(self, port: int) -> None:
        self._port = port

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        assert (host, port) == (PUBLIC, 443)
        return await super().connect_tcp("127.0.0.1", self._port, timeout)


@contextmanager
def published(folder: Path) -> Iterator[Publisher]:
    """Run the publisher; the folder keeps its key and certificate."""
    served = Publisher()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.hits.append(self.path)
            status, headers, body = served.answers.get(self.path, (404, {}, b"{}"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    file = _certify(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    served.port = server.server_address[1]
    served.trust.load_verify_locations(file)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certify(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    built = built.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    file = folder / "publisher.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    return file
