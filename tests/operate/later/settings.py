"""Settings with one more app."""

# ruff: noqa: F403, TID251 - these are settings themselves, the same but for what follows
from marketplace.config.settings import *
from marketplace.config.settings import INSTALLED_APPS as OURS

INSTALLED_APPS = [*OURS, "tests.operate.later"]
