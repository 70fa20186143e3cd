"""The command that changes the billing mode of a database."""

from pathlib import Path
from typing import Annotated, Literal

from actors.clock import SystemClock
from service.cli.command import CommandError, argument, option
from service.cli.database import open_with_running_node
from service.config.model import Config
from service.running.server_secret import Secrets


async def set_billing_mode(
    config: Config,
    data_dir: Path,
    *,
    mode: Annotated[Literal["test", "live"], argument("MODE", "test or live")],
    keep_bookings: Annotated[
        bool, option("although bookings of the other mode hold weeks; they stay and are shown")
    ] = False,
) -> None:
    async with open_with_running_node(config, data_dir) as opened:
        await Secrets.load(config, data_dir, opened.identity)
        if await opened.identity.billing_mode() == mode:
            print(f"the billing mode is already {mode}")
            return
        live = await opened.nodes.live(config.nodes.live_seconds)
        if live:
            raise CommandError(f"running nodes keep their billing mode ({len(live)} running): stop all nodes first")
        holding = await opened.identity.set_billing_mode(mode, SystemClock().now_ms(), keep_bookings=keep_bookings)
    if holding and not keep_bookings:
        raise CommandError(
            f"{holding} bookings of the other mode hold weeks: cancel or refund them (seed-demo --remove removes those of "
            "the demo), or keep them with --keep-bookings"
        )
    print(f"the billing mode is now {mode}; set billing.mode to it on all nodes")
