"""Each format, with a small file."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.formats import readers
from catalog.formats.descriptors import Descriptor, IntegrationDescriptor, Loaded
from catalog.formats.files import DEFAULT_LIMITS
from catalog.formats.loader import FORMATS, load_path, load_value
from catalog.formats.loose_text import parse_loose
from tests.examples import EXAMPLES_OF_TEXTS
from tests.formats.folders import SAMPLES, capability, integration, reasons, write


def sample(name: str) -> Loaded:
    return load_path(SAMPLES / name)


def named(loaded: Loaded, full_name: str) -> Descriptor:
    return next(one for one in loaded.capabilities if one.full_name == full_name)


def owner(loaded: Loaded, slug: str) -> IntegrationDescriptor:
    return next(one for one in loaded.integrations if one.slug == slug)


@pytest.mark.parametrize(
    ("name", "integrations", "capabilities", "defects"),
    [
        ("skills", 1, 1, 0),
        ("manifests", 1, 1, 1),
        ("docker", 3, 2, 0),
        ("tools/tools-list.json", 1, 3, 2),
        ("tools/functions.json", 1, 1, 0),
        ("registry/server.json", 1, 0, 0),
        ("registry/wrapped.json", 1, 0, 0),
        ("registry/page.json", 1, 0, 2),
        ("registry/legacy.json", 1, 0, 0),
        ("clients/desktop.json", 2, 0, 5),
        ("clients/editor.json", 1, 0, 0),
        ("clients/bare.json", 1, 0, 0),
        ("plugins/marketplace.json", 2, 0, 1),
        ("plugins/plugin.json", 1, 0, 0),
        ("toolhive", 1, 2, 0),
        ("obot", 1, 0, 0),
        ("deployment", 1, 0, 1),
        ("registry/docker.yaml", 2, 0, 0),
        ("catalog", 2, 3, 2),
        ("openapi/library.yaml", 1, 3, 1),
        ("lists/extensions.json", 2, 2, 0),
        ("lists/channels.json", 1, 1, 0),
    ],
)
def test_format_is_recognised(
    name: str, integrations: int, capabilities: int, defects: int
) -> None:
    loaded = sample(name)

    found = (len(loaded.integrations), len(loaded.capabilities), len(loaded.defects))
    assert found == (integrations, capabilities, defects), reasons(loaded)


def test_each_file_of_the_package_is_a_format_and_no_two_want_the_same_sample() -> None:
    files = {path.stem for path in Path(readers.__path__[0]).glob("[!_]*.py")}
    assert {one.__name__.rpartition(".")[2] for one in FORMATS} == files  # type: ignore[attr-defined]

    for path in sorted(SAMPLES.rglob("*.[jy][sa][om][nl]")):
        if path.name != "tools.json":  # a part of its server's entry
            value = parse_loose(path.read_text("utf-8"), limits=DEFAULT_LIMITS, suffix=path.suffix)
            strict = [one for one in FORMATS if not one.IS_LOOSE and one.recognises(value)]
            assert len(strict) <= 1, path


def test_folder_gives_what_its_files_give() -> None:
    loaded = load_path(SAMPLES)

    assert len(loaded.integrations) == 29
    assert len(loaded.capabilities) == 19
    assert all(defect.file and defect.field and defect.reason for defect in loaded.defects)


def test_loading_twice_gives_the_same() -> None:
    assert load_path(SAMPLES) == load_path(SAMPLES)


def test_skill_has_its_instructions_and_asks_for_its_tools() -> None:
    skill = capability(sample("skills"))

    assert (skill.kind, skill.full_name, skill.identifier) == (
        *("skill", "minutes-writer"),
        "skill:minutes-writer",
    )
    assert skill.display_name == "Minutes Writer"
    assert skill.content.startswith("# Minutes")
    assert skill.required_tools == ("tasks__create",)
    assert skill.annotations["allowedTools"] == "Read, Write"
    assert skill.annotations["metadata"] == {"version": 1.1, "reviewed": "2026-05-01"}
    assert skill.side_effect == "read"


FRONT = {
    "TOML": '+++\nname = "tidy"\ndescription = "Tidies up."\n+++\n# Tidy\n',
    "JSON": '---\n{"name": "tidy", "description": "Tidies up."}\n---\n# Tidy\n',
    "fence": "```yaml\nname: tidy\ndescription: Tidies up.\n```\n# Tidy\n",
    "fence around lines": "```yaml\n---\nname: tidy\ndescription: Tidies up.\n---\n```\n# Tidy\n",
    "longer lines": "-----\nname: tidy\ndescription: Tidies up.\n-----\n# Tidy\n",
}


@pytest.mark.parametrize("text", FRONT.values(), ids=FRONT)
def test_front_matter_is_read_in_each_of_its_forms(text: str, tmp_path: Path) -> None:
    write(tmp_path, "other/SKILL.md", text)

    loaded = load_path(tmp_path)

    skill = capability(loaded)
    assert (skill.full_name, skill.description, skill.content) == ("tidy", "Tidies up.", "# Tidy")
    assert not loaded.defects


def test_manifest_reads_both_key_styles_and_the_files_beside_it() -> None:
    manifest = capability(sample("manifests"))

    assert manifest.identifier == "tool:parcel-tracker"
    assert manifest.display_name == "Parcel tracker"
    assert (manifest.category, manifest.category_inferred) == ("information", False)
    assert manifest.required_secrets == ("PARCEL_API_KEY",)
    assert manifest.side_effect == "read"
    assert manifest.input_schema is not None
    assert manifest.input_schema["required"] == ["number"]
    assert manifest.content == "Ask for the parcel's number first."
    assert [(edge.target, edge.type, edge.weight) for edge in manifest.edges] == [
        ("tool:web-search", "COMPOSED_WITH", 0.4)
    ]


def test_docker_arguments_become_a_schema() -> None:
    tides = sample("docker")

    tool = named(tides, "harbour-tides__tide_table")
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "harbour": {"type": "string", "description": "Its name"},
            "days": {"type": "array", "description": "Dates", "items": {"type": "string"}},
        },
        "required": ["harbour"],
    }
    assert (tool.category, tool.tags) == ("navigation", ("tides", "sea"))


def test_docker_entry_names_its_secrets_and_never_their_values() -> None:
    loaded = sample("docker")

    assert owner(loaded, "harbour-tides").required_secrets == ("TIDES_API_KEY", "TIDES_REGION")
    assert owner(loaded, "quiet-remote").endpoint == "https://quiet.example.org/mcp"
    assert "not-a-key" not in repr(loaded)


def test_tools_list_answer_keeps_titles_annotations_and_schemas() -> None:
    loaded = sample("tools/tools-list.json")

    tool = named(loaded, "paper-box__find_paper")
    assert tool.display_name == "Find a paper"
    assert tool.annotations == {"readOnlyHint": True}
    assert tool.output_schema is not None
    assert [one.side_effect for one in loaded.capabilities] == ["read", "delete", "write"]


def test_server_json_names_how_to_start_the_server() -> None:
    server = integration(sample("registry/server.json"))

    assert (server.slug, server.title, server.version) == (
        *("org-example-bird-calls", "Bird calls"),
        "2.1.0",
    )
    assert server.command == ("npx", "-y", "@example/bird-calls@2.1.0", "--region", "north")
    assert server.required_secrets == ("BIRDS_API_KEY",)


def test_server_json_names_a_bundle_by_the_digest_of_its_file(tmp_path: Path) -> None:
    address, digest = "https://files.example/greeter.mcpb", "ab" * 32
    bundle = {"registryType": "mcpb", "identifier": address, "fileSha256": digest.upper()}
    npm = {"registryType": "npm", "identifier": "greeter", "version": "1.0.0"}

    def command(*packages: dict[str, str]) -> tuple[str, ...]:
        about = {"name": "org.example/greeter", "version": "1.0.0", "packages": packages}
        return integration(load_path(write(tmp_path, "server.json", json.dumps(about)))).command

    assert command(bundle) == ("mcpb", f"{address}#sha256:{digest}")
    assert command(bundle, npm) == ("npx", "-y", "greeter@1.0.0")
    assert command({**bundle, "fileSha256": "short"}) == ()
    assert command({**bundle, "identifier": "file:///etc/passwd"}) == ()


def test_remote_server_asks_for_what_its_headers_leave_open() -> None:
    server = integration(sample("registry/wrapped.json"))

    assert (server.transport, server.required_secrets) == ("sse", ("star_key",))
    assert server.source_ref["headers"] == {"Authorization": "Bearer ${star_key}"}


REGISTRY_ORDER = [
    *("0.9.0", "1.0.0-alpha", "1.0.0-beta.2", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0"),
    *("2.0.0-rc.1", "2.0.0", "10.0.0-alpha", "10.0.0"),
]


@settings(max_examples=EXAMPLES_OF_TEXTS)
@given(
    versions=st.lists(st.sampled_from(REGISTRY_ORDER), min_size=1, max_size=6, unique=True),
    marked=st.integers(0, 9),
)
def test_newest_stable_version_is_the_latest(versions: list[str], marked: int) -> None:
    meta = {"_meta": {"io.modelcontextprotocol.registry/official": {"isLatest": True}}}
    servers = [
        {
            "server": {"name": "org.example/a", "version": version, "packages": []},
            **(meta if at == marked else {}),
        }
        for at, version in enumerate(versions)
    ]
    stable = [version for version in versions if "-" not in version]
    newest = max(stable or versions, key=REGISTRY_ORDER.index)
    is_marked = marked < len(versions) and "-" not in versions[marked]

    [server] = load_value({"servers": servers}, file="page.json").integrations

    assert server.version == (versions[marked] if is_marked else newest)


def test_nothing_of_a_registry_entry_is_lost() -> None:
    remote = {
        "type": "sse",
        "url": "https://{place}.example/mcp?v={version}",
        "variables": {
            "place": {"description": "Where", "default": "eu", "choices": ["eu", "us"]},
            "version": {"isRequired": True},
        },
        "headers": [
            {"name": "X-Fixed", "value": "yes"},
            {"name": "X-Region", "default": "eu"},
            {"name": "X-Team", "description": "Your team"},
            {"name": "X-Key", "isSecret": True, "isRequired": True},
            {"name": "Authorization", "value": "Bearer {token}", "variables": {
                "token": {"description": "Your token", "isSecret": True}}},
        ],
    }  # fmt: skip
    second = {"type": "streamable-http", "url": "https://b.example/mcp"}
    entry = {"name": "org.example/a", "version": "1.0.0", "remotes": [remote, second]}
    wrapper = {"server": entry, "_meta": {
        "io.modelcontextprotocol.registry/official": {"status": "deprecated"}}}  # fmt: skip

    [server] = load_value(wrapper, file="server.json").integrations
    variables = {variable["name"]: variable for variable in server.source_ref["variables"]}

    assert (server.transport, server.endpoint) == (
        "sse",
        "https://${place}.example/mcp?v=${version}",
    )
    assert set(server.required_secrets) == {"version", "token", "X-Key"}
    assert (variables["place"]["default"], variables["place"]["choices"]) == ("eu", ["eu", "us"])
    assert variables["place"]["description"] == "Where"
    assert variables["X-Team"] == {
        "name": "X-Team", "description": "Your team", "secret": False, "required": False,
    }  # fmt: skip
    assert server.source_ref["headers"] == {
        "X-Fixed": "yes",
        "X-Region": "eu",
        "X-Team": "${X-Team}",
        "X-Key": "${X-Key}",
        "Authorization": "Bearer ${token}",
    }
    assert server.source_ref["status"] == "deprecated"


@pytest.mark.parametrize("kind", ["npm", "pypi", "oci"])
def test_arguments_of_a_package_are_filled_in_and_asked_for(kind: str) -> None:
    arguments = [
        {"type": "positional", "value": "serve"},
        {"type": "named", "name": "--port", "value": "{port}",
         "variables": {"port": {"default": "80"}}},
        {"type": "named", "name": "--key", "valueHint": "api-key", "isRequired": True,
         "isSecret": True},
        {"type": "positional", "valueHint": "folder", "isRequired": True, "description": "Which"},
        {"type": "named", "name": "--more", "valueHint": "not-needed"},
        {"type": "named", "name": "--fast"},
    ]  # fmt: skip
    package = {"registryType": kind, "identifier": "acme", "version": "1.0.0"}
    entry = {"name": "org.example/a", "version": "1.0.0",
             "packages": [{**package, "packageArguments": arguments}]}  # fmt: skip

    [server] = load_value(entry, file="server.json").integrations

    assert server.command[-6:] == (
        *("--port", "${port}", "--key", "${api_key}", "${folder}", "--fast"),
    )
    variables = {variable["name"]: variable for variable in server.source_ref["variables"]}
    assert set(server.required_secrets) == {"api_key", "folder"}
    assert (variables["api_key"]["secret"], variables["folder"]["description"]) == (True, "Which")
    assert variables["port"]["default"] == "80"


def test_package_that_speaks_over_standard_streams_is_preferred() -> None:
    packages = [
        {"registryType": "npm", "identifier": "a-http", "version": "1.0.0",
         "transport": {"type": "streamable-http", "url": "http://localhost:{port}/mcp"}},
        {"registryType": "npm", "identifier": "a", "version": "1.0.0",
         "transport": {"type": "stdio"}},
    ]  # fmt: skip
    entry = {"name": "org.example/a", "version": "1.0.0", "packages": packages}

    [server] = load_value(entry, file="server.json").integrations

    assert server.command == ("npx", "-y", "a@1.0.0")


def test_page_of_the_registry_gives_the_latest_version() -> None:
    loaded = sample("registry/page.json")

    assert integration(loaded).version == "1.1.0"
    assert "is marked as deleted" in reasons(loaded)[0]


def test_server_json_of_may_2025_is_converted() -> None:
    server = integration(sample("registry/legacy.json"))

    assert (server.version, server.command) == ("0.0.2", ("npx", "-y", "old-clock@0.0.2"))
    assert server.required_secrets == ("CLOCK_TOKEN",)


def test_client_configuration_leaves_every_secret_value_out() -> None:
    loaded = sample("clients/desktop.json")

    assert "canary" not in repr(loaded)
    assert owner(loaded, "wine-cellar").required_secrets == (
        *("CELLAR_PASSWORD", "CELLAR_URL"),
        *("API_KEY", "TOKEN"),  # gaps in the place of what its arguments held
    )
    ship = owner(loaded, "weather-ship")
    assert ship.required_secrets == ("Authorization", "SHIP_KEY", "API_KEY")
    assert ship.source_ref["headers"] == {
        "Authorization": "${Authorization}",
        "X-Client": "desktop",
        "X-Key": "${SHIP_KEY}",
    }
    assert "wine-cellar.command[3]: contained a secret" in reasons(loaded)[0]


def test_marketplace_lists_plugins_without_tools() -> None:
    loaded = sample("plugins/marketplace.json")

    knots = owner(loaded, "knots")
    assert (knots.kind, knots.publisher, knots.licence) == ("extension", "Harbour Office", "MIT")
    assert owner(loaded, "flags").source_ref["source"]["repo"] == "example/flags"


def test_catalogues_of_the_neighbours_keep_settings_and_name_their_tools() -> None:
    tides, lantern = (
        sample("obot").integrations[0],
        owner(sample("registry/docker.yaml"), "lantern-box"),
    )

    assert tides.command == ("uvx", "tide-table==1.2.0")
    assert tides.required_secrets == ("TIDES_API_KEY",)
    assert tides.source_ref["tools"] == ["high_water"]
    assert tides.source_ref["variables"][1]["default"] == "Europe/Berlin"
    assert lantern.command[:6] == ("docker", "run", "-i", "--rm", "-e", "LANTERN_KEY")
    assert lantern.required_secrets == ("LANTERN_KEY",)
    assert lantern.source_ref["tools"] == ["light", "darken"]


def test_toolhive_entry_is_named_by_its_file() -> None:
    loaded = sample("toolhive")

    assert integration(loaded).slug == "tide-clock"
    assert [one.action for one in loaded.capabilities] == ["next_high_water", "set_alarm"]


def test_catalog_line_keeps_its_declared_identifier() -> None:
    loaded = sample("catalog")

    assert [one.identifier for one in loaded.capabilities] == ["sea/1", "sea/2", "old.tool"]
    assert loaded.capabilities[2].required_tools == ("sea/1",)
    assert loaded.capabilities[0].category == "ships-ports"
    assert [defect.field for defect in loaded.defects] == ["line 5", "line 6.name"]


def test_extension_inherits_its_availability() -> None:
    guard, finder = sample("lists/extensions.json").capabilities

    assert (guard.available, guard.unavailable_reason) == (False, "Needs a licence.")
    assert (finder.available, finder.unavailable_reason) == (True, "")


def test_channel_is_always_communication() -> None:
    channel = capability(sample("lists/channels.json"))

    assert (channel.category, channel.category_inferred) == ("communication", False)
    assert (channel.side_effect, channel.identifier) == ("write", "channel:pigeon")


def test_given_integration_takes_the_skills_of_a_folder() -> None:
    loaded = load_path(SAMPLES / "skills", integration="office")

    assert integration(loaded).slug == "office"
    assert capability(loaded).full_name == "office__minutes-writer"


def test_given_integration_names_a_single_server() -> None:
    loaded = load_path(SAMPLES / "tools/tools-list.json", integration="library")

    assert {one.full_name for one in loaded.capabilities} == {
        *("library__find_paper", "library__shred_paper"),
        "library__get_paper",
    }


def test_given_integration_leaves_servers_of_a_folder_their_names() -> None:
    loaded = load_path(SAMPLES / "docker", integration="all")

    assert {one.slug for one in loaded.integrations} == {
        *("harbour-tides", "quiet-remote"),
        "empty-list",
    }


def test_file_in_no_known_format_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "settings.json", '{"colour": "blue"}')

    assert reasons(load_path(tmp_path)) == [
        "settings.json: file: has no format that the catalogue reads"
    ]


def test_folder_without_sources_says_so(tmp_path: Path) -> None:
    assert "contains nothing to load" in reasons(load_path(tmp_path))[0]


def test_missing_path_says_so(tmp_path: Path) -> None:
    assert "does not exist" in reasons(load_path(tmp_path / "nowhere"))[0]


def test_plugin_whose_repository_is_an_address_is_no_server(tmp_path: Path) -> None:
    plugin = {
        "name": "notes",
        "description": "Keeps notes.",
        "author": {"name": "Someone"},
        "repository": "https://example.com/notes",
    }
    write(tmp_path, ".claude-plugin/plugin.json", json.dumps(plugin))

    (found,) = load_path(tmp_path).integrations

    assert (found.kind, found.slug) == ("extension", "notes")


def test_registry_of_toolhive_has_images_and_remote_servers() -> None:
    key = {"name": "API_KEY", "description": "Yours", "required": True, "secret": True}
    value = {
        "version": "1.0",
        "servers": {"a": {"image": "ghcr.io/acme/a:1", "transport": "stdio", "env_vars": [key],
                          "tools": ["t"], "args": ["--fast"]}},
        "remote_servers": {"b": {"url": "https://b.example/mcp", "transport": "streamable-http",
                                 "headers": [{**key, "name": "X-Key"}]}},
    }  # fmt: skip

    loaded = load_value(value, file="registry.json")

    first, second = sorted(loaded.integrations, key=lambda server: server.slug)
    assert first.command[-2:] == ("ghcr.io/acme/a:1", "--fast")
    assert first.required_secrets == ("API_KEY",)
    assert (second.endpoint, second.source_ref["headers"]) == (
        *("https://b.example/mcp", {"X-Key": "${X-Key}"}),
    )
    assert second.required_secrets == ("X-Key",)
    assert [tool.full_name for tool in loaded.capabilities] == ["a__t"]


def test_list_of_a_catalogue_is_each_of_its_entries() -> None:
    entries = [
        {"name": name, "runtime": "npx", "npxConfig": {"package": f"@acme/{name}"}} for name in "ab"
    ]

    loaded = load_value([*entries], file="catalogue.json")

    assert [server.command[-1] for server in loaded.integrations] == ["@acme/a", "@acme/b"]


def test_settings_in_the_command_of_an_image_are_asked_for() -> None:
    entry = {
        "type": "server",
        "name": "acme",
        "image": "mcp/acme",
        "command": ["--mode", "{{acme.mode}}", "--at={{place}}"],
    }

    [server] = load_value(entry, file="server.yaml").integrations

    assert server.command[-3:] == ("--mode", "${acme.mode}", "--at=${place}")
    assert set(server.required_secrets) == {"acme.mode", "place"}
