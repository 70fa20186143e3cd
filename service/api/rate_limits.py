"""Rate limits per client address, and the RateLimit response headers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from actors.clock import HOUR_MS, SECOND_MS, Clock
from actors.limits import Allowance, WindowLimiter, single_node
from actors.quota.state import Caps
from actors.values import Tenant, Tier
from service.api.messages import Headers
from service.api.policy import Budget
from service.config import Config
from service.http.addresses import Network, is_in, limited_as


def rate_limit_headers(allowance: Allowance, tenant: Tenant | None, caps: Mapping[Tier, Caps]) -> Headers:
    """RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers) of a keyed response.

    Requests that are not charged have no `tenant` and report the limit per minute only.
    """
    policies = [f'"minute";q={allowance.limit};w=60']
    limits = [f'"minute";r={allowance.remaining};t={allowance.reset_seconds}']
    if tenant is not None:
        cap = caps[tenant.tier]
        policies.append(f'"day";q={cap.daily};w=86400')
        limits.append(f'"day";r={max(0, cap.daily - tenant.day_used)}')
        name, most, used = (
            ("lifetime", cap.lifetime, tenant.lifetime_used)
            if tenant.tier is Tier.ANONYMOUS
            else ("month", cap.monthly, tenant.month_used)
        )
        if most is not None:
            policies.append(f'"{name}";q={most}')
            limits.append(f'"{name}";r={max(0, most - used)}')
    return [("ratelimit-policy", ", ".join(policies)), ("ratelimit", ", ".join(limits))]


@dataclass(slots=True)
class Budgets:
    """Limits per client address, in memory. Each is divided by `nodes()`, the number of live nodes (ADR 0002)."""

    config: Config
    clock: Clock
    nodes: Callable[[], int] = single_node
    _minutes: WindowLimiter = field(init=False)
    _events: WindowLimiter = field(init=False)
    _pages: WindowLimiter = field(init=False)
    _hours: WindowLimiter = field(init=False)
    _exempt: tuple[Network, ...] = field(init=False)
    _unlimited: Allowance = field(init=False)

    def __post_init__(self) -> None:
        self._minutes, self._events, self._pages = (WindowLimiter(60, nodes=self.nodes) for _ in range(3))
        self._hours = WindowLimiter(HOUR_MS // SECOND_MS, nodes=self.nodes)
        limit = self.config.events.per_minute
        self._exempt = tuple(self.config.events.exempt_networks)
        self._unlimited = Allowance(True, limit, limit, 60)

    def read(self, address: str) -> Allowance:
        """Count one request without a key."""
        return self._minutes.hit(limited_as(address), self.config.keyless.per_minute, self.clock.now_ms())

    def page(self, address: str) -> Allowance:
        """Count one page view, however many operations the page calls."""
        return self._pages.hit(limited_as(address), self.config.pages.per_minute, self.clock.now_ms())

    def spend(self, budget: Budget, address: str) -> Allowance:
        """Count one request of an operation with its own budget."""
        if budget is Budget.EVENTS:
            return self.events(address, 1)
        now_ms = self.clock.now_ms()
        if budget is Budget.DEVICE_POLL:
            pace = self._polls_at_pace()
            return self._minutes.hit(f"{budget.value} {limited_as(address)}", 4 * pace, now_ms, least=2 * pace)
        allowance = self._hours.hit(f"{budget.value} {limited_as(address)}", self._per_hour(budget), now_ms)
        if allowance.allowed and budget is Budget.MINT:
            return self._hours.hit("mint, all addresses", self.config.mint.per_hour_total, now_ms)
        return allowance

    def events(self, address: str, count: int) -> Allowance:
        """Count `count` events, all or none. Relays in `events.exempt_networks` are not limited."""
        if is_in(address, self._exempt):
            return self._unlimited
        return self._events.hit(limited_as(address), self.config.events.per_minute, self.clock.now_ms(), count)

    def more_events(self, address: str, count: int) -> Allowance:
        """Count `count` more events of a request that was counted as one: all of them together, or none."""
        self._events.give_back(limited_as(address), self.clock.now_ms())
        return self.events(address, 1 + count)

    def _per_hour(self, budget: Budget) -> int:
        match budget:
            case Budget.MINT:
                return self.config.mint.per_hour
            case Budget.CLAIM_START:
                return self.config.claim.starts_per_hour
            case Budget.CLAIM_COMPLETE:
                return self.config.claim.completions_per_hour
            case Budget.SIGN_IN_START:
                return self.config.sessions.starts_per_hour
            case Budget.SIGN_IN_COMPLETE:
                return self.config.sessions.completions_per_hour
            case Budget.DEVICE_START:
                return self.config.device.starts_per_hour
            case Budget.EVENTS | Budget.DEVICE_POLL:
                raise AssertionError("limited per minute")

    def _polls_at_pace(self) -> int:
        """Polls per minute of all devices that one address may start in an hour.

        The limit is four times this, and at least twice per node. Devices that keep their interval never reach it, even
        if two windows of starts overlap and all of them poll one node.
        """
        device = self.config.device
        return device.starts_per_hour * -(-60 // device.interval_seconds)
