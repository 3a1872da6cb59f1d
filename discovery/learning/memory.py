"""A group's past messages, as parts of the statement that selects candidates.

Rights come first: what a colleague may use and this caller may not has no vote, takes no other's
place among the nearest or the newest, and says nothing about how good votes are.
"""

from discovery.learning.past_use import GATE

# Of the nearest so many vote: of one user, of one user for one capability, and of all. Nobody
# outvotes the others by saying the same again and again.
OF_USER, OF_USER_FOR_ONE, OF_ALL = 8, 3, 24
# More than this are not even sorted by whose they are; and so many of the newest are checked.
NEAREST, MOST_CHECKED = 1000, 1000

# Every value is a parameter or a constant of ours. `IS TRUE` keeps the rights a set in which each
# row is looked up, in the order of the index: a join would have to sort rows with their vectors.
_ARMS = f"""memory AS MATERIALIZED (
  SELECT x.id, x.capability_id, x.turn, x.user_id, x.worth, x.gains,
         1 - (x.vector <=> %(h0)s::halfvec) AS likeness
  FROM discovery_experience x
  WHERE x.group_id = %(group)s::bigint AND x.model_id = (SELECT id FROM model)
    AND (x.capability_id IN (SELECT id FROM usable)) IS TRUE
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


def arms(most: int) -> str:
    """What follows `usable` and `model`, reading so many of the newest experiences, which bounds
    the cost. The vectors stay where they are: only distances are kept."""
    return _ARMS.format(most=most)


_NEWEST = f"SELECT gains FROM memory ORDER BY id DESC LIMIT {MOST_CHECKED}"  # noqa: S608
# As an array: a guess of how many they are must not change how everything else is joined.
HITS = "UNION SELECT unnest(ARRAY(SELECT id FROM called))"
CHECKED = f""",
         (SELECT sum(gains)::real[] FROM ({_NEWEST}) newest) AS gains,
         (SELECT sum(gains * gains)::real[] FROM ({_NEWEST}) newest) AS squares"""  # noqa: S608
COLUMNS = """,
       called.turns, called.likenesses, called.worths, totals.gains, totals.squares"""
JOINED = """
  LEFT JOIN called ON called.id = c.id"""
