"""The reply stream of one Modbus TCP connection: which bytes answer which request. Pure."""

import struct
from typing import NamedTuple

_HEADER = struct.Struct(">HHHBB")  # transaction id, protocol, length, unit, function


class Frame(NamedTuple):
    """A reply as it came: ``data`` is what follows the function code."""

    unit: int
    function: int
    data: bytes


class ReplyStream:
    """Finds the reply that carries the transaction id of the request in flight, and keeps the rest of the stream.

    any_id    transaction ids are not compared (a device garbles them)
    owed      ids of requests that were given up: their replies may still come and are dropped as late
    late      how many of those came; late_units are their units
    stray     frames and leftovers that answered nothing
    refused   what was wrong with the last frame dropped since the request was sent ("" = nothing came)
    broken    why the stream cannot be read any more ("" = it can); the connection must be rebuilt
    """

    def __init__(self, *, any_id: bool = False) -> None:
        self._any_id = any_id
        self._rest = b""
        self.owed: set[int] = set()
        self.late = 0
        self.late_units: list[int] = []
        self.stray = 0
        self.refused = ""
        self.broken = ""

    def restart(self) -> None:
        """A new connection: nothing is left and nothing is owed; the counts go on."""
        self._rest = b""
        self.owed.clear()
        self.refused = self.broken = ""

    def sent(self) -> None:
        """A request leaves: bytes left over from before belong to nobody, unless a late reply is still owed."""
        self.refused = ""
        if self._rest and not self.owed:
            self.stray += 1
            self._rest = b""

    def feed(self, data: bytes, tid: int) -> Frame | None:
        """Take bytes as they arrive; return the reply to ``tid`` when it is complete."""
        if self.broken:
            return None
        stream = self._rest + data
        reply: Frame | None = None
        while reply is None and len(stream) >= _HEADER.size:
            got, protocol, length, unit, function = _HEADER.unpack_from(stream)
            if length == 2 and function & 0x80:
                length = 3  # seen in the field: an exception reply whose length leaves out the code
            if protocol or not 3 <= length <= 254:
                self.broken = f"bad frame: protocol {protocol}, length {length} ({stream[:16].hex(' ')})"
                stream = b""
                break
            end = 6 + length
            if len(stream) < end:
                break
            if got == tid or self._any_id:
                reply = Frame(unit, function, stream[8:end])
            elif got in self.owed:
                self.owed.discard(got)
                self.late += 1
                self.late_units.append(unit)
            else:
                self.refused = f"transaction id mismatch: asked 0x{tid:04x}, got 0x{got:04x}"
                self.stray += 1
            stream = stream[end:]
        self._rest = stream
        return reply
