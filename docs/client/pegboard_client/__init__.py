"""Pegboard client for chat backends: `Pegboard`, and `AsyncPegboard` with the same methods."""

from pegboard_client.answers import (
    Call,
    Capability,
    CapabilityPage,
    Discovery,
    MetaAnswer,
    MetaTools,
    OneCapability,
    Plan,
    Reported,
    Selection,
    Turn,
)
from pegboard_client.client import Pegboard
from pegboard_client.client_async import AsyncPegboard
from pegboard_client.problems import (
    Conflict,
    FieldError,
    InvalidInput,
    NoAnswer,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    NotProcessable,
    PegboardError,
    Problem,
    TooManyRequests,
    Unavailable,
)
from pegboard_client.retries import Retries
from pegboard_client.tools import Ran, text_of

__version__ = "0.2.0"
__all__ = [
    "AsyncPegboard",
    "Call",
    "Capability",
    "CapabilityPage",
    "Conflict",
    "Discovery",
    "FieldError",
    "InvalidInput",
    "MetaAnswer",
    "MetaTools",
    "NoAnswer",
    "NotAllowed",
    "NotAuthenticated",
    "NotFound",
    "NotProcessable",
    "OneCapability",
    "Pegboard",
    "PegboardError",
    "Plan",
    "Problem",
    "Ran",
    "Reported",
    "Retries",
    "Selection",
    "TooManyRequests",
    "Turn",
    "Unavailable",
    "text_of",
]
