"""Echo: gives back what it gets, to try a call."""

from catalog.built_ins.base import RowOwner, Toolbox
from catalog.formats.descriptors import JSONObject

SLUG = "echo"
TOOLS = Toolbox()


@TOOLS.add("echo")
def _echo(arguments: JSONObject, owner: RowOwner) -> str:
    return str(arguments["text"])
