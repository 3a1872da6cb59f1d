"""The Helm chart, without a cluster: rendered, checked by Kubernetes' schemas, and compared with
the compose file, so that the two cannot drift apart."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_validate import ValidationError, validate

DOCKER = Path(__file__).parents[2] / "docker"
CHART = DOCKER / "chart"
HELM = Path(sys.executable).with_name("helm")
ROLES = ["roles", "set-up", "web", "worker", "broker", "connections", "beat", "manifests", "backup"]
# In the chart values say these otherwise than in docker/.env.
ADDRESSES = {"DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL", "REDIS_URL"}
# An Ingress shows its certificate at the public name.
OF_THE_PROXY = {"PEGBOARD_PROXY_PLACE"}
NAMES = {"PEGBOARD_ALLOWED_HOSTS", "PEGBOARD_TRUSTED_ORIGINS"}
OLDEST = "1.29.0"  # kubeVersion in Chart.yaml
EVERYTHING = {
    "moreHosts": ["pegboard.internal"],
    "image": {"tag": "0.2.0-2", "pullSecrets": ["registry"]},
    "secrets": {
        "elsewhere": {"database_password": {"name": "postgres-app", "key": "password"}},
        "optional": ["pegboard_email_url"],
    },
    "redis": {"tls": True},
    "outgoing": True,
    "ingress": {"className": "nginx", "certificate": "pegboard-example"},
    "web": {"autoscaling": {"enabled": True}},
    "connections": {
        "storage": {"className": "fast"},
        "nodeSelector": {"cells": "yes"},
    },
    "cells": {
        "seccompProfile": "pegboard/cell-seccomp.json",
        "folders": [{"path": "/srv/documents", "claim": "documents"}],
    },
    "manifests": {"claim": "capabilities"},
    "backup": {"claim": "backups", "schedule": "0 3 * * *"},
    "networkPolicies": {"databaseTo": [{"ipBlock": {"cidr": "10.0.0.5/32"}}]},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "pegboard", "operator": "Exists"}],
}

pytestmark = pytest.mark.skipif(not HELM.exists(), reason="helm is packaged for Linux on x86-64")


@dataclass(frozen=True)
class Container:
    """A container, and its pod."""

    pod: dict[str, Any]
    spec: dict[str, Any]

    @property
    def variables(self) -> dict[str, str]:
        return {one["name"]: one["value"] for one in self.spec["env"]}

    @property
    def mounts(self) -> dict[str, bool]:
        """Paths, and whether they can be written."""
        own = self.spec["volumeMounts"]
        return {one["mountPath"]: not one.get("readOnly", False) for one in own}

    @property
    def secrets(self) -> dict[str, tuple[str, str]]:
        """Files below /run/secrets, with the Secret and the key that they come from."""
        (name,) = (
            one["name"] for one in self.spec["volumeMounts"] if one["mountPath"] == "/run/secrets"
        )
        (volume,) = (one["projected"] for one in self.pod["volumes"] if one["name"] == name)
        return {
            item["path"]: (source["secret"]["name"], item["key"])
            for source in volume["sources"]
            for item in source["secret"]["items"]
        }


@pytest.fixture(scope="module")
def defaults() -> list[dict[str, Any]]:
    """Objects made by default."""
    return _rendered("--kube-version", OLDEST)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Objects made with everything switched on."""
    values = tmp_path_factory.mktemp("chart") / "values.yaml"
    values.write_text(yaml.safe_dump(EVERYTHING))
    assert _helm("lint", "--strict", "--kube-version=1.33", f"--values={values}").returncode == 0
    return _rendered("--kube-version=1.33", f"--values={values}")


@pytest.fixture(scope="module")
def containers(everything: list[dict[str, Any]]) -> dict[str, Container]:
    """All containers by their names, with everything switched on."""
    return {one.spec["name"]: one for one in _containers(everything)}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """The services of the compose file."""
    services: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    return services


def test_defaults_pass_the_strict_linter() -> None:
    lint = _helm("lint", "--strict")

    assert lint.returncode == 0, lint.stdout


def test_kubernetes_accepts_every_object(
    defaults: list[dict[str, Any]], everything: list[dict[str, Any]]
) -> None:
    for one in defaults:
        validate(one, OLDEST, strict=True)
    for one in everything:
        if one not in defaults:
            validate(one, "1.33", strict=True)
    kinds = {one["kind"] for one in everything}

    assert {"Ingress", "HorizontalPodAutoscaler", "CronJob", "NetworkPolicy", "Job"} <= kinds
    assert {one["kind"] for one in defaults} == kinds - {"HorizontalPodAutoscaler", "CronJob"}


def test_schemas_would_find_a_mistake(defaults: list[dict[str, Any]]) -> None:
    ingress = next(one for one in defaults if one["kind"] == "Ingress")

    with pytest.raises(ValidationError, match="'hosts' was unexpected"):
        validate(ingress | {"hosts": []}, OLDEST, strict=True)


def test_every_role_of_compose_is_there_and_does_the_same(
    containers: dict[str, Container], services: dict[str, Any]
) -> None:
    told = {name: one.spec["args"] for name, one in containers.items()}

    assert told == {name: services[name]["command"] for name in ROLES} | {
        "sealing-key": ["broker", "--publish"]
    }
    # Postgres and Redis exist already, and the proxy is the Ingress's.
    assert set(services) - set(ROLES) == {"proxy", "postgres", "redis"}


@pytest.mark.parametrize("role", ROLES)
def test_role_has_the_variables_secrets_and_folders_of_compose(
    containers: dict[str, Container], services: dict[str, Any], role: str
) -> None:
    container, service = containers[role], services[role]
    more = {"pegboard_email_url"} if role in {"web", "worker"} else set()
    folders = {"/srv/documents"} if role == "connections" else set()

    assert set(container.variables) == set(service["environment"]) - OF_THE_PROXY
    assert set(container.secrets) == set(service["secrets"]) | more
    assert {path for path in container.mounts if path not in {"/tmp", "/run/secrets"}} == {  # noqa: S108
        volume.removesuffix(":ro").rpartition(":")[2] for volume in service.get("volumes", ())
    } | folders
    for volume in service.get("volumes", ()):
        path = volume.removesuffix(":ro").rpartition(":")[2]
        assert container.mounts[path] is not volume.endswith(":ro"), path


def test_values_by_default_are_those_of_compose(
    defaults: list[dict[str, Any]], services: dict[str, Any]
) -> None:
    for container in _containers(defaults):
        if container.spec["name"] == "sealing-key":
            continue
        service = services[container.spec["name"]]
        for name, value in service["environment"].items():
            if name not in ADDRESSES | NAMES | OF_THE_PROXY:
                assert container.variables[name] == _default(value), name
        limits = service["deploy"]["resources"]["limits"]
        own = container.spec["resources"]["limits"]
        memory = own["memory"].replace("Gi", "g").replace("Mi", "m")
        told = (_default(limits["cpus"]), _default(limits["memory"]))
        assert (own["cpu"], memory) == told, container.spec["name"]


def _default(value: str) -> str:
    return re.sub(r"^\$\{\w+:-(.*)\}$", r"\1", value)


def test_addresses_have_no_password_and_no_secret_is_a_variable(
    containers: dict[str, Container],
) -> None:
    secrets = {name.upper() for one in containers.values() for name in one.secrets}
    for one in containers.values():
        assert not secrets & set(one.variables)
        assert not any(re.search(r"://[^/@]*:[^/@]*@", value) for value in one.variables.values())
        assert "envFrom" not in one.spec

    assert containers["web"].variables["REDIS_URL"] == "rediss://redis:6379/0"
    assert containers["web"].secrets["database_password"] == ("postgres-app", "password")
    assert containers["web"].secrets["redis_password"] == ("pegboard", "redis_password")


def test_keys_stay_with_the_broker(containers: dict[str, Container]) -> None:
    """The web's pod has them while it starts, in a container that ends before."""
    holders = {
        name for name, one in containers.items() if "pegboard_encryption_keys" in one.secrets
    }
    broker, connections = containers["broker"], containers["connections"]

    assert holders == {"set-up", "backup", "broker", "sealing-key"}
    assert broker.pod is connections.pod
    assert broker.spec["restartPolicy"] == "Always"
    assert broker.spec in broker.pod["initContainers"]
    assert containers["sealing-key"].spec in containers["web"].pod["initContainers"]
    assert not broker.pod["shareProcessNamespace"]


def test_containers_have_no_powers(
    containers: dict[str, Container], defaults: list[dict[str, Any]]
) -> None:
    """Check them by the Pod Security Standard `restricted`, but for cells."""
    powerless = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    opened = {
        "seccompProfile": {"type": "Localhost", "localhostProfile": "pegboard/cell-seccomp.json"},
        "appArmorProfile": {"type": "Unconfined"},
        "procMount": "Unmasked",
    }

    for one in [*_containers(defaults), *containers.values()]:
        context = one.pod["securityContext"]
        assert (context["runAsNonRoot"], context["runAsUser"]) == (True, 10001)
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert one.pod["automountServiceAccountToken"] is False
        assert one.pod["enableServiceLinks"] is False
        if one is not containers["connections"]:
            assert one.spec["securityContext"] == powerless
    assert containers["connections"].spec["securityContext"] == powerless | opened
    assert containers["connections"].pod["hostUsers"] is False
    assert (DOCKER / "cell-seccomp.json").exists()


def test_who_is_one_in_compose_is_one_here(everything: list[dict[str, Any]]) -> None:
    deployments = [one for one in everything if one["kind"] == "Deployment"]
    once = {
        one["metadata"]["name"]
        for one in deployments
        if one["spec"].get("replicas") == 1 and one["spec"].get("strategy") == {"type": "Recreate"}
    }

    assert once == {"pegboard-beat", "pegboard-connections", "pegboard-manifests"}
    budgets = [one["spec"] for one in everything if one["kind"] == "PodDisruptionBudget"]
    assert {budget["maxUnavailable"] for budget in budgets} == {1}


def test_requests_are_answered_before_the_end(
    containers: dict[str, Container], services: dict[str, Any]
) -> None:
    for role in ("web", "worker", "connections"):
        seconds = int(services[role]["stop_grace_period"].removesuffix("s"))
        assert containers[role].pod["terminationGracePeriodSeconds"] >= seconds
    web = containers["web"].spec
    pause = int(web["lifecycle"]["preStop"]["exec"]["command"][-1])

    assert containers["web"].pod["terminationGracePeriodSeconds"] >= pause + 35
    asked = {name: web[name]["httpGet"]["path"] for name in ("readinessProbe", "livenessProbe")}
    assert asked == {"readinessProbe": "/readyz", "livenessProbe": "/livez"}
    assert web["livenessProbe"]["httpGet"]["httpHeaders"] == [
        {"name": "Host", "value": "pegboard.example"}
    ]


def test_only_those_that_go_out_in_compose_get_out(
    defaults: list[dict[str, Any]], everything: list[dict[str, Any]], services: dict[str, Any]
) -> None:
    more = yaml.safe_load((DOCKER / "compose.outgoing.yaml").read_text())["services"]

    assert _going_out(defaults) == {name for name in ROLES if "out" in services[name]["networks"]}
    assert _going_out(everything) == _going_out(defaults) | set(more)
    closed = _policy(everything, "closed")
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in closed
    front = _policy(everything, "front")
    assert front["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "web"
    reached = _policy(everything, "data")["egress"]
    data = {entry["ports"][0]["port"]: entry.get("to") for entry in reached}
    assert data[5432] == [{"ipBlock": {"cidr": "10.0.0.5/32"}}]
    assert data.keys() == {53, 5432, 6379}


def _policy(objects: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (policy,) = (
        one["spec"]
        for one in objects
        if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == f"pegboard-{name}"
    )
    return dict(policy)


def _going_out(objects: list[dict[str, Any]]) -> set[str]:
    (expression,) = _policy(objects, "out")["podSelector"]["matchExpressions"]
    return set(expression["values"])


def test_wrong_values_are_named_together() -> None:
    wrong = {
        "host=https://pegboard.example": "host: Does not match pattern",
        "database.port=99999": "database.port: Must be less than or equal to 65535",
        "database.sslmode=yes": "database.sslmode must be one of the following",
        "image.tag=latest": "image.tag: Must not validate the schema (not)",
        "web.replica=3": "web: Additional property replica is not allowed",
        "web.replicas=0": "web.replicas: Must be greater than or equal to 1",
        "web.resources.limits.memory=lots": "web.resources.limits.memory: Does not match pattern",
        "cells.mode=maybe": "cells.mode must be one of the following",
        "connections.replicas=2": "connections: Additional property replicas is not allowed",
        "settings.DEBUG=a": 'settings: Property name of "DEBUG" does not match',
        "secrets.elsewhere.password.name=a": 'Property name of "password" does not match',
    }

    refused = _helm("template", *(f"--set={one}" for one in wrong))

    assert refused.returncode == 1
    missing = [words for words in wrong.values() if words not in refused.stderr]
    assert missing == [], refused.stderr


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            "settings.PEGBOARD_SECRET_KEY=a",
            "this is a secret. Keep it as pegboard_secret_key in the Secret",
        ),
        ("settings.PEGBOARD_CELL=off", "another value of the chart says this"),
        ("web.autoscaling.enabled=true,web.replicas=9", "most is less than web.replicas"),
        ("cells.seccompProfile=a.json", "needs Kubernetes 1.33"),
        ("backup.schedule=@daily", "backup.schedule needs backup.claim"),
    ],
)
def test_values_that_do_not_fit_together_are_refused(value: str, words: str) -> None:
    refused = _helm("template", "--kube-version=1.32", f"--set={value}")

    assert refused.returncode == 1
    assert words in refused.stderr


def test_every_secret_of_the_entrypoint_is_refused_as_a_setting() -> None:
    entrypoint = (DOCKER / "entrypoint.sh").read_text().replace("\\\n", " ")
    listed = re.search(r"^for name in (DATABASE_URL .*); do$", entrypoint, re.MULTILINE)
    checks = (CHART / "templates" / "checks.yaml").read_text()
    refused = re.search(r'has \$name \(list ("DATABASE_URL".*)\)', checks)

    assert listed
    assert refused
    assert set(re.findall(r'"(\w+)"', refused[1])) == set(listed[1].split())


def test_notes_tell_the_next_step(tmp_path: Path) -> None:
    """Only an installation prints them, so they are rendered as an object's text."""
    chart = shutil.copytree(CHART, tmp_path / "pegboard")
    (chart / "templates" / "NOTES.txt").rename(chart / "NOTES")
    (chart / "templates" / "notes.yaml").write_text(
        'notes: {{ tpl (.Files.Get "NOTES") . | toJson }}'
    )

    (told,) = (one["notes"] for one in _rendered(chart=chart) if "notes" in one)

    assert "logs job/pegboard-set-up" in told
    assert "Programs of MCP servers do not start yet" in told


def _rendered(*options: str, chart: Path = CHART) -> list[dict[str, Any]]:
    done = _helm("template", *options, chart=chart)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.load_all(done.stdout, yaml.CSafeLoader) if one]


def _containers(objects: list[dict[str, Any]]) -> Iterator[Container]:
    for one in objects:
        template = one.get("spec", {}).get("jobTemplate", one).get("spec", {}).get("template")
        if template:
            pod = template["spec"]
            for spec in [*pod.get("initContainers", ()), *pod["containers"]]:
                yield Container(pod, spec)


def _helm(command: str, *options: str, chart: Path = CHART) -> subprocess.CompletedProcess[str]:
    """Run helm on the chart; whoever it asked on the network would not be there."""
    release = [] if command == "lint" else ["pegboard"]
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:1", "KUBECONFIG": "/dev/null"}
    return subprocess.run(  # noqa: S603 - of our tests' packages
        [HELM, command, *release, chart, *options],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": "/nonexistent", "PATH": "/usr/bin", **nowhere},
    )
