"""What a first start writes is tried again while the database is away for a moment."""

import pytest

from actors.values import Contended, OutcomeUnknown, StorageUnavailable, TransientStorageError
from service.seed.samples import ATTEMPTS, retried


@pytest.mark.parametrize("failure", [StorageUnavailable, OutcomeUnknown, Contended])
async def test_a_change_that_is_not_kept_is_tried_again_some_times(
    failure: type[TransientStorageError], autojump_clock: object
) -> None:
    failures = [failure("the connection broke") for _ in range(ATTEMPTS - 1)]

    async def change() -> str:
        if failures:
            raise failures.pop()
        return "kept"

    assert await retried(change) == "kept"
    failures += [failure(f"failure {number}") for number in range(ATTEMPTS)]
    with pytest.raises(failure, match="failure 0"):
        await retried(change)
