"""Prices of models, as an admin has noted them."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

LONGEST_PATTERN = 100


class ModelPrice(models.Model):
    """A price in US dollars per million tokens; it replaces the shipped one of its pattern.

    The pattern is a model's name, or its beginning followed by `*`.
    """

    pattern = models.CharField(max_length=LONGEST_PATTERN, unique=True)
    input_price = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(0)]
    )
    output_price = models.DecimalField(
        max_digits=10, decimal_places=4, validators=[MinValueValidator(0)]
    )
    noted_on = models.DateField()
    source = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["pattern"]
        constraints = [
            models.CheckConstraint(
                condition=Q(input_price__gte=0, output_price__gte=0),
                name="discovery_model_price_range",
            ),
            models.CheckConstraint(condition=~Q(pattern=""), name="discovery_model_price_named"),
        ]

    def __str__(self) -> str:
        return self.pattern
