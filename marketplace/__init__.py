"""The marketplace, and the project package. It loads the Celery app for every task."""

import gc
import os

# Read when numpy is first imported. Our matrices are small: a second thread gains them nothing, and
# then spins for a while on a core that another request could have.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No library tells its maker that it runs. Set for every process, since each of them may load any of
# these; `tests/net` looks for more in all locked packages.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["DO_NOT_TRACK"] = "1"

from marketplace.config.celery import app as celery_app

# Starting makes a million objects, all of which stay. Collecting after every 700, as Python does,
# would take an eighth of it. Servers and workers set their own threshold when they have loaded all.
gc.set_threshold(50_000, 20, 20)

__all__ = ["celery_app"]
