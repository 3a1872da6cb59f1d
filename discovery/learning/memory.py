"""A group's past messages, as CTEs of the statement that selects candidates.

Rights apply first: an experience with a capability that the caller may not use casts no vote,
displaces no other, and does not affect how votes are weighted.
"""

from discovery.learning.past_use import GATE

# Limits on the nearest experiences that vote: per user, per user and capability, and in total. They
# keep a user from outvoting the others by repetition.
OF_USER, OF_USER_FOR_ONE, OF_ALL = 8, 3, 24
# At most this many enter the window functions, and the weights rest on this many of the newest.
NEAREST, MOST_CHECKED = 1000, 1000

# Only our own constants are formatted in.
_CTES = f"""memory AS MATERIALIZED (
  SELECT x.id, x.capability_id, x.turn, x.user_id, x.worth, x.gains,
         1 - (x.vector <=> %(h0)s::halfvec) AS likeness
  FROM discovery_experience x
  WHERE x.group_id = %(group)s::bigint AND x.model_id = (SELECT id FROM model)
    AND {{is_usable}}
    AND x.turn <> ALL (%(apart)s::uuid[])
  ORDER BY x.id DESC LIMIT {{most}}
),
called AS MATERIALIZED (
  SELECT capability_id AS id, array_agg(turn) AS turns, array_agg(likeness) AS likenesses,
         array_agg(worth) AS worths
  FROM (
    SELECT * FROM (
      SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY likeness DESC, id) AS of_user
      FROM (
        SELECT *, row_number() OVER (
          PARTITION BY user_id, capability_id ORDER BY likeness DESC, id) AS for_one
        FROM (
          SELECT * FROM memory WHERE likeness > {GATE}
          ORDER BY likeness DESC, id LIMIT {NEAREST}) near) each
      WHERE for_one <= {OF_USER_FOR_ONE}) own
    WHERE of_user <= {OF_USER} ORDER BY likeness DESC, id LIMIT {OF_ALL}) nearest
  GROUP BY capability_id
)"""  # noqa: S608


# `IS TRUE` makes Postgres probe the rights as a hashed set in index order: a join would sort rows
# together with their vectors.
_IS_USABLE = "(x.capability_id IN (SELECT id FROM usable)) IS TRUE"


def memory_ctes(most: int, is_usable: str = _IS_USABLE) -> str:
    """Return the CTEs that follow `usable` and `model`; `most` experiences bound the cost.

    `is_usable` is the condition on a row `x`, in a statement that has no `usable`. Vectors stay in
    their table: only distances are kept.
    """
    return _CTES.format(most=most, is_usable=is_usable)


_NEWEST = f"SELECT gains FROM memory ORDER BY id DESC LIMIT {MOST_CHECKED}"  # noqa: S608
# Experiences vote only for what the caller may use, so a statement that asks the rights of some ids
# asks those of their tools, too.
REMEMBERED = """
  UNION SELECT capability_id FROM discovery_experience WHERE group_id = %(group)s::bigint"""
# As an array, so that the planner's estimate of their number does not change the other joins.
HITS = "UNION SELECT unnest(ARRAY(SELECT id FROM called))"
CHECKED = f""",
         (SELECT sum(gains)::real[] FROM ({_NEWEST}) newest) AS gains,
         (SELECT sum(gains * gains)::real[] FROM ({_NEWEST}) newest) AS squares"""  # noqa: S608
COLUMNS = """,
       called.turns, called.likenesses, called.worths, totals.gains, totals.squares"""
NAMES = ("turns", "likenesses", "worths", "gains", "squares")
JOINED = """
  LEFT JOIN called ON called.id = c.id"""
