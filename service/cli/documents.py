"""The command that prints the OpenAPI document."""

import json

from service.api.openapi import document
from service.api.operations import OPERATIONS
from service.config.deployment import local_url
from service.config.model import Config


async def print_openapi(config: Config) -> None:
    base_url = config.server.base_url or local_url(config)
    print(json.dumps(document(OPERATIONS, base_url), indent=1, ensure_ascii=False))
