"""Values to write, as the one request that says them all."""

from collections.abc import Mapping

from fieldkit.point import Point, Table
from fieldkit.profile import Profile
from fieldkit.words import encode


def block_of(
    profile: Profile, device: str, values: Mapping[str, float], *, persistent: bool = False
) -> tuple[Table, int, list[int]]:
    """Return table, first address and words (coils as 0 and 1) of the request that writes ``values``, by point name.

    Raises EncodeError or ValueError when it cannot be one request: a command is sent whole or not at all.
    """
    placed: list[tuple[Point, list[int]]] = []
    for name, value in values.items():
        point = profile.points.get(name)
        if point is None:
            raise ValueError(f"profile {profile.profile} has no point {name!r}")
        if point.persistent and not persistent:
            raise ValueError(f"{device} {name} wears out when written: it is set once, never cyclically")
        placed.append((point, encode(point, value, profile.order_of(point))))
    if not placed:
        raise ValueError(f"{device}: nothing to write")
    placed.sort(key=lambda one: one[0].address)
    table, address = placed[0][0].table, placed[0][0].address
    words: list[int] = []
    for point, part in placed:
        if point.table is not table or point.address != address + len(words):
            raise ValueError(f"{device}: {', '.join(values)} do not lie side by side and cannot be one write")
        words += part
    if profile.may_write(table, len(words)) is None:
        raise ValueError(f"{device} takes one {table} register or coil a request: write {', '.join(values)} apart")
    return table, address, words


def as_read(table: Table, words: list[int]) -> bytes:
    """Return what a read of the same place brings after ``words`` were written to it."""
    if table is Table.COIL:
        return sum(bit << n for n, bit in enumerate(words)).to_bytes((len(words) + 7) // 8, "little")
    return b"".join(word.to_bytes(2, "big") for word in words)
