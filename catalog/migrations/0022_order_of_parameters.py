"""Schemas keep the order of their source: columns of type json.

The functions of 0013 and 0016 compare the values as jsonb. So order alone is no change of a text,
as in digests, and rows whose order is restored stay approved. `jsonb_build_array` in
`catalog_texts_digest` converts by itself, so all stored digests stay as they are.
"""

from django.db import migrations, models
from django.db.models.lookups import IsNull

from acl.platform.ordered_json import AsJsonb, OrderedJSONField

TEXTS = (
    "full_name", "action", "display_name", "description", "category", "tags", "input_schema",
    "output_schema", "content", "examples", "annotations", "required_secrets", "required_tools",
    "declared_edges",
)  # fmt: skip
ORDERED = ("input_schema", "output_schema")
FUNCTION = """
CREATE OR REPLACE FUNCTION catalog_keep_reviewed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed boolean;
BEGIN
  IF current_setting('pegboard.gate', true) = 'open' THEN
    NEW.reviewed := catalog_texts_digest(NEW);
    RETURN NEW;
  END IF;
  IF TG_OP = 'INSERT' THEN
    NEW.reviewed := '';
    IF NEW.state = 'approved' THEN NEW.state := 'quarantined'; END IF;
    RETURN NEW;
  END IF;
  changed := ROW({new}) IS DISTINCT FROM ROW({old});
  NEW.reviewed := OLD.reviewed;
  IF NEW.state = 'approved' AND (changed OR OLD.state <> 'approved')
     AND catalog_texts_digest(NEW) <> NEW.reviewed THEN
    NEW.state := 'quarantined';
  END IF;
  RETURN NEW;
END $$;
"""


def _function(cast: str) -> str:
    def row(version: str) -> str:
        return ", ".join(f"{version}.{one}{cast if one in ORDERED else ''}" for one in TEXTS)

    return FUNCTION.format(new=row("NEW"), old=row("OLD"))


def _constraint(column: str) -> models.CheckConstraint:
    """Return the constraint that refuses what jsonb refuses."""
    is_plain = IsNull(AsJsonb(models.F(column)), False)
    condition = models.Q(is_plain, (f"{column}__isnull", True), _connector="OR")
    return models.CheckConstraint(condition=condition, name=f"{column}_is_plain")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0021_runtime_capability")]

    operations = [
        # First when it goes forward, last when it goes back: `::jsonb` suits both types.
        migrations.RunSQL(_function("::jsonb"), _function("")),
        *(
            migrations.AlterField("capability", column, OrderedJSONField(null=True, blank=True))
            for column in ORDERED
        ),
        *(migrations.AddConstraint("capability", _constraint(column)) for column in ORDERED),
    ]
