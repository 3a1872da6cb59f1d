"""Tables of discovery."""

from discovery.models.call import Call, ServerRequest
from discovery.models.call_policy import CallLimit, CallPolicy, Quota, ToolExample
from discovery.models.chat import (
    AdvicePolicy,
    Chat,
    ChatMessage,
    ChatModel,
    ChatUse,
    ExampleRun,
    ModelPrice,
    ModelRequest,
)
from discovery.models.flow import FlowMode, FlowRule, TrustedValue, TurnReading
from discovery.models.taught_message import Experience, TaughtMessage
from discovery.models.turn import Called, DayFigures, FirstRun, Outcome, OutcomeAlert, Turn

__all__ = [
    "AdvicePolicy",
    "Call",
    "CallLimit",
    "CallPolicy",
    "Called",
    "Chat",
    "ChatMessage",
    "ChatModel",
    "ChatUse",
    "DayFigures",
    "ExampleRun",
    "Experience",
    "FirstRun",
    "FlowMode",
    "FlowRule",
    "ModelPrice",
    "ModelRequest",
    "Outcome",
    "OutcomeAlert",
    "Quota",
    "ServerRequest",
    "TaughtMessage",
    "ToolExample",
    "TrustedValue",
    "Turn",
    "TurnReading",
]
