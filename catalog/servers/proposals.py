"""Proposed servers: stored for an admin's decision.

Proposals often come from models, whose text may come from anywhere. So an address is checked before
it is stored, nothing is sent to it, and secrets are refused.
"""

import re
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from acl.actor import CredentialKind
from acl.audit.recorder import record
from acl.models import ApiKey, chain_columns
from acl.models.api_key import IN_FORCE
from acl.rights.caller_lookup import Caller
from catalog.formats.secret_redaction import redact_text, word_address, word_addresses
from catalog.formats.text_cleanup import clean_name
from catalog.models import ServerProposal
from catalog.servers.net.address_check import AllowedHosts, check_address

MOST_OPEN = 20
LONGEST = {"name": 100, "endpoint": 500, "wanted": 2_000, "reason": 500}
# Longer than ordinary words.
_LONG_WORD = re.compile(r"[\w-]{20,}+")
_DIGIT, _LETTER = re.compile(r"\d"), re.compile(r"[A-Za-z]")
State = ServerProposal.State


class ProposalRefusedError(Exception):
    """A proposal is not stored; `argument` names the offending one."""

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(reason)
        self.argument = argument
        self.reason = reason


class AnsweredError(Exception):
    """The proposal was answered meanwhile."""


@transaction.atomic
def propose_server(
    *, caller: Caller, name: str, endpoint: str = "", pasted: str = "", reason: str = ""
) -> ServerProposal:
    """Store a proposal, once per group and address. Without an address, `pasted` is what was
    pasted.

    Raises ProposalRefusedError for secrets or too many proposals, and EndpointNotAllowedError.
    """
    name, reason = clean_name(name).text, clean_name(reason).text
    values = {"name": name, "endpoint": endpoint, "wanted": pasted, "reason": reason}
    for argument, value in values.items():
        if len(value) > LONGEST[argument]:
            raise ProposalRefusedError(argument, f"At most {LONGEST[argument]} characters.")
        if argument == "name" and not value:
            raise ProposalRefusedError(argument, "Enter a name.")
        if _may_be_secret(argument, value):
            raise ProposalRefusedError(
                argument,
                "This may be a secret. Leave it out, also of the address: an admin enters it.",
            )
    if endpoint or not pasted:
        check_address(endpoint, AllowedHosts.from_settings())
    # Locked, so that nobody exceeds MOST_OPEN by proposing concurrently.
    by = User.objects.select_for_update().get(pk=caller.user_id)
    open_ones = list_open_proposals()
    same = open_ones.filter(group=caller.group_id, endpoint=endpoint, wanted=pasted).first()
    if same is not None:
        return same
    if open_ones.filter(user=by).count() >= MOST_OPEN:
        raise ProposalRefusedError("", f"You already have {MOST_OPEN} open proposals.")
    details = {"endpoint": word_addresses(endpoint or pasted[:200])}
    groups = [caller.group_id]
    record(by=by, action="server.propose", target=name, details=details, groups=groups)
    return ServerProposal.objects.create(
        name=name,
        endpoint=endpoint,
        wanted=pasted,
        reason=reason,
        user=by,
        group_id=caller.group_id,
        **chain_columns(),
    )


def list_open_proposals() -> QuerySet[ServerProposal]:
    """List open proposals, oldest first, without those of keys that have ended since."""
    lasting = ~Q(credential=CredentialKind.KEY) | Exists(
        ApiKey.objects.filter(IN_FORCE, pk=OuterRef("key"))
    )
    rows = ServerProposal.objects.filter(lasting, state=State.OPEN)
    return rows.select_related("user", "group", "actor")


def list_answered_proposals() -> QuerySet[ServerProposal]:
    """List answered proposals, newest first."""
    answered = ServerProposal.objects.exclude(state=State.OPEN).order_by("-answered_at", "-pk")
    return answered.select_related("user", "group", "actor", "answered_by")


@transaction.atomic
def answer_proposal(
    *, by: User, proposal: ServerProposal, approve: bool, note: str = ""
) -> ServerProposal:
    """Approve or reject a proposal, once. The caller installs within the same transaction."""
    row = list_open_proposals().select_for_update(of=["self"]).filter(pk=proposal.pk).first()
    if row is None:
        raise AnsweredError
    row.state = State.APPROVED if approve else State.REJECTED
    row.note, row.answered_by, row.answered_at = note[:500], by, timezone.now()
    row.save()
    details = {"endpoint": word_address(row.endpoint), "note": row.note}
    action = "server.approve" if approve else "server.reject"
    record(by=by, action=action, target=row.name, details=details)
    return row


def _may_be_secret(argument: str, value: str) -> bool:
    if redact_text(value) != value or _has_opaque_word(value):
        return True
    if argument != "endpoint":
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False  # refused as an address
    # An admin enters query parameters, since they often hold keys.
    return bool(parts.query or parts.fragment or "@" in parts.netloc)


def _has_opaque_word(value: str) -> bool:
    """Return True for a long word mixing letters and digits, as in most API keys."""
    words = _LONG_WORD.findall(value)
    return any(_DIGIT.search(word) and _LETTER.search(word) for word in words)
