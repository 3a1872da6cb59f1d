"""The gate for what a server asks in the middle of a call.

Nobody has reviewed these texts. A question to a person must not look like an attack, ask for a
password in a form, or lead to an address without TLS; a prompt for the client's model is judged as
a skill's text.
"""

from urllib.parse import urlsplit

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.formats.secret_redaction import is_secret_name
from catalog.servers.client.dialogue import CannotAskError
from catalog.trust.findings import requires_review
from catalog.trust.prompt_texts import prompt_requires_review
from catalog.trust.scanner import scan_definition
from discovery.calls.call_questions import fields_of

MOST_CHARACTERS = 64 * 1024
_NEEDED = {"sampling/createMessage": "sampling", "roots/list": "roots"}


def check_question(method: str, params: JSONObject, capabilities: frozenset[str]) -> None:
    """Raise CannotAskError unless this client can be asked this."""
    needed = _NEEDED.get(method, "elicitation.url" if "url" in params else "elicitation")
    if needed not in capabilities:
        raise CannotAskError("The client cannot be asked this.")
    if len(write_json(params)) > MOST_CHARACTERS:
        raise CannotAskError("The question is too long.")
    if "url" in params and not _has_tls(str(params["url"])):
        raise CannotAskError("Only addresses with https are passed on.")
    fields = fields_of(params)
    if fields is None:
        raise CannotAskError("The question's form cannot be read.")
    if any(is_secret_name(name) for name in fields):
        raise CannotAskError("Passwords and keys are not asked for in a form.")
    if requires_review(scan_definition(_shown(params, fields))) or prompt_requires_review(
        params.get("systemPrompt"), params.get("messages") or []
    ):
        raise CannotAskError("The question was held back: it looks like an attack.")


def _has_tls(address: str) -> bool:
    try:
        return urlsplit(address).scheme == "https"
    except ValueError:
        return False


def _shown(params: JSONObject, fields: JSONObject) -> JSONObject:
    """Return what a person reads, in the shape of a definition."""
    shown = {"description": params.get("message"), "input_schema": {"properties": fields}}
    return {name: value for name, value in shown.items() if value}
