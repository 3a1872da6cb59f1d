"""POST /api/v1/select in each mode (D5)."""

from typing import Any

from django.test import Client

from tests.access.people import People, client_of

MAIL = {"message": "send an email with gmail__send_email", "user": "alice", "max_tools": 1}


def post(client: Client, **body: Any) -> dict[str, Any]:
    response = client.post("/api/v1/select", {**MAIL, **body}, content_type="application/json")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def names(answer: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in answer["tools"]]


def test_mode_decides_what_goes_to_the_model_and_is_explained(people: People) -> None:
    client = client_of(people.support)

    selected, direct, compact, looking = (
        post(client, **body)
        for body in ({}, {"mode": "auto"}, {"mode": "compact_direct"}, {"mode": "discovery"})
    )

    assert names(selected) == ["gmail__send_email"]
    assert selected["mode"]["mode"] == "selected"
    assert names(direct) == ["gmail__search", "gmail__send_email", "wiki__read_page"]
    assert "fit 25,600, 20% of 128,000 tokens" in direct["mode"]["reason"]
    assert names(compact) == ["execute_tool", "get_tool"]
    assert "- wiki__read_page: " in compact["prompt"]
    assert "search_tools" in names(looking)
    assert looking["mode"]["reason"] == "The request asks for discovery."
    for answer in (direct, compact, looking):
        tokens = answer["tokens"]
        assert tokens["selected"] == tokens["injected"]
        assert tokens["saved"] == max(0, tokens["all"] - tokens["injected"])


def test_definitions_that_wait_are_all_that_the_caller_may_use(people: People) -> None:
    client = client_of(people.support)

    answer = post(client, mode="auto", format="anthropic", defer_loading=True)

    waiting = [tool["name"] for tool in answer["tools"] if tool.get("defer_loading")]
    assert waiting == ["gmail__search", "gmail__send_email", "wiki__read_page"]
    assert [tool["name"] for tool in answer["tools"] if not tool.get("defer_loading")] == [
        "discover_capabilities"
    ]
    assert answer["search_result"] == [{"type": "tool_reference", "tool_name": "gmail__send_email"}]
    other = post(client, mode="auto", format="anthropic", defer_loading=True, message="wiki pages")
    assert other["tools"] == answer["tools"]


def test_search_of_openai_needs_nothing_declared(people: People) -> None:
    answer = post(client_of(people.support), format="openai_responses", defer_loading=True)

    assert [tool["type"] for tool in answer["tools"]] == ["tool_search"]
    assert [tool["name"] for tool in answer["search_result"]["tools"]] == ["gmail__send_email"]
