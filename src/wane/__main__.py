"""`python -m wane` is the command line."""

import sys

from wane.cli import main

if __name__ == "__main__":  # processes of the web page import this module again
    sys.exit(main())
