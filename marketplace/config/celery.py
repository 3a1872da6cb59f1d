"""The Celery app: one worker, ids as arguments, nothing lost when it dies."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")

app = Celery("pegboard")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["catalog", "discovery", "marketplace"])
# Loaded by workers, as those above; nothing of the web imports them.
app.autodiscover_tasks(["catalog", "marketplace"], related_name="server_tasks")
