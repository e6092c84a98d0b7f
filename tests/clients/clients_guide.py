"""The sections of docs/install.md that install from PyPI and npm (`make check-clients`)."""

import pytest

import install_guide
import packages
import shell

SECTIONS = [name for name, blocks in install_guide.sections().items() if install_guide.needs_a_registry(blocks)]


@pytest.mark.parametrize("name", SECTIONS)
def test_section(name, tmp_path, patience_for):
    patience_for(5 * shell.PATIENCE)
    packages.made("wheel")
    install_guide.check(name, tmp_path, 4 * shell.PATIENCE)
