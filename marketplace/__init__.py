"""The marketplace, and the project package. It loads the Celery app for every task."""

import os

# Read when numpy is first imported. Our matrices are small: a second thread gains them nothing, and
# then spins for a while on a core that another request could have.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from marketplace.config.celery import app as celery_app

__all__ = ["celery_app"]
