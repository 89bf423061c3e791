"""``python -m bgr.cli`` is the command `bgr`."""

import sys

from bgr.cli import main

sys.exit(main())
