"""Host names that a program may reach, as an admin writes them. Pure.

`api.example.com` is port 443; `api.example.com:8080` another one; `*.example.com` every name below;
`*` every public host.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from catalog.servers.net.address_check import is_ip_literal

MOST_HOSTS = 50
MOST_CHARACTERS = 260
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
# The dot that ends a name belongs to a name: `*.` is not `*`.
_RULE = re.compile(
    rf"(?:(?P<any>\*)|(?P<name>(?:\*\.)?(?:{_LABEL}\.)*{_LABEL})\.?)(?::(?P<port>[0-9]{{1,5}}))?"
)


class NotAHostError(ValueError):
    """Text without the name of a host."""


@dataclass(frozen=True, slots=True)
class HostRules:
    """The hosts allowed to one program."""

    rules: tuple[str, ...] = ()

    def allow(self, host: str, port: int) -> bool:
        """Return True if a rule names the host at this port."""
        name = host.lower().rstrip(".")
        return any(_matches(rule, name, port) for rule in self.rules)

    def allow_public(self, port: int) -> bool:
        """Return True if every public host is allowed at this port."""
        return written("*", port) in self.rules


def parse_hosts(texts: Iterable[str]) -> list[str]:
    """Return the rules in one spelling, without duplicates; NotAHostError names the wrong one."""
    rules = sorted({_parse(text.strip()) for text in texts if text.strip()})
    if len(rules) > MOST_HOSTS:
        raise NotAHostError(_("At most %(most)s hosts can be allowed.") % {"most": MOST_HOSTS})
    return rules


def written(host: str, port: int) -> str:
    """Return a host and port as a rule."""
    return host if port == 443 else f"{host}:{port}"


def _parse(text: str) -> str:
    """Return a rule in its one spelling, which is checked again: it may name nothing else."""
    rule = _spell(text)
    if rule is None or _spell(rule) != rule:
        raise NotAHostError(
            _("%(text)r is not a host name, such as api.example.com or *.example.com:8443.")
            % {"text": text[:100]}
        )
    return rule


def _spell(text: str) -> str | None:
    # Letters of other scripts have small forms in ASCII.
    match = _RULE.fullmatch(text.lower()) if text.isascii() else None
    if match is None:
        return None
    host, port = match["any"] or match["name"], int(match["port"] or 443)
    return written(host, port) if 0 < port < 65_536 and not _is_too_wide(host) else None


def _is_too_wide(host: str) -> bool:
    """Refuse addresses, which escape the check by name, and `*.com`."""
    name = host.removeprefix("*.")
    return is_ip_literal(name) or (name != host and "." not in name) or len(host) > 253


def _matches(rule: str, name: str, port: int) -> bool:
    host, _, at = rule.partition(":")
    if port != int(at or 443):
        return False
    return name.endswith(host[1:]) if host.startswith("*.") else name == host


# Attempts of programs to reach hosts: logged at once, and counted for whoever stores them.

logger = logging.getLogger("pegboard.egress")
_WAIT_SECONDS = 1.0
# Times by integration, host, and whether it was allowed.
Attempts = Counter[tuple[int, str, bool]]


class EgressLog:
    """Counts of attempts, given to `store` in a thread a moment later."""

    def __init__(self) -> None:
        self.store: Callable[[Attempts], None] = lambda attempts: None
        self._pending: Attempts = Counter()

    def note(self, integration: int, host: str, port: int, *, allowed: bool) -> None:
        """Record one attempt. Called on the event loop."""
        event = "A program reached %s:%s." if allowed else "A program was refused %s:%s."
        logger.info(event, host, port, extra={"integration": integration})
        if not integration:
            return
        if not self._pending:
            loop = asyncio.get_running_loop()
            loop.call_later(_WAIT_SECONDS, lambda: loop.run_in_executor(None, self.flush))
        self._pending[integration, written(host, port), allowed] += 1

    def flush(self) -> None:
        """Store the attempts since the last time."""
        attempts, self._pending = self._pending, Counter()
        if attempts:
            self.store(attempts)


egress_log = EgressLog()
