"""MCP Apps of a chat: the page of a called tool, drawn in a sandboxed frame, and its own calls.

A stranger's HTML runs in the person's browser, so it gets an origin of its own (the frame's
sandbox), nothing from outside but what an admin has reviewed (the policy of its answer), and from
Pegboard only the messages that `chat-apps.js` passes on.
"""

import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from catalog.formats.descriptors import JSONObject
from catalog.formats.readers.tool import POLICY_OF_PAGE, page_address, passed_on
from catalog.models import Capability
from discovery.calls.approval_queue import TooManyWaitingError
from discovery.calls.argument_check import ArgumentsRefusedError
from discovery.calls.execution import KeyUsedError, NotFoundError, begin
from discovery.calls.queries import find_own_call
from discovery.calls.server_requests.forwarding import (
    Passing,
    RequestFailedError,
    forward,
    passed_features,
)
from discovery.calls.view import Execution, describe_call
from discovery.models import Call, Chat, ChatMessage, ModelRequest
from discovery.models.call import Content

_MIME_TYPE = "text/html;profile=mcp-app"
_READ = "resources/read"
# Calls that one shown result may make: a page that calls in a loop is stopped.
MOST_CALLS_OF_APP = 100
_WAIT_SECONDS = 2.0
_ORIGIN = re.compile(
    r"(?:(?:https|wss)://(?:\*\.)?[a-z0-9][a-z0-9.-]{0,252}|(?:http|ws)://(?:localhost|127\.0\.0\.1))"
    r"(?::[0-9]{1,5})?"
)
_MOST_ORIGINS = 50


class AppRefusedError(Exception):
    """The app, or what it asks for, is refused; the text says why."""


@dataclass(frozen=True, slots=True)
class AppPage:
    """An app's HTML, with the Content-Security-Policy of its answer."""

    html: str
    policy: str


def app_address(capability: Capability | None) -> str:
    """Return the address of the page that shows the tool's results, or ""."""
    if capability is None or "resources" not in (capability.integration.announces or ()):
        return ""
    return page_address(passed_on(capability.annotations).meta)


def has_app(call: Call | None) -> bool:
    """Return True for a call whose result an app can show."""
    if call is None or call.state != Call.State.COMPLETED or call.content == Content.REMOVED:
        return False
    return bool(app_address(call.capability))


def find_call_with_app(chat: Chat, pk: UUID) -> Call | None:
    """Return a call of the chat whose app its owner may see now, by the rights of this moment."""
    rows = ModelRequest.objects.filter(message__chat=chat, calls__contains=[{"call": str(pk)}])
    if not rows.exists():
        return None
    call = find_own_call(caller=chat.caller, pk=pk)
    return call if has_app(call) else None


def read_app(chat: Chat, call: Call) -> AppPage:
    """Read the app's page from its server, as any resource. Raises AppRefusedError."""
    tool = _tool_of(call)
    uri = app_address(tool)
    if "resources" not in passed_features(chat.caller, tool.integration):
        raise AppRefusedError(
            _("This app is for those who may use all of %(server)s.")
            % {"server": tool.integration.title}
        )
    passing = Passing(tool.integration, _READ, {"uri": uri})
    try:
        contents = forward(caller=chat.caller, passing=passing).get("contents")
    except RequestFailedError as failed:
        raise AppRefusedError(str(failed)) from None
    content = contents[0] if isinstance(contents, list) and contents else None
    content = content if isinstance(content, dict) else {}
    html = _html_of(content)
    if html is None:
        raise AppRefusedError(_("The server's answer is not an app's page."))
    meta = content.get("_meta")
    ui = meta.get("ui") if isinstance(meta, dict) else None
    declared = ui.get("csp") if isinstance(ui, dict) else None
    of_page = passed_on(tool.annotations).meta.get(POLICY_OF_PAGE)
    return AppPage(html, write_policy(declared, _ui_of(tool).get("csp", of_page)))


def write_policy(declared: Any, reviewed: Any) -> str:
    """Return the Content-Security-Policy of an app's page.

    The page declares hosts, anew each time: what holds is what the tool's definition, which was
    reviewed with the page's policy of then, names too. Only Pegboard may frame it, and its sandbox
    holds without a frame.
    """
    files = " ".join(_origins("resourceDomains", declared, reviewed))
    network = " ".join(_origins("connectDomains", declared, reviewed))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'unsafe-inline' {files}".strip(),
            f"style-src 'unsafe-inline' {files}".strip(),
            f"img-src data: blob: {files}".strip(),
            f"font-src data: {files}".strip(),
            f"media-src data: blob: {files}".strip(),
            f"connect-src {network or chr(39) + 'none' + chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
            "sandbox allow-scripts",
        )
    )


def _origins(name: str, *policies: Any) -> list[str]:
    """Return the origins that each of the policies names."""
    sets = []
    for policy in policies:
        listed = policy.get(name) if isinstance(policy, dict) else None
        texts = (
            [text for text in listed if isinstance(text, str)] if isinstance(listed, list) else []
        )
        origins = (text.strip().rstrip("/").lower() for text in texts[:_MOST_ORIGINS])
        sets.append({origin for origin in origins if _ORIGIN.fullmatch(origin)})
    return sorted(set.intersection(*sets))


def shown_state(call: Call) -> JSONObject:
    """Return what the app is told of its call: the arguments and the result."""
    return {"arguments": call.arguments, "result": _result_of(describe_call(call))}


def call_from_app(*, chat: Chat, call: Call, name: str, arguments: Any, once: str) -> JSONObject:
    """Call a tool of the app's own server for the person; the same `once` is the same call.

    Returns its result, or that it is not there yet and perhaps waits for approval. Raises
    AppRefusedError. The app is a stranger's, so the guard on flows judges it as it does a model.
    """
    tools = Capability.objects.filter(integration=_tool_of(call).integration_id, action=name)
    tool = Capability.objects.usable_by(chat.caller, among=tools, apps=True).first()
    visibility = _ui_of(tool).get("visibility") if tool is not None else None
    if tool is None or (isinstance(visibility, list) and "app" not in visibility):
        raise AppRefusedError(f"Unknown tool: {name[:80]}")
    begins = f"app-{call.pk.hex}-"
    earlier_calls = Call.objects.filter(user=chat.user_id, idempotency_key__startswith=begins)
    if earlier_calls.exclude(idempotency_key=begins + once).count() >= MOST_CALLS_OF_APP:
        raise AppRefusedError(f"An app may make {MOST_CALLS_OF_APP} calls.")
    message = ChatMessage.objects.filter(
        chat=chat, requests__calls__contains=[{"call": str(call.pk)}]
    ).first()
    try:
        begun_call = begin(
            caller=chat.caller,
            full_name=tool.full_name,
            arguments=arguments,
            turn_id=message.turn_id if message else None,
            idempotency_key=begins + once,
            apps=True,
        )
        if begun_call.is_under_way:
            begun_call = begun_call.wait(_WAIT_SECONDS)
        if begun_call.call.state not in Call.ENDED:
            waits = begun_call.call.state == Call.State.WAITING
            return {
                "waits_for_approval": str(begun_call.call.pk) if waits else "",
                "name": tool.full_name,
            }
        done = begun_call.finish()
    except (ArgumentsRefusedError, KeyUsedError, NotFoundError, TooManyWaitingError) as refused:
        raise AppRefusedError(str(refused)) from None
    if done.result is not None and (error := done.result.get("error")):
        raise AppRefusedError(str(error.get("message") or done.message))
    return {"result": _result_of(done)}


def _result_of(done: Execution) -> JSONObject:
    """Return a call's outcome as MCP has the results of tools."""
    result = done.result or {}
    content = result.get("content")
    answer: JSONObject = {
        "content": content if content is not None else [{"type": "text", "text": done.message}],
        "isError": done.status != "completed",
    }
    if result.get("structured") is not None:
        answer["structuredContent"] = result["structured"]
    return {**answer, "_meta": done.meta} if done.meta else answer


def _ui_of(capability: Capability) -> JSONObject:
    ui = passed_on(capability.annotations).meta.get("ui")
    return ui if isinstance(ui, dict) else {}


def _tool_of(call: Call) -> Capability:
    assert call.capability is not None  # noqa: S101 - `find_call_with_app` found it
    return call.capability


def _html_of(content: JSONObject) -> str | None:
    if str(content.get("mimeType")).replace(" ", "").lower() != _MIME_TYPE:
        return None
    if isinstance(content.get("text"), str):
        return str(content["text"])
    try:
        return b64decode(content["blob"], validate=True).decode()
    except (KeyError, TypeError, ValueError):
        return None
