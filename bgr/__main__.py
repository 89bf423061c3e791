"""``python -m bgr`` is the command `bgr`."""

import sys

from bgr.cli import main

sys.exit(main())
