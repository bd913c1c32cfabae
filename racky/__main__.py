"""``python -m racky``."""

from racky.cli import main

if __name__ == "__main__":
    main()
