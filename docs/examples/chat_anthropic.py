"""A chat turn with Anthropic's Messages API and tools selected by Pegboard.

    pip install ./docs/client anthropic
    export PEGBOARD_URL=http://localhost:8000 PEGBOARD_KEY=pb_… ANTHROPIC_API_KEY=… CHAT_MODEL=…
    python docs/examples/chat_anthropic.py --user alice "note that the release is out"

The key needs the scopes `select`, `discover` and `execute`. ANTHROPIC_BASE_URL names another
address.
"""

import argparse
import os
from collections.abc import Sequence
from typing import Any

import anthropic
from pegboard_client import Pegboard, Plan

MOST_ROUNDS = 8


def chat(
    pegboard: Pegboard, provider: anthropic.Anthropic, message: str, *, user: str, patience: float
) -> str:
    """Plan, let the model call tools, and report the outcome."""
    plan = pegboard.plan(message, user=user, format="anthropic")
    turn_id = plan["turn_id"] or ""
    try:
        answer = answer_of(pegboard, provider, plan, message, user=user, patience=patience)
    except Exception:
        pegboard.outcome(turn_id, status="failed")
        raise
    if answer is None:
        pegboard.outcome(turn_id, status="failed", note="no answer after many calls")
        return "I could not finish this."
    pegboard.outcome(turn_id)  # Pegboard infers the outcome from the calls
    return answer


def answer_of(
    pegboard: Pegboard,
    provider: anthropic.Anthropic,
    plan: Plan,
    message: str,
    *,
    user: str,
    patience: float,
) -> str | None:
    """Return the model's final answer; None after too many rounds."""
    tools: Any = plan["tools"] or []
    messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": message}]
    for _ in range(MOST_ROUNDS):
        response = provider.messages.create(
            model=os.environ["CHAT_MODEL"],
            max_tokens=2048,
            system=plan["prompt"],
            tools=tools,
            messages=messages,
        )
        tool_calls = [block for block in response.content if block.type == "tool_use"]
        if not tool_calls:
            return "".join(block.text for block in response.content if block.type == "text")
        results: list[anthropic.types.ToolResultBlockParam] = []
        for block in tool_calls:
            result = pegboard.run_tool(
                plan, block.name, dict(block.input), user=user, approval_wait=patience
            )
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": result.text,
                    "is_error": result.is_error,
                }
            )
        messages.append({"role": "assistant", "content": response.content})
        messages.append({"role": "user", "content": results})
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("message")
    parser.add_argument("--user", required=True, help="for whom: a user of Pegboard")
    parser.add_argument("--patience", type=float, default=120, help="seconds to wait for approval")
    options = parser.parse_args(arguments)
    with (
        Pegboard(os.environ["PEGBOARD_URL"], os.environ["PEGBOARD_KEY"]) as pegboard,
        anthropic.Anthropic() as provider,
    ):
        print(
            chat(pegboard, provider, options.message, user=options.user, patience=options.patience)
        )


if __name__ == "__main__":
    main()
