"""What may stand under ``buses``: how one Modbus device is reached, and how long it may take."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from fieldkit.model import Model
from fieldkit.rtu import late_reply_default_s
from fieldkit.rtu_frames import Line

Address = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}$")]
WAYS = ("tcp", "rtu", "rtu_over_tcp")


class SerialLine(Model):
    """How a serial line is set: all its devices alike."""

    baud: Annotated[int, Field(ge=1200, le=1_000_000)]
    parity: Literal["N", "E", "O"]
    """none, even, odd: 19200 8E1 is ``baud: 19200, parity: E, stop_bits: 1``."""
    stop_bits: Literal[1, 2]
    local_echo: bool = False
    """The adapter returns what is sent, as some two-wire adapters do."""

    @property
    def line(self) -> Line:
        return Line(self.baud, self.parity, self.stop_bits)


class SerialPort(SerialLine):
    """A serial port of this machine."""

    port: Annotated[str, Field(pattern=r"^/[\w./:@+-]+$")]
    """``/dev/serial/by-id/…``: a ttyUSB number changes when the adapter is plugged in again."""


class Bus(Model):
    """One Modbus device, reached by exactly one of ``tcp``, ``rtu``, ``rtu_over_tcp``."""

    tcp: Address | None = None
    """``host:port`` of a Modbus TCP device or gateway. Devices of one gateway share one connection."""
    rtu: SerialPort | None = None
    """On a serial line of this machine; it has one owner. Its devices share the line."""
    rtu_over_tcp: Address | None = None
    """``host:port`` of a gateway that passes RTU frames on as they are."""
    line: SerialLine | None = None
    """The serial line behind a gateway. Left out = 19200 8E1 for ``rtu_over_tcp``, none for ``tcp``."""
    unit: Annotated[int, Field(ge=0, le=255)]
    profile: Annotated[str, Field(pattern=r"^[a-z0-9]+_[a-z0-9-]+$")]
    """Name of a file in ``profiles_dir``, without ``.yaml``."""
    timeout_s: Annotated[float, Field(gt=0, le=5)]
    """For a connection attempt and for a reply; nothing is repeated after it."""
    late_reply_s: Annotated[float, Field(gt=0, le=60)] | None = None
    """RTU: longest time from a request to its reply. Until then a lost reply may still come, and no other read of its
    length is asked of the device: RTU replies do not say what they answer. Left out = 8 timeouts, at least 2 s."""
    min_gap_s: Annotated[float, Field(ge=0, le=5)] | None = None
    """Least quiet time between a reply and the next request; left out = the profile's."""
    settle_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    """TCP: how long a gateway needs after a connection is made before it takes the first request."""
    ignore_transaction_id: bool = False
    """TCP, for a device that garbles it: replies are not told apart by number, and any timeout ends the connection."""
    ignore_unit: bool = False
    """TCP, for the only device of a connection, when it answers with another unit id than it was asked by."""
    write_connection: Literal["own", "shared"] | None = None
    """Of a device with outputs: whether its writes have their own connection. A serial line has one: ``shared``, and
    writes go before the reads that wait."""

    @property
    def by(self) -> str:
        """Which of the three keys says how it is reached."""
        return next(way for way in WAYS if getattr(self, way) is not None)

    @property
    def way(self) -> str:
        """What it shares with others: port or address."""
        return self.rtu.port if self.rtu is not None else str(self.tcp or self.rtu_over_tcp)

    @property
    def host(self) -> str:
        return self.way.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.way.rpartition(":")[2])

    @property
    def serial(self) -> SerialLine | None:
        """The serial line that its frames take, None when nothing is known of one."""
        if self.rtu is not None:
            return self.rtu
        if self.line is None and self.rtu_over_tcp is not None:
            return SerialLine(baud=19200, parity="E", stop_bits=1)
        return self.line

    @property
    def latest_reply_s(self) -> float:
        return self.late_reply_s if self.late_reply_s is not None else late_reply_default_s(self.timeout_s)

    @field_validator("tcp", "rtu_over_tcp")
    @classmethod
    def _port(cls, address: str | None) -> str | None:
        if address is not None and not 1 <= int(address.rpartition(":")[2]) <= 65535:
            raise ValueError(f"{address!r}: a port is 1..65535")
        return address

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(getattr(self, way) is not None for way in WAYS) != 1:
            raise ValueError("says how the device is reached by exactly one of tcp, rtu, rtu_over_tcp")
        return self
