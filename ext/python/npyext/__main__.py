"""`python3 -m npyext` is the shell in a terminal, and prints the path for .load and --load-extension elsewhere."""

import sys

from ._command import main_of_module

sys.exit(main_of_module())
