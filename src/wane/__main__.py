"""`python -m wane` is the command line."""

import sys

from wane.cli import main

sys.exit(main())
