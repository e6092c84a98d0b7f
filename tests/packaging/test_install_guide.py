"""The sections of docs/install.md that need no registry; clients_guide.py has the others, roots_guide.py all of them."""

import pytest

import install_guide
import packages
import shell

__test__ = not shell.SANITIZED
SECTIONS = [
    name
    for name, blocks in install_guide.sections().items()
    if not install_guide.needs_a_registry(blocks) and not install_guide.installs_what_it_makes(blocks)
]


@pytest.mark.parametrize("name", SECTIONS)
def test_section(name, tmp_path, patience_for):
    patience_for(5 * shell.PATIENCE)
    packages.made("npyext.so", ".build/install/libnpyx.a", "amalgamation")
    install_guide.check(name, tmp_path, 4 * shell.PATIENCE)


def test_the_guide_has_its_sections():
    assert len(SECTIONS) >= 4 and len(install_guide.sections()) >= 9
