"""The version of a caller's rights, which a statement reads in its own snapshot.

It is made from everything that rights depend on beside the rows of capabilities, which have a
version of their own: triggers add a random number for each change to the person, the group or all
that it concerns, and these numbers are combined. Two equal versions mean equal rights, whatever was
changed in between, by whom, and in which order transactions ended. What ends by the clock is part
of it. So what was worked out at one version holds while the version is the same.
"""

from django.db import connection

from acl.models.rights_change import RightsChange

EVERYONE, PERSON, GROUP, READINESS, APPLICATION = RightsChange.Concern.values
# Rows of one subject that are merged into one: each is read by every question of that subject.
_MOST_ROWS = 16


def version_sql(ended: str) -> str:
    """Return the version as an expression; it needs the parameters of `rights_parameters`.

    `ended` is the query of what is over by the clock (`RightsTables.ended`).
    """
    return _VERSION.format(ended=ended)


# XOR, since it knows no order: whoever commits first or last, the same changes give the same
# number, and writers only insert, so none waits for another's row. What ends by the clock changes
# no row, so its ids stand beside the number. READINESS (key 0: shared secrets and accounts) is
# another answer only for those who ask what can be sent now.
_VERSION = f"""(SELECT concat_ws('/', COALESCE(bit_xor(number), 0),
    (SELECT string_agg(id::text, ',' ORDER BY id) FROM ({{ended}}) over))
  FROM (
    SELECT number FROM acl_rightschange WHERE subject = {EVERYONE}
    UNION ALL
    SELECT number FROM acl_rightschange WHERE subject = {PERSON} AND key = %(user)s::bigint
    UNION ALL
    SELECT number FROM acl_rightschange WHERE subject = {GROUP} AND key = ANY (%(groups)s::bigint[])
    UNION ALL
    SELECT number FROM acl_rightschange
    WHERE subject = {APPLICATION} AND key = %(application)s::bigint
    UNION ALL
    SELECT number FROM acl_rightschange
    WHERE subject = {READINESS} AND key IN (0, %(user)s::bigint) AND %(connected)s::bool
  ) change)"""  # noqa: S608 - constants only


def merge_changes() -> int:
    """Merge the rows of subjects that have many, without a change of any version; return how many.

    The combination of the rows that go is the row that stays, in one statement. It may run twice at
    a time: a row goes once.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MERGE)
        return int(cursor.rowcount)


_MERGE = f"""
WITH many AS (
  SELECT subject, key FROM acl_rightschange GROUP BY 1, 2 HAVING count(*) > {_MOST_ROWS}
),
gone AS (
  DELETE FROM acl_rightschange c USING many
  WHERE c.subject = many.subject AND c.key = many.key
  RETURNING c.subject, c.key, c.number
)
INSERT INTO acl_rightschange (subject, key, number)
SELECT subject, key, bit_xor(number) FROM gone GROUP BY 1, 2
"""  # noqa: S608 - constants only
