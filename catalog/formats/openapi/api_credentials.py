"""Parameters that carry a credential: secrets of the integration, never arguments of a model.

Many documents declare their key as a parameter of each operation, beside or instead of a scheme. A
header is one by its name. A name such as `token`, which means other things elsewhere, is one where
its description says so, or where most operations have it in the same place.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from catalog.formats.descriptors import JSONObject
from catalog.formats.header_names import DeclaredBy, can_be_sent
from catalog.formats.openapi._api_schemas import plain_text
from catalog.formats.openapi.api_document import METHODS, OpenApiDocument
from catalog.formats.openapi.api_names import secret_for
from catalog.formats.secret_redaction import is_secret_name

BODY = "body"
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_ALWAYS = re.compile(
    r"(?:x)?(?:api|app|access|auth|oauth|bearer|secret|subscription|application|developer|user|private)"
    r"(?:key|token|secret)|xapikey|apiauth(?:key|token)?|clientsecret|sessiontoken|jwt"
)
_OFTEN = frozenset({"token", "key", "auth", "secret", "password", "session", "sid", "login"})
_OF_ACCOUNT = re.compile(r"(?:api|auth)[-_]?user(?:[-_]?(?:name|id))?", re.IGNORECASE)
# Keys and tokens of one request, not of whoever sends it.
_OF_REQUEST = re.compile(
    r"idempoten|partition|sort|cache|public|rout|dedup|request|page|continu|next|csrf|xsrf|encrypt"
    r"|upload|confirm|push|cursor|sync|signature|reset|verif|invit|device|sse-|range|match",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(
    r"authenticat|api[ -]?key|access token|auth(?:orization)? (?:key|token)|bearer|credentials?\b",
    re.IGNORECASE,
)
_LEAST_OFTEN = 3
_MOST = 20


class CredentialPlace(NamedTuple):
    """A place of a request, and the name under which something is sent there."""

    where: str
    name: str

    @property
    def _plain(self) -> str:
        return re.sub(r"[^a-z]", "", self.name.lower())

    def is_possible(self) -> bool:
        """Return True for a place that a credential could have, by where it is and its name."""
        if self.where == "header" and not can_be_sent(self.name, DeclaredBy.SIGN_IN):
            return False
        is_account = self.where == "header" and _OF_ACCOUNT.search(self.name) is not None
        return is_account or (is_secret_name(self.name) and not _OF_REQUEST.search(self.name))

    def is_likely(self) -> bool:
        """Return True for a name that most operations have for nothing else."""
        return self._plain in _OFTEN or _ALWAYS.fullmatch(self._plain) is not None

    def is_certain(self, description: str) -> bool:
        """Return True for a credential by its place and name, or by its description."""
        if self.where == "header":
            return True
        is_named = self.where != BODY and _ALWAYS.fullmatch(self._plain) is not None
        return is_named or (self._plain in _OFTEN and _SAYS_SO.search(description) is not None)


def find_credentials(document: OpenApiDocument) -> dict[CredentialPlace, JSONObject]:
    """Return the credentials among the parameters of a document, as schemes by their place."""
    counts: Counter[CredentialPlace] = Counter()
    first: dict[CredentialPlace, JSONObject] = {}
    certain: set[CredentialPlace] = set()
    operations = 0
    for path in document.value["paths"].values():
        item = document.resolve(path)
        for method in METHODS if isinstance(item, dict) else ():
            raw = document.resolve(item.get(method))
            if not isinstance(raw, dict):
                continue
            operations += 1
            for place, parameter in parameters_of(document, item, raw):
                counts[place] += 1
                first.setdefault(place, parameter)
                if place.is_certain(plain_text(parameter.get("description"), 300)):
                    certain.add(place)
    often = {place for place in counts if 2 * counts[place] >= operations and place.is_likely()}
    usual = {place for place in often if counts[place] >= _LEAST_OFTEN}
    chosen = [place for place in first if place in certain or place in usual][:_MOST]
    return {
        place: {
            "as": place.where,
            "name": place.name,
            "secrets": [secret_for(place.name)],
            "about": plain_text(first[place].get("description"), 250),
            "parameter": "usual" if 2 * counts[place] >= operations else "seldom",
        }
        for place in chosen
    }


def parameters_of(
    document: OpenApiDocument, item: JSONObject, raw: JSONObject
) -> Iterator[tuple[CredentialPlace, JSONObject]]:
    """Yield the parameters and form fields of an operation that could carry a credential."""
    for source in (item.get("parameters"), raw.get("parameters")):
        for listed in source if isinstance(source, list) else ():
            parameter = document.resolve(listed)
            if isinstance(parameter, dict) and parameter.get("in") in ("header", "query", "cookie"):
                place = CredentialPlace(str(parameter["in"]), str(parameter.get("name") or ""))
                if place.is_possible():
                    yield place, parameter
    body = document.resolve(raw.get("requestBody"))
    content = body.get("content") if isinstance(body, dict) else None
    for kind, media in content.items() if isinstance(content, dict) else ():
        if str(kind).partition(";")[0] not in _FORMS or not isinstance(media, dict):
            continue
        schema = document.resolve(media.get("schema"))
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, field in properties.items() if isinstance(properties, dict) else ():
            plain = document.resolve(field)
            place = CredentialPlace(BODY, str(name))
            if place.is_possible() and isinstance(plain, dict):
                yield place, {**plain, "required": name in (schema.get("required") or ())}
