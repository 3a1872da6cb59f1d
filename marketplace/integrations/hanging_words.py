"""Words for what hangs on a tool, with its number."""

from collections.abc import Mapping

from django.utils.translation import ngettext


def describe_hanging(hangs: Mapping[str, int]) -> list[str]:
    """Return what hangs on a tool in words, limits first."""
    return [_words(kind, number) % {"number": number} for kind, number in hangs.items()]


def _words(kind: str, number: int) -> str:
    """Return the words of one kind; each stands here whole, for its translation."""
    return {
        "deny": ngettext("%(number)d rule that denies", "%(number)d rules that deny", number),
        "propose": ngettext(
            "%(number)d rule that asks first", "%(number)d rules that ask first", number
        ),
        "allow": ngettext("%(number)d rule that allows", "%(number)d rules that allow", number),
        "grants": ngettext("%(number)d grant", "%(number)d grants", number),
        "presets": ngettext("%(number)d preset", "%(number)d presets", number),
        "quotas": ngettext("%(number)d quota", "%(number)d quotas", number),
        "flow_rules": ngettext("%(number)d flow rule", "%(number)d flow rules", number),
        "examples": ngettext("%(number)d example", "%(number)d examples", number),
        "learned": ngettext("%(number)d learned use", "%(number)d learned uses", number),
        "taught": ngettext("%(number)d taught message", "%(number)d taught messages", number),
        "relations": ngettext("%(number)d relation", "%(number)d relations", number),
        "settings": ngettext("%(number)d setting", "%(number)d settings", number),
    }[kind]
