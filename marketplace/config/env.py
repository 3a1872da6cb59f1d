"""Every setting that a deployment may change: its name, type, default, bounds and meaning.

The table is read once at start. A wrong value stops the start with one line that names the setting;
`docs/settings.md` is tested against this table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from marketplace.config.file_checks import no_file
from marketplace.config.host_checks import no_hosts
from marketplace.config.key_checks import no_encryption_keys
from marketplace.config.oidc_settings import no_group_mapping
from marketplace.config.url_checks import (
    no_anchor,
    no_mail_url,
    no_postgres_url,
    no_redis_url,
    no_sender,
    no_web_url,
)


class SettingsError(Exception):
    """One or more environment variables have values that Pegboard cannot use."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting read from the environment variable `name`.

    `least` and `most` bound numbers; `wrong` says what is wrong with a text, or nothing.
    """

    name: str
    default: Any
    meaning: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    wrong: Callable[[str], str] = lambda text: ""

    def read(self, environ: Mapping[str, str]) -> Any:
        """The value from `environ`, or the default; raises ValueError saying what would be
        right."""
        text = environ.get(self.name, "").strip()
        if not text:
            return self.default
        value = _convert(text, type(self.default))
        if self.least is not None and value < self.least:
            raise ValueError(f"must be at least {self.least}, not {text}")
        if self.most is not None and value > self.most:
            raise ValueError(f"must be at most {self.most}, not {text}")
        if self.choices and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}, not {text!r}")
        if problem := self.wrong(text):
            raise ValueError(problem)
        return value


SETTINGS = (
    Setting(
        "DATABASE_URL",
        "",
        "Postgres with pgvector; empty starts the embedded one",
        wrong=no_postgres_url,
    ),
    Setting(
        "DATABASE_OWNER_URL",
        "",
        "The same database by the role that owns its tables, for migrations, backup and restore; "
        "empty uses the role of DATABASE_URL",
        wrong=no_postgres_url,
    ),
    Setting(
        "DATABASE_SUPERUSER_URL",
        "",
        "The same server by a superuser; only `prepare_database` uses it",
        wrong=no_postgres_url,
    ),
    Setting(
        "REDIS_URL",
        "",
        "Redis for cache and task queue; empty starts the embedded one",
        wrong=no_redis_url,
    ),
    Setting(
        "PEGBOARD_DATA_DIR",
        "",
        "Folder of the embedded servers, keys and the model; `.pegboard` if empty",
    ),
    Setting(
        "PEGBOARD_SECRET_KEY", "", "Signs sessions; empty uses the key file in the data folder"
    ),
    Setting(
        "PEGBOARD_ENCRYPTION_KEYS",
        (),
        "Seal secrets, the newest first, by comma; empty uses the key file in the data folder",
        wrong=no_encryption_keys,
    ),
    Setting(
        "PEGBOARD_AUDIT_ANCHOR",
        "",
        "Where the head of the audit log is noted outside of the database: the path of a file, "
        "`syslog`, or an https address",
        wrong=no_anchor,
    ),
    Setting(
        "PEGBOARD_AUDIT_ANCHOR_SECONDS",
        300,
        "How often it is noted, where it has moved",
        10,
        86_400,
    ),
    Setting("PEGBOARD_DEBUG", False, "Shows error pages to everyone; for development only"),
    Setting(
        "PEGBOARD_ALLOWED_HOSTS",
        ("localhost", "127.0.0.1", "[::1]"),
        "Host names that are answered, by comma",
    ),
    Setting(
        "PEGBOARD_TRUSTED_ORIGINS",
        (),
        "Origins such as https://pegboard.example that may post forms, by comma",
    ),
    Setting("PEGBOARD_HTTPS", False, "Behind HTTPS: secure cookies, HSTS, redirects"),
    Setting(
        "PEGBOARD_TRUST_PROXY",
        False,
        "Believe X-Forwarded-Proto and X-Forwarded-For of the proxy in front",
    ),
    Setting(
        "PEGBOARD_EMAIL_URL",
        "",
        "The mail server; empty writes mails into the log of the web process",
        wrong=no_mail_url,
    ),
    Setting(
        "PEGBOARD_EMAIL_FROM",
        "Pegboard <pegboard@localhost>",
        "Who sends Pegboard's mails",
        wrong=no_sender,
    ),
    Setting("PEGBOARD_INVITATION_DAYS", 7, "How long an invitation can be accepted", 1, 90),
    Setting(
        "PEGBOARD_OIDC_ISSUER",
        "",
        "Address of an OpenID Connect provider to sign in with",
        wrong=no_web_url,
    ),
    Setting("PEGBOARD_OIDC_CLIENT_ID", "", "What Pegboard is called there"),
    Setting("PEGBOARD_OIDC_CLIENT_SECRET", "", "Its secret there"),
    Setting("PEGBOARD_OIDC_NAME", "single sign-on", "The provider's name on the button"),
    Setting("PEGBOARD_OIDC_SCOPES", ("openid", "profile", "email"), "What is asked for, by comma"),
    Setting("PEGBOARD_OIDC_SIGN_UP", False, "Whom the provider knows gets an account uninvited"),
    Setting(
        "PEGBOARD_OIDC_GROUPS_CLAIM",
        "groups",
        "The claim with a person's groups; dots lead into objects",
    ),
    Setting(
        "PEGBOARD_OIDC_GROUPS",
        (),
        "Which value of the claim means which group, as value=group by comma",
        wrong=no_group_mapping,
    ),
    Setting(
        "PEGBOARD_OIDC_ADMIN_GROUP",
        "",
        "The claim's value that makes a person an admin; empty leaves that to Pegboard",
    ),
    Setting(
        "PEGBOARD_LOG_LEVEL",
        "INFO",
        "Least level that is logged",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
    Setting(
        "PEGBOARD_LOG_FORMAT",
        "json",
        "One JSON object a line, or text to read",
        choices=("json", "text"),
    ),
    Setting(
        "PEGBOARD_REDIS_TIMEOUT_MS",
        50,
        "How long a cache call may take before it counts as gone",
        5,
        5000,
    ),
    Setting(
        "PEGBOARD_EMBEDDER",
        "onnx",
        "Where vectors come from",
        choices=("onnx", "sentence-transformers", "openai"),
    ),
    Setting(
        "PEGBOARD_TRAINED_ENCODER",
        True,
        "The model that comes along as it was trained to choose tools, or as its makers left it",
    ),
    Setting(
        "PEGBOARD_EMBEDDING_MODEL", "", "Model name or path for sentence-transformers and openai"
    ),
    Setting(
        "PEGBOARD_EMBEDDING_URL",
        "",
        "Base address of an OpenAI-compatible endpoint",
        wrong=no_web_url,
    ),
    Setting("PEGBOARD_EMBEDDING_KEY", "", "Its key"),
    Setting(
        "PEGBOARD_EMBEDDING_DIMENSION",
        384,
        "Length of the vectors of an OpenAI-compatible model",
        8,
        4000,
    ),
    Setting("PEGBOARD_EMBEDDING_BATCH", 32, "Texts embedded at once by the worker", 1, 512),
    Setting("PEGBOARD_QUERY_CACHE_SIZE", 1000, "Query vectors kept in each process", 0, 1_000_000),
    Setting(
        "PEGBOARD_QUERY_CACHE_SECONDS", 3600, "How long a query vector stays in Redis", 0, 604_800
    ),
    Setting(
        "PEGBOARD_SWEEP_SECONDS",
        60,
        "How often entries that were not embedded are looked for",
        1,
        3600,
    ),
    Setting(
        "PEGBOARD_SWEEP_AFTER_SECONDS",
        60,
        "How long an entry may wait before it is sent again",
        0,
        3600,
    ),
    Setting(
        "PEGBOARD_EMBEDDING_ATTEMPTS", 5, "Deliveries after which an entry counts as failed", 1, 100
    ),
    Setting(
        "PEGBOARD_LISTING_SECONDS", 3600, "How long the full listing may stay in Redis", 1, 86_400
    ),
    Setting(
        "PEGBOARD_TOKENIZER",
        "",
        "A tokenizer.json to count tokens with; empty counts four characters a token",
        wrong=no_file,
    ),
    Setting(
        "PEGBOARD_MAX_TOOLS",
        10,
        "Capabilities selected for a message unless the request says otherwise",
        1,
        100,
    ),
    Setting(
        "PEGBOARD_GRAPH_BOOST",
        0.15,
        "What related results gain by each other, times the weight of the edge; 0 for nothing",
        0,
        1,
    ),
    Setting(
        "PEGBOARD_CONTEXT_WINDOW",
        128_000,
        "The model's context window in tokens, where a request names none",
        1_000,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_CONTEXT_SHARE",
        0.2,
        "Share of the context window that all definitions, or a line each, may take",
        0.01,
        1,
    ),
    Setting(
        "PEGBOARD_COMPACT_TOKENS",
        30,
        "Tokens of the line that names a capability where definitions do not fit",
        16,
        200,
    ),
    Setting(
        "PEGBOARD_TIER0_TOKENS", 200, "Tokens of the summary of categories, at most", 0, 100_000
    ),
    Setting(
        "PEGBOARD_TIER1_TOKENS",
        800,
        "Tokens of the lines about what fits a message, at most",
        0,
        100_000,
    ),
    Setting("PEGBOARD_TIER2_TOKENS", 2_000, "Tokens of what is told in full, at most", 0, 100_000),
    Setting("PEGBOARD_TIER1_TOP", 5, "Capabilities that get a line", 0, 50),
    Setting("PEGBOARD_TIER2_TOP", 2, "Capabilities that are told in full", 0, 10),
    Setting("PEGBOARD_TIER1_RELEVANCE", 0.3, "Least score of a capability that gets a line", 0, 1),
    Setting(
        "PEGBOARD_PLAN_POLICY",
        "fail_open",
        "What a plan does when discovery fails: all that the caller may use, or nothing",
        choices=("fail_open", "fail_closed"),
    ),
    Setting(
        "PEGBOARD_PLAN_MODE",
        "discovered",
        "What a plan offers: what fits the message, or all that the caller may use",
        choices=("discovered", "all"),
    ),
    Setting(
        "PEGBOARD_PLAN_RETRIES", 1, "How often a plan tries discovery again when it fails", 0, 5
    ),
    Setting(
        "PEGBOARD_PLAN_BACKOFF_MS", 150, "How long a plan waits before it tries again", 0, 5000
    ),
    Setting(
        "PEGBOARD_PLAN_OVERRIDES",
        True,
        "Requests for a plan may choose policy, mode and kind themselves",
    ),
    Setting(
        "PEGBOARD_OUTCOME_SCOPE",
        "space",
        "Whose outcomes are taken together: those of a space in its group, of a group, or all",
        choices=("space", "group", "global"),
    ),
    Setting(
        "PEGBOARD_OUTCOME_WINDOW",
        100,
        "How many of the latest outcomes are taken together",
        5,
        10_000,
    ),
    Setting("PEGBOARD_ALERTS", True, "Raise an alert where outcomes go badly"),
    Setting(
        "PEGBOARD_ALERT_BELOW", 0.55, "The weighted rate of success below which it is raised", 0, 1
    ),
    Setting("PEGBOARD_ALERT_SAMPLES", 8, "How many outcomes an alert needs", 1, 10_000),
    Setting(
        "PEGBOARD_ALERT_COOLDOWN_SECONDS",
        60,
        "How long there is no other alert for the same outcomes",
        0,
        86_400,
    ),
    Setting(
        "PEGBOARD_ADAPTIVE",
        "both",
        "What a plan changes to where outcomes go badly",
        choices=("both", "all", "fail_open", "off"),
    ),
    Setting(
        "PEGBOARD_ADAPTIVE_BELOW", 0.7, "The weighted rate of success below which it does", 0, 1
    ),
    Setting("PEGBOARD_ADAPTIVE_SAMPLES", 5, "How many outcomes that needs", 1, 10_000),
    Setting(
        "PEGBOARD_LEARNING",
        True,
        "Learn from which capabilities were called, and let that count in rankings",
    ),
    Setting("PEGBOARD_LEARNING_DAYS", 90, "How long what was called is remembered", 1, 3650),
    Setting(
        "PEGBOARD_LEARNING_MOST",
        5000,
        "How many of a group's latest calls count for a message",
        100,
        100_000,
    ),
    Setting("PEGBOARD_MAX_MESSAGE_CHARACTERS", 8000, "Longer messages are refused", 100, 100_000),
    Setting(
        "PEGBOARD_MAX_BODY_BYTES",
        1_048_576,
        "Larger request bodies are refused",
        10_000,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_KEEP_MESSAGES",
        False,
        "Keep the words of messages with their turns",
    ),
    Setting("PEGBOARD_RATE_PER_KEY", 6000, "Requests a minute for each API key", 1, 10_000_000),
    Setting(
        "PEGBOARD_RATE_PER_ADDRESS",
        600,
        "Requests a minute for each address that shows neither key nor session",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_RATE_WRONG_KEYS",
        60,
        "Wrong keys a minute for each address, before they get 429 instead of 401",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_CPU_PER_KEY",
        30_000,
        "Milliseconds of CPU time a minute for each key, and each person in a web session",
        100,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_CPU_PER_ADDRESS",
        20_000,
        "Milliseconds of CPU time a minute for each address that shows neither key nor session",
        100,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_MAX_FILE_BYTES", 5_242_880, "Larger source files are refused", 1000, 1_000_000_000
    ),
    Setting(
        "PEGBOARD_CAPABILITY_DIRS",
        "",
        "More folders of CAPABILITY.yaml files, by colon, each after those before it",
    ),
    Setting(
        "PEGBOARD_RELOAD_DEBOUNCE_MS",
        500,
        "How long it must be quiet before changed manifests are read",
        50,
        10_000,
    ),
    Setting(
        "PEGBOARD_RELOAD_POLLING",
        False,
        "Look at manifests every second, where the file system tells of no changes",
    ),
    Setting(
        "PEGBOARD_APPROVE",
        "delete",
        "Which calls wait for a person beside those that rights let ask first: none more, those "
        "that delete, those that write or delete, or all",
        choices=("propose", "delete", "write", "all"),
    ),
    Setting(
        "PEGBOARD_TRUSTED_SERVERS",
        (),
        "Slugs of MCP servers whose word is believed that a tool only reads, by comma; * is all",
    ),
    Setting("PEGBOARD_SELF_APPROVAL", False, "Admins may approve their own calls in a session"),
    Setting(
        "PEGBOARD_MAX_WAITING_CALLS",
        50,
        "How many calls of one person may wait for approval",
        1,
        10_000,
    ),
    Setting("PEGBOARD_APPROVAL_HOURS", 24, "How long a call waits for approval", 1, 720),
    Setting("PEGBOARD_CALL_SECONDS", 60, "How long a tool may take to answer", 1, 3600),
    Setting(
        "PEGBOARD_CALL_WAIT_SECONDS",
        25,
        "How long a request waits for a tool before it is told to ask again",
        0,
        300,
    ),
    Setting(
        "PEGBOARD_RESULT_BYTES",
        1_048_576,
        "Longer answers of tools are cut",
        10_000,
        10_000_000,
    ),
    Setting("PEGBOARD_CALL_DAYS", 30, "How long ended calls and their results are kept", 1, 3650),
    Setting(
        "PEGBOARD_CHECK_SECONDS",
        300,
        "How often servers at addresses, and programs that failed, are looked at",
        10,
        86_400,
    ),
    Setting(
        "PEGBOARD_SYNC_SECONDS",
        3600,
        "How often the definitions of all connected servers are read and compared with the "
        "approved ones",
        60,
        604_800,
    ),
    Setting(
        "PEGBOARD_VERIFY_SECONDS",
        60,
        "How old a server's word on a tool may be at a call; an older one is asked for again",
        0,
        3600,
    ),
    Setting(
        "PEGBOARD_LAUNCHERS",
        ("uvx", "npx"),
        "Programs that may start MCP servers: whole paths or names; uvx and npx stand for packages",
    ),
    Setting(
        "PEGBOARD_PACKAGE_SECONDS",
        300,
        "How long fetching a server's package may take, with all that it needs",
        10,
        3600,
    ),
    Setting(
        "PEGBOARD_PACKAGE_MEGABYTES",
        1000,
        "How large an installed package may be, with all that it needs",
        1,
        100_000,
    ),
    Setting(
        "PEGBOARD_SOURCE_DIRS",
        "",
        "Folders below which sources of the marketplace may be read, by colon",
    ),
    Setting(
        "PEGBOARD_ALLOWED_PRIVATE_HOSTS",
        (),
        "Hosts that may be reached at private addresses and without TLS, as host or host:port",
        wrong=no_hosts,
    ),
)


def read_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """All settings by name; raises SettingsError naming every wrong one, a line each."""
    values: dict[str, Any] = {}
    problems = []
    for setting in SETTINGS:
        try:
            values[setting.name] = setting.read(environ)
        except ValueError as problem:
            problems.append(f"{setting.name} {problem}")
    if values.get("PEGBOARD_EMBEDDER") == "openai" and not values.get("PEGBOARD_EMBEDDING_URL"):
        problems.append("PEGBOARD_EMBEDDING_URL is needed where PEGBOARD_EMBEDDER is openai")
    if values.get("PEGBOARD_OIDC_ISSUER") and not values.get("PEGBOARD_OIDC_CLIENT_ID"):
        problems.append("PEGBOARD_OIDC_CLIENT_ID is needed where PEGBOARD_OIDC_ISSUER is set")
    if problems:
        raise SettingsError("\n".join(problems))
    return values


def separated(text: str, *, by: str) -> tuple[str, ...]:
    """The parts of a text, without blanks around them; empty ones count for nothing."""
    return tuple(part.strip() for part in text.split(by) if part.strip())


def _convert(text: str, wanted: type) -> Any:
    if wanted is bool:
        return _truth(text)
    if wanted is tuple:
        return separated(text, by=",")
    try:
        return wanted(text)
    except ValueError:
        raise ValueError(f"must be a number, not {text!r}") from None


def _truth(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError(f"must be true or false, not {text!r}")
