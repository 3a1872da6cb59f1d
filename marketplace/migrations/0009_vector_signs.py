"""A bit for each number of a vector, which a search reads first."""

import marketplace.models.listing_vector
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0011_package"),
        ("marketplace", "0008_half_vectors"),
    ]

    operations = [
        migrations.AddField(
            model_name="listingvector",
            name="signs",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Func(models.F("vector"), function="binary_quantize"),
                output_field=marketplace.models.listing_vector.SignsField(),
            ),
        ),
        migrations.AddIndex(
            model_name="listing",
            index=models.Index(
                condition=models.Q(("vanished_at", None), _negated=True),
                fields=["id"],
                name="listing_vanished",
            ),
        ),
        migrations.AddIndex(
            model_name="listingvector",
            index=models.Index(
                condition=models.Q(("vector__isnull", False)),
                fields=["model", "listing"],
                include=("signs",),
                name="listing_vector_signs",
            ),
        ),
    ]
