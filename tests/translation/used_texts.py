"""Texts that code and templates have translated, read as `make messages` would."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation.template import templatize

from tests.translation.untranslated import TEMPLATES

APPS = ("acl", "catalog", "discovery", "marketplace")
# Names of the functions, with the number of first arguments that are texts.
TEXTS = {"gettext": 1, "gettext_lazy": 1, "gettext_noop": 1, "_": 1}
TEXTS |= {"ngettext": 2, "ngettext_lazy": 2, "pgettext": 2, "pgettext_lazy": 2}
# What `templatize` makes of a template: calls among other things, with one kind of quotes.
_CALL = re.compile(
    r"""(?<![\w.])(?P<name>gettext|ngettext|_)\(\s*u?(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
)


def used_texts() -> set[str]:
    """Return each text in English, the singular where it has a number."""
    return {*_of_templates(), *_of_modules()}


def _of_templates() -> Iterator[str]:
    for template in sorted({*TEMPLATES.rglob("*.html"), *TEMPLATES.rglob("*.txt")}):
        for call in _CALL.finditer(templatize(template.read_text("utf-8"))):
            yield ast.literal_eval(call["text"])


def _of_modules() -> Iterator[str]:
    for app in APPS:
        for path in sorted(Path(app).rglob("*.py")):
            source = path.read_text("utf-8")
            if "translation" in source:
                yield from _of_module(ast.parse(source))


def _of_module(tree: ast.Module) -> Iterator[str]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not (count := TEXTS.get(_name_of(call.func), 0)):
            continue
        text = call.args[1 if _name_of(call.func).startswith("pgettext") else 0 : count][:1]
        if text and isinstance(text[0], ast.Constant) and isinstance(text[0].value, str):
            yield text[0].value


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
