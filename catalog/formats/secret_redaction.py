"""Redaction of secrets: of a client's configuration only the names of its variables are kept.

In command lines and addresses, everything that looks like a key, token or password is redacted.
"""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import urlsplit, urlunsplit

REDACTED = "[redacted]"
_WORDS = (
    r"api[-_]?key|access[-_]?key|private[-_]?key|apikey|key|secret|token|passw(?:or)?d|pwd|passphrase"
    r"|auth|authorization|bearer|credentials?|cookie|session|signature|sig|pat"
)
_ENDS = r"key|secret|token|password|passwd|pwd"
_SECRET_NAME = re.compile(rf"(?:^|[-_.])(?:{_WORDS})(?:$|[-_.])|(?:{_ENDS})$", re.IGNORECASE)
# Matches ${API_KEY}, ${input:token} and ${API_KEY:-default} first. Sources are untrusted, so the
# quantifiers are possessive and bounded: no backtracking, no scan to the end for a missing brace.
_VARIABLE_FORMS = (
    r"\$\{(?:[a-z]++:)?([A-Za-z_][\w.-]*+)[^}]{0,1000}+\}"
    r"|\$?\{\{ *+(?:secrets|env|vars|inputs)\.([A-Za-z_][\w.-]*+) *+\}\}|\{env:([A-Za-z_]\w*+)\}"
    r"|os\.environ/([A-Za-z_]\w*+)|%([A-Z_][A-Z0-9_]{2,99})%"
    r"|(?<![\w.])process\.env\.([A-Za-z_]\w*+)|(?<!\w)\$?(COPILOT_MCP_\w{1,99}+)"
)
_VARIABLE = re.compile(_VARIABLE_FORMS)
_PLACEHOLDER = re.compile(
    rf"{_VARIABLE_FORMS}|\$([A-Z_][A-Z0-9_]*)|\{{\{{?([\w.-]+)\}}?\}}|<([\w -]+)>"
)
_DEFAULTED = re.compile(r"\$\{(?:[a-z]++:)?([A-Za-z_][\w.]*+):?[-=]([^}]{1,500}+)\}")
_LONGEST_SETTING = 200
_PRIVATE_NAME = re.compile(
    r"pass|pin|seed|mnemonic|salt|dsn|connection|private|licen[cs]e|webhook|hook|otp|cert|jwt|login|user"
    r"|mail|phone|account",
    re.IGNORECASE,
)
# An unclosed default is removed up to the end of the text.
_DEFAULT = re.compile(r"\$\{([\w.-]+):?[-=+][^}]*+(?:\}|\Z)")
_TOKENS = re.compile(
    r"sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{30,}"
    r"|(?<![\w-])eyJ[\w-]{10,500}+\.[\w-]{10,}\.?[\w-]*"
    r"|(?<![A-Fa-f0-9@])(?<!sha256:)[A-Fa-f0-9]{32,}"
    r"|(?<=[Bb]earer )[^\s\"']+|(?<=[Bb]asic )[\w+/=]{8,}"
    r"|(?<=://)[^\s/@:]*+:[^\s/@]*+(?=@)"
)
# Addresses that are secrets themselves: whoever has one may post, or call. Each form is a host and
# the part of the path that names no secret; behind it all is one.
CAPABILITY_ADDRESSES: Mapping[str, str] = {
    "Slack": r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/",
    "Teams": r"(?:[\w-]{1,63}\.){0,3}(?:webhook\.office|outlook\.office(?:365)?)\.com"
    r"/webhook(?:b2)?/",
    "Power Automate": r"(?:[\w-]{1,63}\.){0,6}(?:logic\.azure|powerplatform)\.com(?::\d{1,5})?"
    r"/(?:powerautomate/automations/direct/)?workflows/",
    "Discord": r"(?:[\w-]{1,63}\.)?discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/",
    "Google Chat": r"chat\.googleapis\.com/v1/spaces/",
    "Zapier": r"hooks\.zapier\.com/hooks/(?:catch|standard)/|mcp\.zapier\.com/api/mcp/s/",
    "IFTTT": r"maker\.ifttt\.com/trigger/[\w-]{1,100}/(?:json/)?with/key/|connect\.ifttt\.com/v2/",
    "Telegram": r"api\.telegram\.org/(?:file/)?bot",
    "Mattermost, Rocket.Chat and their like": r"[\w.-]{1,253}(?::\d{1,5})?/(?:[\w.-]{1,60}/){0,3}"
    r"(?:hooks|webhooks?|incoming-webhook)/(?=[^\s\"'<>]{0,200}[\w-]{16})",
}
_CAPABILITY = re.compile(
    rf"(?P<kept>(?<![\w+.-])https?://(?:[^\s/@]{{0,200}}@)?(?:{'|'.join(CAPABILITY_ADDRESSES.values())}))"
    r"(?P<secret>[^\s\"'<>#]+)",
    re.IGNORECASE,
)
# A part of a path, of which some look drawn at random; and an address in a longer text.
_OPAQUE = re.compile(r"(?<![\w${.-])[\w.~%-]{8,}+(?![\w}])")
_LEAST_DRAWN, _MOST_CAPITALS = 8, 3
_ADDRESS = re.compile(r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>`]{1,4000}", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"(?P<name>-{0,2}[\w.-]+)(?P<sign>=|:\s*)(?P<value>.+)", re.DOTALL)
_REDACTED_VALUE = re.compile(
    r"(?P<before>(?:(?P<name>[\w.-]{1,60}+)[\"']?\s?[:=]\s?[\"']?)?(?:(?:Bearer|Basic|Token) )?)"
    + re.escape(REDACTED),
    re.IGNORECASE,
)
# `--api-key abc`, `API_KEY=abc` or `"apiKey": "abc"` in the middle of a longer text.
_INSIDE = re.compile(
    r"(?<![\w-])(?P<name>--[\w-]{1,60}+(?=\s)|[\w-]{1,60}+(?=[\"']?\s*[:=]))"
    r"(?P<sign>[\"']?\s*[:=]\s*[\"']?|\s+)(?P<value>\$\{[^}]{1,200}\}|[^\s\"',;}]+)"
)


def is_secret_name(name: str) -> bool:
    """Return True if a variable, option or header of this name usually holds a secret."""
    return _SECRET_NAME.search(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip("-"))) is not None


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return the names of placeholders: `${API_KEY}`, `${input:token}`, `$HOME`, `{{name}}`."""
    return tuple(
        next(group for group in match.groups() if group) for match in _PLACEHOLDER.finditer(text)
    )


def find_defaults(text: str) -> list[tuple[str, str]]:
    """Return names and defaults of placeholders: `${REGION:-eu}`."""
    return _DEFAULTED.findall(text)


def is_plain_setting(name: str, value: str) -> bool:
    """Return True for a value that is no secret by its name or its looks: `MODE=stdio`.

    In doubt it is one: what looks drawn at random, has a password in it, or is long.
    """
    return (
        len(value) <= _LONGEST_SETTING
        and value.isprintable()
        and not (is_secret_name(name) or _PRIVATE_NAME.search(name))
        and redact_text(value) == value
        and word_addresses(value) == value
        and _OPAQUE.sub(_redact_opaque, value) == value
        and not _PLACEHOLDER.search(value)
    )


def normalize_variables(text: str) -> str:
    """Rewrite each placeholder that can only mean a variable as `${NAME}`, without its default."""

    def gap(match: re.Match[str]) -> str:
        name = next(group for group in match.groups() if group)
        return f"${{{name}}}"

    return _VARIABLE.sub(gap, text)


def normalize_placeholders(text: str) -> tuple[str, tuple[str, ...]]:
    """Rewrite every placeholder as `${NAME}`; return the text and the names."""
    names: list[str] = []

    def gap(match: re.Match[str]) -> str:
        name = next(group for group in match.groups() if group)
        names.append(re.sub(r"[^\w.-]", "_", name))
        return f"${{{names[-1]}}}"

    return _PLACEHOLDER.sub(gap, text), tuple(dict.fromkeys(names))


def strip_placeholders(text: str) -> str:
    """Remove all placeholders from a text."""
    return _PLACEHOLDER.sub("", text)


def redact_arguments(arguments: Iterable[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Redact secrets in arguments; return them with the positions of changed ones."""
    redacted_arguments: list[str] = []
    changed: list[int] = []
    value_is_secret = False
    for place, argument in enumerate(arguments):
        is_option = argument.startswith("-")
        if value_is_secret and not is_option and not _is_placeholder(argument):
            redacted = REDACTED
        else:
            redacted = redact_text(argument)
        value_is_secret = is_option and "=" not in argument and is_secret_name(argument)
        redacted_arguments.append(redacted)
        if redacted != argument:
            changed.append(place)
    return tuple(redacted_arguments), tuple(changed)


def name_secrets(arguments: Iterable[str]) -> tuple[str, ...]:
    """Return the arguments with a gap in the place of each secret, named as the secret is.

    So `--api-key s3cret` becomes `--api-key ${API_KEY}`, for which a value can be entered.
    """
    arguments = tuple(arguments)
    redacted, changed = redact_arguments(arguments)
    names: list[str] = []

    def gap(match: re.Match[str]) -> str:
        name = match["name"] or (option if option.startswith("-") else "") or "TOKEN"
        snake = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip("-"))
        plain = re.sub(r"\W+", "_", snake).strip("_").upper() or "TOKEN"
        names.append(plain)
        more = names.count(plain)
        return f"{match['before']}${{{plain}{f'_{more}' if more > 1 else ''}}}"

    gapped = list(arguments)
    for place in (at for at in changed if REDACTED in redacted[at]):
        option = arguments[place - 1] if place else ""
        gapped[place] = _REDACTED_VALUE.sub(gap, redacted[place])
    return tuple(gapped)


def redact_text(text: str) -> str:
    """Redact the secrets in one argument or header."""
    text = _CAPABILITY.sub(_redact_capability, _DEFAULT.sub(r"${\1}", text))
    if "://" in text and not re.search(r"\s", text) and "=" not in text.partition("://")[0]:
        return _redact_if_url(text)
    assignment = _ASSIGNMENT.fullmatch(text)
    if assignment and is_secret_name(assignment["name"]):
        return assignment["name"] + assignment["sign"] + _redact_value(assignment["value"])
    if assignment and "://" in assignment["value"] and not re.search(r"\s", text):
        return assignment["name"] + assignment["sign"] + _redact_if_url(assignment["value"])
    return _TOKENS.sub(REDACTED, _INSIDE.sub(_redact_inside, text))


def _redact_value(value: str) -> str:
    if _is_placeholder(value):
        return value
    scheme = re.match(r"(?:bearer|basic|token)\s+", value, re.IGNORECASE)
    return (scheme.group() if scheme else "") + REDACTED


def _redact_inside(match: re.Match[str]) -> str:
    if not is_secret_name(match["name"]) or _is_placeholder(match["value"]):
        return match.group()
    if match["value"].lower() in ("bearer", "basic"):
        return match.group()
    return match["name"] + match["sign"] + REDACTED


def _redact_capability(match: re.Match[str]) -> str:
    """Return the address with what makes it a secret redacted, unless that is a placeholder."""
    is_placeholder = not re.search(r"\w", strip_placeholders(match["secret"]).replace(REDACTED, ""))
    return match.group() if is_placeholder else match["kept"] + REDACTED


def redact_url(url: str) -> str:
    """Redact user, password and secret parameters of a URL, and the path that is a secret.

    Raises ValueError for an invalid URL.
    """
    parts = urlsplit(_CAPABILITY.sub(_redact_capability, url))
    user, _, host = parts.netloc.rpartition("@")
    if user and parts.scheme not in ("ssh", "git+ssh"):
        user = "redacted"
    query = "&".join(_redact_parameter(part) for part in parts.query.split("&"))
    path, fragment = (_TOKENS.sub(REDACTED, part) for part in (parts.path, parts.fragment))
    return urlunsplit((parts.scheme, f"{user}@{host}" if user else host, path, query, fragment))


def word_address(address: str, *, deciding: bool = False) -> str:
    """Return an address as it may be written anywhere: in logs, the audit log, answers and pages.

    What could be a secret is redacted, known form or not: the user, each value of the query, the
    fragment, and each part of the path that looks drawn at random. Text that is no address stays.
    Whoever is `deciding` about it reads values of the query, too, unless they look like that.
    """
    if "://" not in address:
        return address
    try:
        parts = urlsplit(redact_url(address))
    except ValueError:
        return REDACTED
    path = _OPAQUE.sub(_redact_opaque, parts.path)
    hide = partial(_OPAQUE.sub, _redact_opaque) if deciding else _hide_value
    query = "&".join(map(hide, parts.query.split("&")))
    fragment = REDACTED if parts.fragment else ""
    return urlunsplit((parts.scheme, parts.netloc, path, query, fragment))


def word_addresses(text: str, *, deciding: bool = False) -> str:
    """Return a text in which each address is worded without its secrets."""
    if "://" not in text:
        return text
    return _ADDRESS.sub(lambda match: word_address(match.group(), deciding=deciding), text)


def _redact_opaque(match: re.Match[str]) -> str:
    word = match.group()
    mixed = (part for part in re.split(r"[-_.~%]", word) if len(part) >= _LEAST_DRAWN)
    is_drawn = any(re.search(r"\d", part) and re.search(r"[A-Za-z]", part) for part in mixed)
    is_drawn = is_drawn or len(re.findall(r"[a-z][A-Z]", word)) > _MOST_CAPITALS
    return REDACTED if is_drawn else word


def _hide_value(part: str) -> str:
    name, _, value = part.partition("=")
    return f"{name}={REDACTED}" if value and not _is_placeholder(value) else part


def _redact_if_url(text: str) -> str:
    try:
        return redact_url(text)
    except ValueError:
        return REDACTED


def _redact_parameter(part: str) -> str:
    name, sign, value = part.partition("=")
    if sign and is_secret_name(name) and value and not _is_placeholder(value):
        return f"{name}={REDACTED}"
    return _TOKENS.sub(REDACTED, part)


def _is_placeholder(text: str) -> bool:
    bare = re.sub(r"^(?:bearer|basic|token)\s+", "", text.strip(), flags=re.IGNORECASE)
    return not bare or _PLACEHOLDER.fullmatch(bare) is not None
