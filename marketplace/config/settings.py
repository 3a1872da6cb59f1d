"""Django settings, built from the table in `env.py`."""

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dj_database_url
from django.http import HttpRequest
from django.templatetags.static import static
from redis.backoff import NoBackoff
from redis.retry import Retry

from acl.platform import task_names
from acl.platform.read_replica import ALIAS, replica_database
from marketplace.config.env import SettingsError, separated
from marketplace.config.logs import logging_config
from marketplace.config.provider_settings import group_mapping, mail_settings, providers
from marketplace.config.settings_table import read_settings
from marketplace.config.value_checks import LEAST_PASSWORD, available_languages, hosts_with_ports
from marketplace.operate.embedded.data_folder import (
    default_data_folder,
    known_database_url,
    known_redis_url,
)
from marketplace.operate.embedded.gunicorn_config import workers
from marketplace.operate.roles.names import APP, OWNER

BASE_DIR = Path(__file__).resolve().parent.parent.parent
# Pages, static files and docs: beside the code in a checkout, below it in an installed package.
_PACKAGED = BASE_DIR / "marketplace/files"
FILES_DIR = _PACKAGED if _PACKAGED.is_dir() else BASE_DIR
try:
    _env = read_settings(os.environ)
except SettingsError as problem:
    sys.exit(f"Pegboard cannot start:\n{problem}")
PEGBOARD_REDIS_TIMEOUT_MS: int = _env["PEGBOARD_REDIS_TIMEOUT_MS"]
PEGBOARD_AUDIT_ANCHOR: str = _env["PEGBOARD_AUDIT_ANCHOR"]
PEGBOARD_AUDIT_ANCHOR_SECONDS: int = _env["PEGBOARD_AUDIT_ANCHOR_SECONDS"]
PEGBOARD_EMBEDDER: str = _env["PEGBOARD_EMBEDDER"]
PEGBOARD_MODEL_WEIGHTS: str = _env["PEGBOARD_MODEL_WEIGHTS"]
PEGBOARD_TRAINED_ENCODER: bool = _env["PEGBOARD_TRAINED_ENCODER"]
PEGBOARD_MULTILINGUAL: bool = _env["PEGBOARD_MULTILINGUAL"]
PEGBOARD_EMBEDDING_MODEL: str = _env["PEGBOARD_EMBEDDING_MODEL"]
PEGBOARD_EMBEDDING_URL: str = _env["PEGBOARD_EMBEDDING_URL"]
PEGBOARD_EMBEDDING_KEY: str = _env["PEGBOARD_EMBEDDING_KEY"]
PEGBOARD_EMBEDDING_DIMENSION: int = _env["PEGBOARD_EMBEDDING_DIMENSION"]
PEGBOARD_EMBEDDING_BATCH: int = _env["PEGBOARD_EMBEDDING_BATCH"]
PEGBOARD_QUERY_CACHE_SIZE: int = _env["PEGBOARD_QUERY_CACHE_SIZE"]
PEGBOARD_QUERY_CACHE_SECONDS: int = _env["PEGBOARD_QUERY_CACHE_SECONDS"]
PEGBOARD_SWEEP_SECONDS: int = _env["PEGBOARD_SWEEP_SECONDS"]
PEGBOARD_SWEEP_AFTER_SECONDS: int = _env["PEGBOARD_SWEEP_AFTER_SECONDS"]
PEGBOARD_EMBEDDING_ATTEMPTS: int = _env["PEGBOARD_EMBEDDING_ATTEMPTS"]
PEGBOARD_LISTING_SECONDS: int = _env["PEGBOARD_LISTING_SECONDS"]
PEGBOARD_TOKENIZER: str = _env["PEGBOARD_TOKENIZER"]
PEGBOARD_MAX_TOOLS: int = _env["PEGBOARD_MAX_TOOLS"]
PEGBOARD_GRAPH_BOOST: float = _env["PEGBOARD_GRAPH_BOOST"]
PEGBOARD_CONTEXT_WINDOW: int = _env["PEGBOARD_CONTEXT_WINDOW"]
PEGBOARD_CONTEXT_SHARE: float = _env["PEGBOARD_CONTEXT_SHARE"]
PEGBOARD_COMPACT_TOKENS: int = _env["PEGBOARD_COMPACT_TOKENS"]
PEGBOARD_TIER0_TOKENS: int = _env["PEGBOARD_TIER0_TOKENS"]
PEGBOARD_TIER1_TOKENS: int = _env["PEGBOARD_TIER1_TOKENS"]
PEGBOARD_TIER2_TOKENS: int = _env["PEGBOARD_TIER2_TOKENS"]
PEGBOARD_TIER1_TOP: int = _env["PEGBOARD_TIER1_TOP"]
PEGBOARD_TIER2_TOP: int = _env["PEGBOARD_TIER2_TOP"]
PEGBOARD_TIER1_RELEVANCE: float = _env["PEGBOARD_TIER1_RELEVANCE"]
PEGBOARD_PLAN_POLICY: str = _env["PEGBOARD_PLAN_POLICY"]
PEGBOARD_PLAN_MODE: str = _env["PEGBOARD_PLAN_MODE"]
PEGBOARD_PLAN_RETRIES: int = _env["PEGBOARD_PLAN_RETRIES"]
PEGBOARD_PLAN_BACKOFF_MS: int = _env["PEGBOARD_PLAN_BACKOFF_MS"]
PEGBOARD_PLAN_OVERRIDES: bool = _env["PEGBOARD_PLAN_OVERRIDES"]
PEGBOARD_OUTCOME_SCOPE: str = _env["PEGBOARD_OUTCOME_SCOPE"]
PEGBOARD_OUTCOME_WINDOW: int = _env["PEGBOARD_OUTCOME_WINDOW"]
PEGBOARD_ALERTS: bool = _env["PEGBOARD_ALERTS"]
PEGBOARD_ALERT_BELOW: float = _env["PEGBOARD_ALERT_BELOW"]
PEGBOARD_ALERT_SAMPLES: int = _env["PEGBOARD_ALERT_SAMPLES"]
PEGBOARD_ALERT_COOLDOWN_SECONDS: int = _env["PEGBOARD_ALERT_COOLDOWN_SECONDS"]
PEGBOARD_ADAPTIVE: str = _env["PEGBOARD_ADAPTIVE"]
PEGBOARD_ADAPTIVE_BELOW: float = _env["PEGBOARD_ADAPTIVE_BELOW"]
PEGBOARD_ADAPTIVE_SAMPLES: int = _env["PEGBOARD_ADAPTIVE_SAMPLES"]
PEGBOARD_INDEX_MOST: int = _env["PEGBOARD_INDEX_MOST"]
PEGBOARD_LEARNING: bool = _env["PEGBOARD_LEARNING"]
PEGBOARD_LEARNING_DAYS: int = _env["PEGBOARD_LEARNING_DAYS"]
PEGBOARD_LEARNING_MOST: int = _env["PEGBOARD_LEARNING_MOST"]
PEGBOARD_MAX_MESSAGE_CHARACTERS: int = _env["PEGBOARD_MAX_MESSAGE_CHARACTERS"]
PEGBOARD_HASH_CONVERSATIONS: bool = _env["PEGBOARD_HASH_CONVERSATIONS"]
PEGBOARD_KEEP_MESSAGES: bool = _env["PEGBOARD_KEEP_MESSAGES"]
PEGBOARD_RATE_PER_KEY: int = _env["PEGBOARD_RATE_PER_KEY"]
PEGBOARD_RATE_PER_PERSON: int = _env["PEGBOARD_RATE_PER_PERSON"]
PEGBOARD_RATE_PER_ADDRESS: int = _env["PEGBOARD_RATE_PER_ADDRESS"]
PEGBOARD_RATE_WRONG_KEYS: int = _env["PEGBOARD_RATE_WRONG_KEYS"]
PEGBOARD_RATE_REGISTRATIONS: int = _env["PEGBOARD_RATE_REGISTRATIONS"]
PEGBOARD_CPU_PER_KEY: int = _env["PEGBOARD_CPU_PER_KEY"]
PEGBOARD_CPU_PER_PERSON: int = _env["PEGBOARD_CPU_PER_PERSON"]
PEGBOARD_CPU_PER_ADDRESS: int = _env["PEGBOARD_CPU_PER_ADDRESS"]
PEGBOARD_TRUST_PROXY: bool = _env["PEGBOARD_TRUST_PROXY"]
PEGBOARD_ADMIN_PASSWORD: str = _env["PEGBOARD_ADMIN_PASSWORD"]
PEGBOARD_PROXY_PLACE: str = _env["PEGBOARD_PROXY_PLACE"]
PEGBOARD_BACKUP_DAYS: int = _env["PEGBOARD_BACKUP_DAYS"]
PEGBOARD_EVENT_LOG: str = _env["PEGBOARD_EVENT_LOG"]
PEGBOARD_LANGUAGE: str = _env["PEGBOARD_LANGUAGE"]
PEGBOARD_INVITATION_DAYS: int = _env["PEGBOARD_INVITATION_DAYS"]
PEGBOARD_OIDC_ISSUER: str = _env["PEGBOARD_OIDC_ISSUER"]
PEGBOARD_OIDC_NAME: str = _env["PEGBOARD_OIDC_NAME"]
PEGBOARD_OIDC_SIGN_UP: bool = _env["PEGBOARD_OIDC_SIGN_UP"]
PEGBOARD_OIDC_GROUPS_CLAIM: str = _env["PEGBOARD_OIDC_GROUPS_CLAIM"]
PEGBOARD_OIDC_GROUPS: tuple[tuple[str, str], ...] = group_mapping(_env["PEGBOARD_OIDC_GROUPS"])
PEGBOARD_OIDC_ADMIN_GROUP: str = _env["PEGBOARD_OIDC_ADMIN_GROUP"]
PEGBOARD_MAX_FILE_BYTES: int = _env["PEGBOARD_MAX_FILE_BYTES"]
PEGBOARD_CAPABILITY_DIRS: tuple[str, ...] = separated(_env["PEGBOARD_CAPABILITY_DIRS"], by=":")
PEGBOARD_SOURCE_DIRS: tuple[str, ...] = separated(_env["PEGBOARD_SOURCE_DIRS"], by=":")
PEGBOARD_RELOAD_DEBOUNCE_MS: int = _env["PEGBOARD_RELOAD_DEBOUNCE_MS"]
PEGBOARD_RELOAD_POLLING: bool = _env["PEGBOARD_RELOAD_POLLING"]
PEGBOARD_WEB_MEMORY_MEGABYTES: int = _env["PEGBOARD_WEB_MEMORY_MEGABYTES"]
PEGBOARD_MAX_BODY_BYTES: int = _env["PEGBOARD_MAX_BODY_BYTES"]
PEGBOARD_APPROVE: str = _env["PEGBOARD_APPROVE"]
PEGBOARD_TRUSTED_SERVERS: tuple[str, ...] = _env["PEGBOARD_TRUSTED_SERVERS"]
PEGBOARD_FLOW_GUARD: str = _env["PEGBOARD_FLOW_GUARD"]
PEGBOARD_FLOW_TRUSTED_SERVERS: tuple[str, ...] = _env["PEGBOARD_FLOW_TRUSTED_SERVERS"]
PEGBOARD_SELF_APPROVAL: bool = _env["PEGBOARD_SELF_APPROVAL"]
PEGBOARD_MAX_WAITING_CALLS: int = _env["PEGBOARD_MAX_WAITING_CALLS"]
PEGBOARD_APPROVAL_HOURS: int = _env["PEGBOARD_APPROVAL_HOURS"]
PEGBOARD_CALL_SECONDS: int = _env["PEGBOARD_CALL_SECONDS"]
PEGBOARD_PROGRESS_SECONDS: int = _env["PEGBOARD_PROGRESS_SECONDS"]
PEGBOARD_CALL_WAIT_SECONDS: int = _env["PEGBOARD_CALL_WAIT_SECONDS"]
PEGBOARD_ASK_SECONDS: int = _env["PEGBOARD_ASK_SECONDS"]
PEGBOARD_MCP_TOOLS: int = _env["PEGBOARD_MCP_TOOLS"]
PEGBOARD_REGISTRY_ANONYMOUS: bool = _env["PEGBOARD_REGISTRY_ANONYMOUS"]
PEGBOARD_OAUTH: bool = _env["PEGBOARD_OAUTH"]
PEGBOARD_OAUTH_DOCUMENTS: bool = _env["PEGBOARD_OAUTH_DOCUMENTS"]
PEGBOARD_OAUTH_DAYS: int = _env["PEGBOARD_OAUTH_DAYS"]
PEGBOARD_RESULT_BYTES: int = _env["PEGBOARD_RESULT_BYTES"]
PEGBOARD_CALL_DAYS: int = _env["PEGBOARD_CALL_DAYS"]
PEGBOARD_ADVICE: bool = _env["PEGBOARD_ADVICE"]
PEGBOARD_EXAMPLE_REQUESTS: bool = _env["PEGBOARD_EXAMPLE_REQUESTS"]
PEGBOARD_TURN_DAYS: int = _env["PEGBOARD_TURN_DAYS"]
PEGBOARD_MESSAGE_DAYS: int = _env["PEGBOARD_MESSAGE_DAYS"]
PEGBOARD_DELIVERY_DAYS: int = _env["PEGBOARD_DELIVERY_DAYS"]
PEGBOARD_SIGN_IN_DAYS: int = _env["PEGBOARD_SIGN_IN_DAYS"]
PEGBOARD_RIGHTS_DAYS: int = _env["PEGBOARD_RIGHTS_DAYS"]
PEGBOARD_AUDIT_DAYS: int = _env["PEGBOARD_AUDIT_DAYS"]
PEGBOARD_CHAT_SECONDS: int = _env["PEGBOARD_CHAT_SECONDS"]
PEGBOARD_CHAT_STEPS: int = _env["PEGBOARD_CHAT_STEPS"]
PEGBOARD_CHAT_DAYS: int = _env["PEGBOARD_CHAT_DAYS"]
PEGBOARD_CHECK_SECONDS: int = _env["PEGBOARD_CHECK_SECONDS"]
PEGBOARD_SYNC_SECONDS: int = _env["PEGBOARD_SYNC_SECONDS"]
PEGBOARD_FETCH_ICONS: bool = _env["PEGBOARD_FETCH_ICONS"]
PEGBOARD_VERIFY_SECONDS: int = _env["PEGBOARD_VERIFY_SECONDS"]
PEGBOARD_LAUNCHERS: tuple[str, ...] = _env["PEGBOARD_LAUNCHERS"]
PEGBOARD_CELL: str = _env["PEGBOARD_CELL"]
PEGBOARD_CELL_FOLDERS: tuple[str, ...] = _env["PEGBOARD_CELL_FOLDERS"]
PEGBOARD_CELL_GROUPS: tuple[str, ...] = _env["PEGBOARD_CELL_GROUPS"]
PEGBOARD_PACKAGE_HOSTS: tuple[str, ...] = _env["PEGBOARD_PACKAGE_HOSTS"]
PEGBOARD_PACKAGE_SECONDS: int = _env["PEGBOARD_PACKAGE_SECONDS"]
PEGBOARD_PACKAGE_MEGABYTES: int = _env["PEGBOARD_PACKAGE_MEGABYTES"]
PEGBOARD_PACKAGE_CACHE_MEGABYTES: int = _env["PEGBOARD_PACKAGE_CACHE_MEGABYTES"]
PEGBOARD_SOURCE_BUILDS: bool = _env["PEGBOARD_SOURCE_BUILDS"]
PEGBOARD_ALLOWED_PRIVATE_HOSTS: tuple[tuple[str, int | None], ...] = hosts_with_ports(
    _env["PEGBOARD_ALLOWED_PRIVATE_HOSTS"]
)

PEGBOARD_DATA_DIR = Path(
    _env["PEGBOARD_DATA_DIR"] or default_data_folder(BASE_DIR, FILES_DIR)
).resolve()
PEGBOARD_MODEL_DIR = PEGBOARD_DATA_DIR / "model"
PEGBOARD_VERSION = "0.2.0"
WEB_PROCESSES = workers  # each counts for itself while Redis is away
PEGBOARD_ENCRYPTION_KEYS: tuple[str, ...] = _env["PEGBOARD_ENCRYPTION_KEYS"]
PEGBOARD_BROKER: str = _env["PEGBOARD_BROKER"]
PEGBOARD_SEALING_KEY: str = _env["PEGBOARD_SEALING_KEY"]
PEGBOARD_BROKER_CONNECTIONS: int = _env["PEGBOARD_BROKER_CONNECTIONS"]


def _secret_key() -> str:
    key_file = PEGBOARD_DATA_DIR / "secret_key"
    if _env["PEGBOARD_SECRET_KEY"]:
        return str(_env["PEGBOARD_SECRET_KEY"])
    if key_file.is_file():
        return key_file.read_text().strip()
    return ""


# Django refuses an empty key at its first use; `manage.py up` creates the file.
SECRET_KEY = _secret_key()
DEBUG = _env["PEGBOARD_DEBUG"]
ALLOWED_HOSTS = list(_env["PEGBOARD_ALLOWED_HOSTS"])
CSRF_TRUSTED_ORIGINS = list(_env["PEGBOARD_TRUSTED_ORIGINS"])

INSTALLED_APPS = [
    "acl.web._admin_site.UnfoldConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.humanize",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "guardian",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "acl",
    "catalog",
    "discovery",
    "marketplace",
]

MIDDLEWARE = [
    "acl.web.problems.RequestIdMiddleware",
    "acl.web._rate_limits.BudgetMiddleware",
    "acl.web.error_handlers.PlainTextMiddleware",
    "marketplace.config.health.MetricsMiddleware",
    "marketplace.operate._pause.PauseMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "acl.web.frame.PolicyMiddleware",  # before static files: an image alone is a page, too
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "acl.web.problems.LanguageMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
    "acl.web.error_handlers.FailureMiddleware",
]

ROOT_URLCONF = "marketplace.config.urls"
WSGI_APPLICATION = "marketplace.config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES: dict[str, Any] = {
    "default": dj_database_url.parse(
        _env["DATABASE_URL"] or known_database_url(PEGBOARD_DATA_DIR, APP),
        conn_max_age=600,
        conn_health_checks=True,
        # A cursor outside of a transaction does not survive a connection pooler.
        disable_server_side_cursors=True,
    )
}
# The selection statement is prepared once per connection and uses a generic plan: planning it
# each time takes half of its time with 500 capabilities. JIT costs more than it saves for
# statements of a few milliseconds.
_session = "-c plan_cache_mode=force_generic_plan -c jit=off"
DATABASES["default"]["OPTIONS"] = DATABASES["default"].get("OPTIONS", {}) | {
    "options": _session,
    # Django's statements are never prepared automatically; the selection asks for it.
    "prepare_threshold": 1_000_000,
}
PEGBOARD_REPLICA_URL: str = _env["PEGBOARD_REPLICA_URL"]
PEGBOARD_REPLICA_STALENESS: int = _env["PEGBOARD_REPLICA_STALENESS"]
if PEGBOARD_REPLICA_URL and PEGBOARD_REPLICA_STALENESS:
    DATABASES[ALIAS] = replica_database(PEGBOARD_REPLICA_URL, _session)
DATABASE_URL: str = _env["DATABASE_URL"]
DATABASE_SUPERUSER_URL: str = _env["DATABASE_SUPERUSER_URL"]
# The role that owns the tables, for migrations, backup and restore; empty if there is only one
# role (marketplace/operate/roles/owner.py).
DATABASE_OWNER_URL: str = _env["DATABASE_OWNER_URL"]
if not DATABASE_OWNER_URL and not DATABASE_URL:
    DATABASE_OWNER_URL = known_database_url(PEGBOARD_DATA_DIR, OWNER)
DATABASE_APP_ROLE: str = DATABASES["default"].get("USER", "")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = _env["REDIS_URL"] or known_redis_url(PEGBOARD_DATA_DIR)
_redis_seconds = _env["PEGBOARD_REDIS_TIMEOUT_MS"] / 1000
CACHES = {
    "default": {
        "BACKEND": "acl.platform.redis_circuit.FailSafeCache",
        "LOCATION": REDIS_URL,
        # By default the client retries ten times with pauses while Redis is down.
        "OPTIONS": {
            "socket_timeout": _redis_seconds,
            "socket_connect_timeout": _redis_seconds,
            "retry": Retry(NoBackoff(), 0),
            "serializer": "acl.platform.redis_circuit.JsonSerializer",
        },
    }
}


def _broker(url: str) -> str:
    """Convert a redis-py URL (unix://) to Celery's notation (redis+socket://)."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    number = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={number}"


CELERY_BROKER_URL = _broker(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = (
    False  # a poison task would come back for ever; the sweeper redelivers, and counts
)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1  # a long task holds up none that is fetched
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
    "visibility_timeout": 600,
    "socket_timeout": 5,
    "socket_connect_timeout": 1,
    # Fail at once if the broker is down, instead of after six seconds.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}
CELERY_TASK_PUBLISH_RETRY = False  # the row is the promise: a request never waits for the broker
# Only the outgoing worker reads this queue.
CELERY_TASK_ROUTES = {"servers.*": {"queue": "servers"}}


def _every(seconds: float, task: str) -> dict[str, Any]:
    """Return a schedule; a run that did not start before the next one is due is dropped."""
    return {"task": task, "schedule": float(seconds), "options": {"expires": seconds}}


CELERY_BEAT_SCHEDULER = "marketplace.config.beat_scheduler:EndingScheduler"
CELERY_BEAT_SCHEDULE = {
    "check-integrations": _every(PEGBOARD_CHECK_SECONDS, task_names.CHECK_INTEGRATIONS),
    "sync-integrations": _every(PEGBOARD_SYNC_SECONDS, task_names.SYNC_INTEGRATIONS),
    "sweep-calls": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_CALLS),
    "sweep-requests": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_REQUESTS),
    "sweep-chats": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_CHATS),
    "sweep-examples": _every(300, task_names.SWEEP_EXAMPLES),
    "renew-tokens": _every(60, task_names.RENEW_TOKENS),
    "sweep-sign-ins": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_SIGN_INS),
    "sweep-revocations": _every(300, task_names.SWEEP_REVOCATIONS),
    "sweep-installations": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_INSTALLATIONS),
    "sweep-sources": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_SOURCES),
    "notify": _every(10, task_names.NOTIFY),
    "sweep-additions": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_ADDITIONS),
    "sweep-icons": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_ICONS),
    "sweep-client-documents": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_CLIENT_DOCUMENTS),
    "note-audit-head": _every(PEGBOARD_AUDIT_ANCHOR_SECONDS, task_names.NOTE_AUDIT_HEAD),
    "apply-terms": _every(300, task_names.APPLY_TERMS),
    "sweep-embeddings": _every(PEGBOARD_SWEEP_SECONDS, task_names.SWEEP_EMBEDDINGS),
    "expire-capabilities": _every(PEGBOARD_SWEEP_SECONDS, task_names.EXPIRE_CAPABILITIES),
    # A few at a time, between what capabilities wait for.
    "sweep-listings": _every(10, task_names.SWEEP_LISTINGS),
    "forget-experiences": _every(3600, task_names.FORGET_EXPERIENCES),
    "learn-taught": _every(PEGBOARD_SWEEP_SECONDS, task_names.LEARN_TAUGHT),
}
if PEGBOARD_EVENT_LOG != "off":
    CELERY_BEAT_SCHEDULE["send-events"] = _every(5, task_names.SEND_EVENTS)

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "acl.people.sign_in_attempts.PasswordBackend",  # by name or e-mail
    "guardian.backends.ObjectPermissionBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": LEAST_PASSWORD},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "acl.people.people.PeopleOnly"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "today"
LOGOUT_REDIRECT_URL = "login"
ANONYMOUS_USER_NAME = None  # guardian's; a user who is nobody must not exist
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_USERNAME_CALLABLE = "acl.people.sign_in_attempts.name_to_lock"
AXES_CLIENT_IP_CALLABLE = "acl.people.sign_in_attempts.address_to_lock"
AXES_LOCKOUT_PARAMETERS = "acl.people.sign_in_attempts.lockout_parameters"
AXES_RESET_ON_SUCCESS = False  # our adapter does, for the name that was typed
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "registration/locked.html"
AXES_SENSITIVE_PARAMETERS = ["login", "code", "oldpassword", "password1", "password2"]

# Accounts are created by invitation only (acl/people/_invitations.py); allauth signs them in.
ACCOUNT_ADAPTER = "acl.people.adapters.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "acl.people.forms.SignInForm",
    "reset_password": "acl.people.forms.ForgottenForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "acl.people.sign_in_attempts.LinkTokens"  # noqa: S105 - a class
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # at sign-in; an address that is added has to be confirmed
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # strangers would get mail from us on anyone's word
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_REAUTHENTICATION_REQUIRED = True  # before addresses, codes and connections are changed
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if _env["PEGBOARD_HTTPS"] else "http"
# django-axes alone counts wrong passwords and codes: in the database, where counts survive Redis,
# and per account, whichever of its names was typed. So allauth's own count is off. Its other
# limits stay: attempts per address, and mails per address.
ACCOUNT_RATE_LIMITS = {"login_failed": None}
MFA_ADAPTER = "acl.people.adapters.CodesAdapter"
MFA_FORMS = {
    "authenticate": "acl.people.forms.SignInCodeForm",
    "reauthenticate": "acl.people.forms.ConfirmingCodeForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "Pegboard"
MFA_TOTP_TOLERANCE = 1  # half a minute of a slow clock or a slow hand, each way
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_ALLOW_UNVERIFIED_EMAIL = True  # nobody can take someone else's address here: no sign-up
SOCIALACCOUNT_ADAPTER = "acl.people.adapters.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = providers(_env)
SOCIALACCOUNT_STORE_TOKENS = False

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "acl.web.authentication.KeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["acl.web.authentication.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["acl.web._json_content.BoundedJSONParser"],
    "DEFAULT_THROTTLE_CLASSES": ["acl.web._rate_limits.KeyThrottle"],
    "DEFAULT_SCHEMA_CLASS": "acl.web._openapi.PegboardSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "acl.web._json_content.AlwaysJSON",
    "EXCEPTION_HANDLER": "acl.web.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Pegboard",
    "DESCRIPTION": "The few tools that fit a message and that this caller may use, and why.",
    "VERSION": PEGBOARD_VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    # With 150 rows or more, Swagger UI renders only those near the window: sections begin folded.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "docExpansion": "none"},
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {  # the same field means a kind in an answer, and any kind in a question
        "Kind": "catalog.models.Capability.Kind",
        "RuntimeKind": "catalog.runtime.service.RUNTIME_KINDS",
        "WantedKind": "catalog.capabilities.lookup_api.KINDS",
        "Detail": "catalog.capabilities.detail_levels.DETAILS",
        "Scope": "acl.models.ApiKey.Scope",
        "OutcomeScope": "discovery.turns.serializers.SCOPES",
        "OutcomeStatus": "discovery.models.Outcome.Status",
        "TurnState": "discovery.models.Turn.State",
        "CallState": "discovery.models.Call.State",
        "ValueType": "discovery.calls.approval_api.VALUE_TYPES",
        "TextPartKind": "discovery.calls.approval_api.PART_KINDS",
        "ChangeOfArgument": "discovery.calls.approval_api.CHANGES",
        "CallStatus": "discovery.calls.serializers.STATUSES",
        "FlowMode": "discovery.models.FlowMode",
        "SourceEnum": "discovery.models.Outcome.Source",
        "FlowSource": "discovery.calls.serializers.FLOW_SOURCES",
        "InstallationKind": "marketplace.models.Installation.Kind",
        "IntegrationKind": "catalog.models.Integration.Kind",
        "InstallationState": "marketplace.models.Installation.State",
        "SourceKind": "marketplace.offers.kinds.registry.CHOICES",
        "AddedSourceKind": "marketplace.offers.kinds.registry.ADDED_KINDS",
        "SourceState": "marketplace.models.Source.State",
        "SelectInModeRequestModeEnum": "discovery.answer.modes.WANTED_MODES",
        "InjectionMode": "discovery.answer.modes.MODES",
        "FitEnum": "discovery.select.ranking.thresholds.FITS",
        "SelectionMode": "discovery.models.Turn.Mode",
        "Effect": "acl.rights.precedence.EFFECTS",
        "AccessEnum": "catalog.capabilities.detail_levels.ACCESSES",
        "ToolAccess": "catalog.runtime.tool_settings_api.ACCESS",
        "ToolEffect": "catalog.runtime.tool_settings_api.EFFECTS",
        "Decision": "acl.rights.precedence.DECISIONS",
        "StepKind": "catalog.access._explanation_steps.KINDS",
    },
}

CONTENT_SECURITY_POLICY = {
    "default-src": "'self'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "object-src": "'none'",
}

STATIC_URL = "static/"
STATICFILES_DIRS = [FILES_DIR / "static"]
STATIC_ROOT = PEGBOARD_DATA_DIR / "static"
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # pages name no others
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}


def _mark(request: HttpRequest) -> str:
    return static("pegboard/mark.svg")


def _admin_script(request: HttpRequest) -> str:
    return static("pegboard/admin.js")


# The admin's theme: our mark and our green.
UNFOLD = {
    "SITE_TITLE": "Pegboard",
    "SITE_HEADER": "Pegboard",
    "SITE_ICON": _mark,
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": _mark}
    ],
    "SCRIPTS": [_admin_script],
    "COLORS": {
        "primary": {
            shade: f"oklch({lightness}% {chroma} 165)"
            for shade, lightness, chroma in (
                ("50", 97, 0.02), ("100", 94, 0.04), ("200", 88, 0.07), ("300", 80, 0.1),
                ("400", 70, 0.11), ("500", 58, 0.11), ("600", 48, 0.1), ("700", 41, 0.08),
                ("800", 35, 0.07), ("900", 30, 0.05), ("950", 22, 0.04),
            )
        }
    },
}  # fmt: skip

LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "marketplace/locale"]
LANGUAGES = available_languages(LOCALE_PATHS[0])
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "marketplace.config.formats"
LANGUAGE_COOKIE_AGE = 31_536_000
USE_TZ = True
DATA_UPLOAD_MAX_MEMORY_SIZE = PEGBOARD_MAX_BODY_BYTES

SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _env["PEGBOARD_HTTPS"]
LANGUAGE_COOKIE_SECURE = _env["PEGBOARD_HTTPS"]
SECURE_HSTS_SECONDS = 31_536_000 if _env["PEGBOARD_HTTPS"] else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _env["PEGBOARD_HTTPS"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_REDIRECT_EXEMPT = [r"^(healthz|livez|readyz)$"]  # probes speak plain HTTP
X_FRAME_OPTIONS = "DENY"
if PEGBOARD_TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

globals().update(mail_settings(_env["PEGBOARD_EMAIL_URL"]))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = _env["PEGBOARD_EMAIL_FROM"]

LOGGING = logging_config(_env["PEGBOARD_LOG_LEVEL"], _env["PEGBOARD_LOG_FORMAT"])
LOGGING_CONFIG = "logging.config.dictConfig"
