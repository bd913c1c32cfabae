"""What is fuzzed: each target takes any bytes, and raises only for a fault of ours.

An exception that is not expected is a crash; so is an answer that cannot be right (AssertionError).
"""

import atexit
import math
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

from fieldkit import envelope, profile_file, yamlfile
from fieldkit.errors import ConfigError, Refusal
from fieldkit.frames import Frame, ReplyStream
from fieldkit.inbox import Inbox
from fieldkit.mqtt_types import Incoming
from fieldkit.outbox import Properties
from fieldkit.pdu import Request, read_request, write_request
from fieldkit.point import PointType
from fieldkit.probing import replies
from fieldkit.probing.draft import dumped
from fieldkit.profile import Profile
from fieldkit.reading import Quality
from fieldkit.rtu_frames import RtuStream, crc, framed
from fieldkit.spans import Span, halves, plan, want
from fieldkit.topics import Daemon, parse_topic
from fieldkit.words import Decoder, EncodeError, encode, text
from tests.fuzz.edits import edited
from valvey import config as rack_config
from valvey.core import requests as core_requests
from valvey.loop import config as loop_config

CONFIGS = Path(__file__).parents[2] / "configs"
PROFILES = tuple(sorted((CONFIGS / "profiles").glob("*.yaml")))
RACKS = (CONFIGS / "rack.yaml",)
LOOPS = (CONFIGS / "loop.yaml",)


@cache
def _shipped() -> tuple[tuple[Profile, tuple[tuple[Span, Decoder], ...]], ...]:
    return tuple((profile, _decoders(profile)) for profile in map(profile_file.load, PROFILES))


def _decoders(profile: Profile) -> tuple[tuple[Span, Decoder], ...]:
    names = [name for name, point in profile.points.items() if point.type is not PointType.STRING]
    return tuple((span, Decoder(span)) for span in plan(profile, [want(profile, n, n, "fast") for n in names]))


def words(data: bytes) -> None:
    """Registers of a shipped profile to readings, and a value to registers and back."""
    if len(data) < 3:
        return
    profile, spans = _shipped()[data[0] % len(PROFILES)]
    span, decoder = spans[data[1] % len(spans)]
    body = data[2:]
    size = 2 * span.count if span.table in {"holding", "input"} else (span.count + 7) // 8
    if body[0] & 1:
        body = (body + bytes(size))[:size]
    _readings(profile, span, decoder, body, whole=len(body) == size)
    text(body)
    points = [point for point in profile.points.values() if point.writable]
    if points and len(data) >= 11:
        point = points[data[1] % len(points)]
        (value,) = struct.unpack_from(">d", data, 3)
        try:
            registers = encode(point, value, profile.order_of(point))
        except EncodeError:
            return
        assert point.range is None or point.range[0] <= value <= point.range[1]
        assert len(registers) == point.words
        assert all(0 <= word <= 0xFFFF for word in registers)


def _readings(profile: Profile, span: Span, decoder: Decoder, body: bytes, *, whole: bool) -> None:
    for item, reading in zip(span.wanted, decoder.decode(body, 1.0), strict=True):
        low, high = item.point.range or (0.0, 1.0)
        assert reading.tag == item.tag
        if reading.quality is Quality.GOOD:
            assert whole
            assert reading.value is not None
            assert math.isfinite(reading.value)
            assert low <= reading.value <= high
        else:
            assert reading.value is None
            assert reading.reason is not None


def frames(data: bytes) -> None:
    """A Modbus TCP stream, cut anywhere: the reply found does not depend on the cuts, and carries the id asked for."""
    if len(data) < 4:
        return
    any_id, tid, cut = bool(data[0] & 1), data[1], data[2]
    body = data[3:]
    owed = {data[0] >> 1}
    found = []
    for pieces in ((body,), (body[:cut], body[cut:]), tuple(body[n : n + 1] for n in range(min(len(body), 64)))):
        stream = ReplyStream(any_id=any_id)
        stream.owed |= owed
        stream.sent()
        got = [reply for piece in pieces for reply in [stream.feed(piece, tid)] if reply is not None]
        found.append((got[0] if got else None, stream.late if not got else 0))
        if got and not any_id:
            assert struct.pack(">H", tid) in body
        if stream.broken:
            assert stream.feed(body, tid) is None
        stream.restart()
        assert stream.broken == ""
    assert found[0][0] == found[1][0]
    if len(body) <= 64:
        assert found[0] == found[2]


def _request(data: bytes) -> Request:
    unit, kind, address, count = data[0], data[1] % 6, data[2], 1 + data[3] % 12
    if kind < 4:
        return read_request(unit, ("holding", "input", "coil", "discrete")[kind], address, count)
    return write_request(unit, ("holding", "coil")[kind - 4], address, [1] * count, multiple=bool(data[3] & 0x80))


def rtu(data: bytes) -> None:
    """A serial line: whatever comes, a reply is a frame of the line with a right CRC, of the unit and function asked."""
    if len(data) < 8:
        return
    request = _request(data)
    sent = framed(request.unit, request.pdu)
    stream = RtuStream(2.0, local_echo=bool(data[4] & 1))
    heard = b""
    now_s = 0.0
    for before in range(data[4] >> 6):  # requests given up before: their replies may still come
        other = _request(bytes((data[0], data[1], before, data[3])))
        stream.sent(other, framed(other.unit, other.pdu), now_s)
        stream.give_up(now_s + 0.1)
    stream.sent(request, sent, now_s)
    rest = _frames_in(data[5:], request, sent)
    for piece in rest:
        now_s += 0.01
        heard += piece
        reply = stream.feed(piece, now_s)
        if reply is not None:
            _right(request, reply, heard)
            break
    why = stream.give_up(now_s)
    assert why is None or why[1]
    assert stream.held_back_s(request, now_s) >= 0.0
    replies.rtu_reply(heard, request.unit, request.function)


def _right(request: Request, reply: Frame, heard: bytes) -> None:
    body = bytes((reply.unit, reply.function)) + reply.data
    assert (reply.unit, reply.function & 0x7F) == (request.unit, request.function)
    assert body + crc(body) in heard
    assert reply.function & 0x80 or len(reply.data) == request.size


def _frames_in(data: bytes, request: Request, sent: bytes) -> Iterator[bytes]:
    """Turn bytes into what a line may carry: noise, frames with a right CRC, the echo, good replies."""
    at = 0
    while at + 2 <= len(data):
        kind, size = data[at] & 3, data[at + 1] & 31
        piece = data[at + 2 : at + 2 + size]
        at += 2 + size
        if kind == 0:
            yield piece
        elif kind == 1:
            yield framed(piece[0] if piece else 0, piece[1:] or b"\x83\x02")
        elif kind == 2:
            yield sent[: size or None]
        else:
            good = (
                request.echo if not request.is_read else bytes((request.size - 1,)) + (piece * 32)[: request.size - 1]
            )
            yield framed(request.unit, bytes((request.function,)) + good)


def identification(data: bytes) -> None:
    """What a device says of itself when it is probed."""
    found = replies.objects(data)
    assert found is None or all(isinstance(one, str) for one in found.texts.values())
    replies.server_id(data)
    replies.printable(data)
    if len(data) > 2:
        replies.rtu_reply(data[2:], data[0], data[1] & 0x7F)


def profiles(data: bytes) -> None:
    """A profile's file: a profile that can be planned, read and written again, or faults that name the file."""
    raw = edited(data, PROFILES)
    try:
        profile = yamlfile.check(yamlfile.parse(raw, "fuzz.yaml"), Profile)
    except ConfigError as error:
        _told(error)
        return
    for span, decoder in _decoders(profile):
        size = 2 * span.count if span.table in {"holding", "input"} else (span.count + 7) // 8
        for fill in (b"\x00", b"\xff", b"\x7f", data[-1:] or b"\x80"):
            _readings(profile, span, decoder, fill * size, whole=True)
        assert sum(len(half.wanted) for half in halves(span)) == len(span.wanted)
    again = yamlfile.check(yamlfile.parse(dumped(profile, "x").encode(), "again.yaml"), Profile)
    assert again == profile


def _told(error: ConfigError) -> None:
    assert error.faults
    for fault in error.faults:
        assert fault.message
        str(fault)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("profiles", "policies"):
        (folder / name).symlink_to(CONFIGS / name)
    return folder


def configuration(data: bytes) -> None:
    """A rack's or a loop's file: a configuration, or faults."""
    if not data:
        return
    rack = bool(data[0] & 1)
    file = _folder() / "fuzz.yaml"
    file.write_bytes(edited(data[1:], RACKS if rack else LOOPS))
    try:
        (rack_config if rack else loop_config).load(file)
    except ConfigError as error:
        _told(error)


def _note(said: list[Refusal], _client: str, refusal: Refusal, _properties: Properties) -> None:
    said.append(refusal)


def requests(data: bytes) -> None:
    """A message of a stranger: a request or a refusal; the inbox and the core's own request take what is sound."""
    for payload in {data, b'{"v":1,"id":"6f1c5c2e-2d0e-4f5c-9d0e-2d0e4f5c9d0e",' + data}:
        found = envelope.parse_request(payload)
        if isinstance(found, Refusal):
            assert found.code
            assert found.reason
            assert found.would_allow
        else:
            assert found.v == 1
        for model in envelope.PAYLOADS.values():
            envelope.parse(model, payload)
        said: list[Refusal] = []
        inbox = Inbox(
            "demo",
            "r01",
            Daemon.VALVEY,
            make=core_requests.Request,
            safer=("dark", "isolate"),
            refuse=partial(_note, said),
            wall_s=lambda: 1.8e9,
            synced=lambda: True,
        )
        topic = "racky/v1/demo/r01/valvey/request/operator/fuzz"
        inbox.message(Incoming(topic, payload, retain=False, properties=Properties()))
        assert len(inbox.take()) + len(said) == 1
    parse_topic(data.decode("utf-8", "replace"))


# fmt: off
TARGETS: dict[str, tuple[Callable[[bytes], None], float, int]] = {
    "profiles":       (profiles,       0.007, 200),
    "configuration":  (configuration,  0.003, 200),
    "words":          (words,          0.30,  300),
    "frames":         (frames,         0.29,  300),
    "rtu":            (rtu,            0.25,  300),
    "identification": (identification, 0.10,  260),
    "requests":       (requests,       0.05, 1200),
}
# fmt: on
"""Name -> function, its part of the runs (a file costs a hundred times what a frame costs), longest input in bytes; the slowest first."""
