"""``python -m wildenv``, the same as the command ``wildenv``."""

import sys

from wildenv.cli.main import main

sys.exit(main())
