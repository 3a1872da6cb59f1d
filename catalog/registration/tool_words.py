"""Words that an admin gives a tool: its name for models, its title and its description.

The source's own words stay stored beside them: the gate compares those, a server is called by its
own name, and effects are judged by them.
"""

from collections.abc import Mapping

from django.utils.translation import gettext as _

from acl.platform.stored_texts import translate_stored
from catalog.formats.names import FULL_NAME
from catalog.formats.read_limits import DEFAULT_LIMITS
from catalog.models import Capability, Definition, Integration
from catalog.registration._hanging_rows import note_former_name
from catalog.trust.findings import requires_review, worst_first
from catalog.trust.scanner import scan_definition

# Each with its column; "" means the source's again.
WORDS = {"name": "full_name", "title": "display_name", "description": "description"}
_LONGEST = {"name": 63, "title": 200, "description": DEFAULT_LIMITS.description}


class ToolWordsRefused(ValueError):
    """A name, title or description that a tool cannot have, with the reason."""

    def __init__(self, setting: str, reason: str) -> None:
        super().__init__(reason)
        self.setting = setting


class ToolWords:
    """The words of one tool, whose row is locked and is saved by the caller."""

    def __init__(self, tool: Capability) -> None:
        self._tool = tool

    def give(self, words: Mapping[str, str]) -> list[str]:
        """Give the tool an admin's words; return the columns that changed."""
        tool, changed = self._tool, []
        for setting, text in words.items():
            column, text = WORDS[setting], _plain(text)
            before = getattr(tool, column)
            current = tool.tool_name if setting == "name" else before
            if text == _plain(current):
                continue
            source_text = tool.source_texts.get(column, before)
            value = self._checked(setting, text) if text else source_text
            if _plain(value) == _plain(source_text):
                value = source_text
            sources = {name: words for name, words in tool.source_texts.items() if name != column}
            tool.source_texts = sources | ({} if value == source_text else {column: source_text})
            if before == value:
                continue
            if setting == "name":
                note_former_name(tool, before)
            setattr(tool, column, value)
            changed.append(column)
        return changed

    def _checked(self, setting: str, text: str) -> str:
        """Return the column's value for an admin's words, or refuse what a review would hold."""
        if len(text) > _LONGEST[setting]:
            most = {"most": f"{_LONGEST[setting]:,}"}
            raise ToolWordsRefused(setting, _("It is longer than %(most)s characters.") % most)
        if setting == "title" and "\n" in text:
            raise ToolWordsRefused(setting, _("A title is one line."))
        findings = worst_first(scan_definition({setting: text}))
        if requires_review(findings):
            raise ToolWordsRefused(setting, translate_stored(findings[0].told))
        return self._full_name(text) if setting == "name" else text

    def _full_name(self, name: str) -> str:
        """Return the full name with an admin's name in it, if no other tool has either."""
        tool, integration = self._tool, self._tool.integration
        if integration.kind not in Integration.CALLED:
            raise ToolWordsRefused("name", _("Only tools of servers and APIs can be renamed."))
        full_name = f"{integration.slug}__{name}"
        if not FULL_NAME.fullmatch(full_name):
            most = {"most": 62 - len(integration.slug)}
            reason = _("A name has at most %(most)s letters, digits, _ and -.") % most
            raise ToolWordsRefused("name", reason)
        if name == tool.action:
            return tool.source_full_name
        others = Capability.objects.exclude(pk=tool.pk)
        siblings = others.filter(integration=integration, action=name)
        listed = Definition.objects.filter(integration=integration, name=name)
        if (others.filter(full_name=full_name) | siblings).exists() or listed.exists():
            raise ToolWordsRefused("name", _("Another tool has this name."))
        return full_name


def _plain(text: str) -> str:
    """Return a text as a form sends it back."""
    return text.replace("\r\n", "\n").strip()
