"""``python -m valvey``."""

from valvey.cli import main

if __name__ == "__main__":
    main()
