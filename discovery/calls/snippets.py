"""A call as commands and programs to copy: curl, Python and TypeScript."""

import json
import shlex
from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject

KEY_PLACEHOLDER = "$PEGBOARD_KEY"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text to copy."""

    name: str
    label: str
    text: str


def list_snippets(request: HttpRequest, full_name: str, arguments: JSONObject) -> list[Snippet]:
    """Return the call in three languages, without a key and for the key's own user."""
    address = request.build_absolute_uri(reverse("api-execute"))
    base = request.build_absolute_uri("/").rstrip("/")
    body = {"name": full_name, "arguments": arguments}
    return [
        Snippet("curl", "curl", _curl(address, body)),
        Snippet("python", "Python", _python(base, full_name, arguments)),
        Snippet("typescript", "TypeScript", _typescript(address, body)),
    ]


def _curl(address: str, body: JSONObject) -> str:
    return "\n".join(
        [
            f"curl {shlex.quote(address)} \\",
            f'  -H "Authorization: Bearer {KEY_PLACEHOLDER}" \\',
            "  -H 'Content-Type: application/json' \\",
            f"  -d {shlex.quote(write_json(body, ensure_ascii=False, indent=2))}",
        ]
    )


def _python(base: str, full_name: str, arguments: JSONObject) -> str:
    return "\n".join(
        [
            "import os",
            "",
            "from pegboard_client import Pegboard",
            "",
            f"arguments = {_literal(arguments)}",
            f'with Pegboard({base!r}, os.environ["PEGBOARD_KEY"]) as pegboard:',
            f"    print(pegboard.execute({full_name!r}, arguments, wait=20))",
        ]
    )


def _literal(value: object, indent: str = "") -> str:
    """Return the value as Python writes it, a line for each part."""
    inner = f"{indent}    "
    if isinstance(value, dict) and value:
        rows = [f"{inner}{key!r}: {_literal(part, inner)}," for key, part in value.items()]
        return "\n".join(["{", *rows, f"{indent}}}"])
    if isinstance(value, list) and value:
        return "\n".join(
            ["[", *(f"{inner}{_literal(part, inner)}," for part in value), f"{indent}]"]
        )
    return repr(value)


def _typescript(address: str, body: JSONObject) -> str:
    json_text = write_json(body, ensure_ascii=True, indent=2).replace("\n", "\n  ")
    return "\n".join(
        [
            f"const answer = await fetch({json.dumps(address)}, {{",
            '  method: "POST",',
            "  headers: {",
            "    Authorization: `Bearer ${process.env.PEGBOARD_KEY}`,",
            '    "Content-Type": "application/json",',
            "  },",
            f"  body: JSON.stringify({json_text}),",
            "});",
            "console.log(await answer.json());",
        ]
    )
