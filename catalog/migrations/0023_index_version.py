"""The database counts the changes of vectors, words and relations, from which processes build their
candidate index.

Each transaction takes a counter that no other one holds, and makes one if there is none. So counting
waits for nobody, and cannot take part in a deadlock.
"""

from django.db import migrations, models

COUNT = """
CREATE FUNCTION catalog_count_index_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  free bigint;
BEGIN
  SELECT id INTO free FROM catalog_indexversion ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
  IF free IS NULL THEN
    INSERT INTO catalog_indexversion (number) VALUES (1);
  ELSE
    UPDATE catalog_indexversion SET number = number + 1 WHERE id = free;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER catalog_embedding_indexed
  AFTER INSERT OR DELETE OR UPDATE OF capability_id, model_id, vector ON catalog_embedding
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_lexicalvector_indexed
  AFTER INSERT OR DELETE OR UPDATE ON catalog_lexicalvector
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_edge_indexed AFTER INSERT OR DELETE OR UPDATE ON catalog_edge
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
CREATE TRIGGER catalog_trait_indexed AFTER INSERT OR DELETE OR UPDATE ON catalog_trait
  FOR EACH STATEMENT EXECUTE FUNCTION catalog_count_index_change();
-- What there is already counts as the first change: else it would not be indexed before the next.
INSERT INTO catalog_indexversion (number) VALUES (1);
"""
STOP = """
DROP TRIGGER catalog_trait_indexed ON catalog_trait;
DROP TRIGGER catalog_edge_indexed ON catalog_edge;
DROP TRIGGER catalog_lexicalvector_indexed ON catalog_lexicalvector;
DROP TRIGGER catalog_embedding_indexed ON catalog_embedding;
DROP FUNCTION catalog_count_index_change();
"""


class Migration(migrations.Migration):
    dependencies = [("catalog", "0022_order_of_parameters")]

    operations = [
        migrations.CreateModel(
            name="IndexVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveBigIntegerField(default=1)),
            ],
        ),
        migrations.RunSQL(COUNT, STOP),
    ]
