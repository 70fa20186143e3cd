"""Rate limits per client address, and the RateLimit response headers."""

from collections.abc import Callable, Mapping

from actors.clock import DAY_MS, HOUR_MS, SECOND_MS, Clock
from actors.quota.state import Caps
from actors.shared.code_mails import Origin
from actors.shared.limits import Allowance, SharedTotal, WindowLimiter, single_node
from actors.values import Tenant, Tier
from service.api.messages import Headers
from service.api.policy import Budget
from service.config.model import Config
from service.http.addresses import Networks, limited_as, network_of


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


NETWORK_FACTOR = 5
"""A network (IPv4 /24, IPv6 /48) adds at most so many times the events to a booking that one of its addresses may add.
The owner of an IPv6 /48 has 65,536 addresses by their /64."""


def origin_of(address: str) -> Origin:
    """The network and the block under which letters that a client asks for are counted."""
    return Origin(limited_as(address), network_of(address))


class Budgets:
    """Limits per client address, in memory. Each is divided by `nodes()`, the number of live nodes (ADR 0002)."""

    def __init__(self, config: Config, clock: Clock, nodes: Callable[[], int] = single_node) -> None:
        self._config = config
        self._clock = clock
        minutes = (WindowLimiter(60, nodes=nodes) for _ in range(5))
        self._minutes, self._placements, self._events, self._pages, self._unknown = minutes
        self._changes = WindowLimiter(DAY_MS // SECOND_MS, nodes=nodes)
        hours = (WindowLimiter(HOUR_MS // SECOND_MS, nodes=nodes) for _ in range(3))
        self._hours, self._bookings, self._booking_networks = hours
        totals = (SharedTotal(HOUR_MS // SECOND_MS, nodes=nodes) for _ in range(3))
        self._minted, self._mailed, self._devices = totals
        self._exempt = Networks(config.events.exempt_networks)
        self._unlimited = Allowance(True, config.events.per_minute, config.events.per_minute, 60)
        self._per_hour = {
            Budget.MINT: config.mint.per_hour,
            Budget.CLAIM_START: config.claim.starts_per_hour,
            Budget.CLAIM_COMPLETE: config.claim.completions_per_hour,
            Budget.SIGN_IN_START: config.sessions.starts_per_hour,
            Budget.SIGN_IN_COMPLETE: config.sessions.completions_per_hour,
            Budget.DEVICE_START: config.device.starts_per_hour,
            Budget.EXPORT: config.account.exports_per_hour,
        }

    def page(self, address: str) -> Allowance:
        """Count one page view, however many operations the page calls."""
        return self._pages.hit(limited_as(address), self._config.pages.per_minute, self._clock.now_ms())

    def not_a_page(self, address: str) -> None:
        """Give back what `page` counted for a message that has a limit of its own."""
        self._pages.subtract(limited_as(address), self._clock.now_ms())

    def spend(self, budget: Budget, address: str) -> Allowance:
        """Count one request. Reads of ads have a limit of their own: whole offices, and servers that render pages for others,
        read them from one address."""
        if budget is Budget.EVENTS:
            return self.events(address, 1)
        now_ms = self._clock.now_ms()
        if budget is Budget.KEYLESS:
            return self._minutes.hit(limited_as(address), self._config.keyless.per_minute, now_ms)
        if budget is Budget.PLACEMENTS:
            return self._placements.hit(limited_as(address), self._config.placements.per_minute, now_ms)
        if budget is Budget.EXPOSED:
            return self._minutes.hit(f"{budget.value} {limited_as(address)}", self._config.keyless.per_minute, now_ms)
        if budget is Budget.DEVICE_POLL:
            pace = self._polls_at_pace()
            return self._minutes.hit(f"{budget.value} {limited_as(address)}", 4 * pace, now_ms, least=2 * pace)
        if budget is Budget.REGISTER:
            # Nothing is kept, but a network could have ids signed without end.
            return self._minutes.hit(f"{budget.value} {network_of(address)}", self._config.keyless.per_minute, now_ms)
        allowance = self._hours.hit(f"{budget.value} {limited_as(address)}", self._per_hour[budget], now_ms)
        if allowance.allowed and budget is Budget.MINT:
            mint = self._config.mint
            return self._minted.hit(network_of(address), mint.per_hour_total, mint.total_factor, now_ms)
        if allowance.allowed and budget is Budget.DEVICE_START:
            device = self._config.device
            return self._devices.hit(network_of(address), device.per_hour_total, device.total_factor, now_ms)
        return allowance

    def change(self, tenant_id: str) -> Allowance:
        """Count one change that an account can repeat without end."""
        return self._changes.hit(tenant_id, self._config.account.changes_per_day, self._clock.now_ms())

    def not_changed(self, tenant_id: str) -> None:
        """Give back what `change` counted for a request that was refused."""
        self._changes.subtract(tenant_id, self._clock.now_ms())

    def mail(self, address: str) -> Allowance:
        """Count one code to be mailed for this address, among those of all addresses."""
        mail = self._config.mail
        return self._mailed.hit(network_of(address), mail.per_hour_total, mail.total_factor, self._clock.now_ms())

    def not_mailed(self, address: str) -> None:
        """Give back what `mail` counted for a code that is not mailed."""
        self._mailed.subtract(network_of(address), self._clock.now_ms())

    def unknown(self, address: str, count: int = 1) -> Allowance:
        """Count a lookup of a key or session that this node has never found. `known` gives it back if it exists."""
        return self._unknown.hit(limited_as(address), self._config.keys.unknown_per_minute, self._clock.now_ms(), count)

    def known(self, address: str) -> None:
        self._unknown.subtract(limited_as(address), self._clock.now_ms())

    def events(self, address: str, count: int) -> Allowance:
        """Count `count` events, all or none. Relays in `events.exempt_networks` are not limited."""
        if address in self._exempt:
            return self._unlimited
        return self._events.hit(limited_as(address), self._config.events.per_minute, self._clock.now_ms(), count)

    def more_events(self, address: str, count: int) -> Allowance:
        """Count `count` more events of a request that was counted as one: all of them, or none and the request stays one,
        because even a refused batch has been read and parsed."""
        self._events.subtract(limited_as(address), self._clock.now_ms())
        allowance = self.events(address, 1 + count)
        if not allowance.allowed:
            self.events(address, 1)
        return allowance

    def exempts(self, address: str) -> bool:
        """Whether this is the address of a relay."""
        return address in self._exempt

    def caps_events(self, address: str) -> bool:
        """Whether `count_events` limits this address."""
        return self._config.events.per_booking_per_hour > 0 and address not in self._exempt

    def count_events(self, address: str, booking_id: str, count: int = 1) -> int:
        """Count up to `count` events about one booking that are to be recorded. Returns how many may be."""
        if not self.caps_events(address):
            return count
        limit, now_ms = self._config.events.per_booking_per_hour, self._clock.now_ms()
        of_address, of_network = _event_counters(address, booking_id)
        room = self._bookings.count_up_to(of_address, limit, now_ms, count)
        taken = self._booking_networks.count_up_to(of_network, NETWORK_FACTOR * limit, now_ms, room) if room else 0
        if taken < room:
            self._bookings.subtract(of_address, now_ms, room - taken)
        return taken

    def uncount_events(self, address: str, booking_id: str, count: int = 1) -> None:
        """Give back what `count_events` counted for events that were not recorded."""
        now_ms = self._clock.now_ms()
        of_address, of_network = _event_counters(address, booking_id)
        self._bookings.subtract(of_address, now_ms, count)
        self._booking_networks.subtract(of_network, now_ms, count)

    def _polls_at_pace(self) -> int:
        """Polls per minute of all devices that one address may start in an hour.

        The limit is four times this, and at least twice per node. Devices that keep their interval never reach it, even
        if two windows of starts overlap and all of them poll one node.
        """
        device = self._config.device
        return device.starts_per_hour * -(-60 // device.interval_seconds)


def _event_counters(address: str, booking_id: str) -> tuple[str, str]:
    """The keys under which events about one booking are counted: of the address, and of its network."""
    return f"{limited_as(address)} {booking_id}", f"{network_of(address)} {booking_id}"
