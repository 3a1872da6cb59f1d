"""Table of a deployment's settings: name, type, default, bounds and meaning.

It is read once at startup. Invalid values stop the start, with one line for each setting.
"""

from collections.abc import Mapping
from typing import Any

from marketplace.config.env import Setting, SettingsError, find_unknown
from marketplace.config.provider_settings import no_group_mapping
from marketplace.config.value_checks import (
    no_anchor,
    no_encryption_keys,
    no_file,
    no_folders,
    no_hosts,
    no_language,
    no_mail_url,
    no_package_hosts,
    no_password,
    no_postgres_url,
    no_redis_url,
    no_sender,
    no_web_url,
)

SETTINGS = (
    Setting(
        "DATABASE_URL",
        "",
        "Postgres with pgvector, as `postgresql://user:password@host:5432/name`. Empty "
        "starts the embedded server.",
        wrong=no_postgres_url,
    ),
    Setting(
        "DATABASE_OWNER_URL",
        "",
        "The same database as the role that owns its tables, for migrations, backup and "
        "restore. Empty uses DATABASE_URL.",
        wrong=no_postgres_url,
    ),
    Setting(
        "DATABASE_SUPERUSER_URL",
        "",
        "The same server as a superuser. Only `prepare_database` uses it.",
        wrong=no_postgres_url,
    ),
    Setting(
        "PEGBOARD_REPLICA_URL",
        "",
        "A streaming replica of DATABASE_URL, which selections may read "
        "([read replica](scaling.md#read-replica)). Needs PEGBOARD_REPLICA_STALENESS.",
        wrong=no_postgres_url,
    ),
    Setting(
        "PEGBOARD_REPLICA_STALENESS",
        0,
        "Seconds by which a selection may lag behind a change of rights, such as a revocation. "
        "0: every selection reads the primary, and the replica is never asked.",
        0,
        60,
    ),
    Setting(
        "REDIS_URL",
        "",
        "Redis for cache and task queue, as `redis://host:6379/0`. Empty starts the "
        "embedded server.",
        wrong=no_redis_url,
    ),
    Setting(
        "PEGBOARD_DATA_DIR",
        "",
        "Data folder of the embedded servers, keys and the model. Empty means `.pegboard`"
        " in the project, and for an installed package `pegboard` in the person's data folder.",
    ),
    Setting(
        "PEGBOARD_SECRET_KEY",
        "",
        "Signs sessions and protects sign-in codes: 50 random characters or more. A new "
        "key signs everyone out and makes sign-in codes unreadable. Empty uses the key "
        "file in the data folder.",
    ),
    Setting(
        "PEGBOARD_ADMIN_PASSWORD",
        "",
        "Password of the first admin, of 10 characters or more, in place of a random one that "
        "set-up prints once. Unused once there is an admin.",
        wrong=no_password,
    ),
    Setting(
        "PEGBOARD_ENCRYPTION_KEYS",
        (),
        "Keys that encrypt the secrets of integrations, newest first, separated by "
        "commas. Each is 32 random bytes in URL-safe base64 (`openssl rand -base64 32 | "
        "tr +/ -_`). Keep a copy apart from the database. Empty uses the key file in the "
        "data folder.",
        wrong=no_encryption_keys,
    ),
    Setting(
        "PEGBOARD_BROKER",
        "",
        "Socket of the secrets service (`manage.py broker`), which then alone needs the encryption "
        "keys. Empty opens secrets in the process that needs them. `make run` sets it.",
    ),
    Setting(
        "PEGBOARD_SEALING_KEY",
        "",
        "File with the public key that seals secrets, which the broker writes. Empty derives it "
        "from the encryption keys.",
    ),
    Setting(
        "PEGBOARD_BROKER_CONNECTIONS",
        600,
        "Different connections (an integration, for everyone or one person) that the broker opens "
        "secrets for within a minute.",
        10,
        100_000,
    ),
    Setting(
        "PEGBOARD_AUDIT_ANCHOR",
        "",
        "Where to record the head of the audit log outside the database: the path of a "
        "file, `syslog`, or an https address.",
        wrong=no_anchor,
    ),
    Setting(
        "PEGBOARD_AUDIT_ANCHOR_SECONDS",
        300,
        "Seconds between anchors of the audit log, if there are new entries; once a day otherwise.",
        10,
        86_400,
    ),
    Setting(
        "PEGBOARD_EVENT_LOG",
        "off",
        "Where audit entries and ended calls are sent for a SIEM: `stdout` of Connections, "
        "as JSON lines, or `otlp` as log records to OTEL_EXPORTER_OTLP_ENDPOINT.",
        choices=("off", "stdout", "otlp"),
    ),
    Setting(
        "PEGBOARD_DEBUG", False, "Show error pages with details to everyone. For development only."
    ),
    Setting(
        "PEGBOARD_ALLOWED_HOSTS",
        ("localhost", "127.0.0.1", "[::1]"),
        "Host names that Pegboard answers to, separated by commas.",
    ),
    Setting(
        "PEGBOARD_TRUSTED_ORIGINS",
        (),
        "Origins that may post forms, such as https://pegboard.example, separated by "
        "commas. Needed if people see another address than the one that reaches Pegboard.",
    ),
    Setting(
        "PEGBOARD_HTTPS",
        False,
        "Pegboard is served over HTTPS: secure cookies, redirects, and HSTS for a year with all"
        " subdomains. Set it behind a proxy that terminates TLS.",
    ),
    Setting(
        "PEGBOARD_TRUST_PROXY",
        False,
        "Trust X-Forwarded-Proto, and the last address in X-Forwarded-For. Set it only "
        "behind a proxy that overwrites both. Without it, all clients behind a proxy "
        "share the proxy's limits.",
    ),
    Setting(
        "PEGBOARD_PROXY_PLACE",
        "",
        "Where this machine reaches the proxy that shows the certificate, as host:port, if not at "
        "the names of PEGBOARD_TRUSTED_ORIGINS. For `manage.py doctor`.",
        wrong=no_hosts,
    ),
    Setting(
        "PEGBOARD_BACKUP_DAYS",
        7,
        "Age of the last backup from which `manage.py doctor` and the page Health say so; 0 for "
        "none, where something else backs up the database.",
        0,
        3650,
    ),
    Setting(
        "PEGBOARD_EMAIL_URL",
        "",
        "Mail server: `smtp+tls://user:password@host:587` (STARTTLS), `smtps://` or "
        "`smtp://`. Percent-encode special characters. Empty writes mails to the web "
        "server's log.",
        wrong=no_mail_url,
    ),
    Setting(
        "PEGBOARD_EMAIL_FROM",
        "Pegboard <pegboard@localhost>",
        "Sender of Pegboard's mails.",
        wrong=no_sender,
    ),
    Setting(
        "PEGBOARD_LANGUAGE",
        "en",
        "Language of messages to groups, of invitations, and to people whose language is unknown.",
        wrong=no_language,
    ),
    Setting("PEGBOARD_INVITATION_DAYS", 7, "Days until an invitation expires.", 1, 90),
    Setting(
        "PEGBOARD_OIDC_ISSUER",
        "",
        "Issuer URL of an OpenID Connect provider for sign-in.",
        wrong=no_web_url,
    ),
    Setting("PEGBOARD_OIDC_CLIENT_ID", "", "Pegboard's client id at the provider."),
    Setting("PEGBOARD_OIDC_CLIENT_SECRET", "", "Pegboard's client secret at the provider."),
    Setting("PEGBOARD_OIDC_NAME", "single sign-on", "Name of the provider on the sign-in button."),
    Setting(
        "PEGBOARD_OIDC_SCOPES",
        ("openid", "profile", "email"),
        "Scopes requested at sign-in, separated by commas.",
    ),
    Setting(
        "PEGBOARD_OIDC_SIGN_UP",
        False,
        "Create an account for people the provider knows, without an invitation.",
    ),
    Setting(
        "PEGBOARD_OIDC_GROUPS_CLAIM",
        "groups",
        "Claim with a person's groups. Dots lead into nested objects: `realm_access.roles`.",
    ),
    Setting(
        "PEGBOARD_OIDC_GROUPS",
        (),
        "Mapping from claim values to groups, as value=group, separated by commas.",
        wrong=no_group_mapping,
    ),
    Setting(
        "PEGBOARD_OIDC_ADMIN_GROUP",
        "",
        "Claim value that makes a person an admin. Empty leaves that decision to Pegboard.",
    ),
    Setting(
        "PEGBOARD_LOG_LEVEL",
        "INFO",
        "Lowest level that is logged.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
    Setting(
        "PEGBOARD_LOG_FORMAT",
        "json",
        "One JSON object per line, or plain text for people.",
        choices=("json", "text"),
    ),
    Setting(
        "PEGBOARD_REDIS_TIMEOUT_MS",
        50,
        "Milliseconds before a Redis call counts as failed.",
        5,
        5000,
    ),
    Setting(
        "PEGBOARD_EMBEDDER",
        "onnx",
        "Source of vectors. `sentence-transformers` needs the extra of that name, "
        "`openai` needs PEGBOARD_EMBEDDING_URL. A new model's vectors are built while the"
        " old model answers.",
        choices=("onnx", "sentence-transformers", "openai"),
    ),
    Setting(
        "PEGBOARD_MODEL_WEIGHTS",
        "",
        "Folder with `model.safetensors` and `tokenizer.json` of all-MiniLM-L6-v2, in place of the"
        " package that has them. The checksum of the weights has to be the same.",
    ),
    Setting(
        "PEGBOARD_TRAINED_ENCODER",
        True,
        "Use the shipped model as trained to choose tools. False uses the original model.",
    ),
    Setting(
        "PEGBOARD_MULTILINGUAL",
        True,
        "Read messages that are not English by a multilingual model beside the shipped one."
        " A process that sees such a message takes 100 MB more.",
    ),
    Setting(
        "PEGBOARD_EMBEDDING_MODEL",
        "",
        "Model name or path for `sentence-transformers` and `openai`. The former uses the shipped"
        " model without it.",
    ),
    Setting(
        "PEGBOARD_EMBEDDING_URL",
        "",
        "Base URL of an OpenAI-compatible embedding endpoint.",
        wrong=no_web_url,
    ),
    Setting("PEGBOARD_EMBEDDING_KEY", "", "API key for that endpoint."),
    Setting(
        "PEGBOARD_EMBEDDING_DIMENSION",
        384,
        "Vector length of an OpenAI-compatible model.",
        8,
        4000,
    ),
    Setting("PEGBOARD_EMBEDDING_BATCH", 32, "Texts that the worker embeds in one batch.", 1, 512),
    Setting(
        "PEGBOARD_QUERY_CACHE_SIZE", 1000, "Message vectors cached in each process.", 0, 1_000_000
    ),
    Setting(
        "PEGBOARD_QUERY_CACHE_SECONDS",
        3600,
        "Seconds that a message vector stays in Redis.",
        0,
        604_800,
    ),
    Setting(
        "PEGBOARD_SWEEP_SECONDS",
        60,
        "Seconds between sweeps for entries without a vector.",
        1,
        3600,
    ),
    Setting(
        "PEGBOARD_SWEEP_AFTER_SECONDS",
        60,
        "Seconds that an entry waits before the sweep sends it again.",
        0,
        3600,
    ),
    Setting(
        "PEGBOARD_EMBEDDING_ATTEMPTS",
        5,
        "Attempts before the embedding of an entry counts as failed.",
        1,
        100,
    ),
    Setting(
        "PEGBOARD_LISTING_SECONDS",
        3600,
        "Seconds that the full catalogue listing stays in Redis.",
        1,
        86_400,
    ),
    Setting(
        "PEGBOARD_INDEX_MOST",
        100_000,
        "Most capabilities whose vectors, words and relations each web process keeps in memory, "
        "2 kB each; a larger catalogue is ranked in Postgres. 0: always there.",
        0,
        200_000,
    ),
    Setting(
        "PEGBOARD_TOKENIZER",
        "",
        "Path of a tokenizer.json that counts tokens. Empty estimates four characters per token.",
        wrong=no_file,
    ),
    Setting(
        "PEGBOARD_MAX_TOOLS",
        10,
        "Default number of capabilities selected for a message. A request may ask for up to 50.",
        1,
        100,
    ),
    Setting(
        "PEGBOARD_GRAPH_BOOST",
        0.15,
        "Score that related results gain from each other, times the weight of the edge. 0"
        " switches relations off.",
        0,
        1,
    ),
    Setting(
        "PEGBOARD_CONTEXT_WINDOW",
        128_000,
        "Default context window of the model, in tokens. A request may name its own.",
        1_000,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_CONTEXT_SHARE",
        0.2,
        "Share of the context window available to definitions.",
        0.01,
        1,
    ),
    Setting(
        "PEGBOARD_COMPACT_TOKENS",
        30,
        "Tokens per capability in `compact_direct` mode.",
        16,
        200,
    ),
    Setting(
        "PEGBOARD_TIER0_TOKENS",
        200,
        "Token budget of tier 0, the summary of categories.",
        0,
        100_000,
    ),
    Setting(
        "PEGBOARD_TIER1_TOKENS",
        800,
        "Token budget of tier 1, one line per matching capability.",
        0,
        100_000,
    ),
    Setting(
        "PEGBOARD_TIER2_TOKENS", 2_000, "Token budget of tier 2, full definitions.", 0, 100_000
    ),
    Setting("PEGBOARD_TIER1_TOP", 5, "Capabilities in tier 1.", 0, 50),
    Setting("PEGBOARD_TIER2_TOP", 2, "Capabilities in tier 2.", 0, 10),
    Setting(
        "PEGBOARD_TIER1_RELEVANCE",
        0.0,
        "Lowest score of a capability in tier 1; 0 takes what select takes.",
        0,
        1,
    ),
    Setting(
        "PEGBOARD_PLAN_POLICY",
        "fail_open",
        "What a plan offers if discovery fails: everything the caller may use, or nothing.",
        choices=("fail_open", "fail_closed"),
    ),
    Setting(
        "PEGBOARD_PLAN_MODE",
        "discovered",
        "What a plan offers: matches for the message, or everything the caller may use.",
        choices=("discovered", "all"),
    ),
    Setting("PEGBOARD_PLAN_RETRIES", 1, "Retries of discovery in a plan.", 0, 5),
    Setting("PEGBOARD_PLAN_BACKOFF_MS", 150, "Milliseconds between these retries.", 0, 5000),
    Setting(
        "PEGBOARD_PLAN_OVERRIDES",
        True,
        "Let requests for a plan choose policy, mode and kind.",
    ),
    Setting(
        "PEGBOARD_OUTCOME_SCOPE",
        "space",
        "Outcomes that share one window: per space, per group, or the whole deployment.",
        choices=("space", "group", "global"),
    ),
    Setting(
        "PEGBOARD_OUTCOME_WINDOW",
        100,
        "Latest outcomes in a window.",
        5,
        10_000,
    ),
    Setting("PEGBOARD_ALERTS", True, "Raise an alert when outcomes go badly."),
    Setting(
        "PEGBOARD_ALERT_BELOW", 0.55, "Weighted success rate below which an alert is raised.", 0, 1
    ),
    Setting("PEGBOARD_ALERT_SAMPLES", 8, "Outcomes that an alert needs.", 1, 10_000),
    Setting(
        "PEGBOARD_ALERT_COOLDOWN_SECONDS",
        60,
        "Seconds before the same window may raise another alert.",
        0,
        86_400,
    ),
    Setting(
        "PEGBOARD_ADAPTIVE",
        "both",
        "What plans change while outcomes go badly: offer everything, fail open, both, or nothing.",
        choices=("both", "all", "fail_open", "off"),
    ),
    Setting("PEGBOARD_ADAPTIVE_BELOW", 0.7, "Weighted success rate below which plans adapt.", 0, 1),
    Setting("PEGBOARD_ADAPTIVE_SAMPLES", 5, "Outcomes that adapting needs.", 1, 10_000),
    Setting(
        "PEGBOARD_LEARNING",
        True,
        "Learn from calls, and use that in rankings.",
    ),
    Setting("PEGBOARD_LEARNING_DAYS", 90, "Days that an experience is kept.", 1, 3650),
    Setting(
        "PEGBOARD_LEARNING_MOST",
        5000,
        "Latest experiences of a group that count for a message.",
        100,
        100_000,
    ),
    Setting(
        "PEGBOARD_MAX_MESSAGE_CHARACTERS",
        8000,
        "Characters of a message that is read whole; of a longer one its ends and densest part.",
        100,
        100_000,
    ),
    Setting(
        "PEGBOARD_WEB_MEMORY_MEGABYTES",
        700,
        "Memory from which a web process is replaced when its requests have ended; 0 for none.",
        0,
        1_000_000,
    ),
    Setting(
        "PEGBOARD_MAX_BODY_BYTES",
        1_048_576,
        "Largest request body, in bytes.",
        10_000,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_HASH_CONVERSATIONS",
        False,
        "Stores a keyed hash of each conversation's name, which applications send, instead of the "
        "name.",
    ),
    Setting(
        "PEGBOARD_KEEP_MESSAGES",
        False,
        "Store the text of messages with their turns. Otherwise a turn keeps only the "
        "selection and its duration.",
    ),
    Setting(
        "PEGBOARD_RATE_PER_KEY", 100_000, "Requests per minute for each API key.", 1, 10_000_000
    ),
    Setting(
        "PEGBOARD_RATE_PER_PERSON",
        6000,
        "Requests per minute for each person in a web session, and for each person a key acts for.",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_RATE_PER_ADDRESS",
        600,
        "Requests per minute for each address without a key or session.",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_RATE_WRONG_KEYS",
        60,
        "Invalid keys per minute and address; further ones get 429 instead of 401.",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_RATE_REGISTRATIONS",
        20,
        "MCP clients that may register per minute and address.",
        1,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_CPU_PER_KEY",
        1_000_000,
        "Milliseconds of CPU time per minute for each API key. The default is the whole machine.",
        100,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_CPU_PER_PERSON",
        60_000,
        "Milliseconds of CPU time per minute for each person in a web session, and for each person "
        "a key acts for.",
        100,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_CPU_PER_ADDRESS",
        20_000,
        "Milliseconds of CPU time per minute for each address without a key or session.",
        100,
        100_000_000,
    ),
    Setting(
        "PEGBOARD_MAX_FILE_BYTES", 5_242_880, "Largest source file, in bytes.", 1000, 1_000_000_000
    ),
    Setting(
        "PEGBOARD_CAPABILITY_DIRS",
        "",
        "Further folders of CAPABILITY.yaml files, separated by colons. "
        "`~/.pegboard/capabilities` and `./capabilities` are always watched and come "
        "first.",
    ),
    Setting(
        "PEGBOARD_RELOAD_DEBOUNCE_MS",
        500,
        "Milliseconds without a change before manifests are reloaded.",
        50,
        10_000,
    ),
    Setting(
        "PEGBOARD_RELOAD_POLLING",
        False,
        "Poll manifests every second. For network file systems and shared folders that "
        "send no events; otherwise such a change is found within a minute.",
    ),
    Setting(
        "PEGBOARD_APPROVE",
        "delete",
        "Calls that need approval besides those whose rights ask first: none, deletes, "
        "writes and deletes, or all.",
        choices=("propose", "delete", "write", "all"),
    ),
    Setting(
        "PEGBOARD_TRUSTED_SERVERS",
        (),
        "Slugs of MCP servers whose annotations are trusted, separated by commas; `*` means all.",
    ),
    Setting(
        "PEGBOARD_FLOW_GUARD",
        "advise",
        "What happens to a call whose targets come neither from the user's words nor from what an "
        "admin trusts: nothing, a note, an approval, a refusal. `off` keeps nothing of a turn, and "
        "no rule can turn the guard on.",
        choices=("off", "advise", "ask", "refuse"),
    ),
    Setting(
        "PEGBOARD_FLOW_TRUSTED_SERVERS",
        (),
        "Slugs of servers whose answers may decide where a call goes, until a stranger's text was "
        "read, separated by commas; `*` means all.",
    ),
    Setting(
        "PEGBOARD_SELF_APPROVAL", False, "Let admins approve their own calls in a web session."
    ),
    Setting(
        "PEGBOARD_MAX_WAITING_CALLS",
        50,
        "Pending approvals per person.",
        1,
        10_000,
    ),
    Setting("PEGBOARD_APPROVAL_HOURS", 24, "Hours until a pending approval expires.", 1, 720),
    Setting("PEGBOARD_CALL_SECONDS", 60, "Timeout of a tool call, in seconds.", 1, 3600),
    Setting(
        "PEGBOARD_PROGRESS_SECONDS",
        600,
        "Seconds that a tool call may take in all while its server reports progress.",
        1,
        7200,
    ),
    Setting(
        "PEGBOARD_CALL_WAIT_SECONDS",
        25,
        "Seconds that a request waits for a tool before it answers `running`.",
        0,
        300,
    ),
    Setting(
        "PEGBOARD_ASK_SECONDS",
        300,
        "Seconds in all that an MCP client and its person may take to answer the questions of a "
        "call.",
        1,
        3600,
    ),
    Setting(
        "PEGBOARD_MCP_TOOLS",
        40,
        "Tools that `/mcp` lists besides the meta-tools; who may use more gets those used "
        "most. 0 lists none.",
        0,
        500,
    ),
    Setting(
        "PEGBOARD_REGISTRY_ANONYMOUS",
        False,
        "Let anyone read the registry at `/v0.1` without a key: names, titles and descriptions of "
        "integrations with a server that are neither restricted nor a draft.",
    ),
    Setting(
        "PEGBOARD_OAUTH",
        True,
        "Let MCP clients register and sign in by OAuth. `false` leaves them API keys, and refuses "
        "those that are connected.",
    ),
    Setting(
        "PEGBOARD_OAUTH_DOCUMENTS",
        True,
        "Let MCP clients sign in by the address of their metadata document. `false` where Pegboard "
        "cannot reach the internet: clients register instead.",
    ),
    Setting(
        "PEGBOARD_OAUTH_DAYS",
        30,
        "Days after which a connected MCP client that was not used has to sign in again.",
        1,
        365,
    ),
    Setting(
        "PEGBOARD_RESULT_BYTES",
        1_048_576,
        "Largest stored result of a tool, in bytes. Longer results are cut.",
        10_000,
        10_000_000,
    ),
    Setting(
        "PEGBOARD_CALL_DAYS", 30, "Days that finished calls and their results are kept.", 1, 3650
    ),
    Setting(
        "PEGBOARD_ADVICE",
        False,
        "Let chat models that admins choose advise on choosing tools. Each selection of their "
        "groups then sends the model its message, and waits as long as the policy says.",
    ),
    Setting(
        "PEGBOARD_EXAMPLE_REQUESTS",
        True,
        "Find tools by the example requests that admins gave them, too, and let admins ask a chat "
        "model for some. After a change run `manage.py rebuild_catalog`.",
    ),
    Setting(
        "PEGBOARD_TURN_DAYS",
        400,
        "Days that turns and their outcomes are kept; their sums stay. 0 keeps them for ever.",
        0,
        36_500,
    ),
    Setting(
        "PEGBOARD_MESSAGE_DAYS",
        90,
        "Days that the messages of turns are kept, where they are. 0 keeps them with the turns.",
        0,
        36_500,
    ),
    Setting(
        "PEGBOARD_DELIVERY_DAYS",
        30,
        "Days that the log of notifications that ended is kept.",
        1,
        3650,
    ),
    Setting(
        "PEGBOARD_SIGN_IN_DAYS",
        90,
        "Days that sign-ins, failed ones too, and sessions that expired are kept.",
        1,
        3650,
    ),
    Setting(
        "PEGBOARD_RIGHTS_DAYS",
        1100,
        "Days back that rights at a past moment can be told. 0 keeps the record for ever.",
        0,
        36_500,
    ),
    Setting(
        "PEGBOARD_AUDIT_DAYS",
        0,
        "Days of the audit log that `manage.py archive_audit` leaves in the database, unless it is "
        "given a date. 0 leaves all.",
        0,
        36_500,
    ),
    Setting(
        "PEGBOARD_CHAT_SECONDS",
        120,
        "Timeout of a request to a chat model in the Playground, in seconds.",
        1,
        3600,
    ),
    Setting(
        "PEGBOARD_CHAT_STEPS",
        8,
        "Requests to a chat model for one message at most, each with the results of its calls.",
        1,
        50,
    ),
    Setting("PEGBOARD_CHAT_DAYS", 30, "Days that chats with models are kept.", 1, 3650),
    Setting(
        "PEGBOARD_CHECK_SECONDS",
        300,
        "Seconds between health checks of remote servers and of failed programs.",
        10,
        86_400,
    ),
    Setting(
        "PEGBOARD_SYNC_SECONDS",
        3600,
        "Seconds between comparisons of all servers' definitions with the approved ones.",
        60,
        604_800,
    ),
    Setting(
        "PEGBOARD_VERIFY_SECONDS",
        60,
        "Highest age of a server's definition at a call, in seconds. An older one is read again.",
        0,
        3600,
    ),
    Setting(
        "PEGBOARD_FETCH_ICONS",
        True,
        "True fetches the icons that servers and registries declare. Without it, a letter is "
        "drawn, unless a server sends its icon itself.",
    ),
    Setting(
        "PEGBOARD_LAUNCHERS",
        ("uvx", "npx"),
        "Programs that may start MCP servers, as names or full paths. `uvx` and `npx` "
        "allow packages from PyPI and npm, `mcpb` allows MCP bundles; Pegboard installs them "
        "itself. `none` allows nothing.",
    ),
    Setting(
        "PEGBOARD_PACKAGE_HOSTS",
        (),
        "Hosts that package clients may reach besides their configured indexes, such as the store "
        "of files that an index links to, separated by commas. `*` leaves them the whole network.",
        wrong=no_package_hosts,
    ),
    Setting(
        "PEGBOARD_PACKAGE_SECONDS",
        300,
        "Timeout for installing a package with its dependencies, in seconds.",
        10,
        3600,
    ),
    Setting(
        "PEGBOARD_PACKAGE_MEGABYTES",
        1000,
        "Largest installed package with its dependencies, in megabytes.",
        1,
        100_000,
    ),
    Setting(
        "PEGBOARD_PACKAGE_CACHE_MEGABYTES",
        1000,
        "Fetched npm tarballs and built wheels that are kept for later installations, in "
        "megabytes. Those that were not used for longest go first; 0 keeps none.",
        0,
        100_000,
    ),
    Setting(
        "PEGBOARD_SOURCE_BUILDS",
        True,
        "Whether pure Python packages that exist as source only are built, in a sandbox without a "
        "network. A build runs the package's code.",
    ),
    Setting(
        "PEGBOARD_CELL",
        "preferred",
        "Whether programs of MCP servers and package clients run in sandboxes, apart from "
        "Pegboard's files, secrets and network. `required` refuses to start them without, "
        "`preferred` starts them as before where the system cannot make a sandbox, `off` makes "
        "none.",
        choices=("required", "preferred", "off"),
    ),
    Setting(
        "PEGBOARD_CELL_FOLDERS",
        (),
        "Folders that a program may read in its cell if its confirmed command names them or "
        "something in them, separated by commas. `:rw` at the end lets it write there too.",
        wrong=no_folders,
    ),
    Setting(
        "PEGBOARD_CELL_GROUPS",
        (),
        "Control groups that the operator gave to Pegboard, separated by commas: in each, a cell "
        "gets a group of its own with limits on memory, processes and CPU that the kernel keeps. "
        "Without it, the one that systemd delegated (`Delegate=yes` and `DelegateSubgroup=`).",
        wrong=no_folders,
    ),
    Setting(
        "PEGBOARD_SOURCE_DIRS",
        "",
        "Folders from which the marketplace may read sources, separated by colons. "
        "Without it, no page or API request reads local folders; `import_catalog` reads "
        "any path.",
    ),
    Setting(
        "PEGBOARD_ALLOWED_PRIVATE_HOSTS",
        (),
        "Hosts that may be reached at private addresses and without TLS, as host or host:port.",
        wrong=no_hosts,
    ),
)


def read_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return all settings by name; SettingsError names every invalid and every unknown one."""
    values: dict[str, Any] = {}
    problems = list(find_unknown(environ, [setting.name for setting in SETTINGS]))
    for setting in SETTINGS:
        try:
            values[setting.name] = setting.read(environ)
        except ValueError as problem:
            problems.append(f"{setting.name} {problem}")
    if values.get("PEGBOARD_EMBEDDER") == "openai" and not values.get("PEGBOARD_EMBEDDING_URL"):
        problems.append("PEGBOARD_EMBEDDING_URL is needed where PEGBOARD_EMBEDDER is openai")
    if values.get("PEGBOARD_OIDC_ISSUER") and not values.get("PEGBOARD_OIDC_CLIENT_ID"):
        problems.append("PEGBOARD_OIDC_CLIENT_ID is needed where PEGBOARD_OIDC_ISSUER is set")
    if values.get("PEGBOARD_REPLICA_STALENESS") and not values.get("PEGBOARD_REPLICA_URL"):
        problems.append("PEGBOARD_REPLICA_URL is needed where PEGBOARD_REPLICA_STALENESS is not 0")
    if problems:
        raise SettingsError("\n".join(problems))
    return values
