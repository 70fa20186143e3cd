"""The command that prints a completion script."""

from service.cli.command import CommandError, Commands
from service.cli.main import whole_parser
from service.config.model import Config
from service.terminal.completion import SHELLS, NoLibrary, completion_script


def add_completion_command(commands: Commands) -> None:
    completion = commands.add("completion", print_completion, "shell", uses_data=False)
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))


async def print_completion(config: Config, *, shell: str) -> None:
    try:
        print(completion_script(whole_parser(), shell))
    except NoLibrary as error:
        raise CommandError(str(error)) from None
