"""A real watcher on real files: it notices all changes, and affects nothing else."""

import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db.models import F

from acl.models import AuditEntry
from catalog.embedding.jobs import pending_embeddings
from catalog.models import Capability, Embedding, ManifestFile
from marketplace.operate.embedded.data_folder import open_data_folder
from tests.catalog.builders import store, tool
from tests.catalog.processes import PATIENCE, PROJECT, Deployment, wait_for
from tests.registration.folders import LAMP, Folders, manifest, one, provider

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

COMMAND = (str(PROJECT / "manage.py"), "watch_capabilities")
# The same without the pass each minute, which would find what no event and no polling did.
UNAIDED = (
    "-c",
    "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'marketplace.config.settings';"
    "django.setup(); from catalog.management.commands import watch_capabilities as watching;"
    "watching.AT_LEAST_EVERY = 9999; from marketplace.__main__ import main; main()",
    "watch_capabilities",
)


class Watching:
    """A deployment with its own home and working folder, and watchers on them."""

    def __init__(self, deployment: Deployment, place: Path) -> None:
        self.deployment = deployment
        self.place = place
        self.home, self.here = place / "home", place / "here"
        self.here.mkdir(parents=True)
        self.more = place / "more"
        self.folders = Folders(self.home / ".pegboard" / "capabilities", self.here / "capabilities")
        self.environment = deployment.environment | {
            "HOME": str(self.home),
            "PYTHONPATH": str(PROJECT),
            "PEGBOARD_CAPABILITY_DIRS": f"{place / 'none'}:{self.more}",
            "PEGBOARD_RELOAD_DEBOUNCE_MS": "200",
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def start(
        self, command: tuple[str, ...] = COMMAND, **environment: str
    ) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            watcher = subprocess.Popen(  # noqa: S603
                [sys.executable, *command],
                cwd=self.here,
                env=self.environment | environment,
                stdout=log,
                stderr=log,
            )
        self._running.append(watcher)
        return watcher

    @property
    def log(self) -> Path:
        return self.place / "manifests.log"

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        try:
            wait_for(condition, what)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{self.log.read_text()}") from None

    def stop(self) -> None:
        for watcher in self._running:
            watcher.terminate()
        for watcher in self._running:
            watcher.wait(PATIENCE)


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    data = Path(tempfile.mkdtemp(prefix="pegboard-"))
    open_data_folder(data)
    deployment = Deployment(data)
    deployment.queue.start()
    watching = Watching(deployment, tmp_path)
    yield watching
    watching.stop()
    deployment.stop()
    shutil.rmtree(data)


def is_there(full_name: str) -> bool:
    return Capability.objects.filter(full_name=full_name, available=True).exists()


def describes(full_name: str, description: str) -> bool:
    return Capability.objects.filter(full_name=full_name, description=description).exists()


def test_watcher_notices_each_change_and_what_happened_while_it_was_dead(
    watching: Watching,
) -> None:
    """Share one watcher among most steps: each start takes seconds of processor time."""
    store(tool("send_email"))
    watching.deployment.start_worker_and_beat()
    watcher = watching.start()

    added_changed_and_deleted_manifests_show(watching)
    half_written_file_keeps_the_last_good_state_and_is_told(watching)
    editor_that_replaces_the_file_is_noticed(watching)
    folder_that_disappears_and_returns_is_watched_again(watching)
    folders_go_first_in_their_order_and_take_over(watching)
    watcher.send_signal(signal.SIGKILL)
    watcher.wait(PATIENCE)
    again = next_watcher_finds_all_that_the_killed_one_missed(watching)

    again.terminate()
    assert again.wait(PATIENCE) == 0


def added_changed_and_deleted_manifests_show(watching: Watching) -> None:
    watching.folders.put(LAMP)  # its folder did not exist at the start
    watching.folders.put(manifest("door"), "door")
    watching.wait(lambda: is_there("lamp") and is_there("door"), "adding")
    watching.wait(lambda: not pending_embeddings().exists(), "embedding")
    before = dict(Embedding.objects.values_list("capability__full_name", "text_hash"))
    sent = dict(Embedding.objects.values_list("capability__full_name", "sent_at"))

    watching.folders.put(manifest("lamp", "Switches the light."))
    watching.wait(lambda: describes("lamp", "Switches the light."), "changing")
    watching.wait(lambda: not pending_embeddings().exists(), "embedding again")

    after = dict(Embedding.objects.values_list("capability__full_name", "text_hash"))
    again = dict(Embedding.objects.values_list("capability__full_name", "sent_at"))
    assert {name for name in after if after[name] != before[name]} == {"lamp"}
    assert {name for name in again if again[name] != sent[name]} == {"lamp"}
    assert Embedding.objects.filter(vector_hash=F("text_hash")).count() == 3

    watching.folders.remove()
    watching.wait(lambda: not is_there("lamp"), "deleting")

    assert is_there("door")
    assert is_there("gmail__send_email")


def half_written_file_keeps_the_last_good_state_and_is_told(watching: Watching) -> None:
    path = watching.folders.put(LAMP)
    watching.wait(lambda: is_there("lamp"), "the lamp")

    path.write_text(LAMP[:20] + "\n  : [")
    watching.wait(lambda: ManifestFile.objects.exclude(problems="").exists(), "the report")
    assert one().description == "Switches a lamp on and off."
    assert f'"file": "{path}"' in watching.log.read_text()

    path.write_text(manifest("lamp", "Whole again."))
    watching.wait(lambda: describes("lamp", "Whole again."), "mending")
    assert not ManifestFile.objects.exclude(problems="").exists()


def editor_that_replaces_the_file_is_noticed(watching: Watching) -> None:
    path = watching.folders.first / "lamp" / "CAPABILITY.yaml"
    draft = path.with_name(".CAPABILITY.yaml.swp")
    draft.write_text(manifest("lamp", "Saved by renaming."))
    draft.rename(path)
    watching.wait(lambda: describes("lamp", "Saved by renaming."), "the change")


def folder_that_disappears_and_returns_is_watched_again(watching: Watching) -> None:
    shutil.rmtree(watching.folders.first)
    watching.wait(lambda: not is_there("lamp"), "the end of the folder")
    watching.folders.put(LAMP)
    watching.wait(lambda: is_there("lamp"), "its return")
    watching.folders.put(manifest("lamp", "Changed."))
    watching.wait(lambda: describes("lamp", "Changed."), "a change in the new folder")


def folders_go_first_in_their_order_and_take_over(watching: Watching) -> None:
    watching.folders.remove()
    watching.wait(lambda: not is_there("lamp"), "deleting")
    last = Folders(watching.more, watching.more)
    third = last.put(manifest("lamp", "Of the third."))
    watching.wait(lambda: provider() == third, "the third")

    second = watching.folders.put(manifest("lamp", "Of the second."), second=True)
    watching.wait(lambda: provider() == second, "the second")
    first = watching.folders.put(manifest("lamp", "Of the first."))
    watching.wait(lambda: provider() == first, "the first")

    assert one().description == "Of the first."
    assert "which takes precedence" in ManifestFile.objects.get(path=str(third)).problems
    shutil.rmtree(watching.folders.first)  # the whole folder
    watching.wait(lambda: provider() == second, "the takeover")
    assert one().description == "Of the second."


def next_watcher_finds_all_that_the_killed_one_missed(
    watching: Watching,
) -> subprocess.Popen[bytes]:
    watching.folders.remove(second=True)
    shutil.rmtree(watching.more)
    watching.folders.put(manifest("window"), "window")
    watching.folders.put(manifest("door", "Changed."), "door")

    again = watching.start()

    watching.wait(lambda: is_there("window"), "the full pass")
    assert describes("door", "Changed.")
    assert not is_there("lamp")
    return again


def test_burst_is_one_registration_and_two_watchers_do_each_other_no_harm(
    watching: Watching,
) -> None:
    """The second one polls, and goes on alone where no event comes."""
    watching.folders.first.mkdir(parents=True)
    first = watching.start(PEGBOARD_RELOAD_DEBOUNCE_MS="2000")
    watching.folders.put(LAMP)
    watching.wait(lambda: is_there("lamp"), "the first")

    for number in range(50):
        watching.folders.put(manifest(f"lamp-{number}"), f"lamp-{number}")
    watching.wait(lambda: Capability.objects.count() == 51, "the burst")
    assert created() == [1, 50]

    watching.start(UNAIDED, PEGBOARD_RELOAD_POLLING="true")
    for number in range(20):
        watching.folders.put(manifest(f"door-{number}"), f"door-{number}")
    watching.wait(lambda: Capability.objects.count() == 71, "loading")
    watching.folders.put(manifest("door-0", "Changed."), "door-0")
    watching.wait(lambda: describes("door-0", "Changed."), "the change")

    assert sum(created()) == 71
    assert "could not be read" not in watching.log.read_text()
    first.kill()
    first.wait(PATIENCE)
    watching.folders.put(manifest("window"), "window")
    watching.wait(lambda: is_there("window"), "what polling finds")


def created() -> list[int]:
    entries = AuditEntry.objects.filter(action="catalog.register").order_by("pk")
    return [entry.details["created"] for entry in entries]


def test_watcher_outlives_a_database_that_is_away(watching: Watching) -> None:
    watching.folders.put(LAMP)
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    watcher = watching.start(DATABASE_URL=nowhere)

    watching.wait(
        lambda: "manifests could not be loaded" in watching.log.read_text(), "the trouble"
    )

    assert watcher.poll() is None
