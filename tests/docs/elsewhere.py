"""Commands of the docs that `test_commands.py` does not run: the reason, and the test that does."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Elsewhere:
    """A pattern for whole commands, the reason, and the test as `path::name`."""

    pattern: str
    why: str
    test: str

    def covers(self, command: str) -> bool:
        return re.fullmatch(self.pattern, command) is not None


_HERE = "tests/docs/test_commands.py"
_UP = "tests/embedded/test_up.py::test_first_run_tells_each_step_and_the_way_in"
ELSEWHERE = (
    Elsewhere(
        r"manage.py (archive_audit|verify_audit --archive) .*",
        "there is no such log",
        "tests/operate/test_retention.py"
        "::test_the_log_is_sound_before_and_after_its_beginning_is_archived",
    ),
    Elsewhere(r"make run( PORT=\d+)?", "it starts everything, and stays", _UP),
    Elsewhere(
        r"make run EXTRAS=\S+|docker build .*--build-arg EXTRAS=.*",
        "torch takes minutes to download",
        "tests/ranking/test_sentence_transformers.py::test_without_a_name_the_shipped_model_is_used",
    ),
    Elsewhere(
        r"DATABASE_URL=\S+ REDIS_URL=\S+ make run",
        "there are no such servers",
        "tests/embedded/test_up.py::test_database_that_does_not_answer_is_one_sentence",
    ),
    Elsewhere(
        r"DATABASE_URL=.* DATABASE_OWNER_URL=.* DATABASE_SUPERUSER_URL=.*prepare_database",
        "there are no such servers",
        "tests/embedded/test_postgres.py"
        "::test_roles_and_database_are_made_and_making_them_again_changes_nothing",
    ),
    Elsewhere(
        r"\.venv/bin/python manage\.py doctor",
        "it finds that nothing runs here",
        "tests/operate/test_checkup.py::test_each_check_has_a_made_failure_and_a_section_of_the_docs",
    ),
    Elsewhere(
        r"cat docker/secrets/pegboard_admin_password",
        "it was made by the line before",
        "tests/docker/test_entrypoint.py::test_secrets_are_made_once_and_kept_from_others",
    ),
    Elsewhere(
        r"make atlas .*",
        "it takes minutes, and needs PyPI and npm",
        "tests/starter/test_survey.py"
        "::test_a_package_is_installed_with_the_bounds_it_needs_called_and_removed",
    ),
    Elsewhere(
        r"\.venv/bin/python manage\.py add .*",
        "it needs an admin and a launcher",
        "tests/openapi/test_adding.py::test_command_says_what_it_is_and_installs_it",
    ),
    Elsewhere(
        r"\.venv/bin/python manage\.py doctor",
        "it exits with 1, since no worker runs",
        "tests/operate/test_checkup.py::test_healthy_installation_has_nothing_to_complain_of",
    ),
    Elsewhere(
        r"cat docker/secrets/pegboard_admin_password",
        "docker/secrets.sh makes it",
        "tests/docker/test_entrypoint.py::test_secrets_are_made_once_and_kept_from_others",
    ),
    Elsewhere(
        r"make (check|test|test-long|lint)",
        "it runs this test",
        "tests/docs/test_papers.py::test_links_commands_files_settings_and_operations_exist",
    ),
    Elsewhere(
        r"make bench", "it takes minutes, and measures", f"{_HERE}::test_programs_that_are_named"
    ),
    Elsewhere(
        r"make marks",
        "it fetches a package; what it makes of one is tested, and so is what it made",
        "tests/icons/test_marks.py::test_marks_are_drawn_from_a_package",
    ),
    Elsewhere(
        r"make pictures",
        "it draws what stands in the README; a test draws the same and compares",
        "tests/screens/test_pictures.py::test_readme_and_main_pages_are_as_the_product_answers",
    ),
    Elsewhere(
        r"make screenshots( OUT=\S+)?",
        "it takes minutes; the test that takes the pictures looks at the same pages in every run",
        "tests/screens/test_every_page.py::test_every_page",
    ),
    Elsewhere(
        r"\.venv/bin/python manage\.py (export|apply) pegboard\.yaml.*",
        "it needs the file of the command before, and leaves it behind",
        "tests/config_file/test_applying.py::test_export_writes_what_apply_reads",
    ),
    Elsewhere(
        r"make first-steps",
        "it installs from a package index, and takes minutes",
        "tests/docs/test_first_steps.py::test_first_steps_are_those_of_the_readme",
    ),
    Elsewhere(
        r"(\.venv/bin/)?python -m (pytest .*|lab\.\S* .*)",
        "it runs tests, or measures with sets that are not part of Pegboard",
        f"{_HERE}::test_programs_that_are_named",
    ),
    Elsewhere(
        r"pip install \./docs/client",
        "it asks a package index for httpx",
        "tests/client/test_contract.py::test_package_is_typed_and_needs_httpx_alone",
    ),
    Elsewhere(
        r"cp docker/example\.env docker/\.env",
        "it writes into this folder",
        "tests/docker/test_compose.py::test_every_variable_is_documented_and_every_setting_exists",
    ),
    Elsewhere(
        r"docker/secrets\.sh",
        "it writes into this folder",
        "tests/docker/test_entrypoint.py::test_secrets_are_made_once_and_kept_from_others",
    ),
    Elsewhere(
        r"\.venv/bin/python manage\.py (backup|restore) .*",
        "the database of the papers is not theirs to replace",
        "tests/operate/test_backup.py::test_what_was_destroyed_is_back",
    ),
    Elsewhere(
        r"\.venv/bin/python -m pip install .* -r docker/otel\.lock",
        "it asks a package index; tests have these packages",
        "tests/config/test_telemetry.py::test_selection_is_a_trace_of_its_statements_and_tells_no_words",
    ),
    Elsewhere(
        r"docker compose -f docker/compose\.yaml .*"
        r"|docker build -f docker/Dockerfile --target \S+ -t registry\.example/.*",
        "it needs an engine, which `make test-containers` has",
        "tests/docker/containers.py::test_every_container_command_of_the_docs_works",
    ),
    Elsewhere(
        r"make test-containers.*",
        "it needs an engine",
        "tests/docker/test_images.py::test_bases_are_pinned_to_what_the_registry_says",
    ),
    Elsewhere(
        r"kubectl .*|helm (install|template) pegboard docker/chart .*",
        "there is no cluster",
        "tests/docker/test_chart.py::test_kubernetes_accepts_every_object",
    ),
)
