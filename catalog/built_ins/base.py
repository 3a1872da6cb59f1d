"""Base of built-in tools: the owner of a call's rows, failures, and digits of answers."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from catalog.formats.descriptors import JSONObject


class ToolError(Exception):
    """The tool cannot do it. The text is the tool's answer, for a model and for people."""


@dataclass(frozen=True, slots=True)
class RowOwner:
    """The person whose rows a call may see; None if somebody acts for them."""

    user_id: int | None

    def require(self) -> int:
        """Return the person's id; ToolError if nobody calls for themselves."""
        if self.user_id is None:
            raise ToolError("This is personal: only the person can use it, nobody on their behalf.")
        return self.user_id


Function = Callable[[JSONObject, RowOwner], str | JSONObject]


class Toolbox(dict[str, Function]):
    """The functions of one integration, by action; "" for a tool that is named like it."""

    def add(self, action: str) -> Callable[[Function], Function]:
        """Return a decorator that adds a function."""

        def add_function(function: Function) -> Function:
            self[action] = function
            return function

        return add_function


def plain_number(number: Decimal) -> str:
    """Return the digits without an exponent and without zeros at the end."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text
