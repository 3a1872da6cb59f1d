"""The Celery app: one worker, ids as arguments, nothing lost when it dies."""

import os
from logging.config import dictConfig

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
# Celery would run Django's checks and look at no result. They load all URLs, and with them all
# views: two seconds and 40 MB that no worker needs.
os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")

# Nothing else that a worker loads imports its heartbeat.
app = Celery("pegboard", include=["acl.platform.processes"])
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["catalog", "discovery", "marketplace"])


@setup_logging.connect  # type: ignore[untyped-decorator]
def _set_up_logging(**_: object) -> None:
    """Use our logging configuration; without a receiver Celery installs its own."""
    from django.conf import settings  # the settings' place is named above

    dictConfig(settings.LOGGING)
