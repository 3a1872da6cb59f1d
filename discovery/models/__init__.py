"""Tables of discovery."""

from discovery.models.call import Call
from discovery.models.call_policy import CallPolicy
from discovery.models.chat import Chat, ChatMessage, ModelRequest
from discovery.models.chat_model import ChatModel, ChatUse
from discovery.models.experience import Experience
from discovery.models.first_run import FirstRun
from discovery.models.flow import FlowMode, FlowRule, TrustedValue, TurnReading
from discovery.models.model_price import ModelPrice
from discovery.models.outcome import Called, Outcome
from discovery.models.outcome_alert import OutcomeAlert
from discovery.models.quota import Quota
from discovery.models.server_request import ServerRequest
from discovery.models.taught_message import TaughtMessage
from discovery.models.tool_example import ToolExample
from discovery.models.turn import Turn

__all__ = [
    "Call",
    "CallPolicy",
    "Called",
    "Chat",
    "ChatMessage",
    "ChatModel",
    "ChatUse",
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
