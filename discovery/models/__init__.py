"""Tables of discovery."""

from discovery.models.advice import AdvicePolicy
from discovery.models.call import Call
from discovery.models.call_policy import CallLimit, CallPolicy, Quota, ToolExample
from discovery.models.chat import Chat, ChatMessage, ChatModel, ChatUse, ModelPrice, ModelRequest
from discovery.models.flow import FlowMode, FlowRule, TrustedValue, TurnReading
from discovery.models.outcome import Called, Outcome, OutcomeAlert
from discovery.models.server_request import ServerRequest
from discovery.models.taught_message import Experience, TaughtMessage
from discovery.models.turn import DayFigures, FirstRun, Turn

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
