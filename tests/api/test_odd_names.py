"""Names beyond system limits: long file names, mailboxes in other scripts, too many open files."""

import resource

import pytest
from pydantic import TypeAdapter

from service.config.loading import load
from service.running.foundation import OTHER_FILES, connections_within, open_files_for
from service.schemas.keys import Email
from tests.api.world import World


@pytest.mark.parametrize(("files", "connections"), [(10_000, 2_000), (1_024, 814), (300, 150), (16, 8)])
def test_connections_leave_files_for_all_else(files: int, connections: int) -> None:
    assert connections_within(files, others=210, connections=2_000) == connections


async def test_a_static_name_that_no_file_can_have_is_not_found(world: World) -> None:
    for name in ("x" * 300, "x" * 5_000, "nothing.css"):
        assert (await world.client.get(f"/static/{name}")).words == "404 not_found"


def test_a_domain_in_other_letters_is_kept_in_the_form_that_every_mail_server_takes() -> None:
    assert TypeAdapter(Email).validate_python("Ann@Zürich.example.com") == "ann@xn--zrich-kva.example.com"


def test_as_many_files_may_be_open_as_the_connections_need() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (900, hard))
        config = load(None, {"CATALOG__HTTP__CONNECTIONS": "1000"})
        assert open_files_for(config) == 1_000
        others = OTHER_FILES + config.database.connections + 2
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(1_000 + others, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
