"""Advice on choosing tools with all that takes part: the web, the worker that goes out, Redis and
a provider's server on this machine."""

import httpx
import pytest
from pytest_django import Settings

from discovery.advice.policies import set_policy
from discovery.chats.models import WantedModel, set_model
from discovery.models import AdvicePolicy
from tests.chats.fake_models import MODEL, Say, serve
from tests.operate.deployment import Deployment, wait_for

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]
MESSAGE = "look at what the repository has to be done and send a mail about it to anna"
STEPS = ("list the open issues of a repository", "send an email")


def test_a_model_advises_through_the_worker(deployment: Deployment, settings: Settings) -> None:
    settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", None),)
    deployment.environment |= {
        "PEGBOARD_ADVICE": "true",
        "PEGBOARD_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
    }
    with serve("compatible") as fake:
        fake.script = [Say(str(list(STEPS)).replace("'", '"')), Say("[2, 1]")]
        with deployment.connected():
            wanted = WantedModel("Fable", "compatible", MODEL, address=fake.address)
            set_policy(by=None, group=None, model=set_model(by=None, values=wanted))
            AdvicePolicy.objects.update(milliseconds=10_000)
        deployment.start("connections", "web")
        wait_for(lambda: is_up(deployment), "listening")

        answers = [select(deployment) for _ in range(2)]

    assert answers[0]["advice"] == {"model": "Fable", "steps": list(STEPS), "ordered": True}
    assert answers[1]["advice"] == answers[0]["advice"]
    assert not answers[0]["degraded"]
    assert len(fake.bodies) == 2  # one for the steps, one for the order: then it is known
    with deployment.connected():
        assert AdvicePolicy.objects.get().used_today > 0


def is_up(deployment: Deployment) -> bool:
    try:
        address = f"http://127.0.0.1:{deployment.port}/healthz"
        return httpx.get(address, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def select(deployment: Deployment) -> dict[str, object]:
    answer = httpx.post(
        f"http://127.0.0.1:{deployment.port}/api/v1/select",
        json={"message": MESSAGE, "user": "alice"},
        headers={"Authorization": f"Bearer {deployment.key}"},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    body: dict[str, object] = answer.json()
    return body
