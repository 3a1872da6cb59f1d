"""Small sets in the format of the labelled ones."""

import json
from pathlib import Path
from typing import Any

TOOLS = (
    ("send_mail", "Sends a mail to someone. Attachments are taken along. Costs nothing at all."),
    ("post_message", "Posts a message to a channel. Everyone who is in it can read it."),
    ("get_weather", "Tells what the weather is like. Any city in the world will do."),
    ("book_flight", "Books a seat on a flight. Payment is by the card that is on file."),
    ("convert_money", "Converts an amount of money. The rates are those of this morning."),
    ("play_song", "Plays a song on the speaker. Says so where there is no such song."),
    ("find_recipe", "Finds a recipe for what is in the fridge. Leaves out what you do not eat."),
    ("set_alarm", "Sets an alarm for a time of day. It rings until someone stops it."),
)
MESSAGES = (
    ("tell Ann by mail that I am late", ["send_mail"]),
    ("will it rain in Lisbon tomorrow?", ["get_weather"]),
    (
        "Post the lunch menu to the team channel. Set an alarm for seven in the morning.",
        ["post_message", "set_alarm"],
    ),
)


def write_set(folder: Path, *, messages: bool = True) -> Path:
    """Write a catalogue of a few tools, with or without messages."""
    folder.mkdir()
    _write(folder / "catalog.jsonl", [_tool(name, words) for name, words in TOOLS])
    if messages:
        rows = [
            {"qid": str(place), "query": query, "relevant": right}
            for place, (query, right) in enumerate(MESSAGES)
        ]
        _write(folder / "queries.jsonl", rows)
    return folder


def _tool(name: str, description: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    return {"id": name, "name": name, "server": "home", "description": description} | {
        "input_schema": schema
    }


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
