"""Vectors of listings at half the length."""

import pgvector.django.halfvec
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("marketplace", "0007_listing_index"),
    ]

    operations = [
        migrations.AlterField(
            model_name="listingvector",
            name="vector",
            field=pgvector.django.halfvec.HalfVectorField(null=True),
        ),
    ]
