"""pip's settings of the index, as variables for uv: operators configure one client only.

Read from pip's variables and files, in pip's own order. uv reads neither.
"""

import configparser
import re
from collections.abc import Callable, Mapping
from pathlib import Path

SYSTEM_FILE = Path("/etc/pip.conf")
_SECTIONS = ("global", "install")
_TRUE = frozenset({"1", "true", "yes", "on"})


def uv_variables(
    environment: Mapping[str, str], *, system_file: Path = SYSTEM_FILE
) -> dict[str, str]:
    """Return the variables that make uv use the index that pip would use."""
    settings = _read_settings(environment, system_file)
    found = {
        name: value
        for option, (name, convert) in _OPTIONS.items()
        if (value := convert(settings.get(option, "")))
    }
    # As pip does: the best version of all indexes, which the pins then hold.
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "true", **found}


def has_index(environment: Mapping[str, str], *, system_file: Path = SYSTEM_FILE) -> bool:
    """Return False if pip is told to use folders only; uv has no variable for it."""
    told = _read_settings(environment, system_file).get("no-index", "")
    return told.strip().lower() not in _TRUE


def _read_settings(environment: Mapping[str, str], system_file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    for file in (system_file, Path(environment.get("PIP_CONFIG_FILE", "/nonexistent"))):
        try:
            parser.read_string(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, configparser.Error):
            continue
    found: dict[str, str] = {}
    for section in filter(parser.has_section, _SECTIONS):
        found |= {name.replace("_", "-"): value for name, value in parser.items(section)}
    for name, value in environment.items():
        if name.upper().startswith("PIP_"):
            found[name[4:].lower().replace("_", "-")] = value
    return found


def _words(separator: str) -> Callable[[str], str]:
    return lambda text: separator.join(text.split())


def _addresses(text: str) -> str:
    """Return uv's list of folders and addresses."""
    return ",".join(re.split(r"[\s,]+", text.strip()))


def _same(text: str) -> str:
    return text.strip()


_OPTIONS: dict[str, tuple[str, Callable[[str], str]]] = {
    "index-url": ("UV_DEFAULT_INDEX", _same),
    "extra-index-url": ("UV_INDEX", _words(" ")),
    "find-links": ("UV_FIND_LINKS", _addresses),
    "trusted-host": ("UV_INSECURE_HOST", _words(" ")),
    "cert": ("SSL_CERT_FILE", _same),
    "client-cert": ("SSL_CLIENT_CERT", _same),
    "proxy": ("ALL_PROXY", _same),
    "default-timeout": ("UV_HTTP_TIMEOUT", _same),
    "timeout": ("UV_HTTP_TIMEOUT", _same),
    "retries": ("UV_HTTP_RETRIES", _same),
}
