"""Search data of listings: words, and vectors that a worker adds later.

A `ListingVector` row is also a job, like `Embedding` for a capability: it is pending while
`vector_hash` differs from `text_hash`.
"""

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, Q
from pgvector.django import BitField, HalfVectorField, SparseVectorField

from catalog.models import EmbeddingModel
from marketplace.models.listing import Listing


class ListingWords(models.Model):
    """The document side of BM25 for one listing; see `catalog.lexical`."""

    listing = models.OneToOneField(Listing, models.CASCADE, primary_key=True, related_name="words")
    terms = SparseVectorField(dimensions=2**18)  # of catalog.lexical; a test compares them
    of = models.DateTimeField(help_text="The listing's `updated_at` when it was read.")

    def __str__(self) -> str:
        return str(self.listing_id)


class SignsField(BitField):
    """A bit string with the length of the vector, which differs between models."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bit varying"


class ListingVector(models.Model):
    """A listing's vector by one model, or the pending job for it."""

    listing = models.ForeignKey(Listing, models.CASCADE, related_name="vectors")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+")
    text_hash = models.CharField(max_length=64, help_text="Of the text as it is now.")
    # Half as long as a capability's, and read in a third of the time: nothing ranks closely here.
    vector = HalfVectorField(null=True)
    # A search compares these first: a bit for each number, read from an index.
    signs = models.GeneratedField(
        expression=Func(F("vector"), function="binary_quantize"),
        output_field=SignsField(),
        db_persist=True,
    )
    vector_hash = models.CharField(max_length=64, blank=True, help_text="Of the text embedded.")
    attempts = models.PositiveSmallIntegerField(default=0)
    failure = models.CharField(max_length=300, blank=True)
    sent_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["listing", "model"], name="one_vector_of_a_listing"),
        ]
        indexes = [
            models.Index(
                fields=["sent_at"],
                condition=~Q(vector_hash=F("text_hash")),
                name="listing_vector_pending",
            ),
            models.Index(
                fields=["model", "listing"],
                include=["signs"],
                condition=Q(vector__isnull=False),
                name="listing_vector_signs",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.listing_id} by {self.model_id}"
