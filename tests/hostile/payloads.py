"""Texts that try to become markup or code wherever they are stored."""

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import models

from acl.audit.recorder import record
from acl.models import AccessRequest, ApiKey, Space
from acl.rights.access_requests import decline_request
from catalog.models import Capability, Integration
from discovery.models import Turn
from marketplace.models import Listing
from tests.factories import CapabilityFactory
from tests.hostile.world import World

# Each would set `pwned`, open a dialog, contact another origin, or send a form there.
PAYLOADS = [
    "<script>window.pwned=1;alert(1)</script>",
    "</script><script>alert(2)</script>",
    '"\'><img src=x onerror="window.pwned=3;alert(3)">',
    "<svg/onload=alert(4)>",
    "<svg><animate onbegin=alert(5) attributeName=x dur=1s>",
    '<iframe srcdoc="<script>parent.pwned=6</script>"></iframe>',
    "<img src=https://evil.example/7.png>",
    "<link rel=stylesheet href=//evil.example/8.css>",
    "<style>@import 'https://evil.example/9.css';body{display:none}</style>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/10'>",
    "<base href=https://evil.example/11/>",
    "<form action=https://evil.example/12><button>Go on</button></form>",
    "<div hx-get=https://evil.example/13 hx-trigger=load>x</div>",
    "<div hx-get=/people/ hx-trigger=load hx-on::load=alert(14)>x</div>",
    '<div x-data x-init="alert(15)">x</div>',
    "<object data=https://evil.example/16></object><embed src=//evil.example/16>",
    "<details open ontoggle=alert(17)><summary>x</summary></details>",
    "<input autofocus onfocus=alert(18)>",
    "javascript:alert(19)",
    "data:text/html,<script>alert(20)</script>",
    "{{constructor.constructor('alert(21)')()}}{% debug %}",
    "--><script>alert(22)</script><!--",
    "]]></textarea></title></select></option><script>alert(23)</script>",
    "' onmouseover='alert(24)' style='position:fixed;inset:0' x='",
    "<math><mtext></p><script>alert(25)</script>",
]
MARKDOWN = [
    *PAYLOADS,
    "[a](javascript:alert(26))",
    "[b](data:text/html;base64,PHNjcmlwdD5hbGVydCgyNyk8L3NjcmlwdD4=)",
    "![c](https://evil.example/28.png)",
    "[d]: javascript:alert(29)\n\n[d]",
    "<https://evil.example/30> <javascript:alert(30)>",
    "```html\n<script>alert(31)</script>\n```",
]
ALL = "\n\n".join(PAYLOADS)


def spread(world: World, payloads: Sequence[str]) -> None:
    """Store the payloads in all text columns in turn, all of them where there is room."""
    payload, turn = payloads[0], cycle(payloads)
    for model, fields in TEXTS.items():
        values = {name: next(turn)[:most] for name, most in fields.items()}
        model._default_manager.update(**values)
    Capability.objects.update(
        description=f"{payload} {ALL}",
        content="\n\n".join(MARKDOWN),
        tags=[next(turn)[:60], "</a><script>alert(1)</script>"],
        required_secrets=[next(turn)[:120]],
        required_tools=[next(turn)[:200]],
        examples=[payload, {"input": next(turn)}],
        input_schema=_schema(next(turn)),
        output_schema=_schema(next(turn)),
        unavailable_reason=next(turn)[:300],
        source_ref={payload: next(turn)},
        annotations={"title": next(turn)},
    )
    Integration.objects.update(
        description=ALL, homepage="javascript:alert(1)", command=[payload], source_ref={"x": ALL}
    )
    Listing.objects.update(description=ALL, homepage="javascript:alert(1)", details={"x": ALL})
    Turn.objects.update(message=ALL, selected=[{"id": payload}], degraded=[payload])
    _name_people(world, turn)
    world.alice.refresh_from_db()
    world.things["user"] = world.alice.username
    record(
        by=world.alice, action=payload[:60], target=payload[:200],
        details={payload: [payload, {"deep": ALL}], "changes": ALL},
    )  # fmt: skip


# Text columns without unique values, by table, with their lengths.
TEXTS: dict[type[models.Model], dict[str, int]] = {
    Capability: {"display_name": 200, "category": 60, "parameters_summary": 500},
    Integration: {"title": 200, "publisher": 200, "version": 80, "licence": 80, "health": 500},
    Listing: {"title": 200, "publisher": 200, "version": 80, "licence": 80},
    Space: {"name": 120},
    AccessRequest: {"wish": 500, "note": 500},
    ApiKey: {"name": 120},
}


def _name_people(world: World, turn: Iterator[str]) -> None:
    """Rename people; names are unique, so a number comes first."""
    for number, group in enumerate(Group.objects.order_by("pk")):
        Group.objects.filter(pk=group.pk).update(name=f"{number}{next(turn)}"[:150])
    for number, user in enumerate(User.objects.exclude(pk=world.root.pk).order_by("pk")):
        User.objects.filter(pk=user.pk).update(
            username=f"{number}{next(turn)}"[:150],
            first_name=next(turn)[:150],
            last_name=next(turn)[:150],
        )


def _schema(payload: str) -> dict[str, Any]:
    inner = {"type": payload, "description": ALL, "enum": [payload], "default": payload}
    return {
        "type": "object",
        "title": payload,
        "properties": {payload: inner, "plain": {**inner, "items": {"type": payload}}},
        "required": [payload],
    }


def some_more(world: World) -> None:
    """Create a skill, a broken row and a declined request, whose pages look different."""
    CapabilityFactory.create(integration=world.mail, full_name="mulberry-skill", kind="skill")
    CapabilityFactory.create(integration=world.mail, available=False)
    wish = AccessRequest.objects.create(user=world.root, group=world.mulberry, wish="x")
    decline_request(by=world.alice, request=wish, note="No")
