"""Personal values of an integration, and what is shared: which may go along with which.

A personal value may replace a credential. One that decides where a call goes or what runs goes with
nothing shared, neither secrets nor an account: otherwise a person could have everybody's credential
sent to a host of their own. The decision is this SQL alone: what reads the values of a call
(`Secret.objects.for_use`), the account of a call and the obstacles of readiness share it.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

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
