"""Values whose device says elsewhere, in a bit of its own, that their sensor is broken.

The bits are read in the same lane as the values, before them, and belong to nobody else. A bit that could not be read
leaves its value unknown: nobody says any more that the sensor is well.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from fieldkit.profile import Profile
from fieldkit.reading import Quality, Reading, Reason
from fieldkit.spans import Wanted, want


class FaultBits:
    """The fault bits that one device's tags depend on.

    wanted  what has to be read beside the tags; its tags begin with the device's name and a slash
    """

    def __init__(self, name: str, profile: Profile, tags: Mapping[str, tuple[str, str]]) -> None:
        """``tags``: tag -> (point of the profile, lane)."""
        self._of: dict[str, tuple[str, ...]] = {}
        self._seen: dict[str, Reading] = {}
        wanted: dict[str, Wanted] = {}
        for tag, (point, lane) in tags.items():
            bits = profile.points[point].faulted_by if point in profile.points else ()
            hidden = tuple(f"{name}/{lane}/{bit}" for bit in bits)
            wanted.update((key, want(profile, key, bit, lane)) for key, bit in zip(hidden, bits, strict=True))
            if hidden:
                self._of[tag] = hidden
        self.wanted = tuple(wanted.values())
        self._tags = frozenset(wanted)

    def note(self, readings: Iterable[Reading]) -> None:
        """Take the bits among ``readings``; call it before the values of the same poll are judged."""
        if self._tags:
            self._seen.update((reading.tag, reading) for reading in readings if reading.tag in self._tags)

    def carried_by(self, tags: Iterable[str]) -> bool:
        """True when one of ``tags`` is such a bit."""
        return not self._tags.isdisjoint(tags)

    def __call__(self, reading: Reading) -> Reading:
        """Return ``reading``, BAD when a bit of its own says so or could not be read."""
        for key in self._of.get(reading.tag, ()):
            bit = self._seen.get(key)
            if bit is not None and bit.quality is Quality.GOOD and not bit.value:
                continue
            reason = Reason.NEVER_READ if bit is None else Reason.FAULT if bit.reason is None else bit.reason
            return replace(reading, value=None, quality=Quality.BAD, reason=reason)
        return reading
