"""What discovery keeps."""

from discovery.models.alert import OutcomeAlert
from discovery.models.outcome import Called, Outcome
from discovery.models.turn import Turn

__all__ = ["Called", "Outcome", "OutcomeAlert", "Turn"]
