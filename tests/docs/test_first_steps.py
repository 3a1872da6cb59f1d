"""`make first-steps` would run the README's commands, all of them."""

from tests.docs.commands import PROJECT, commands_in
from tests.first_steps import first_commands


def test_first_steps_are_those_of_the_readme() -> None:
    written = [command.text for command in commands_in(PROJECT / "README.md")]

    steps = first_commands(PROJECT)

    assert [step.split()[0] for step in steps] == ["make", "export", "curl"]
    assert steps == ["make run PORT=8000", *written[1:3]]
