"""`python3 -m npyext` prints the path for .load and --load-extension."""

from . import loadable_path

print(loadable_path())
