"""What discovery keeps."""

from discovery.models.turn import Turn

__all__ = ["Turn"]
