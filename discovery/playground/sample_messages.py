"""Sample messages for the tools that a caller has, and short sample conversations."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.debug import sensitive_variables

from acl.models import ApiKey
from acl.rights.caller_lookup import Caller
from catalog.models import Capability
from catalog.querysets import CapabilityQuerySet
from discovery.playground.outputs import curl

MESSAGES = (
    gettext_noop("Has the landlord answered my mail?"),
    gettext_noop("Put lunch with Anna into my calendar on Friday"),
    gettext_noop("Summarise this article and post it to Slack"),
    gettext_noop("Will it rain in Lisbon tomorrow?"),
)
SMALL_TALK = gettext_noop("Thanks, that was all!")
# Used is the first whose category the person has tools of, or else the first of all.
CONVERSATIONS = (
    (
        "planning",
        (
            gettext_noop("Put buying milk on my to-do list"),
            gettext_noop("make it due on Friday"),
            gettext_noop("I have it now, tick it off"),
        ),
    ),
    (
        "communication",
        (
            gettext_noop("Has the landlord answered my mail?"),
            gettext_noop("open it"),
            gettext_noop("and forward it to Jonas"),
        ),
    ),
    (
        "information",
        (
            gettext_noop("Will it rain in Lisbon tomorrow?"),
            gettext_noop("and the day after?"),
            gettext_noop("what about Porto?"),
        ),
    ),
    (
        "filesystem",
        (
            gettext_noop("Find the lease in the shared folder"),
            gettext_noop("open it"),
            gettext_noop("and summarise it for me"),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class SampleMessage:
    """A message of a conversation, with the earlier ones as the form takes them."""

    number: int
    message: str
    history: str
    current: bool = False


def choose_conversation(categories: Sequence[str]) -> tuple[SampleMessage, ...]:
    """Choose a conversation about one of the categories."""
    fitting = (texts for category, texts in CONVERSATIONS if category in categories)
    return _list_messages(_translate(next(fitting, CONVERSATIONS[0][1])))


def find_conversation(message: str, history: Sequence[str]) -> tuple[SampleMessage, ...]:
    """Return the sample conversation that contains these messages, with the current one marked."""
    now = (*history, message.strip())
    for texts in (_translate(texts) for _, texts in CONVERSATIONS):
        if now == texts[: len(now)]:
            return _list_messages(texts, current=len(now))
    return ()


def _translate(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(gettext, texts))


def _list_messages(texts: Sequence[str], current: int = 0) -> tuple[SampleMessage, ...]:
    return tuple(
        SampleMessage(number, message, "\n".join(texts[: number - 1]), number == current)
        for number, message in enumerate(texts, 1)
    )


MOST_MESSAGES = 4
LONGEST_MESSAGE = 90


@dataclass(frozen=True, slots=True)
class Samples:
    """Sample messages, a conversation, and whether the caller has any tools."""

    messages: tuple[str, ...]
    conversation: tuple[SampleMessage, ...]
    has_tools: bool


def list_samples(caller: Caller | None) -> Samples:
    """Return example messages of the caller's tools, from up to four categories.

    What only came described answers nothing here, so it serves where there is nothing else.
    Without such examples, use general ones.
    """
    if caller is None:
        return Samples(_translate((*MESSAGES, SMALL_TALK)), choose_conversation(()), has_tools=True)
    usable = Capability.objects.usable_by(caller).connected().filter(pinned=False)
    rows = _one_of_each_category(usable.claimed()) or _one_of_each_category(usable)
    # Categories that newcomers know from everyday life come first.
    everyday = [category for category, _ in CONVERSATIONS]
    rows.sort(key=lambda row: everyday.index(row[0]) if row[0] in everyday else len(everyday))
    first_examples = [
        str(examples[0]) for _, examples in rows if isinstance(examples, list) and examples
    ]
    own_examples = [text for text in first_examples if len(text) <= LONGEST_MESSAGE]
    messages = tuple(dict.fromkeys([*own_examples, *_translate(MESSAGES)]))[:MOST_MESSAGES]
    return Samples(
        (*messages, gettext(SMALL_TALK)),
        choose_conversation([category for category, _ in rows]),
        bool(rows),
    )


def _one_of_each_category(usable: CapabilityQuerySet) -> list[tuple[str, object]]:
    rows = usable.order_by("category", "full_name", "pk").distinct("category")
    return list(rows.values_list("category", "examples"))


# The example request shown with a new key. It contains the key, so it is shown only once.


@sensitive_variables("raw")
def first_call(request: HttpRequest, key: ApiKey, raw: str, by: User) -> str:
    """Return a curl command for the key; "" if it has no user to act for, or only registers."""
    caller = {}
    if key.owner is None and set(key.scopes) != {ApiKey.Scope.ADMIN}:
        # A user that the key may act for: its creator if possible, or else the first.
        people = User.objects.filter(is_active=True, service_account=None)
        if not key.all_groups:
            people = people.filter(groups__in=key.groups.all()).distinct()
        names = list(people.order_by("username").values_list("username", flat=True)[:1])
        is_usable = people.filter(pk=by.pk).exists()
        user = by.get_username() if is_usable else "".join(names)
        if not user:
            return ""
        caller = {"user": user}
    if ApiKey.Scope.SELECT in key.scopes:
        return curl(request=request, body={"message": MESSAGES[0], **caller}, key=raw)
    return _get(request, key, raw, caller)


@sensitive_variables("raw")
def _get(request: HttpRequest, key: ApiKey, raw: str, caller: dict[str, str]) -> str:
    route = {
        ApiKey.Scope.DISCOVER: "api-categories",
        ApiKey.Scope.EXECUTE: "api-meta",
        ApiKey.Scope.ADMIN: "api-keys",
    }
    scope = next((scope for scope in route if scope in key.scopes), None)
    if scope is None:
        return ""  # a key that only registers: its example is in docs/sources.md
    query = f"?{urlencode(caller)}" if caller and scope == ApiKey.Scope.DISCOVER else ""
    address = request.build_absolute_uri(reverse(route[scope])) + query
    return f'curl {shlex.quote(address)} \\\n  -H "Authorization: Bearer {raw}"'
