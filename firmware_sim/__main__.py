"""``python -m firmware_sim`` is ``firmware-sim``."""

from firmware_sim.cli import main

if __name__ == "__main__":
    main()
