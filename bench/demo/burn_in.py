"""The site's own commands on a new rack, as its Racky runs them: ``python -m bench.demo.burn_in CONTROL RACK load|check KW``.

``load`` draws so much until it is told to stop, then nothing; ``check`` passes when at least so much is drawn.
"""

import signal
import sys

from firmware_sim.client import ask


def load(control: str, rack: str, kw: float) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    ask(control, "load", rack=rack, kw=kw)
    print(f"SIMULATED: {rack} is loaded with {kw:.0f} kW", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    ask(control, "load", rack=rack, kw=0.0)
    return 0


def check(control: str, rack: str, kw: float) -> int:
    drawn = float(ask(control, "snapshot")["racks"][rack]["true"]["busbar_kw"])
    print(f"SIMULATED: {drawn:.1f} kW are drawn, at least {kw:.0f} are wanted")
    return 0 if drawn >= kw else 1


if __name__ == "__main__":
    control, rack, what, kw = sys.argv[1:]
    sys.exit({"load": load, "check": check}[what](control, rack, float(kw)))
