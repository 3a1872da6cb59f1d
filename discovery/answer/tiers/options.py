"""Options of the tiers: the deployment's settings, which a request may change."""

from dataclasses import dataclass, replace
from typing import Self

from django.conf import settings


@dataclass(frozen=True, slots=True)
class TierOptions:
    """Budgets in tokens, and numbers of capabilities."""

    tier0_tokens: int
    tier1_tokens: int
    tier2_tokens: int
    tier1_top: int
    tier2_top: int
    relevance: float

    @classmethod
    def of_the_deployment(cls) -> Self:
        """Return the deployment's settings."""
        return cls(
            tier0_tokens=settings.PEGBOARD_TIER0_TOKENS,
            tier1_tokens=settings.PEGBOARD_TIER1_TOKENS,
            tier2_tokens=settings.PEGBOARD_TIER2_TOKENS,
            tier1_top=settings.PEGBOARD_TIER1_TOP,
            tier2_top=settings.PEGBOARD_TIER2_TOP,
            relevance=settings.PEGBOARD_TIER1_RELEVANCE,
        )

    @property
    def tokens(self) -> int:
        """Return the budget of all tiers."""
        return self.tier0_tokens + self.tier1_tokens + self.tier2_tokens

    def within(self, context_window: int | None) -> Self:
        """Return options whose budgets are scaled down to the share of a small window."""
        share = int((context_window or 0) * settings.PEGBOARD_CONTEXT_SHARE)
        if not context_window or self.tokens <= share:
            return self
        return replace(
            self,
            tier0_tokens=self.tier0_tokens * share // self.tokens,
            tier1_tokens=self.tier1_tokens * share // self.tokens,
            tier2_tokens=self.tier2_tokens * share // self.tokens,
        )
