"""The command that prints the OpenAPI document."""

import json

from service.api.openapi import document
from service.api.operations import OPERATIONS
from service.cli.command import Commands
from service.config.model import Config


def add_document_command(commands: Commands) -> None:
    commands.add("openapi", print_openapi, uses_data=False)


async def print_openapi(config: Config) -> None:
    base_url = config.server.base_url or f"http://{config.server.bind}"
    print(json.dumps(document(OPERATIONS, base_url), indent=1, ensure_ascii=False))
