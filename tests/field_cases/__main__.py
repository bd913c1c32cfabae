"""``python -m tests.field_cases``: run the field cases and write their table."""

import sys

from tests.field_cases.table import main

sys.exit(main(sys.argv[1:]))
