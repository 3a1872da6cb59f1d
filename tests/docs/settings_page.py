"""docs/settings.md, generated from `SETTINGS`: `python -m tests.docs`."""

from marketplace.config.env import Setting
from marketplace.config.settings_table import SETTINGS
from tests.docs.room_map import PROJECT

PAGE = PROJECT / "docs" / "settings.md"
# The first setting of each section.
SECTIONS = {
    "DATABASE_URL": "Database, Redis and data folder",
    "PEGBOARD_SECRET_KEY": "Keys and the audit anchor",
    "PEGBOARD_DEBUG": "Web",
    "PEGBOARD_EMAIL_URL": "Mail and invitations",
    "PEGBOARD_OIDC_ISSUER": "OpenID Connect",
    "PEGBOARD_LOG_LEVEL": "Logs and Redis",
    "PEGBOARD_EMBEDDER": "Embedding",
    "PEGBOARD_LISTING_SECONDS": "Selection",
    "PEGBOARD_CONTEXT_WINDOW": "Modes and tiers",
    "PEGBOARD_PLAN_POLICY": "Plans",
    "PEGBOARD_OUTCOME_SCOPE": "Outcomes and alerts",
    "PEGBOARD_LEARNING": "Learning",
    "PEGBOARD_MAX_MESSAGE_CHARACTERS": "Limits on requests",
    "PEGBOARD_MAX_FILE_BYTES": "Imports and watched folders",
    "PEGBOARD_APPROVE": "Calls and approvals",
    "PEGBOARD_CHECK_SECONDS": "MCP servers and packages",
    "PEGBOARD_SOURCE_DIRS": "What Pegboard may reach",
}
_BEGINNING = """# Settings

Environment variables configure Pegboard. This page is generated from
`marketplace/config/settings_table.py`: `python -m tests.docs`.

- An empty variable means the default.
- `true`, `yes`, `on` and `1` are true; `false`, `no`, `off` and `0` are false.
- An invalid value stops every command, with one line for each:
  `PEGBOARD_MAX_TOOLS must be at least 1, not 0`.
- So does a variable that begins with `PEGBOARD_` and is no setting; the line has the nearest name.

[Running](running.md#environment) has the variables of gunicorn, Celery and the containers. Limits
on imported files are in [sources](sources.md#limits). Constants of ranking are not configurable,
since they were measured together ([choosing](choosing.md)).
"""
_HEAD = "\n## {}\n\n| name | default | values | meaning |\n|---|---|---|---|\n"


def render_settings() -> str:
    """Return the whole page."""
    return _BEGINNING + "".join(map(_section_and_row, SETTINGS))


def _section_and_row(setting: Setting) -> str:
    section = SECTIONS.get(setting.name)
    cells = (
        f"`{setting.name}`",
        _default(setting.default),
        _values(setting),
        setting.meaning.replace("|", r"\|"),
    )
    return (_HEAD.format(section) if section else "") + f"| {' | '.join(cells)} |\n"


def _default(value: object) -> str:
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return f"`{','.join(value)}`" if value else ""
    return f"`{value}`" if value != "" else ""


def _values(setting: Setting) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    return "" if setting.least is None else f"{setting.least} to {setting.most}"
