"""Listings pass the scanner before anybody but an admin reads them.

What is stored already counts as unscanned: the sweep of listings scans it within minutes. A net
below: a listing whose texts are changed without a new digest of them is unscanned again, whoever
changes it.
"""

from django.db import migrations, models

TEXTS = (
    "slug", "title", "description", "publisher", "licence", "homepage", "repository", "category",
    "tags", "readme", "tools", "needs",
)  # fmt: skip
NET = f"""
CREATE FUNCTION marketplace_unscan_listing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.texts_digest = OLD.texts_digest AND ROW({", ".join(f"NEW.{one}" for one in TEXTS)})
     IS DISTINCT FROM ROW({", ".join(f"OLD.{one}" for one in TEXTS)}) THEN
    NEW.review := 'unscanned';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER marketplace_listing_scanned BEFORE UPDATE OF {", ".join(TEXTS)}
  ON marketplace_listing FOR EACH ROW EXECUTE FUNCTION marketplace_unscan_listing();
"""
NO_NET = """
DROP TRIGGER marketplace_listing_scanned ON marketplace_listing;
DROP FUNCTION marketplace_unscan_listing();
"""


class Migration(migrations.Migration):
    dependencies = [("marketplace", "0011_audit_anchor")]

    operations = [
        migrations.AddField(
            model_name="listing",
            name="review",
            field=models.CharField(choices=[("unscanned", "Unscanned"), ("clear", "Clear"), ("held", "Held"), ("approved", "Approved"), ("rejected", "kept hidden")], default="unscanned", help_text="Only what is clear or approved is there for others than admins.", max_length=9),
        ),
        migrations.AddField(
            model_name="listing",
            name="findings",
            field=models.JSONField(blank=True, default=list, help_text="What the scanner noticed in its texts."),
        ),
        migrations.AddField(
            model_name="listing",
            name="texts_digest",
            field=models.CharField(blank=True, default="", help_text="Of the texts that were scanned.", max_length=64),
            preserve_default=False,
        ),
        migrations.RemoveIndex(model_name="listing", name="listing_offered"),
        migrations.AddIndex(
            model_name="listing",
            index=models.Index(
                condition=models.Q(("vanished_at", None)),
                fields=["title", "id"],
                include=("kind", "category", "source", "slug", "review"),
                name="listing_offered",
            ),
        ),
        migrations.AddIndex(
            model_name="listing",
            index=models.Index(
                condition=models.Q(("review__in", ("clear", "approved")), _negated=True),
                fields=["review", "id"],
                name="listing_not_passed",
            ),
        ),
        migrations.RunSQL(NET, NO_NET),
    ]
