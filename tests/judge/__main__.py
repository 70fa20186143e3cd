"""Judge a history: `python -m tests.judge HISTORY`.

Exit codes: 0 for a clean history, 1 for a broken promise, 2 for a history that cannot be read.
"""

import argparse
import gc
import signal
import sys

from service.terminal.layout import harmless
from tests.judge.finding import DAY_MS
from tests.judge.judging import judge, report
from tests.judge.lines import BadHistory, read_history


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.judge", description="Hold a history against the promises.")
    parser.add_argument("history", help="a file of JSON lines, as tests/judge/README.md describes")
    clocks = "the most by which a node's clock differs from the recorder's, in milliseconds"
    parser.add_argument("--clock-ms", type=_milliseconds, help=f"{clocks} (by default as the history says)")
    visible = "milliseconds after which every node shows a change in what it answers from memory"
    parser.add_argument("--visible-ms", type=_milliseconds, help=f"{visible} (by default as the history says)")
    chosen = parser.parse_args(arguments)
    try:
        with open(chosen.history, "rb") as stream:
            history = read_history(stream)
        if any(each.kind == "clock" and (each.good or each.doubtful) for each in history.operations):
            raise BadHistory("it moves the clock of the service (/dev/clock), so that times cannot be compared")
    except (BadHistory, OSError) as error:
        sys.stderr.write(f"{chosen.history} cannot be read: {error}\n")
        return 2
    options = {name: value for name in ("clock_ms", "visible_ms") if (value := getattr(chosen, name)) is not None}
    history = history._replace(header=history.header._replace(**options))
    verdicts = judge(history)
    for line in report(history, verdicts):
        indent = len(line) - len(line.lstrip(" "))
        sys.stdout.write(f"{' ' * indent}{harmless(line)}\n")
    return 1 if any(each.found for each in verdicts.values()) else 0


def _milliseconds(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > DAY_MS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of milliseconds up to a day")
    return int(text)


if __name__ == "__main__":
    # Nothing here is made in circles, and looking for them takes half of the time.
    gc.disable()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end as other programs do when nobody reads on
    sys.exit(main())
