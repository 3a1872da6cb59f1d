"""The configuration file, as models. A field that is left out leaves what is stored as it is.

Everything is named as people name it: groups and people by name, spaces and integrations by slug,
tools by full name. Secrets appear by name only.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from acl.models.application import LONGEST_NAME
from catalog.formats.names import RESERVED, SLUG
from catalog.readiness.obstacles import OWN_INTEGRATIONS
from discovery.applications.service import LARGEST_LIMIT, MOST_APPLICATIONS
from discovery.calls.quotas import MOST_A_MINUTE, MOST_QUOTAS

FORMAT = 1
MOST = 20_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _plain(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("has control characters")
    return text


def _free_slug(slug: str, info: ValidationInfo) -> str:
    if not SLUG.fullmatch(slug) or "__" in slug:
        raise ValueError("is not a slug: lower-case letters, digits, - and single _")
    is_ours = slug in OWN_INTEGRATIONS and info.data.get("kind") == "builtin"
    if slug.replace("-", "_") in RESERVED and not is_ours:
        raise ValueError("is a name of Pegboard's own")
    return slug


_PLAIN = AfterValidator(_plain)
Name = Annotated[str, Field(min_length=1, max_length=150), _PLAIN]
Tool = Annotated[str, Field(min_length=1, max_length=64), _PLAIN]
Reference = Annotated[str, Field(min_length=1, max_length=48), _PLAIN]  # of an integration
Title = Annotated[str, Field(min_length=1, max_length=200), _PLAIN]
Line = Annotated[str, Field(max_length=500), _PLAIN]
ShortLine = Annotated[str, Field(max_length=200), _PLAIN]
Header = Annotated[str, Field(max_length=2_000), _PLAIN]
SecretName = Annotated[str, Field(min_length=1, max_length=120), _PLAIN]
Host = Annotated[str, Field(min_length=1, max_length=260), _PLAIN]
Tag = Annotated[str, Field(max_length=80), _PLAIN]
Slug = Annotated[str, AfterValidator(_free_slug)]
# A space's slug is Django's.
SpaceSlug = Annotated[str, Field(pattern=r"^[-a-zA-Z0-9_]{1,60}$")]
Limit = Annotated[int, Field(ge=0, le=10**12)]
ApplicationLimit = Annotated[int, Field(ge=1, le=LARGEST_LIMIT)]
Effect = Literal["deny", "propose", "allow"]


class Part(BaseModel):
    """A part of the file. Unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SpaceEntry(Part):
    """A space; without `parent`, the group's root."""

    slug: SpaceSlug
    name: Annotated[str, Field(min_length=1, max_length=120), _PLAIN] | None = None
    parent: SpaceSlug | None = None


class TargetedRule(Part):
    """A rule in a space, about an integration or a tool."""

    space: SpaceSlug
    effect: Effect
    integration: Reference | None = None
    tool: Tool | None = None
    waits: bool = False  # what it names is gone, and the rule holds again with it

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.integration is None) == (self.tool is None):
            raise ValueError("needs either integration or tool")
        if self.waits and self.effect == "allow":
            raise ValueError("allows, and only what limits can wait")
        return self


class RuleEntry(TargetedRule):
    """A rule for everyone, or for the members of a group."""

    group: Name | None = None


class GroupEntry(Part):
    """A group with its default, its spaces, its rules, and what it was granted."""

    name: Name
    default: Literal["open", "allow-listed"] | None = None
    joined_by_default: bool | None = None
    spaces: list[SpaceEntry] | None = Field(default=None, max_length=MOST)
    integrations: list[Reference] | None = Field(default=None, max_length=MOST)
    tools: list[Tool] | None = Field(default=None, max_length=MOST)
    rules: list[RuleEntry] | None = Field(default=None, max_length=MOST)


class PersonalRuleEntry(TargetedRule):
    """A rule for one person in a space of a group."""

    group: Name


class PersonEntry(Part):
    """Grants of a person, and the rules for them. It creates nobody."""

    user: Name
    integrations: list[Reference] | None = Field(default=None, max_length=MOST)
    tools: list[Tool] | None = Field(default=None, max_length=MOST)
    rules: list[PersonalRuleEntry] | None = Field(default=None, max_length=MOST)


class IntegrationEntry(Part):
    """An integration: what it is, where it is reached, and its settings. No secret is in it."""

    # Before the slug, which asks it: Pegboard's own integrations have reserved names.
    kind: Literal[
        "mcp", "openapi", "skill", "extension", "channel", "voice", "manifest", "builtin", "catalog"
    ]
    slug: Slug
    title: Title
    description: Annotated[str, Field(max_length=20_000), _PLAIN] = ""
    publisher: ShortLine = ""
    version: Tag = ""
    licence: Tag = ""
    homepage: Line = ""
    listing: ShortLine = ""
    transport: Literal["", "stdio", "http", "sse", "openapi"] = ""
    endpoint: Line = ""
    command: list[Line] = Field(default=[], max_length=200)
    headers: dict[Title, Header] = Field(default={}, max_length=50)
    required_secrets: list[SecretName] = Field(default=[], max_length=100)
    enabled: bool | None = None
    restricted: bool | None = None
    requestable: bool | None = None
    application_executes: bool | None = None
    calls_per_minute: Annotated[int, Field(ge=0, le=MOST_A_MINUTE)] | None = None  # 0: no limit
    own_secrets: bool | None = None
    network: Literal["listed", "all"] | None = None
    allowed_hosts: list[Host] | None = Field(default=None, max_length=500)

    @model_validator(mode="after")
    def _reached_one_way(self) -> Self:
        if self.slug in OWN_INTEGRATIONS and self.transport:
            raise ValueError("is Pegboard's own, and reached by no transport")
        if self.command and self.transport != "stdio":
            raise ValueError("a command needs transport: stdio")
        if self.endpoint and self.transport not in ("http", "sse", "openapi"):
            raise ValueError("an endpoint needs transport: http, sse or openapi")
        return self


class ToolEntry(Part):
    """An admin's settings of a tool. `effect` and `effect_flags` overrule its source.

    `name` is the one by its source. With `rename`, the rest of the file names the tool by its new
    one.
    """

    name: Tool
    rename: Annotated[str, Field(max_length=63), _PLAIN] | None = None
    title: Title | None = None
    description: Annotated[str, Field(max_length=8192), _PLAIN] | None = None
    access: Literal["execute", "propose", "blocked"] | None = None
    core: bool | None = None
    pinned: bool | None = None
    effect: Literal["read", "write", "delete"] | None = None
    effect_flags: (
        list[Literal["reaches_outside", "returns_foreign_text", "reads_private_data"]] | None
    ) = None


class SpaceReference(Part):
    """A space of a group."""

    group: Name
    slug: SpaceSlug


class FlowRuleEntry(Part):
    """The mode of the guard on flows for a tool, a group or a space, or for two of them."""

    mode: Literal["off", "advise", "ask", "refuse"]
    tool: Tool | None = None
    group: Name | None = None
    space: SpaceReference | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.tool is None and self.group is None and self.space is None:
            raise ValueError("needs a tool, a group or a space")
        return self


class QuotaEntry(Part):
    """A quota on calls or tokens a day. One of a tool that is gone waits for it."""

    measure: Literal["calls", "tokens"]
    soft: Limit | None = None
    hard: Limit | None = None
    tool: Tool | None = None
    group: Name | None = None
    user: Name | None = None
    each_person: bool = False
    waits: bool = False

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if self.waits and self.tool is None:
            raise ValueError("waits, which takes a tool")
        return self


class ApplicationEntry(Part):
    """A chat application, as a whole: what is left out is not limited, and has no default.

    Without `integrations` it may reach all; an empty list is none. Its keys are not in the file.
    """

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), _PLAIN]
    description: Annotated[str, Field(max_length=300), _PLAIN] = ""
    group: Name | None = None
    defaults: dict[str, str | int | bool] = {}
    integrations: list[Reference] | None = Field(default=None, max_length=MOST)
    calls_a_minute: ApplicationLimit | None = None
    calls_a_day: ApplicationLimit | None = None
    tokens_a_day: ApplicationLimit | None = None
    cpu_a_minute: ApplicationLimit | None = None
    # A text, since the file has no fractions, which readers of YAML round differently.
    alert_below: (
        Annotated[str, Field(max_length=40, pattern=r"^(0(\.[0-9]+)?|1(\.0+)?)$")] | None
    ) = None


class WaitingEntry(Part):
    """Limit that waits for an integration or a tool that is gone.

    An integration is restricted again, or has its limit of calls. A tool has the access, or the
    mode of the guard on flows.
    """

    integration: Reference | None = None
    tool: Tool | None = None
    access: Literal["propose", "blocked"] | None = None
    mode: Literal["ask", "refuse"] | None = None
    calls_per_minute: int | None = Field(default=None, ge=1, le=MOST_A_MINUTE)
    group: Name | None = None
    space: SpaceReference | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.integration is None) == (self.tool is None):
            raise ValueError("needs either integration or tool")
        if (self.tool is None) != (self.access is None and self.mode is None):
            raise ValueError("needs access or mode for a tool, and for nothing else")
        if self.access is not None and self.mode is not None:
            raise ValueError("has either access or mode")
        if self.tool is not None and self.calls_per_minute is not None:
            raise ValueError("has calls_per_minute, which only an integration has")
        if self.mode is None and (self.group is not None or self.space is not None):
            raise ValueError("names a group or a space, which only a mode has")
        return self


class TrustedValueEntry(Part):
    """A trusted value, which any text may choose."""

    value: Annotated[str, Field(min_length=1, max_length=300), _PLAIN]
    note: ShortLine = ""


class SignInGroupEntry(Part):
    """A value of the provider's claim, and the group that a sign-in with it gives."""

    value: Annotated[str, Field(min_length=1, max_length=200), _PLAIN]
    group: Name


class ConfigDocument(Part):
    """The whole file. A section that is left out is neither changed nor pruned."""

    pegboard: Literal[1]
    groups: list[GroupEntry] | None = Field(default=None, max_length=MOST)
    people: list[PersonEntry] | None = Field(default=None, max_length=MOST)
    integrations: list[IntegrationEntry] | None = Field(default=None, max_length=MOST)
    tools: list[ToolEntry] | None = Field(default=None, max_length=MOST)
    flow_rules: list[FlowRuleEntry] | None = Field(default=None, max_length=MOST)
    quotas: list[QuotaEntry] | None = Field(default=None, max_length=MOST_QUOTAS)
    applications: list[ApplicationEntry] | None = Field(default=None, max_length=MOST_APPLICATIONS)
    sign_in_groups: list[SignInGroupEntry] | None = Field(default=None, max_length=MOST)
    trusted_values: list[TrustedValueEntry] | None = Field(default=None, max_length=MOST)
    allowed_hosts: list[Host] | None = Field(default=None, max_length=200)
    own_servers: bool | None = None
    waiting: list[WaitingEntry] | None = Field(default=None, max_length=MOST)
