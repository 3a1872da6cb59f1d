"""Security schemes as secrets of the integration: which there are, and which an operation sends.

OAuth is not carried out: an access token that someone obtained elsewhere is a secret like any
other.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from catalog.formats.descriptors import JSONObject
from catalog.formats.openapi.api_document import ApiDocument
from catalog.formats.openapi.api_names import secret_for
from catalog.formats.openapi.api_schemas import plain_text

_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_QUERY = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}")
_RESERVED = frozenset(
    {
        *("host", "connection", "upgrade", "te", "trailer", "expect", "content-length", "accept"),
        *("content-type", "content-encoding", "transfer-encoding", "accept-encoding", "cookie"),
    }
)
_MOST_SCHEMES = 30
NOT_CARRIED_OUT = (
    "An access token. Pegboard does not carry out this sign-in: obtain a token, and enter it here."
)


UNDECLARED = "token"
_UNDECLARED_SCHEME: JSONObject = {
    "as": "bearer",
    "secrets": ["API_TOKEN"],
    "about": "The document declares no sign-in. A token that is set is sent as a bearer token.",
}


@dataclass(slots=True)
class Credentials:
    """Parts of a request made from secrets. They never appear in a repr."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    query: dict[str, str] = field(default_factory=dict, repr=False)
    cookies: dict[str, str] = field(default_factory=dict, repr=False)


class CredentialsMissingError(Exception):
    """No alternative of an operation's security has all its secrets; `names` are the first's."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def read_schemes(document: ApiDocument) -> dict[str, JSONObject]:
    """Return the schemes that can be sent, by name: their place, and the names of their secrets."""
    components = document.value.get("components")
    declared = components.get("securitySchemes") if isinstance(components, dict) else None
    found: dict[str, JSONObject] = {}
    if not declared:
        return {UNDECLARED: _UNDECLARED_SCHEME}
    for name, raw in declared.items() if isinstance(declared, dict) else ():
        scheme = document.resolve(raw)
        read = _read_scheme(str(name), scheme) if isinstance(scheme, dict) else None
        if read is not None and len(found) < _MOST_SCHEMES:
            found[str(name)] = read
    return found


def read_security(value: Any) -> list[list[str]] | None:
    """Return the alternatives of an operation, each the names of schemes; None if undeclared."""
    if not isinstance(value, list):
        return None
    return [sorted(map(str, one)) for one in value if isinstance(one, dict)][:20]


def usable_security(
    alternatives: list[list[str]], schemes: Mapping[str, JSONObject]
) -> list[list[str]]:
    """Return the alternatives of which every scheme can be sent."""
    return [one for one in alternatives if all(name in schemes for name in one)]


def secrets_of(names: list[str], schemes: Mapping[str, JSONObject]) -> list[str]:
    """Return the names of the secrets of some schemes."""
    return [secret for name in names for secret in schemes[name]["secrets"]]


def variables_of(schemes: Mapping[str, JSONObject], required: list[str]) -> list[JSONObject]:
    """Return the secrets for the form that asks for them."""
    return [
        {
            "name": secret,
            "description": scheme["about"],
            "secret": not secret.endswith("_USERNAME"),
            "required": secret in required,
        }
        for scheme in schemes.values()
        for secret in scheme["secrets"]
    ]


def credentials_for(
    alternatives: list[list[str]], schemes: Mapping[str, JSONObject], values: Mapping[str, str]
) -> Credentials:
    """Return what the first alternative sends that has all its secrets.

    An empty alternative sends nothing: it is the last to be taken. Raises CredentialsMissingError.
    """
    known = usable_security(alternatives, schemes)
    if alternatives and not known:
        # A changed document was approved whose sign-in the installed version does not have.
        raise CredentialsMissingError(sorted({name for one in alternatives for name in one}))
    for one in sorted(known, key=lambda one: not one):
        needed = secrets_of(one, schemes)
        if all(name in values for name in needed):
            return _build(one, schemes, values)
    if not alternatives:
        return Credentials()
    raise CredentialsMissingError(secrets_of(known[0], schemes))


def encoded_secrets(schemes: Mapping[str, JSONObject], values: Mapping[str, str]) -> list[str]:
    """Return the secrets in the other forms in which they are sent, which answers may repeat."""
    found = []
    for scheme in schemes.values():
        if scheme["as"] == "basic" and all(name in values for name in scheme["secrets"]):
            pair = ":".join(values[name] for name in scheme["secrets"])
            found.append(base64.b64encode(pair.encode()).decode())
    return [*found, *(quote(value, safe="") for value in values.values())]


def _build(
    names: list[str], schemes: Mapping[str, JSONObject], values: Mapping[str, str]
) -> Credentials:
    found = Credentials()
    for name in names:
        scheme = schemes[name]
        sent = [values[secret] for secret in scheme["secrets"]]
        if scheme["as"] == "basic":
            pair = base64.b64encode(":".join(sent).encode()).decode()
            found.headers["Authorization"] = f"Basic {pair}"
        elif scheme["as"] == "bearer":
            found.headers["Authorization"] = f"Bearer {sent[0]}"
        elif scheme["as"] == "header":
            found.headers[scheme["name"]] = sent[0]
        elif scheme["as"] == "cookie":
            found.cookies[scheme["name"]] = sent[0]
        else:
            found.query[scheme["name"]] = sent[0]
    return found


def _read_scheme(name: str, scheme: JSONObject) -> JSONObject | None:
    """Return how a scheme is sent, or None for one that Pegboard cannot send."""
    kind, about = scheme.get("type"), plain_text(scheme.get("description"), 250)
    if kind == "apiKey":
        return _read_key(name, scheme, about)
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        secrets = [secret_for(name, "USERNAME"), secret_for(name, "PASSWORD")]
        return {"as": "basic", "secrets": secrets, "about": about}
    if kind == "http" and str(scheme.get("scheme")).lower() == "bearer":
        return {"as": "bearer", "secrets": [secret_for(name, "TOKEN")], "about": about}
    if kind in ("oauth2", "openIdConnect"):
        return {"as": "bearer", "secrets": [secret_for(name, "TOKEN")], "about": NOT_CARRIED_OUT}
    return None


def _read_key(name: str, scheme: JSONObject, about: str) -> JSONObject | None:
    place, sent_as = scheme.get("in"), str(scheme.get("name") or "")
    known = {"header": _HEADER, "query": _QUERY, "cookie": _HEADER}
    if place not in known or not known[place].fullmatch(sent_as):
        return None
    if place == "header" and sent_as.lower() in _RESERVED:
        return None
    return {"as": place, "name": sent_as, "secrets": [secret_for(name, "KEY")], "about": about}
