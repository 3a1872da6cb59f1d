"""Fixtures and hooks of all tests; the plugin `tests.servers` starts the servers."""

import asyncio
import fcntl
import gc
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test import Client, override_settings
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as examples
from playwright.sync_api import Browser, expect, sync_playwright

from acl.platform.redis_circuit import redis_circuit
from acl.web import rate_counts
from catalog.embedding import configured_embedder
from catalog.embedding.embedder import Vectors
from catalog.embedding.onnx_embedder import OnnxEmbedder
from catalog.embedding.shipped_model import model_folder
from tests.access.people import People, invite
from tests.databases import _databases_are_the_owners as _databases_are_the_owners
from tests.databases import _flush_is_quick as _flush_is_quick
from tests.databases import django_db_modify_db_settings as django_db_modify_db_settings
from tests.examples import EXAMPLES_OF_TEXTS
from tests.sessions import begin_session

MANY_TEXTS = 32
# Debian's Chromium packages. The headless shell has no windows, and takes a third less CPU time.
CHROMIUM = (Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium"))
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",  # a process fewer for each browser, and a tenth of its CPU time
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name leads anywhere: a page that asks another machine for something does not get it.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
]

# Deterministic examples: a rare finding must not block someone else's commit. For random ones set
# HYPOTHESIS_PROFILE=default.
# No example has a time of its own, and generating them may be slow: other processes run beside.
examples.register_profile(
    "same",
    max_examples=EXAMPLES_OF_TEXTS,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
examples.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(autouse=True, scope="session")
def _passwords_are_quick() -> Iterator[None]:
    """Hash passwords with one iteration instead of a million: hashing dominates creating users."""
    quick = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=quick):
        yield


@pytest.fixture(autouse=True, scope="session")
def _static_files_are_plain() -> Iterator[None]:
    """Serve static files without hashed names, since they were not collected.

    Their folder is there, for whose absence Whitenoise warns.
    """
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
        yield


@pytest.fixture(autouse=True, scope="session")
def _sessions_are_quick() -> Iterator[None]:
    """Begin the sessions of `Client.force_login` by two statements."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "force_login", begin_session)
        yield


@receiver(connection_created)
def _tests_may_rewrite_texts(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Allow tests to change texts directly; tests of the gate use `gate_as_usual`."""
    with connection.cursor() as cursor:
        cursor.execute("SET pegboard.gate = 'open'")


@pytest.fixture
def gate_as_usual(db: None) -> None:
    """Quarantine capabilities whose text changes past the gate, as in production."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL pegboard.gate = ''")


class RememberingEmbedder(OnnxEmbedder):
    """A cache around the embedder, since many tests embed the starter collection.

    A vector does not depend on the other texts of a batch. Large batches, such as the 2,500
    examples of small talk and of abilities, are embedded by one process of the run for all.
    """

    def __init__(self, folder: Path, shared: Path) -> None:
        self._known: dict[str, Vectors] = {}
        self._shared = shared
        super().__init__(folder)

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(texts) < MANY_TEXTS:
            return self._embed_here(texts)
        digest = hashlib.sha256(json.dumps([self.name, *texts]).encode()).hexdigest()
        size = len(texts) * self.dimension * np.dtype(np.float32).itemsize
        with (self._shared / f"vectors-{digest}").open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # whoever comes second waits for the first
            file.seek(0)
            content = file.read()
            if len(content) != size:  # nobody was here, or died while writing
                content = self._embed_here(texts).tobytes()
                file.truncate(0)
                file.write(content)
        vectors = np.frombuffer(content, dtype=np.float32)
        return vectors.reshape(len(texts), self.dimension).copy()

    def _embed_here(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if text not in self._known:
                self._known[text] = super().embed([text])
        return np.concatenate([self._known[text] for text in texts]) if texts else super().embed([])


@pytest.fixture(autouse=True, scope="session")
def _same_text_is_embedded_once() -> Iterator[None]:
    """Wrap the default embedder in the cache; embedders made by tests stay as they are."""
    folder = model_folder(settings.PEGBOARD_MODEL_DIR, trained=settings.PEGBOARD_TRAINED_ENCODER)
    shared = Path(os.environ["PEGBOARD_DATA_DIR"])
    remembering = configured_embedder.LazyEmbedder(lambda: RememberingEmbedder(folder, shared))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(configured_embedder._providers, "onnx", remembering)
        yield


@pytest.fixture(autouse=True)
def _no_model_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which model answers, which a process caches for some seconds.

    Inside a test it looks once. Otherwise a busy machine would add a statement to an answer.
    """
    monkeypatch.setattr(configured_embedder, "_answering", configured_embedder._Answering())
    monkeypatch.setattr(configured_embedder, "RECHECK_SECONDS", 3600)


@pytest.fixture(autouse=True)
def _redis_is_tried() -> None:
    """Forget that Redis failed in an earlier test of this process, whatever its folder."""
    redis_circuit.close()
    rate_counts.forget_counts()


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    """Leave no language behind that a request or a test asked for."""
    yield
    translation.deactivate()


@pytest.fixture
def people(db: None) -> People:
    """Invite alice and bob of support, and charlie of finance."""
    return invite()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected: all that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Freeze loaded objects, since repeated garbage collection took a sixth of some tests' time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Unset the running event loop for tests without a browser.

    After a browser test Playwright's loop counts as running in this thread, even while idle, and
    Django would use separate connections for it.
    """
    loop = asyncio._get_running_loop()
    if loop is None or "browser" in getattr(item, "fixturenames", ()):
        return (yield)
    asyncio._set_running_loop(None)
    try:
        return (yield)
    finally:
        asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of this process: Playwright refuses to run twice in one thread."""
    chromium = next((str(path) for path in CHROMIUM if path.exists()), None)
    if not chromium:
        pytest.skip(f"needs Debian's Chromium at {CHROMIUM[0]} or {CHROMIUM[1]}")
    # Playwright runs an event loop in this thread, which Django would mistake for async code.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    # On a busy machine even the first answer of a page may take half a minute.
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        loop = asyncio._get_running_loop()
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        asyncio._set_running_loop(loop)  # the last test may have been one without a browser
        browser.close()
