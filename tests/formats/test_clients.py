"""Configurations, commands and links of clients: each of its spellings gives the same servers."""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import NotAPackageError, parse_package
from discovery.mcp.connect import CLIENTS, AssistantClient, ClientAddress
from marketplace.additions.recognition import NotRecognisedError, recognise
from tests.examples import EXAMPLES_OF_TEXTS

Servers = dict[str, dict[str, Any]]
ADDRESS = "https://pegboard.example/mcp"
KEY = "x1y2z3w4"


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.slug)
def test_what_pegboard_writes_for_a_client_it_reads(client: AssistantClient, by_key: bool) -> None:
    setup = client.set_up(ClientAddress("house", ADDRESS, by_key))

    for text in filter(None, (setup.text, setup.link)):
        read = recognise(text)
        if read.address:
            assert read.address == ADDRESS
            continue
        [server] = read.servers
        assert (server.slug, server.endpoint, server.transport) == ("house", ADDRESS, "http")
        headers = server.source_ref.get("headers", {})
        assert set(headers) == ({"Authorization"} if by_key else set())
        assert len(server.required_secrets) == by_key


def local(value: dict[str, Any], **names: str) -> dict[str, Any]:
    """Return a server with the names that a client has for its fields."""
    return {names.get(key, key): inner for key, inner in value.items()}


def zed(servers: Servers) -> str:
    old = {
        name: {"command": {"path": s["command"], "args": s["args"], "env": s["env"]}}
        if "command" in s
        else s
        for name, s in servers.items()
    }
    return json.dumps({"theme": "One", "context_servers": old})


def opencode(servers: Servers) -> str:
    entries = {
        name: {"type": "local", "command": [s["command"], *s["args"]], "environment": s["env"]}
        if "command" in s
        else {"type": "remote", **s}
        for name, s in servers.items()
    }
    return json.dumps({"$schema": "https://opencode.ai/config.json", "mcp": entries})


def codex(servers: Servers) -> str:
    lines = ['model = "gpt"', ""]
    for name, server in servers.items():
        plain = local(server, headers="http_headers")
        tables = {key: value for key, value in plain.items() if isinstance(value, dict)}
        lines.append(f"[mcp_servers.{name}]")
        lines += [f"{key} = {json.dumps(v)}" for key, v in plain.items() if key not in tables]
        for key, value in tables.items():
            lines.append(f"[mcp_servers.{name}.{key}]")
            lines += [f"{json.dumps(inner)} = {json.dumps(text)}" for inner, text in value.items()]
    return "\n".join(lines)


def as_list(servers: Servers) -> list[dict[str, Any]]:
    return [{"name": name, **server} for name, server in servers.items()]


def goose(servers: Servers) -> str:
    extensions = {
        name: {"enabled": True, "type": "stdio", **local(s, command="cmd", env="envs", url="uri")}
        for name, s in servers.items()
    }
    return as_yaml({"extensions": extensions})


def with_comments(servers: Servers) -> str:
    text = json.dumps({"servers": servers}, indent=2)
    commas = re.sub(r'(["\]}0-9])\n', r"\1, // see https://example.org, {ours}\n", text)
    return f"// ours\n{commas} /* the end, */"


def as_yaml(value: Any) -> str:
    return yaml.safe_dump(json.loads(json.dumps(value)))  # without aliases


# How each client writes down the same servers.
WRITERS: dict[str, Callable[[Servers], str]] = {
    "claude": lambda servers: json.dumps({"mcpServers": servers}),
    "claude, by project": lambda s: json.dumps({"projects": {"/srv/a.b": {"mcpServers": s}}}),
    "vs code": with_comments,
    "vs code's settings": lambda servers: json.dumps({"mcp": {"servers": servers, "inputs": []}}),
    "dev container": lambda s: json.dumps({"customizations": {"vscode": {"mcp": {"servers": s}}}}),
    "flat settings": lambda servers: json.dumps({"mcp.servers": servers}),
    "amp": lambda servers: json.dumps({"amp.mcpServers": servers, "amp.url": "https://a.example"}),
    "zed": zed,
    "opencode": opencode,
    "codex": codex,
    "goose": goose,
    "continue": lambda servers: as_yaml({"name": "a", "mcpServers": as_list(servers)}),
    "old continue": lambda servers: json.dumps(
        {
            "experimental": {
                "modelContextProtocolServers": [
                    {"name": name, "transport": s} for name, s in servers.items()
                ]
            }
        }
    ),
    "windsurf": lambda servers: json.dumps(
        {"mcpServers": {name: local(s, url="serverUrl") for name, s in servers.items()}}
    ),
    "gemini": lambda servers: json.dumps(
        {"mcpServers": {name: local(s, url="httpUrl") for name, s in servers.items()}}
    ),
    "litellm": lambda servers: as_yaml({"model_list": [], "mcp_servers": servers}),
    "librechat": lambda servers: as_yaml({"version": "1.2", "mcpServers": servers}),
    "contextforge": lambda s: json.dumps({"entities": {"gateways": as_list(s), "tools": []}}),
    "bare": json.dumps,
    "one text as a command": lambda servers: json.dumps(
        {
            "mcpServers": {
                name: {**s, "command": " ".join((s["command"], *s["args"])), "args": []}
                if "command" in s
                else s
                for name, s in servers.items()
            }
        }
    ),
    "for windows": lambda servers: json.dumps(
        {
            "mcpServers": {
                name: {**s, "command": "cmd", "args": ["/c", s["command"], *s["args"]]}
                if "command" in s
                else s
                for name, s in servers.items()
            }
        }
    ),
}
WRAPPINGS: tuple[Callable[[str], str], ...] = (
    str,
    "\ufeff{}".format,
    "\r\n  {}\n".format,
    "```json\n{}\n```".format,
    "~~~\n{}\n~~~\n".format,
)
NAMES = st.sampled_from(["clock", "notes", "web", "maps", "files", "mail"])
PROGRAMS = st.fixed_dictionaries(
    {
        "command": st.sampled_from(["uvx", "npx", "docker"]),
        "args": st.lists(st.sampled_from(["-y", "mcp-server-time", "--fast", "x/y:1"]), max_size=3),
        "env": st.dictionaries(
            st.sampled_from(["API_KEY", "GITHUB_TOKEN", "DB_PASSWORD"]),
            st.just("s3cret"),
            max_size=2,
        ),
    }
)
REMOTES = st.fixed_dictionaries(
    {"url": st.sampled_from(["https://a.example/mcp", "http://b.example:8080/x/mcp"])},
    optional={"headers": st.just({"X-Api-Key": "${MY_KEY}", "X-Client": "us"})},
)
SERVERS = st.dictionaries(NAMES, PROGRAMS | REMOTES, min_size=1, max_size=3)


def meaning(server: IntegrationDescriptor) -> tuple[Any, ...]:
    secrets, headers = set(server.required_secrets), server.source_ref.get("headers", {})
    return server.slug, server.transport, server.endpoint, server.command, secrets, headers


@pytest.mark.parametrize("client", WRITERS)
@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(servers=SERVERS, wrap=st.sampled_from(WRAPPINGS))
def test_servers_are_the_same_however_a_client_writes_them(
    client: str, servers: Servers, wrap: Callable[[str], str]
) -> None:
    expected = recognise(json.dumps({"mcpServers": servers}))
    read = recognise(wrap(WRITERS[client](servers)))

    assert sorted(map(meaning, read.servers), key=str) == sorted(
        map(meaning, expected.servers), key=str
    )
    assert "s3cret" not in repr(read)
    assert {server.slug for server in read.servers} == set(servers)


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(name=NAMES, server=PROGRAMS | REMOTES)
def test_commands_and_links_give_the_same_server(name: str, server: dict[str, Any]) -> None:
    [expected] = recognise(json.dumps({"mcpServers": {name: server}})).servers
    packed = json.dumps({"name": name, **server})
    config = b64encode(json.dumps(server).encode()).decode()
    inner = f"vscode:mcp/install?{quote(packed, safe='')}"
    query = urlencode({"name": name, "config": config})
    texts = [
        f"code --add-mcp '{packed}'",
        f"claude mcp add-json {name} '{json.dumps(server)}'",
        inner,
        f"cursor://anysphere.cursor-deeplink/mcp/install?{query}",
        f"https://cursor.com/install-mcp?{query}",
        f"lmstudio://add_mcp?{query}",
        f"https://insiders.vscode.dev/redirect?url={quote(inner, safe='')}",
        "https://vscode.dev/redirect/mcp/install?"
        + urlencode({"name": name, "config": json.dumps(server)}),
    ]
    if "command" in server:
        variables = " ".join(f"-e {key}={value}" for key, value in server["env"].items())
        words = " ".join((server["command"], *server["args"]))
        programs = ("claude", "codex", "amp", "gemini", "qwen")
        texts += [f"{program} mcp add {name} {variables} -- {words}" for program in programs]
    else:
        headers = [f"--header '{key}: {text}'" for key, text in server.get("headers", {}).items()]
        more = " ".join(headers)
        texts += [f"claude mcp add --transport http {name} {server['url']} {more}"]
        texts += [f"$ claude mcp add -s user -t http \\\n {more} {name} \\\n {server['url']}"]
        if not headers:
            texts += [f"codex mcp add {name} --url {server['url']}"]
        texts += [
            json.dumps({name: {"command": "npx", "args": ["-y", "mcp-remote", server["url"]]}})
        ]
        if headers:
            texts.pop()

    for text in texts:
        [read] = recognise(text).servers
        assert meaning(read) == meaning(expected), text


def test_bridge_is_the_address_that_it_leads_to() -> None:
    for bridge in ("mcp-remote", "mcp-remote@latest", "mcp-remote@0.1.18"):
        words = ["-y", bridge, ADDRESS, "--header", "Authorization:${AUTH}", "--allow-http"]
        config = {"command": "npx", "args": words, "env": {"AUTH": "Bearer s3cret"}}
        [server] = recognise(json.dumps({"house": config})).servers

        assert (server.endpoint, server.required_secrets) == (ADDRESS, ("AUTH",))
        assert server.source_ref["headers"] == {"Authorization": "Bearer ${AUTH}"}
    [proxied] = recognise(f"uvx mcp-proxy {ADDRESS}").servers
    [other] = recognise("npx -y mcp-remote-files /srv").servers
    assert (proxied.endpoint, other.endpoint) == (ADDRESS, "")


def test_prompts_defaults_and_choices_of_inputs_are_those_of_variables() -> None:
    inputs = [
        {"id": "key", "type": "promptString", "description": "Your key", "password": True},
        {"id": "place", "type": "pickString", "description": "Where", "options": ["eu", "us"],
         "default": "eu", "password": False},
    ]  # fmt: skip
    server = {
        "url": "https://${input:place}.example/mcp?v=${VERSION:-2}",
        "headers": {"X-Key": "${input:key}", "X-Other": "${env:OTHER_TOKEN:-s3cret}"},
    }
    [read] = recognise(json.dumps({"inputs": inputs, "servers": {"a": server}})).servers
    variables = {variable["name"]: variable for variable in read.source_ref["variables"]}

    assert set(read.required_secrets) == {"key", "OTHER_TOKEN"}
    assert (variables["key"]["description"], variables["key"]["secret"]) == ("Your key", True)
    assert (variables["place"]["default"], variables["place"]["choices"]) == ("eu", ["eu", "us"])
    assert variables["VERSION"]["default"] == "2"
    assert "s3cret" not in repr(read)


def test_what_is_not_taken_is_told_with_line_field_and_reason() -> None:
    server = {
        "url": "https://a.example/mcp",
        "timeout": 30,
        "cwd": "/home/me",
        "envFile": ".env",
        "oauth": {"clientId": "a"},
        "allowed_tools": ["read"],
        "disabled": True,
        "colour": "red",
    }
    text = json.dumps({"mcpServers": {"a": server, "b": {}, "c": "no"}}, indent=1)

    read = recognise(text)

    lines = text.splitlines()
    assert {defect.field for defect in read.left_out} == {
        *(f"a.{field}" for field in server if field != "url"),
        *("b", "c"),
    }
    for defect in read.left_out:
        assert f'"{defect.field.rpartition(".")[2]}"' in lines[defect.line - 1]
        assert defect.reason
        assert str(defect) == f"pasted: {defect.field}: {defect.reason} (line {defect.line})"


def test_two_keys_of_one_file_are_both_read() -> None:
    first, second = {"url": "https://a.example/mcp"}, {"url": "https://b.example/mcp"}
    text = json.dumps(
        {"mcpServers": {"a": first, "c": first}, "servers": {"b": second, "c": second, "a": first}}
    )

    read = recognise(text)

    assert [(s.slug, s.endpoint[8]) for s in read.servers] == [("a", "a"), ("c", "a"), ("b", "b")]
    assert [str(defect) for defect in read.left_out] == [
        "pasted: c: is there twice; the first is read (line 1)"
    ]


LITELLM = """
model_list: [{model_name: a, litellm_params: {model: b, api_key: os.environ/MODEL_KEY}}]
mcp_servers:
  github:
    url: https://a.example/mcp
    auth_type: bearer_token
    auth_value: os.environ/GITHUB_TOKEN
    allowed_tools: [list_issues]
    access_groups: [developers]
  signed:
    url: https://b.example/mcp
    auth_type: oauth2
    client_id: os.environ/ID
  pets: {url: https://c.example/v2, spec_path: /pets.json}
"""
OPEN_WEBUI = json.dumps(
    [
        {"type": "openapi", "url": "https://t.example", "path": "openapi.json", "auth_type": "none",
         "config": {"enable": True}, "info": {"id": "time", "name": "Time"}},
        {"type": "mcp", "url": "https://m.example/mcp", "auth_type": "bearer", "key": "s3cret",
         "config": {"enable": False, "access_control": {"read": {"group_ids": ["g1"]}}},
         "info": {"id": "docs", "name": "Docs"}},
    ]
)  # fmt: skip
LIBRECHAT = """
version: 1.2.8
mcpServers:
  music:
    type: streamable-http
    url: https://s.example/mcp
    headers: {X-User: "{{LIBRECHAT_USER_ID}}", Authorization: "Bearer {{MUSIC_KEY}}"}
    customUserVars: {MUSIC_KEY: {title: Key, description: Your own key}}
    startup: false
"""
CONTEXTFORGE = json.dumps(
    {"version": "1", "entities": {
        "tools": [{"name": "t"}],
        "gateways": [{"name": "Gate", "url": "https://g.example/sse", "transport": "SSE",
                      "auth_type": "bearer", "auth_value": "s3cret", "team_id": "t1"}]}}
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "servers", "told"),
    [
        (LITELLM, {"github": ("GITHUB_TOKEN",), "signed": ()},
         {"github.allowed_tools": "list_issues", "github.access_groups": "developers",
          "signed.client_id": "sign-in", "pets": "OpenAPI"}),
        (OPEN_WEBUI, {"docs": ("TOKEN",)},
         {"Time": "OpenAPI", "Docs.disabled": "off", "Docs.access_control": "g1"}),
        (LIBRECHAT, {"music": ("MUSIC_KEY",)}, {"music.headers": "person of the client"}),
        (CONTEXTFORGE, {"gate": ("TOKEN",)}, {"entities.tools": "1 entries", "Gate.team_id": "t1"}),
    ],
)  # fmt: skip
def test_other_products_give_their_servers_and_say_who_may_use_them(
    text: str, servers: dict[str, tuple[str, ...]], told: dict[str, str]
) -> None:
    read = recognise(text)

    assert {server.slug: server.required_secrets for server in read.servers} == servers
    reasons = {defect.field: defect.reason for defect in read.left_out}
    assert set(reasons) == set(told)
    assert all(words in reasons[field] for field, words in told.items())
    assert "s3cret" not in repr(read)


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"apiKey": {"source": "user", "authorization_type": "bearer"}},
         {"Authorization": "Bearer ${TOKEN}"}),
        ({"auth_type": "authorization", "auth_value": "os.environ/A"}, {"Authorization": "${A}"}),
        ({"auth_type": "bearer_token", "auth_value": "os.environ/A"},
         {"Authorization": "Bearer ${A}"}),
        ({"auth_type": "authheaders", "auth_headers": [{"key": "X-A", "value": "${K}"}]},
         {"X-A": "${K}"}),
    ],
)  # fmt: skip
def test_credentials_are_headers_however_a_product_says_them(
    fields: dict[str, Any], headers: dict[str, str]
) -> None:
    [server] = recognise(json.dumps({"mcpServers": {"a": {"url": ADDRESS, **fields}}})).servers

    assert server.source_ref["headers"] == headers
    assert len(server.required_secrets) == 1


def test_what_a_client_fills_in_for_its_people_is_told() -> None:
    environment = {"USER_ID": "{{LIBRECHAT_USER_ID}}", "API_KEY": "${API_KEY}"}
    config = {"mcpServers": {"a": {"command": "npx", "args": ["b"], "env": environment}}}

    read = recognise(json.dumps(config))

    assert read.servers[0].required_secrets == ("API_KEY",)
    assert [defect.field for defect in read.left_out] == ["a.USER_ID"]


NAMES = st.from_regex(r"[a-z]{3,8}-[a-z]{3,8}", fullmatch=True)
ENVIRONMENTS = st.dictionaries(
    st.sampled_from(("MODE", "REGION", "LEVEL", "FORMAT")), st.sampled_from(("fast", "eu", "7"))
)
# Programs around a launch: none of them changes which package starts.
AROUND = {
    "plain": "{}",
    "sudo": "sudo {}",
    "prompt": "$ {}  # it's the newest",
    "powershell": "PS C:\\Users\\ada> {}",
    "shell": "ada@host:~/src$ {}",
    "keeper": "op run --env-file=.env -- {}",
    "doppler": "doppler run -- {}",
    "inspector": "npx @modelcontextprotocol/inspector {}",
    "port": "uvx mcpo --port 8000 -- {}",
    "gateway": "npx -y supergateway --stdio '{}'",
    "block": "# First\ncd /srv/x\n{}\nclaude mcp list",
    "chat": "Use this:\n\n```bash\n{}\n```\n\nThen restart.",
    "claude": "claude mcp add it -s user -- {}",
    "droid": 'droid mcp add it "{}"',
    "export": "export MODE=fast; {}",
    "set": "set MODE=fast && {}",
    "file of variables": "MODE=fast\n{}",
    "variable of PowerShell": '$env:MODE = "fast"\n{}',
    "shell of Windows": "C:\\Windows\\System32\\cmd.exe /c {}",
    "login shell": "bash -lc 'cd /srv/x && MODE=fast {}'",
    "PowerShell": 'powershell -NoProfile -Command "{}"',
    "Linux on Windows": "wsl.exe bash -c '{}'",
    "background": "{} > /dev/null 2>&1 &",
    "log": "{} 2>&1 | tee log",
    "installer": "npx add-mcp '{}' --name it --client cursor",
    "typeset": "claude mcp add it \u2014scope user \u2013e MODE=fast -- {}",
    "goose": "goose session --with-extension '{}'",
    "goose with a variable": "goose session --with-extension 'MODE=fast {}'",
    "mise": "mise x node@22 -- {}",
    "nvm": "nvm exec 20 {}",
    "conda": "conda run -n tools {}",
    "file of secrets": "npx dotenv -e .env -- {}",
    "port without a sign": "uvx mcp-proxy --port=8080 {}",
}
SAME_LAUNCHERS = {
    "npx": (
        "npx -y {}",
        "bunx {}",
        "pnpm dlx {}",
        "yarn dlx {}",
        "npm exec -- {}",
        "npx -q --yes {}",
        "npm exec --yes {} -- --fast",
        "deno run -A npm:{}",
        "npx --node-options=--no-warnings {}",
    ),
    "uvx": (
        "uvx {}",
        "uv tool run {}",
        "pipx run {}",
        "uvx --from {0} {0}.exe",
        "uvx -q --refresh {}",
        "uvx --prerelease allow -p 3.12 {}",
        "uvx {}==1.*",
        "uv run --with {0} {0}",
        "uv run --with {} python -m weather_tool",
    ),
}
LAUNCHES = [
    (around, program, launcher)
    for around in AROUND
    for program, launchers in SAME_LAUNCHERS.items()
    for launcher in launchers
]


@pytest.mark.parametrize(("around", "program", "launcher"), LAUNCHES)
def test_launch_is_found_whatever_is_around_it(around: str, program: str, launcher: str) -> None:
    text = AROUND[around].format(launcher.format("weather-tool"))

    [server] = recognise(text).servers

    package = parse_package(server.command)
    assert package is not None
    assert (package.name, server.command[0]) == ("weather-tool", program)
    assert server.slug in ("weather-tool", "it")


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=NAMES, environment=ENVIRONMENTS, secret=st.from_regex(r"[a-z0-9]{12,20}", fullmatch=True)
)
def test_variables_of_a_container_are_passed_on_by_name(
    name: str, environment: dict[str, str], secret: str
) -> None:
    words = " ".join(f"-e {key}={value}" for key, value in environment.items())
    text = f"docker run -d -t --name x -p 80:80 {words} -eAPI_TOKEN={secret} acme/{name}:1"

    read = recognise(text)

    [server] = read.servers
    defaults = {v["name"]: v.get("default") for v in server.source_ref.get("variables", [])}
    assert defaults == {**environment, "API_TOKEN": None} or not environment
    assert server.required_secrets == ("API_TOKEN",)
    assert secret not in str(read)
    assert server.slug == name
    passed = [word for name_of in (*environment, "API_TOKEN") for word in ("-e", name_of)]
    assert server.command == ("docker", "run", "-i", *passed, f"acme/{name}:1")
    reasons = " ".join(defect.reason for defect in read.left_out)
    assert all(f"has {option}," in reasons for option in ("-d", "-t", "--name", "-p"))


OPTIONS_OF_CONTAINERS = st.lists(
    st.sampled_from(("--gpus all", "--log-driver none", "-a stdin", "--shm-size 1g", "-itd", "-q")),
    unique=True,
)


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=NAMES,
    options=OPTIONS_OF_CONTAINERS,
    engine=st.sampled_from(("docker run", "docker container run", "nerdctl run", "podman run")),
)
def test_image_is_found_behind_options_with_values(
    name: str, options: list[str], engine: str
) -> None:
    [server] = recognise(f"{engine} -i {' '.join(options)} acme/{name}:1 --fast").servers

    assert server.slug == name
    assert server.command[-2:] == (f"acme/{name}:1", "--fast")
    assert server.command.count("-i") == 1 + ("-itd" in options)


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    package=st.sampled_from(("httpx==0.28.1", "mcp<2", "pandas[excel]>=2,<3")),
    program=st.sampled_from(("", "weather-cli")),
)
def test_packages_that_a_launch_adds_are_installed_with_it(package: str, program: str) -> None:
    start = f"--from weather-tool {program}" if program else "weather-tool"

    [server] = recognise(f'uvx --with "{package}" {start}').servers

    launch = parse_package(server.command)
    assert launch is not None
    assert (launch.name, launch.program, launch.companions) == ("weather-tool", program, (package,))
    assert launch.at("1.0").command()[:3] == ("uvx", "--with", package)


NO_SERVERS = {
    "another manager": ("cargo install {}", "brew install {}", "gem install {}", "nix run x#{}"),
    "packages of PyPI": ("curl -fsSL https://a.example/{}.sh | bash", "composer require a/{}"),
    "folder or a program": (
        *("git clone https://a.example/{}", "pip install -e ./{}", "poetry run {}", "npm start"),
        *(
            "npx tsx {}.ts",
            "fastmcp run {}.py",
            "uv run --with mcp mcp run {}.py",
            "/opt/{} --fast",
        ),
        *("docker build -t {} .", "docker exec -i {} mcp", "ssh {} mcp", "cargo run --release"),
    ),
    "list of its own": ("mcpm install {}", "docker mcp server enable {}", "opencode mcp add {}"),
    "plugin or skills": (
        *("/plugin install {}@a", "claude plugin install {}", "npx -y skills add a/{}"),
        *("gemini extensions install https://a.example/{}", "code --install-extension a.{}"),
    ),
    "the file's content": ("docker compose up {}", "claude --mcp-config ./{}.json"),
}


@pytest.mark.parametrize(
    ("sentence", "command"),
    [
        ("packages of PyPI" if sentence == "another manager" else sentence, command)
        for sentence, commands in NO_SERVERS.items()
        for command in commands
    ],
)
def test_command_that_starts_no_server_says_what_can_be_added(sentence: str, command: str) -> None:
    with pytest.raises(NotRecognisedError, match=sentence):
        recognise(command.format("weather"))


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=NAMES,
    around=st.sampled_from(("npx -y @smithery/cli@latest", "npx @smithery/cli", "smithery")),
    verb=st.sampled_from(("install", "run", "mcp add")),
)
def test_installation_from_a_list_is_the_launch_that_it_writes(
    name: str, around: str, verb: str
) -> None:
    text = f"{around} {verb} @acme/{name} --client claude --key {KEY}{KEY} --profile it"

    read = recognise(text)

    [server] = read.servers
    assert server.slug == name
    launch = f"npx -y @smithery/cli run @acme/{name} --key ${{KEY}} --profile it"
    assert " ".join(server.command) == launch
    assert server.required_secrets == ("KEY",)
    assert KEY not in str(read)


@pytest.mark.parametrize(
    "package",
    [
        "git+https://a.example/weather",
        "github:acme/weather",
        "acme/weather",
        "./weather",
        "./w.whl",
    ],
)
def test_package_from_elsewhere_says_that_indexes_count(package: str) -> None:
    for launcher in ("uvx", "npx -y"):
        [server] = recognise(f"{launcher} {package}").servers

        with pytest.raises(NotAPackageError, match="no package of PyPI or npm"):
            parse_package(server.command)


WRITTEN = (
    "{}", "<{}>", '"{}"', "`{}`", "[Weather]({})", "URL: {}", "{}.", "Server address: {},",
    "curl {}", "npx add-mcp {}", "npx @modelcontextprotocol/inspector --url {}",
)  # fmt: skip


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(
    "address", ["https://weather.example.com/v2/mcp", "https://weather.example.com/mcp?a=b"]
)
def test_address_is_read_as_it_stands_in_a_text(written: str, address: str) -> None:
    read = recognise(written.format(address))

    assert (read.address or read.servers[0].endpoint) == address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("weather.example.com/mcp", "https://weather.example.com/mcp"),
        ("localhost:8000/mcp", "http://localhost:8000/mcp"),
        ("192.168.1.7:8000", "http://192.168.1.7:8000"),
    ],
)
def test_address_needs_no_scheme(text: str, address: str) -> None:
    assert recognise(text).address == address


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("https://www.npmjs.com/package/@acme/weather/v/1.2.3", "npx @acme/weather@1.2.3"),
        ("https://pypi.org/project/weather-tool/", "uvx weather-tool"),
        ("https://hub.docker.com/mcp/server/weather/overview", "docker run -i --rm mcp/weather"),
        ("ghcr.io/acme/weather:1", "docker run -i --rm ghcr.io/acme/weather:1"),
        ("acme/weather:1.2", "docker run -i --rm acme/weather:1.2"),
    ],
)
def test_page_or_name_of_a_package_is_its_launch(text: str, command: str) -> None:
    [server] = recognise(text).servers

    assert " ".join(server.command) == command
    assert server.slug == "weather" or server.slug == "weather-tool"


TIME = "{command: uvx, args: [mcp-server-time]}"
CMD = "{cmd: uvx, args: [mcp-server-time]}"
PLAIN = '{"command": "uvx", "args": ["mcp-server-time"]}'
ABOUT = '"name": "it", "description": "About it."'
ONE = '"clock": {"command": "uvx", "args": ["mcp-server-time"]}'
MORE = f'"mcpServers": {{{ONE}}}'
SPELLINGS = {
    "elisions": f'{{"other": {{ ... }}, "mcpServers": {{{ONE}, ...}}, ...more fields...}}',
    "JavaScript": "{mcpServers: {clock: {command: 'uvx', args: ['mcp-server-time'],},},}",
    "Python": "{'mcpServers': {'clock': {'command': 'uvx', 'args': ['mcp-server-time']}}}",
    "list of maps": f'"context_servers": [{ONE}],',
    "front matter": f"---\nname: it\nmcpServers:\n  - clock: {TIME}\n---\n# It",
    "agent": f'{{"$schema": "https://x.example/agent-v1.json", {ABOUT}, {MORE}}}',
    "plugin of the same name": f'{{"name": "clock", "description": "D", {MORE}}}',
    "plugin": f'{{{ABOUT}, "repository": {{"type": "git", "url": "https://x.example"}}, {MORE}}}',
    "as a text": '{"mcpServers": {"clock": "uvx mcp-server-time"}}',
    "as words": '{"mcpServers": {"clock": ["uvx", "mcp-server-time"]}}',
    "one line": f"clock: {TIME}",
    "twice the same": f'{{"a": 1, "a": 1, {MORE}}}',
    "inline table": 'mcp_servers = {clock = {command = "uvx", args = ["mcp-server-time"]}}',
    "dotted keys": 'mcp_servers.clock.command = "uvx"\n'
    'mcp_servers.clock.args = ["mcp-server-time"]',
    "recipe": f'{{"title": "T", {ABOUT}, "extensions": [{{"name": "clock", {PLAIN[1:]}]}}',
    "resource": f"apiVersion: v1\nkind: MCPServer\nmetadata: {{name: clock}}\nspec: {CMD}",
    "two resources": f"kind: A\n---\napiVersion: v1\nkind: MCPServer\nmetadata: {{name: clock}}\n"
    f"spec: {{deployment: {CMD}}}",
    "targets": f"binds:\n- listeners:\n  - routes: [{{backends: [{{mcp: {{targets: "
    f"[{{name: clock, stdio: {CMD}}}]}}}}]}}]",
    "node": json.dumps(
        {
            "nodes": [
                {
                    "name": "clock",
                    "data": {"name": "customMCP", "inputs": {"mcpServerConfig": PLAIN}},
                }
            ]
        }
    ),
    "switches": f"interface:\n  mcpServers: {{use: true}}\nmcpServers:\n  clock: {TIME}",
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_configurations_give_the_same_server(text: str) -> None:
    [server] = recognise(text).servers

    assert (server.slug, server.command) == ("clock", ("uvx", "mcp-server-time"))


@pytest.mark.parametrize(
    "request_",
    [
        {
            "mcp_servers": [
                {"type": "url", "name": "web", "url": ADDRESS, "authorization_token": KEY}
            ],
            "tools": [{"type": "mcp_toolset", "mcp_server_name": "web"}],
        },
        {
            "tools": [
                {"type": "web_search"},
                {
                    "type": "mcp",
                    "server_label": "web",
                    "server_url": ADDRESS,
                    "headers": {"Authorization": f"Bearer {KEY}"},
                    "require_approval": "never",
                },
            ]
        },
    ],
)
def test_servers_of_a_request_to_a_model_are_read(request_: dict[str, Any]) -> None:
    read = recognise(json.dumps(request_))

    [server] = read.servers
    assert (server.slug, server.endpoint) == ("web", ADDRESS)
    assert set(server.source_ref["headers"]) == {"Authorization"}
    assert KEY not in str(read)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "it", "description": "D", "mcpServers": "./.mcp.json"}', "names another file"),
        ("a\nb\nnpx -y weather\nc", "does not recognise"),
        ('{"mcpServers": {"a": {"url": "x", "url": "y"}}}', "occurs twice"),
        ('{"name": "it", "description": "D", "skills": ["x"]}', "extension"),
    ],
)
def test_what_is_no_server_says_what_it_is(text: str, reason: str) -> None:
    with pytest.raises(NotRecognisedError, match=reason):
        recognise(text)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("uvx --python 3.12 --with httpx acme-weather", "acme-weather"),
        ("docker run -i mcr.example/weather/mcp --port 80", "weather"),
        ("python -m acme_weather.server --port 80", "acme_weather"),
        ("node /srv/weather/build/index.js --port 80", "weather"),
        ("uv --directory /srv/weather run server.py", "weather"),
        ("docker run --platform linux/arm64 -v a:/data acme/weather:1", "weather"),
        ("npx mcp-remote https://weather.example/mcp", "weather-example"),
    ],
)
def test_names_are_not_the_values_of_options(command: str, name: str) -> None:
    [server] = recognise(command).servers

    assert server.slug == name


SECRET = st.from_regex(r"[a-z0-9]{12,20}", fullmatch=True)


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    option=st.sampled_from(["--api-key", "--token", "--github-token", "--secret"]),
    parameter=st.sampled_from(["key", "api_key", "apiKey", "tavilyApiKey", "Authorization"]),
    secret=SECRET,
    is_joined=st.booleans(),
)
def test_secret_of_an_argument_or_an_address_is_asked_for(
    option: str, parameter: str, secret: str, is_joined: bool
) -> None:
    words = [f"{option}={secret}"] if is_joined else [option, secret]
    config = {
        "program": {"command": "npx", "args": ["-y", "weather", *words]},
        "remote": {"url": f"https://a.example/mcp?a=b&{parameter}={secret}"},
    }

    program, remote = recognise(json.dumps(config)).servers

    [name] = program.required_secrets
    assert name == option.strip("-").replace("-", "_").upper()
    assert f"${{{name}}}" in program.command[-1]
    [name] = remote.required_secrets
    assert remote.endpoint == f"https://a.example/mcp?a=b&{parameter}=${{{name}}}"
    assert secret not in repr((program, remote))


@pytest.mark.parametrize(
    "text",
    [
        "Here it is:\n{}\nHave fun",
        "cat > .mcp.json <<EOF\n{}\nEOF",
        "echo '{}' > .mcp.json",
        "const config = {};",
        "\u200b{}\u200b",
    ],
)
def test_configuration_is_read_within_words(text: str) -> None:
    servers = {"mcpServers": {"web": {"url": ADDRESS}}}

    [server] = recognise(text.replace("{}", json.dumps(servers))).servers

    assert (server.slug, server.endpoint) == ("web", ADDRESS)


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(servers=SERVERS, others=SERVERS, fence=st.sampled_from(["```json\n{}\n```", "{}"]))
def test_every_block_of_a_text_is_read(servers: Servers, others: Servers, fence: str) -> None:
    texts = [
        json.dumps({key: part}) for key, part in (("mcpServers", servers), ("servers", others))
    ]
    expected = {
        (server.endpoint, server.command) for text in texts for server in recognise(text).servers
    }

    read = recognise("\n\n".join(map(fence.replace, ["{}"] * 2, texts)))

    assert {(server.endpoint, server.command) for server in read.servers} == expected


def test_commands_beside_a_configuration_are_told() -> None:
    config = json.dumps({"mcpServers": {"web": {"url": ADDRESS}}})

    read = recognise(f"Install:\n```sh\nnpm i -g web-mcp\n```\nThen:\n```json\n{config}\n```")

    assert [server.endpoint for server in read.servers] == [ADDRESS]
    assert "block 1" in str(read.left_out[0])


@pytest.mark.parametrize(
    ("first", "second"), [("GitHub", "github"), ("my server", "my-server"), ("a.b", "a b")]
)
def test_servers_whose_names_differ_little_are_both_read(first: str, second: str) -> None:
    config = {first: {"url": "https://a.example/mcp"}, second: {"url": "https://b.example/mcp"}}

    read = recognise(json.dumps({"mcpServers": config}))

    assert [server.endpoint[8] for server in read.servers] == ["a", "b"]
    assert len({server.slug for server in read.servers}) == 2
    assert not read.left_out


def packed(value: dict[str, Any], *, escaped: bool = False) -> str:
    text = json.dumps(value)
    return quote(b64encode((quote(text, safe="") if escaped else text).encode()).decode(), safe="")


WEB: dict[str, Any] = {"url": ADDRESS}
LINKS = {
    "whole configuration": f"x://mcp/install?servers={packed({'mcpServers': {'it': WEB}})}",
    "escaped twice": f"x://y/mcp/install?name=it&config={packed(WEB, escaped=True)}",
    "connector": f"https://x.example/connectors?modal=add-custom-connector&name=it&url={ADDRESS}",
    "named installer": f"npx mcp-add --type http --url {ADDRESS} --name it",
    "set": f"x mcp set it '{json.dumps(WEB)}'",
    "typographic quotes": json.dumps({"it": WEB}).replace('"', "\u201d"),
    "without its scheme": json.dumps({"it": {"url": ADDRESS.partition("://")[2]}}),
    "other key for the address": json.dumps({"it": {"baseUrl": ADDRESS, "isActive": True}}),
    "fields": f"Name: it\nURL: {ADDRESS}\nTransport: HTTP",
}


@pytest.mark.parametrize("text", LINKS.values(), ids=LINKS)
def test_address_and_name_are_read_from_each_form(text: str) -> None:
    [server] = recognise(text).servers

    assert (server.slug, server.endpoint, server.transport) == ("it", ADDRESS, "http")


def test_link_for_goose_keeps_arguments_and_variables() -> None:
    query = "cmd=npx&arg=-y&arg=%40acme%2Fweather&id=it&name=It&env=API_KEY%3DYour%20key"

    [server] = recognise(f"goose://extension?{query}").servers

    assert server.command == ("npx", "-y", "@acme/weather")
    assert server.required_secrets == ("API_KEY",)


@pytest.mark.parametrize(
    "arguments", ["-y @acme/weather --fast", ["-y", "@acme/weather", "--fast"]]
)
def test_arguments_may_be_one_text(arguments: Any) -> None:
    config = json.dumps({"it": {"command": "npx", "args": arguments}})

    [server] = recognise(config).servers

    assert server.command == ("npx", "-y", "@acme/weather", "--fast")


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    name=NAMES,
    as_list=st.booleans(),
    others=st.lists(st.sampled_from(("db", "cache", "web")), unique=True),
)
def test_services_of_a_compose_file_are_containers(
    name: str, as_list: bool, others: list[str]
) -> None:
    variables: Any = {"API_TOKEN": "${API_TOKEN}", "MODE": "fast"}
    service = {
        "image": f"ghcr.io/acme/{name}-mcp:1",
        "environment": [f"{key}={value}" for key, value in variables.items()]
        if as_list
        else variables,
        "command": ["--fast"],
        "ports": ["80:80"],
    }
    services = {name: service, "own": {"build": "./mcp"}} | {
        other: {"image": other} for other in others
    }

    read = recognise(yaml.safe_dump({"services": services}))

    [server] = read.servers
    command = f"docker run -i --rm -e API_TOKEN -e MODE ghcr.io/acme/{name}-mcp:1 --fast"
    assert (server.slug, " ".join(server.command)) == (name, command)
    assert server.required_secrets == ("API_TOKEN",)
    told = {defect.field: defect.reason for defect in read.left_out}
    assert told.keys() == {f"services.{other}" for other in (*others, "own")} | {
        f"services.{name}.ports"
    }


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"source": {"path": "server.py", "entrypoint": "mcp"}}', "file of another machine"),
        ("services:\n  mcp:\n    build: .", "add its image"),
    ],
)
def test_deployment_of_a_folder_says_what_can_be_added(text: str, reason: str) -> None:
    with pytest.raises(NotRecognisedError, match=reason):
        recognise(text)


@pytest.mark.parametrize(
    ("fields", "address", "transport"),
    [
        ({"mcp": {"host": f"{ADDRESS}"}}, ADDRESS, "http"),
        ({"sse": {"host": "a.example", "port": 443, "path": "/x"}}, "https://a.example/x", "sse"),
        ({"mcp": {"host": "a.example", "port": 80}}, "http://a.example/", "http"),
    ],
)
def test_target_of_a_gateway_is_an_address(
    fields: dict[str, Any], address: str, transport: str
) -> None:
    api = {"name": "api", "openapi": {"host": "a.example"}}

    read = recognise(json.dumps({"targets": [{"name": "web", **fields}, api]}))

    [server] = read.servers
    assert (server.endpoint, server.transport) == (address, transport)
    assert "OpenAPI document" in str(read.left_out)


@pytest.mark.parametrize("key", ["endpointUrl", "sseEndpoint"])
@pytest.mark.parametrize("way", ["none", "bearerAuth", "headerAuth"])
def test_node_of_a_workflow_is_an_address_with_its_sign_in(key: str, way: str) -> None:
    parameters = {key: ADDRESS, "authentication": way}
    node = {"name": "Web", "type": "x.mcpClientTool", "parameters": parameters}

    [server] = recognise(json.dumps({"nodes": [{"name": "Start"}, node]})).servers

    assert (server.slug, server.endpoint) == ("web", ADDRESS)
    assert server.transport == ("sse" if key == "sseEndpoint" else "http")
    assert bool(server.required_secrets) == (way != "none")


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    folder=st.lists(st.sampled_from(("Program Files", "nodejs", "new", "tools")), min_size=1),
    is_escaped=st.booleans(),
)
def test_path_of_windows_keeps_its_folders(folder: list[str], is_escaped: bool) -> None:
    path = "\\".join(("C:", *folder, "weather.exe"))
    written = path.replace("\\", "\\\\") if is_escaped else path

    [server] = recognise(f'{{"mcpServers": {{"it": {{"command": "{written}"}}}}}}').servers

    assert server.command == (path,)


@pytest.mark.parametrize("value", ["process.env.API", "COPILOT_MCP_API", "$COPILOT_MCP_API"])
def test_value_that_names_a_variable_is_no_setting(value: str) -> None:
    config = {"mcpServers": {"it": {"command": "npx", "args": ["x"], "env": {"MODE": value}}}}

    [server] = recognise(json.dumps(config)).servers

    assert server.required_secrets == ("MODE",)


def test_choices_may_have_labels() -> None:
    region = {
        "id": "region",
        "type": "pickString",
        "options": ["eu", {"label": "U", "value": "us"}],
    }
    server = {"command": "npx", "args": ["x", "${input:region}"]}

    read = recognise(json.dumps({"inputs": [region], "servers": {"it": server}})).servers[0]

    [variable] = read.source_ref["variables"]
    assert variable["choices"] == ["eu", "us"]


def test_server_that_is_an_api_is_told_beside_others() -> None:
    api = {"type": "openapi", "openapi": {"url": "https://a.example/openapi.json"}}

    read = recognise(json.dumps({"mcpServers": {"api": api, "web": WEB}}))

    assert [server.slug for server in read.servers] == ["web"]
    assert "OpenAPI document" in str(read.left_out[0])
