"""Security schemes as secrets of the integration: which there are, and which an operation sends.

Where a document names its authorization server, people sign in there, and the account's token takes
the place of the secret. Otherwise an access token that someone obtained elsewhere is a secret.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from catalog.formats.descriptors import JSONObject
from catalog.formats.entry import plain_key
from catalog.formats.header_names import DeclaredBy, can_be_sent, header_key
from catalog.formats.openapi._api_schemas import plain_text
from catalog.formats.openapi.api_credentials import find_credentials
from catalog.formats.openapi.api_document import OpenApiDocument
from catalog.formats.openapi.api_names import secret_for

_COOKIE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
_QUERY = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}")
_BEARER = re.compile(r"\bbearer", re.IGNORECASE)
_RANKS = {"basic": 1, "cookie": 2, "query": 3, "body": 3}
_MOST_SCHEMES = 30
_MOST_SCOPES = 50
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")  # RFC 6749, section 3.3
NOT_CARRIED_OUT = (
    "An access token. Pegboard does not carry out this sign-in: obtain a token, and enter it here."
)


CLIENT_CREDENTIALS = "client_credentials"
SIGN_IN = "A person signs in, or an admin enters an access token."
OWN_ACCOUNT = "Pegboard's own client gets a token, or an admin enters one."
_LONGEST_ADDRESS = 500
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
    body: dict[str, str] = field(default_factory=dict, repr=False)


class CredentialsMissingError(Exception):
    """No alternative of an operation's security has all its secrets; `names` are the first's."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def read_schemes(document: OpenApiDocument) -> dict[str, JSONObject]:
    """Return the schemes that can be sent, by name: their place, and the names of their secrets."""
    components = document.value.get("components")
    declared = components.get("securitySchemes") if isinstance(components, dict) else None
    usable_schemes: dict[str, JSONObject] = {}
    if not declared:
        usable_schemes[UNDECLARED] = _UNDECLARED_SCHEME
    for name, raw in declared.items() if isinstance(declared, dict) else ():
        scheme = document.resolve(raw)
        usable_scheme = _read_scheme(str(name), scheme) if isinstance(scheme, dict) else None
        if usable_scheme is not None and len(usable_schemes) < _MOST_SCHEMES:
            usable_schemes[str(name)] = usable_scheme
    places = {
        plain_place(scheme["as"], scheme["name"])
        for scheme in usable_schemes.values()
        if "name" in scheme
    }
    for (where, name), scheme in find_credentials(document).items():
        if plain_place(where, name) not in places:
            key = name if name not in usable_schemes else f"{name} ({where})"
            usable_schemes[key] = scheme
    return usable_schemes


def add_credentials(
    alternatives: list[list[str]],
    credentials: Mapping[str, bool],
    schemes: Mapping[str, JSONObject],
) -> list[list[str]]:
    """Return the alternatives with the credentials among an operation's parameters.

    Each says whether it is required. In the query and the body, one beside a declared sign-in is
    another way to send the same, and is not needed.
    """
    alternatives = [names for names in alternatives if UNDECLARED not in names]
    has_sign_in = any(alternatives)
    needed = {
        name: required
        for name, required in credentials.items()
        if not (has_sign_in and schemes[name]["as"] in ("query", "body"))
    }
    if not needed:
        return alternatives
    base = alternatives or [[]]
    with_all = [[*names, *(name for name in needed if name not in names)] for names in base]
    required_names = [name for name, required in needed.items() if required]
    if len(required_names) == len(needed):
        return with_all
    return with_all + [
        [*names, *(name for name in required_names if name not in names)] for names in base
    ]


def rank_alternative(names: list[str], schemes: Mapping[str, JSONObject]) -> int:
    """Return the rank of an alternative: a bearer or header, then basic, a cookie, the query."""
    return max((_RANKS.get(schemes[name]["as"], 0) for name in names), default=0)


def declared_schemes(document: OpenApiDocument) -> set[str]:
    """Return the names of the schemes that a document declares, sendable or not."""
    components = document.value.get("components")
    declared = components.get("securitySchemes") if isinstance(components, dict) else None
    return set(map(str, declared)) if isinstance(declared, dict) else set()


def read_security(value: Any) -> list[list[str]] | None:
    """Return the alternatives of an operation, each the names of schemes; None if undeclared."""
    if isinstance(value, dict):
        value = [value]  # people write the only alternative so
    if not isinstance(value, list):
        return None
    return [
        [alternative] if isinstance(alternative, str) else sorted(map(str, alternative))
        for alternative in value
        if isinstance(alternative, (dict, str))
    ][:20]


def usable_security(
    alternatives: list[list[str]], schemes: Mapping[str, JSONObject]
) -> list[list[str]]:
    """Return the alternatives of which every scheme can be sent."""
    return [
        alternative for alternative in alternatives if all(name in schemes for name in alternative)
    ]


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
    usable = usable_security(alternatives, schemes)
    if alternatives and not usable:
        # A changed document was approved whose sign-in the installed version does not have.
        raise CredentialsMissingError(
            sorted({name for alternative in alternatives for name in alternative})
        )
    ranked = sorted(usable, key=lambda names: (not names, rank_alternative(names, schemes)))
    for alternative in ranked:
        needed = secrets_of(alternative, schemes)
        if all(name in values for name in needed):
            return _build(alternative, schemes, values)
    if not alternatives:
        return Credentials()
    raise CredentialsMissingError(secrets_of(ranked[0], schemes))


def credential_names(
    alternatives: list[list[str]], schemes: Mapping[str, JSONObject]
) -> set[tuple[str, str]]:
    """Return place and name of everything that an operation's sign-in may send, as compared."""
    used = [schemes[name] for names in alternatives for name in names if name in schemes]
    return {
        plain_place(scheme["as"], scheme["name"])
        if "name" in scheme
        else plain_place("header", "Authorization")
        for scheme in used
    }


def plain_place(place: str, name: str) -> tuple[str, str]:
    """Return place and name as servers compare them: names of headers in any case."""
    return place, header_key(name) if place == "header" else name


def encoded_secrets(schemes: Mapping[str, JSONObject], values: Mapping[str, str]) -> list[str]:
    """Return the secrets in the other forms in which they are sent, which answers may repeat."""
    encoded = []
    for scheme in schemes.values():
        if scheme["as"] == "basic" and all(name in values for name in scheme["secrets"]):
            pair = ":".join(values[name] for name in scheme["secrets"])
            encoded.append(base64.b64encode(pair.encode()).decode())
    return [*encoded, *(quote(value, safe="") for value in values.values())]


def _build(
    names: list[str], schemes: Mapping[str, JSONObject], values: Mapping[str, str]
) -> Credentials:
    credentials = Credentials()
    for name in names:
        scheme = schemes[name]
        sent = [values[secret] for secret in scheme["secrets"]]
        if scheme["as"] == "basic":
            pair = base64.b64encode(":".join(sent).encode()).decode()
            credentials.headers["Authorization"] = f"Basic {pair}"
        elif scheme["as"] == "bearer":
            credentials.headers["Authorization"] = f"Bearer {sent[0]}"
        elif scheme["as"] == "header":
            credentials.headers[scheme["name"]] = sent[0]
        elif scheme["as"] == "cookie":
            credentials.cookies[scheme["name"]] = sent[0]
        elif scheme["as"] == "body":
            credentials.body[scheme["name"]] = sent[0]
        else:
            credentials.query[scheme["name"]] = sent[0]
    return credentials


def _read_scheme(name: str, scheme: JSONObject) -> JSONObject | None:
    """Return how a scheme is sent, or None for one that Pegboard cannot send."""
    kind, about = plain_key(str(scheme.get("type"))), plain_text(scheme.get("description"), 250)
    # People write the scheme in the place of the type, too.
    way = str(scheme.get("scheme")).strip().lower() if kind == "http" else kind
    if kind == "apikey":
        return _read_key(name, scheme, about)
    if way == "basic":
        secrets = [secret_for(name, "USERNAME"), secret_for(name, "PASSWORD")]
        return {"as": "basic", "secrets": secrets, "about": about}
    if way == "bearer":
        return {"as": "bearer", "secrets": [secret_for(name, "TOKEN")], "about": about}
    if kind in ("oauth2", "openidconnect"):
        return _read_oauth(name, scheme)
    return None


def _read_oauth(name: str, scheme: JSONObject) -> JSONObject:
    """Return a bearer token's scheme, with where to sign in if the document says it."""
    token: JSONObject = {"as": "bearer", "secrets": [secret_for(name, "TOKEN")]}
    flows = scheme.get("flows")
    flows = flows if isinstance(flows, dict) else {}
    code, client_flow = flows.get("authorizationCode"), flows.get("clientCredentials")
    if discovery := _address(scheme.get("openIdConnectUrl")):
        return {**token, "about": SIGN_IN, "sign_in": {"discovery": discovery}}
    if isinstance(code, dict):
        addresses = {
            "authorize": _address(code.get("authorizationUrl")),
            "token": _address(code.get("tokenUrl")),
        }
        if all(addresses.values()):
            return {**token, "about": SIGN_IN, "sign_in": addresses}
    if isinstance(client_flow, dict) and (address := _address(client_flow.get("tokenUrl"))):
        sign_in = {"grant": CLIENT_CREDENTIALS, "token": address}
        return {**token, "about": OWN_ACCOUNT, "sign_in": sign_in}
    return {**token, "about": NOT_CARRIED_OUT}


def _address(value: Any) -> str:
    """Return an absolute address, or ""."""
    text = value if isinstance(value, str) else ""
    is_one = text.startswith(("https://", "http://")) and len(text) <= _LONGEST_ADDRESS
    return text if is_one and "\\" not in text and not re.search(r"\s", text) else ""


def find_sign_in(schemes: Any) -> tuple[str, Mapping[str, Any]]:
    """Return the scheme with which people sign in, else the one of Pegboard's own client, or ""."""
    sign_ins = [
        (str(name), scheme["sign_in"])
        for name, scheme in (schemes.items() if isinstance(schemes, dict) else ())
        if isinstance(scheme, dict) and isinstance(scheme.get("sign_in"), dict)
    ]
    return next(iter(sorted(sign_ins, key=lambda pair: "grant" in pair[1])), ("", {}))


def read_scopes(value: Any, schemes: Mapping[str, JSONObject]) -> dict[str, list[str]]:
    """Return the scopes that an operation's security names, of schemes with a sign-in."""
    by_scheme: dict[str, set[str]] = {}
    for alternative in value if isinstance(value, list) else [value]:
        for name, scopes in alternative.items() if isinstance(alternative, dict) else ():
            if "sign_in" in schemes.get(str(name), {}) and isinstance(scopes, list):
                valid_scopes = {
                    text for text in scopes if isinstance(text, str) and _SCOPE.fullmatch(text)
                }
                by_scheme.setdefault(str(name), set()).update(valid_scopes)
    return {name: sorted(scopes)[:_MOST_SCOPES] for name, scopes in by_scheme.items() if scopes}


def _read_key(name: str, scheme: JSONObject, about: str) -> JSONObject | None:
    place, sent_as = scheme.get("in", "header"), str(scheme.get("name") or "")
    allowed = {
        "header": can_be_sent(sent_as, DeclaredBy.SIGN_IN),
        "query": _QUERY.fullmatch(sent_as) is not None,
        "cookie": _COOKIE.fullmatch(sent_as) is not None,
    }
    if not allowed.get(str(place), False):
        return None
    words = f"{name} {scheme.get('description')}"
    if header_key(sent_as) == header_key("Authorization") and _BEARER.search(words):
        # Version 2.0 has no other way to say it.
        return {"as": "bearer", "secrets": [secret_for(name, "KEY")], "about": about}
    return {"as": place, "name": sent_as, "secrets": [secret_for(name, "KEY")], "about": about}
