"""Obstacles: what keeps an integration from carrying out a caller's calls.

The SQL decides, in the statement that reads rights. Everything that shows, filters or runs a tool
reads this one expression.
"""

from collections.abc import Container, Iterable, Mapping
from enum import IntEnum
from typing import Any

# Personal values of an integration, and what is shared: which may go along with which.
#
# A personal value may replace a credential. One that decides where a call goes or what runs goes
# with nothing shared, neither secrets nor an account: otherwise a person could have everybody's
# credential sent to a host of their own. The decision is this SQL alone: what reads the values of a
# call (`Secret.objects.for_use`), the account of a call and the obstacles of readiness share it.

# Names that are recognisably those of a credential, or of half of one. Anything else, such as
# JIRA_URL or LOG_LEVEL, may decide where a call goes. Lower case; letters outside ASCII match none.
_CREDENTIAL = (
    r"^([a-z0-9_. -]*[_. -])?(key|key_id|client_id|pass|pat|psk|jwt|bearer|authorization|cookie"
    r"|user|username|user_name|email)$"
    r"|^[a-z0-9_. -]*(token|secret|password|passwd|passphrase"
    r"|(api|access|private|secret|auth)[_.-]?key)$"
)


def names_credential_sql(name: str) -> str:
    """Return true where a name is recognisably that of a credential."""
    return f"""lower({name} COLLATE "C") ~ '{_CREDENTIAL}'"""


def steers_sql(*, integration: str, row: str) -> str:
    """Return true where the value of a secret decides where a call goes, or what runs."""
    return _STEERS.format(
        i=integration,
        s=row,
        credential=names_credential_sql(f"{row}.name"),
        credential_header=names_credential_sql("header.key"),
        credential_scheme=names_credential_sql("(scheme.value ->> 'name')"),
    )


def alone_sql(*, integration: str, user: str) -> str:
    """Return true where the person's own values go with nothing that is shared."""
    steers = steers_sql(integration=integration, row="steering")
    return _ALONE.format(i=integration, user=user, steers=steers)


def needs_own_value_sql(*, integration: str, user: str) -> str:
    """Return true where a person whose values go alone lacks one that is needed or shared."""
    return _NEEDS_OWN_VALUE.format(i=integration, user=user)


def has_own_credential_sql(*, integration: str, user: str) -> str:
    """Return true where the person has a credential of their own, which no account replaces."""
    steers = steers_sql(integration=integration, row="mine")
    return _HAS_OWN_CREDENTIAL.format(i=integration, user=user, steers=steers)


# Placeholders are those of an address, a command, or a header that is not a credential's.
_STEERS = """(NOT ({credential})
    OR position('${{' || {s}.name || '}}' IN {i}.endpoint) > 0
    OR position('${{' || {s}.name || '}}' IN array_to_string({i}.command, ' ')) > 0
    OR position('${{' || {s}.name || '}}' IN COALESCE({i}.package ->> 'launch', '')) > 0
    OR EXISTS (SELECT FROM jsonb_each_text(
        CASE WHEN jsonb_typeof({i}.source_ref -> 'headers') = 'object'
          THEN {i}.source_ref -> 'headers' ELSE '{{}}'::jsonb END) header
      WHERE position('${{' || {s}.name || '}}' IN header.value) > 0 AND NOT ({credential_header}))
    OR EXISTS (SELECT FROM jsonb_each(
        CASE WHEN jsonb_typeof({i}.source_ref -> 'security') = 'object'
          THEN {i}.source_ref -> 'security' ELSE '{{}}'::jsonb END) scheme
      WHERE (scheme.value -> 'secrets') @> to_jsonb({s}.name::text)
        AND NOT COALESCE({credential_scheme}, true)))"""
_ALONE = """({i}.own_secrets AND EXISTS (SELECT FROM catalog_secret steering
    WHERE steering.integration_id = {i}.id AND steering.user_id = {user}
      AND NOT starts_with(steering.name, 'oauth:') AND {steers}))"""
_NEEDS_OWN_VALUE = """EXISTS (
    SELECT FROM (SELECT unnest({i}.required_secrets) AS name UNION
        SELECT name FROM catalog_secret shared WHERE shared.integration_id = {i}.id
          AND shared.user_id IS NULL AND NOT starts_with(shared.name, 'oauth:')) needed
    WHERE NOT EXISTS (SELECT FROM catalog_secret own WHERE own.integration_id = {i}.id
      AND own.user_id = {user} AND own.name = needed.name))"""
_HAS_OWN_CREDENTIAL = """({i}.own_secrets AND EXISTS (SELECT FROM catalog_secret mine
    WHERE mine.integration_id = {i}.id AND mine.user_id = {user}
      AND NOT starts_with(mine.name, 'oauth:') AND NOT {steers}))"""


def still_needed(
    required: Iterable[str], source_ref: Mapping[str, Any], values: Container[str]
) -> list[str]:
    """Return the required secrets without a value; none where another sign-in is complete."""
    missing = [name for name in required if name not in values]
    sign_ins = source_ref.get("sign_ins")
    complete = (
        bool(names) and all(name in values for name in names)
        for names in (sign_ins if isinstance(sign_ins, list) else ())
    )
    return [] if missing and any(complete) else missing


class Obstacle(IntEnum):
    """The first thing in the way. The numbers are those that the SQL returns."""

    NONE = 0
    NOT_CONFIRMED = 1
    NOT_CONNECTED = 2
    OWN_SECRET = 3
    SHARED_SECRET = 4
    OWN_ACCOUNT = 5
    SHARED_ACCOUNT = 6
    NOT_ALLOWED = 7
    FAILING = 8
    NOT_AVAILABLE = 9  # of the tool itself, whatever its integration says

    @property
    def mended_by_caller(self) -> bool:
        """Return True if the caller can remove it, by a secret or an account of their own."""
        return self in {Obstacle.OWN_SECRET, Obstacle.OWN_ACCOUNT}


# Server problems that only an admin can solve; retrying does not help.
NEEDING_ADMIN = ("not_allowed", "files_changed", "no_cell")
NEEDING_SIGN_IN = ("sign_in_needed",)
# The built-in integrations whose tools Pegboard answers itself.
OWN_INTEGRATIONS = ("tool_discovery", "mcp")
# Built-in tools that the worker which sends calls runs by itself (`catalog/built_ins`).
BUILT_IN_TOOLS = (
    *("calculator", "echo__echo", "units", "web-browser"),
    *("date-time__now", "date-time__convert", "date-time__difference", "date-time__shift"),
    *("text__count", "text__compare", "text__search", "text__hash", "text__encode"),
    *("memory__search", "memory__store", "memory__recall", "memory__forget"),
    *("tasks__list", "tasks__create", "tasks__update_status", "tasks__edit", "tasks__delete"),
)
BUILT_INS = tuple(dict.fromkeys(name.partition("__")[0] for name in BUILT_IN_TOOLS))
# Pegboard returns a skill's content, whatever its integration; over a row `c` of capabilities.
SKILLS_RUN = "c.kind = 'skill'"


def obstacle_sql(*, integration: str, user: str) -> str:
    """Return the obstacle's number as an expression over a row of integrations.

    `user` is the person whose own secrets and accounts count, as SQL; NULL counts shared ones only.
    """
    return _OBSTACLE.format(
        i=integration,
        user=user,
        alone=alone_sql(integration=integration, user=user),
        needs_own_value=needs_own_value_sql(integration=integration, user=user),
        has_own_credential=has_own_credential_sql(integration=integration, user=user),
        needing_admin=", ".join(f"'{reason}'" for reason in NEEDING_ADMIN),
        needing_sign_in=", ".join(f"'{reason}'" for reason in NEEDING_SIGN_IN),
        **{obstacle.name.lower(): int(obstacle) for obstacle in Obstacle},
    )


def can_run_sql(*, integration: str, user: str) -> str:
    """Return true where a call can be sent. A failing server may have recovered: it is tried."""
    tried = f"{int(Obstacle.NONE)}, {int(Obstacle.FAILING)}"
    return f"({obstacle_sql(integration=integration, user=user)}) IN ({tried})"


def runs_here_sql(*, integration: str) -> str:
    """Return true where Pegboard sends the calls to a server, or carries them out itself."""
    slugs = ", ".join(f"'{slug}'" for slug in (*OWN_INTEGRATIONS, *BUILT_INS))
    return _RUNS_HERE.format(i=integration, own=slugs)


def moves_data_sql(*, capability: str, integration: str) -> str:
    """Return true for a tool that can take data somewhere: not instructions, not what nobody
    carries out, and not the meta-tools, which call others with the rights and rules of these."""
    unclaimed = unclaimed_sql(capability=capability, integration=integration)
    slugs = ", ".join(f"'{slug}'" for slug in OWN_INTEGRATIONS)
    meta_tool = f"{integration}.kind = 'builtin' AND {integration}.slug IN ({slugs})"
    return f"({capability}.kind <> 'skill' AND NOT {unclaimed} AND NOT ({meta_tool}))"


def unclaimed_sql(*, capability: str, integration: str) -> str:
    """Return true for a tool that came as a description only, while no admin has said that the
    application carries it out. What someone described by hand is theirs to carry out."""
    names = ", ".join(f"'{name}'" for name in BUILT_IN_TOOLS)
    slugs = ", ".join(f"'{slug}'" for slug in OWN_INTEGRATIONS)
    return _UNCLAIMED.format(c=capability, i=integration, names=names, own=slugs)


_UNCLAIMED = """({i}.transport = '' AND {i}.source_ref @> '{{"type": "starter"}}'::jsonb
    AND {c}.kind <> 'skill' AND NOT {i}.application_executes AND {i}.slug NOT IN ({own})
    AND {c}.full_name NOT IN ({names}))"""
_RUNS_HERE = """(({i}.kind IN ('mcp', 'openapi') AND {i}.transport <> '')
    OR ({i}.kind = 'builtin' AND {i}.slug IN ({own})))"""
# The order is that of a call's own checks, and cheap ones come first: most integrations need
# neither secrets nor accounts. Personal values replace shared ones if the integration allows them;
# one that steers the call goes with nothing shared (`own_values`).
# A token is for one address only. EXISTS lets the planner hash a subquery that many rows ask.
_OBSTACLE = """CASE
  WHEN {i}.connection = 'disconnected' THEN {not_connected}
  WHEN {i}.transport = '' THEN {none}
  WHEN {i}.unconfirmed THEN {not_confirmed}
  WHEN cardinality({i}.required_secrets) > 0 AND EXISTS (
    SELECT FROM unnest({i}.required_secrets) needed (name) WHERE NOT EXISTS (
      SELECT FROM catalog_secret own
      WHERE own.integration_id = {i}.id AND own.name = needed.name
        AND (own.user_id IS NULL OR ({i}.own_secrets AND own.user_id = {user}))))
    AND NOT EXISTS (
      SELECT FROM jsonb_array_elements(
        CASE WHEN jsonb_typeof({i}.source_ref -> 'sign_ins') = 'array'
          THEN {i}.source_ref -> 'sign_ins' ELSE '[]'::jsonb END) sign_in (names)
      WHERE jsonb_array_length(sign_in.names) > 0 AND NOT EXISTS (
        SELECT FROM jsonb_array_elements_text(sign_in.names) needed (name) WHERE NOT EXISTS (
          SELECT FROM catalog_secret own
          WHERE own.integration_id = {i}.id AND own.name = needed.name
            AND (own.user_id IS NULL OR ({i}.own_secrets AND own.user_id = {user})))))
    THEN CASE WHEN {i}.own_secrets THEN {own_secret} ELSE {shared_secret} END
  WHEN {i}.own_secrets AND {alone} AND {needs_own_value} THEN {own_secret}
  WHEN {i}.problem IN ({needing_admin}) THEN {not_allowed}
  WHEN {i}.transport <> 'stdio' AND CASE
      WHEN {i}.own_secrets AND EXISTS (SELECT FROM catalog_oauthconnection own
          WHERE own.integration_id = {i}.id AND own.user_id = {user})
        THEN EXISTS (SELECT FROM catalog_oauthconnection own
          WHERE own.integration_id = {i}.id AND own.user_id = {user}
            AND (own.problem <> '' OR own.endpoint <> {i}.endpoint))
      WHEN {i}.own_secrets AND EXISTS (SELECT FROM catalog_secret own
          WHERE own.integration_id = {i}.id AND own.user_id = {user})
        THEN EXISTS (SELECT FROM catalog_oauthconnection shared
            WHERE shared.integration_id = {i}.id AND shared.user_id IS NULL)
          AND NOT {has_own_credential}
      WHEN {i}.problem IN ({needing_sign_in}) THEN true
      WHEN EXISTS (SELECT FROM catalog_oauthconnection shared
          WHERE shared.integration_id = {i}.id AND shared.user_id IS NULL)
        THEN EXISTS (SELECT FROM catalog_oauthconnection shared
          WHERE shared.integration_id = {i}.id AND shared.user_id IS NULL
            AND (shared.problem <> '' OR shared.endpoint <> {i}.endpoint))
      ELSE {i}.own_secrets AND EXISTS (SELECT FROM catalog_oauthconnection other
          WHERE other.integration_id = {i}.id) END
    THEN CASE WHEN {i}.own_secrets THEN {own_account} ELSE {shared_account} END
  WHEN {i}.connection = 'failing' THEN {failing}
  ELSE {none} END"""
