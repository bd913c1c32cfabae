"""The wiring that must hold without software (SAFETY: W1..W4), as parts between the controller's outputs and the coils.

W5 (the thermal relief) belongs to the plant's hydraulics and W6 (what the permit's contactor cuts) to its power.
"""

from dataclasses import dataclass, field

XV_101, XV_102, XV_103, XV_104, XS_101 = range(5)
XVS = (XV_101, XV_102, XV_103, XV_104)
COILS = (*XVS, XS_101)


@dataclass(slots=True)
class EmergencyStop:
    """HS-101: a latching button on a two-channel relay; W1 needs its release *and* a reset at the button.

    ``wire_broken`` opens a channel, which is the same as pressing. The contact that the controller reads is the
    relay's, so it tells healthy only after the reset.
    """

    pressed: bool = False
    wire_broken: bool = False
    tripped: bool = False

    def press(self) -> None:
        self.pressed = self.tripped = True

    def break_wire(self) -> None:
        self.wire_broken = self.tripped = True

    def release(self) -> None:
        """Pull the button out and mend the wire; the relay stays tripped."""
        self.pressed = self.wire_broken = False

    def reset(self) -> bool:
        """Push the reset; True when the relay took it."""
        if not (self.pressed or self.wire_broken):
            self.tripped = False
        return not self.tripped

    @property
    def healthy(self) -> bool:
        return not self.tripped


@dataclass(slots=True)
class Contacts:
    """The field contacts of one rack as they are now; limit switches are True when made."""

    zso_101: bool = False
    zsc_101: bool = True
    zso_102: bool = False
    zsc_102: bool = True
    zsc_103: bool = True
    zsc_104: bool = True
    permit_closed: bool = False
    stop_healthy: bool = True
    key_locked: bool = False
    sump_not_high: bool = True
    fcv_open_pct: float = 0.0
    cdu_trip: bool = False


@dataclass(slots=True)
class Wiring:
    """Relays between the controller's five outputs and the coils XV-101..104, XS-101.

    A chain that opens under an energised output seals it out: the coil stays off until that output was off once.
    """

    coils: list[bool] = field(default_factory=lambda: [False] * 5)
    sealed: list[bool] = field(default_factory=lambda: [False] * 5)
    sealed_by_stop: list[bool] = field(default_factory=lambda: [False] * 5)

    def settle(self, outputs: list[bool], contacts: Contacts) -> None:
        """Bring the coils to what ``outputs`` and ``contacts`` allow; relays are taken as faster than any step."""
        stop_ok = contacts.stop_healthy
        both_open_enough = not (contacts.zsc_101 or contacts.zsc_102)  # W2, through "not shut": a part stroke may pass
        drain_ok = contacts.zsc_101 and contacts.zsc_102 and contacts.sump_not_high  # W4: releases by itself
        for coil in COILS:
            wanted = outputs[coil]
            if not wanted:
                self.sealed[coil] = self.sealed_by_stop[coil] = False
            elif not stop_ok:
                self.sealed[coil] = self.sealed_by_stop[coil] = True
            elif coil == XS_101 and not both_open_enough:
                self.sealed[coil] = True
            allowed = drain_ok if coil == XV_103 else True
            self.coils[coil] = wanted and not self.sealed[coil] and allowed


@dataclass(slots=True)
class BufferedSupply:
    """W3: the common 24 V of the permit's coil, the valves, the controller and the rack's node.

    buffer_s  how long it lives without its mains (at least 20 s)
    """

    buffer_s: float = 20.0
    left_s: float = 20.0
    on: bool = True

    def step(self, mains: bool, dt_s: float) -> bool:
        """Return whether there are 24 V after ``dt_s``; the buffer refills at once when the mains return."""
        self.left_s = self.buffer_s if mains else max(0.0, self.left_s - dt_s)
        self.on = self.left_s > 0.0
        return self.on
