"""``python -m bgr`` is the command `bgr`."""

import sys

from bgr.cli import drop_working_folder, main

drop_working_folder()
sys.exit(main())
