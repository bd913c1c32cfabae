"""The links to a rack's devices: one for each gateway or serial line, whoever shares it."""

from collections.abc import Mapping, Sequence

from fieldkit import config_bus
from fieldkit.bus import Bus, LinkCounters, SharedLink, UnitBus
from fieldkit.modbus import TcpLink
from fieldkit.rtu import RtuLink
from fieldkit.wires import serial, stream


class Links:
    """Makes each link once.

    buses  the rack's, by name
    gaps   least quiet time between requests, by name
    caps   longest wait between attempts to connect, by name
    """

    def __init__(
        self, buses: Mapping[str, config_bus.Bus], gaps_s: Mapping[str, float], caps_s: Mapping[str, float]
    ) -> None:
        self._buses, self._gaps_s, self._caps_s = buses, gaps_s, caps_s
        self._made: dict[str, SharedLink] = {}
        self.counters: dict[str, LinkCounters] = {}
        """By link, as people know it."""

    def read(self, name: str) -> Bus:
        """The way to read a device."""
        return self._shared(name, first=False) or self._tcp((name,), name)

    def write(self, name: str) -> Bus:
        """The way to write to a device that has its own connection for writes, or shares one; reads by it go first."""
        if self._buses[name].tcp is not None and self._buses[name].write_connection != "shared":
            return self._tcp((name,), f"{name} writes")
        return self._shared(name, first=True) or self.read(name)

    def shares(self, name: str) -> bool:
        """Whether a device is reached by a link that is not its own alone."""
        bus = self._buses[name]
        return bus.tcp is None or len(self._sharers(bus)) > 1

    def _sharers(self, bus: config_bus.Bus) -> tuple[str, ...]:
        return tuple(name for name, other in self._buses.items() if (other.by, other.way) == (bus.by, bus.way))

    def _shared(self, name: str, *, first: bool) -> Bus | None:
        bus = self._buses[name]
        if not self.shares(name):
            return None
        link = self._made.get(bus.way)
        if link is None:
            names = self._sharers(bus)
            link = self._tcp(names, bus.way) if bus.tcp is not None else self._rtu(names, bus)
            self._made[bus.way] = link
        return UnitBus(link, bus.timeout_s, first=first)

    def _tcp(self, names: Sequence[str], title: str) -> TcpLink:
        bus = self._buses[names[0]]
        link = TcpLink(
            title,
            bus.host,
            bus.port,
            timeout_s=max(self._buses[name].timeout_s for name in names),
            reconnect_cap_s=min(self._caps_s[name] for name in names),
            min_gap_s=max(self._gaps_s[name] for name in names),
            settle_s=max(self._buses[name].settle_s for name in names),
            ignore_transaction_id=any(self._buses[name].ignore_transaction_id for name in names),
            ignore_unit=bus.ignore_unit,
        )
        self.counters[title] = link.counters
        return link

    def _rtu(self, names: Sequence[str], bus: config_bus.Bus) -> RtuLink:
        timeout_s = max(self._buses[name].timeout_s for name in names)
        assert bus.serial is not None  # ruff: ignore[assert] - every RTU bus has a line
        line = bus.serial.line
        opener = serial(bus.way, line) if bus.rtu is not None else stream(bus.host, bus.port, timeout_s)
        link = RtuLink(
            bus.way,
            str(line),
            opener,
            line,
            timeout_s=timeout_s,
            late_reply_s=max(self._buses[name].latest_reply_s for name in names),
            reconnect_cap_s=min(self._caps_s[name] for name in names),
            min_gap_s=max(self._gaps_s[name] for name in names),
            local_echo=bus.serial.local_echo,
            keeps_open=bus.rtu is not None,
        )
        self.counters[bus.way] = link.counters
        return link
