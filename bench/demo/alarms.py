"""Which alarms tell something of the racks. With hurried time an alarm of a link tells of this machine.

Modbus timeouts and the wire stay real at any SPEED, but half a second without a reply is then a fraction of that: a
machine that is busy for a moment looks like a device that is silent.
"""

LINK = "link-"


def counts(alarm: str, speed: float) -> bool:
    """Whether an alarm counts in a claim; all do in real time."""
    return speed == 1.0 or not alarm.startswith(LINK)


def not_counted(speed: float) -> str:
    """What a claim says of those that do not."""
    return "" if speed == 1.0 else ", but those of links, which count at SPEED 1 only"
