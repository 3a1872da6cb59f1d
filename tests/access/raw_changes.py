# ruff: noqa: S608 - the statements are made up here
"""Raw statements that change what rights depend on: a person at psql, a restored backup."""

from random import Random

from tests.access.random_worlds import (
    APPLICATIONS,
    CAPABILITIES,
    GROUPS,
    INTEGRATIONS,
    SPACES,
    USERS,
)

GRANTS = {
    f"catalog_{thing}{holder}permission": (thing, holder)
    for thing in ("integration", "capability")
    for holder in ("user", "group")
}


def some_change(random: Random) -> str:
    """Return a statement that changes what rights depend on, or nothing where no row fits."""
    user, group, space = (random.choice(of) for of in (USERS, GROUPS, SPACES))
    integration, capability = random.choice(INTEGRATIONS), random.choice(CAPABILITIES)
    application = random.choice(APPLICATIONS)
    table, (thing, holder) = random.choice(list(GRANTS.items()))
    key = {"integration": integration, "capability": capability}[thing]
    whose = {"user": user, "group": group}[holder]
    effect, is_true = random.randrange(3), random.choice(["true", "false"])
    return random.choice(
        [
            f"UPDATE auth_user SET is_active = NOT is_active WHERE id = {user}",
            f"DELETE FROM auth_user_groups WHERE user_id = {user} AND group_id = {group}",
            f"INSERT INTO auth_user_groups (user_id, group_id) VALUES ({user}, {group})"
            " ON CONFLICT DO NOTHING",
            f"UPDATE acl_grouppolicy SET open_default = NOT open_default WHERE group_id = {group}",
            f"UPDATE acl_space SET parent_id = NULL WHERE id = {space} AND NOT EXISTS (SELECT"
            " FROM acl_space o WHERE o.group_id = acl_space.group_id AND o.parent_id IS NULL)",
            f"DELETE FROM catalog_rule WHERE space_id = {space}",
            f"UPDATE catalog_rule SET effect = {effect} WHERE space_id = {space}",
            f"UPDATE catalog_rule SET space_id = {space} WHERE capability_id = {capability}",
            f"UPDATE catalog_rule SET user_id = {user}, group_id = NULL WHERE effect = {effect}",
            "INSERT INTO catalog_rule (space_id, effect, capability_id, created_at)"
            f" SELECT id, {effect}, {capability}, now() FROM acl_space WHERE id = {space}",
            f"DELETE FROM {table} WHERE {holder}_id = {whose}",
            f"UPDATE {table} SET {holder}_id = {whose} WHERE content_object_id = {key}"
            f" AND NOT EXISTS (SELECT FROM {table} o WHERE o.{holder}_id = {whose})",
            f"INSERT INTO {table} (permission_id, {holder}_id, content_object_id)"
            " SELECT p.id, {0}, {1} FROM auth_permission p JOIN django_content_type t"
            " ON t.id = p.content_type_id WHERE codename = 'use_{2}' AND t.app_label = 'catalog'"
            " AND t.model = '{2}' ON CONFLICT DO NOTHING".format(whose, key, thing),
            f"UPDATE auth_permission SET codename = 'other' WHERE codename = 'use_{thing}'",
            f"UPDATE catalog_integration SET enabled = NOT enabled WHERE id = {integration}",
            f"UPDATE catalog_integration SET restricted = {is_true} WHERE id = {integration}",
            "UPDATE catalog_integration SET state = CASE state WHEN 'approved' THEN 'quarantined'"
            f" ELSE 'approved' END WHERE id = {integration}",
            f"UPDATE catalog_capability SET ai_access = 'propose' WHERE id = {capability}",
            f"UPDATE catalog_capability SET available = {is_true} WHERE id = {capability}",
            f"UPDATE acl_application SET integrations = ARRAY[{integration}]"
            f" WHERE id = {application}",
            f"UPDATE acl_application SET integrations = '{{}}' WHERE id = {application}",
            f"DELETE FROM acl_application WHERE id = {application}",
            f"TRUNCATE {table}",
            "UPDATE catalog_runtimecapability r SET expires_at = now() - interval '1 minute'"
            f" FROM catalog_capability c WHERE c.full_name = r.full_name AND c.id = {capability}",
        ]
    )
