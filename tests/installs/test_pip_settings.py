"""pip's settings as uv's variables, and the Python and the wheels that fit a package."""

import sys
from pathlib import Path

import pytest
from packaging.tags import platform_tags

from marketplace.installs.packages._python_versions import find_python
from marketplace.installs.packages._uv_client import choose_wheels, find_release
from marketplace.installs.packages.client import has_index, uv_variables
from marketplace.installs.packages.result import PackageProblemError

SYSTEM = """
[global]
index-url = https://system.example/simple
extra_index_url =
    https://a.example/simple
    https://b.example/simple
[install]
find-links = /opt/wheels /opt/more
[wheel]
index-url = https://canary.example
"""
OWN = "[global]\nindex-url = https://own.example/simple\ncert = /etc/own.pem\nno-index = true\n"


def test_uv_gets_the_index_that_pip_would_use(tmp_path: Path) -> None:
    system, own = tmp_path / "system.conf", tmp_path / "own.conf"
    system.write_text(SYSTEM)
    own.write_text(OWN)
    environment = {"PIP_CONFIG_FILE": str(own), "PIP_TRUSTED_HOST": "c.example  d.example"}

    found = uv_variables(environment, system_file=system)

    assert found == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "true",
        "UV_DEFAULT_INDEX": "https://own.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_FIND_LINKS": "/opt/wheels,/opt/more",
        "UV_INSECURE_HOST": "c.example d.example",
        "SSL_CERT_FILE": "/etc/own.pem",
    }
    assert not has_index(environment, system_file=system)
    assert has_index({**environment, "PIP_NO_INDEX": "0"}, system_file=system)
    own.write_text("no section\n\0")
    variable = {**environment, "PIP_INDEX_URL": "https://v.example"}
    assert uv_variables(variable, system_file=system)["UV_DEFAULT_INDEX"] == "https://v.example"


NATIVE = next(platform_tags())


def lock(*files: str, more: str = "") -> str:
    wheels = ", ".join(
        f'{{ url = "https://x.example/{name}", hashes = {{ sha256 = "{at}" }} }}'
        for at, name in enumerate(files)
    )
    return f'[[packages]]\nname = "a"\nversion = "1"\nwheels = [{wheels}]\n{more}'


@pytest.mark.parametrize(
    ("files", "python", "chosen"),
    [
        (("a-1-py3-none-any.whl", f"a-1-cp311-cp311-{NATIVE}.whl"), (3, 11), "1"),
        (("a-1-py3-none-any.whl", f"a-1-cp311-cp311-{NATIVE}.whl"), (3, 13), "0"),
        ((f"a-1-cp38-abi3-{NATIVE}.whl", "a-1-py3-none-any.whl"), (3, 13), "0"),
        (("a-1-cp311-cp311-win_amd64.whl", "a-1-py2.py3-none-any.whl", "a-1.zip"), (3, 11), "1"),
    ],
)
def test_the_wheel_that_fits_best_is_chosen(
    files: tuple[str, ...], python: tuple[int, int], chosen: str
) -> None:
    [wheel] = choose_wheels(lock(*files), python)

    assert wheel.digest == f"sha256:{chosen}"


@pytest.mark.parametrize(
    ("resolution", "code"),
    [
        (lock("a-1-cp311-cp311-win_amd64.whl"), "package_not_found"),
        (lock("a-1-py3-none-any.whl", more='vcs = { type = "git" }'), "package_not_held"),
        (lock("a-1-py3-none-any.whl", more='archive = { url = "https://x" }'), "package_not_held"),
        ("[[packages]]\nname = 'a'\nversion = '1'\nwheels = [1]", "package_failed"),
        ("[[packages]]\nversion = '1'", "package_failed"),
        ("no toml", "package_failed"),
    ],
)
def test_what_cannot_be_held_or_read_is_refused(resolution: str, code: str) -> None:
    with pytest.raises(PackageProblemError) as problem:
        choose_wheels(resolution, (3, 11))

    assert problem.value.code == code


def test_release_of_a_package_is_when_its_first_file_was_uploaded() -> None:
    wheels = ", ".join(
        f'{{ name = "{name}", upload-time = {at}, hashes = {{ sha256 = "1" }} }}'
        for name, at in (("b.whl", "2025-04-02T10:00:00Z"), ("a.whl", "2025-04-01T10:00:00Z"))
    )
    told = f'[[packages]]\nname = "my-server"\nversion = "1"\nwheels = [{wheels}]'

    found = find_release(told, "My_Server")

    assert found is not None
    assert f"{found:%d %H}" == "01 10"
    assert find_release(told, "other") is None
    assert find_release(lock("a-1-py3-none-any.whl"), "a") is None
    assert find_release("no toml", "a") is None


def test_a_package_gets_the_oldest_python_here_that_it_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pass over a shim that leads nowhere, and show a cell the program itself."""
    for name, text in (
        ("python3.14", f"echo 3 14 2 {tmp_path}/python3.14"),
        ("python3.13", f"echo 3 13 1 {tmp_path}/real"),
        ("python3.12", "echo command not found >&2; exit 127"),
        ("real", ""),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    monkeypatch.setattr(sys, "version_info", (3, 11, 7, "final", 0))

    assert find_python("") == find_python(">=3.8") == sys.executable
    assert find_python(">=3.12") == f"{tmp_path}/real"
    assert find_python("==3.14.*") == f"{tmp_path}/python3.14"
    assert find_python(">=3.99") is None
    assert find_python("not a version") is None
