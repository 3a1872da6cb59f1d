"""What listings are found by: words, and vectors or the promise of them."""

import django.db.models.deletion
import pgvector.django.sparsevec
import pgvector.django.vector
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0009_oauth"),
        ("marketplace", "0003_sources"),
    ]

    operations = [
        migrations.CreateModel(
            name="ListingWords",
            fields=[
                (
                    "listing",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="marketplace.listing",
                    ),
                ),
                ("terms", pgvector.django.sparsevec.SparseVectorField(dimensions=262144)),
                (
                    "of",
                    models.DateTimeField(help_text="The listing's `updated_at` when it was read."),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ListingVector",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "text_hash",
                    models.CharField(help_text="Of the text as it is now.", max_length=64),
                ),
                ("vector", pgvector.django.vector.VectorField(null=True)),
                (
                    "vector_hash",
                    models.CharField(blank=True, help_text="Of the text embedded.", max_length=64),
                ),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("sent_at", models.DateTimeField(auto_now_add=True)),
                (
                    "listing",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="vectors",
                        to="marketplace.listing",
                    ),
                ),
                (
                    "model",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.embeddingmodel",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("vector_hash", models.F("text_hash")), _negated=True),
                        fields=["sent_at"],
                        name="listing_vector_pending",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("listing", "model"), name="one_vector_of_a_listing"
                    )
                ],
            },
        ),
    ]
