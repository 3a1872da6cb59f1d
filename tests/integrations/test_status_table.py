"""The table of states in docs/integrations.md has every label that an integration can show."""

import ast
import re
from pathlib import Path

from marketplace.integrations import listing

PAGE = Path(__file__).parents[2] / "docs/integrations.md"


def labels() -> set[str]:
    """Return the first argument of each IntegrationStatus in the module."""
    tree = ast.parse(Path(listing.__file__).read_text(encoding="utf-8"))
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    made = [one.args[0] for one in calls if getattr(one.func, "id", "") == "IntegrationStatus"]
    return {ast.literal_eval(one.args[0]) for one in made if isinstance(one, ast.Call)}


def test_table_has_exactly_the_states_of_integrations() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z, -]+) \|", table, re.MULTILINE)

    told = {state for row in rows for state in row.split(", ")} - {"state"}

    assert told == labels()
    assert "works" not in told
