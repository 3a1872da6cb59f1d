"""A chat turn with OpenAI's Chat Completions and tools selected by Pegboard.

    pip install ./docs/client openai
    export PEGBOARD_URL=http://localhost:8000 PEGBOARD_KEY=pb_… OPENAI_API_KEY=… CHAT_MODEL=…
    python docs/examples/chat_openai.py --user alice "note that the release is out"

The key needs the scopes `select`, `discover` and `execute`. OPENAI_BASE_URL names another address.
"""

import argparse
import json
import os
from collections.abc import Sequence
from typing import Any

import openai
from openai.types.chat import ChatCompletionMessageParam
from pegboard_client import Pegboard, Plan

MOST_ROUNDS = 8


def chat(
    pegboard: Pegboard, provider: openai.OpenAI, message: str, *, user: str, patience: float
) -> str:
    """Plan, let the model call tools, and report the outcome."""
    plan = pegboard.plan(message, user=user, format="openai")
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
    provider: openai.OpenAI,
    plan: Plan,
    message: str,
    *,
    user: str,
    patience: float,
) -> str | None:
    """Return the model's final answer; None after too many rounds."""
    tools: Any = plan["tools"] or openai.omit  # the API rejects an empty list
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": plan["prompt"]},
        {"role": "user", "content": message},
    ]
    for _ in range(MOST_ROUNDS):
        completion = provider.chat.completions.create(
            model=os.environ["CHAT_MODEL"], tools=tools, messages=messages
        )
        reply = completion.choices[0].message
        calls = [call for call in reply.tool_calls or () if call.type == "function"]
        if not calls:
            answer: str | None = reply.content
            return answer
        tool_calls: Any = [call.model_dump(exclude_none=True) for call in calls]
        messages.append({"role": "assistant", "content": reply.content, "tool_calls": tool_calls})
        for call in calls:
            result = pegboard.run_tool(
                plan,
                call.function.name,
                json.loads(call.function.arguments),
                user=user,
                approval_wait=patience,
            )
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result.text})
    return None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("message")
    parser.add_argument("--user", required=True, help="for whom: a user of Pegboard")
    parser.add_argument("--patience", type=float, default=120, help="seconds to wait for approval")
    options = parser.parse_args(arguments)
    with (
        Pegboard(os.environ["PEGBOARD_URL"], os.environ["PEGBOARD_KEY"]) as pegboard,
        openai.OpenAI() as provider,
    ):
        print(
            chat(pegboard, provider, options.message, user=options.user, patience=options.patience)
        )


if __name__ == "__main__":
    main()
