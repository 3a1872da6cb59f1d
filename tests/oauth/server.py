"""An MCP server with required sign-in, and its authorization server, on loopback.

It strictly enforces what OAuth 2.1 requires of clients.
"""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.local_servers import Handler, running

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
OPENID = "/.well-known/openid-configuration"
METADATA = "/.well-known/oauth-authorization-server"


class _Handler(Handler):
    """Metadata, registration, automatic consent, tokens, and a tool that returns headers."""

    protocol_version = "HTTP/1.1"
    server: "SignInServer"

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == RESOURCE:
            self._json(200, self.server.resource())
        elif path in (METADATA, OPENID):
            self._json(200, self.server.metadata())
        elif path == "/books":
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            known = token in self.server.good
            self._json(200 if known else 401, {"headers": list(self.headers)})
        elif path == "/authorize":
            self._send(302, Location=self.server.consent(query))
        else:
            self._json(404 if path != "/mcp" else 405, {})

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.sent.append((self.path, dict(self.headers), body.decode()))
        if self.path == "/mcp":
            self._mcp(json.loads(body))
        elif self.path == "/register":
            self._json(201, self.server.register(json.loads(body)))
        elif self.path == "/revoke":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            status = self.server.revoke(form, self.headers.get("Authorization", ""))
            self._json(status, {})
        elif self.path == "/token":
            form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            if self.server.fails is not None:
                status, body, kind = self.server.fails
                self._send(status, body, kind=kind)
                return
            status, told = self.server.token(form, self.headers.get("Authorization", ""))
            if status == 200 and self.server.writes is not None:
                status, body, kind = self.server.writes(told)
                self._send(status, body, kind=kind)
                return
            self._json(status, told)
        else:
            self._json(404, {})

    do_DELETE = do_GET

    def _mcp(self, message: dict[str, Any]) -> None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self.server.good:
            hint = self.server.hint or f"{self.server.origin}{RESOURCE}"
            self._send(401, WWW_Authenticate=f'Bearer resource_metadata="{hint}"')
        elif "id" not in message:
            self._send(202)
        elif message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            about = {"name": "mail", "version": "1"}
            self._answer(message, protocolVersion=version, capabilities={}, serverInfo=about)
        elif message["method"] == "tools/list":
            self._answer(message, tools=[{"name": "whoami", "inputSchema": {"type": "object"}}])
        elif message["method"] == "tools/call" and not self.server.allows(token):
            challenge = f'Bearer error="insufficient_scope", scope="{self.server.needs}"'
            self._send(403, WWW_Authenticate=challenge)
        elif message["method"] == "tools/call":
            said = {
                "type": "text",
                "text": json.dumps({"token": token, "headers": list(self.headers)}),
            }
            self._answer(message, content=[said])
        else:
            error = {"code": -32601, "message": "Method not found"}
            self._json(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _answer(self, message: dict[str, Any], **result: Any) -> None:
        self._json(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _json(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, json.dumps(value).encode(), kind="application/json")

    def _send(self, status: int, body: bytes = b"", kind: str = "", **headers: str) -> None:
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in {
            **about,
            **{n.replace("_", "-"): v for n, v in headers.items()},
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class SignInServer(ThreadingHTTPServer):
    """The server's log of requests, its clients, and answers to give instead."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        self.sent: list[tuple[str, dict[str, str], str]] = []
        self.good: set[str] = set()
        self.hint = ""
        self.instead: dict[str, Any] = {}  # of the metadata
        self.resource_instead: dict[str, Any] = {}
        self.registers_secret = ""
        self.expires_in: int | None = 3600
        self.waits = 0.0
        self.is_api = False  # it refuses the parameter `resource`, and knows client credentials
        self.is_ill = False
        self.fails: tuple[int, bytes, str] | None = None  # the token endpoint, instead of a token
        # How it writes a token, as status, body and type.
        self.writes: Callable[[dict[str, Any]], tuple[int, bytes, str]] | None = None
        self.needs = ""  # scopes that calls require
        self.grants: set[str] | None = None  # scopes that it grants; None for all requested
        self.scopes: dict[str, set[str]] = {}  # by access token
        self.issues: str | None = None  # the issuer in its redirects
        self._codes: dict[str, dict[str, str]] = {}
        self._refresh: set[str] = set()
        self._clients: dict[str, str] = {}
        self._number = 0
        self._lock = threading.Lock()

    def resource(self) -> dict[str, Any]:
        told = {"resource": f"{self.origin}/mcp", "authorization_servers": [self.origin]}
        return {**told, "scopes_supported": ["mail.read"], **self.resource_instead}

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.instead,
        }

    def register(self, wanted: dict[str, Any]) -> dict[str, Any]:
        name = self._new("client").partition("-canary")[0]
        self._clients[name] = self.registers_secret
        told = {"client_id": name, "redirect_uris": wanted["redirect_uris"]}
        if self.registers_secret:
            told["client_secret"] = self.registers_secret
            told["token_endpoint_auth_method"] = "client_secret_basic"
        return told

    def know(self, client_id: str, secret: str = "") -> None:
        """Register a client by hand."""
        self._clients[client_id] = secret

    def consent(self, query: dict[str, list[str]]) -> str:
        given = {name: values[0] for name, values in query.items()}
        assert not (self.is_api and "resource" in given)
        assert given["response_type"] == "code"
        assert given["code_challenge_method"] == "S256"
        assert given["client_id"] in self._clients
        code = self._new("code")
        self._codes[code] = given
        back = {"code": code, "state": given["state"], "iss": self.issues or self.origin}
        return f"{given['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        time.sleep(self.waits)
        if not self._is_known(form, authorization):
            return 401, {"error": "invalid_client"}
        asked = set(self._codes.get(form.get("code", ""), {}).get("scope", "").split())
        if self.is_api and form["grant_type"] == "client_credentials":
            return self._own_token(form)
        with self._lock:
            good = self._good_code(form) if "code" in form else self._good_refresh(form)
        if not good:
            return 400, {"error": "invalid_grant", "error_description": "<b>canary</b>"}
        access, refresh = self._new("access"), self._new("refresh")
        self.good.add(access)
        self.scopes[access] = asked if self.grants is None else asked & self.grants
        self._refresh.add(refresh)
        token: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        if self.expires_in is not None:
            token["expires_in"] = self.expires_in
        return 200, {**token, "refresh_token": refresh}

    def _own_token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        access = self._new("access")
        self.good.add(access)
        self.scopes[access] = set(form.get("scope", "").split())
        return 200, {"access_token": access, "token_type": "bearer", "expires_in": self.expires_in}

    def allows(self, token: str) -> bool:
        """Return True if the token has all scopes that calls require."""
        return set(self.needs.split()) <= self.scopes.get(token, set())

    def revoke(self, form: dict[str, str], authorization: str) -> int:
        """Revoke only the given token, as a minimal server does."""
        if not self._is_known(form, authorization):
            return 401
        if self.is_ill:
            return 503
        tokens = {"access_token": self.good, "refresh_token": self._refresh}
        tokens[form["token_type_hint"]].discard(form["token"])
        return 200

    def _is_known(self, form: dict[str, str], authorization: str) -> bool:
        secret = self._clients.get(form.get("client_id", ""))
        pair = f"{form.get('client_id')}:{secret}"
        proven = b64decode(authorization.removeprefix("Basic ")).decode() == pair
        return secret is not None and (not secret or proven)

    def _good_code(self, form: dict[str, str]) -> bool:
        given = self._codes.pop(form["code"], None)  # single use
        if given is None:
            return False
        digest = sha256(form.get("code_verifier", "").encode()).digest()
        challenge = urlsafe_b64encode(digest).decode().rstrip("=")
        names = ["client_id", "redirect_uri", *([] if self.is_api else ["resource"])]
        same = all(given[name] == form[name] for name in names)
        return challenge == given["code_challenge"] and same

    def _good_refresh(self, form: dict[str, str]) -> bool:
        token = form.get("refresh_token", "")
        resource = None if self.is_api else f"{self.origin}/mcp"
        if token not in self._refresh or form.get("resource") != resource:
            return False
        self._refresh.discard(token)  # single use
        return True

    def _new(self, what: str) -> str:
        with self._count:
            self._number += 1
            return f"{what}-{self._number}-canary-of-{self.server_port}"

    _count = threading.Lock()


@contextmanager
def sign_in_server() -> Iterator[SignInServer]:
    with running(SignInServer()) as server:
        yield server
