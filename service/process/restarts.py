"""How often and how soon the worker of a number is started again. Pure."""

from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SupervisionLimits:
    """Limits of a supervisor. If one worker dies more than `restarts` times within the window, all are ended."""

    end_seconds: float
    """Time for a worker to exit before it is killed."""
    start_seconds: float = 60.0
    starts_at_once: int = 4
    restarts: int = 5
    restart_window_seconds: float = 60.0
    first_pause_seconds: float = 0.25
    longest_pause_seconds: float = 5.0
    longest_refusal_pause_seconds: float = 60.0


@dataclass(slots=True)
class Deaths:
    """The recent deaths of the workers of one number."""

    limits: SupervisionLimits
    _at: deque[float] = field(default_factory=deque)

    def pause_after(self, now: float) -> float | None:
        """Record a death. Returns the seconds to wait before the next start, or None if the limit is exceeded."""
        while self._at and self._at[0] < now - self.limits.restart_window_seconds:
            self._at.popleft()
        earlier = len(self._at)
        self._at.append(now)
        if earlier >= self.limits.restarts:
            return None
        if not earlier:
            return 0.0
        return min(self.limits.longest_pause_seconds, self.limits.first_pause_seconds * 2.0 ** (earlier - 1))


def pause_after_refusals(refusals: int, limits: SupervisionLimits) -> float:
    """The pause before another start of a worker that was refused so often (at least once), while others serve."""
    return min(limits.longest_refusal_pause_seconds, limits.first_pause_seconds * 2.0 ** min(refusals, 32))
