"""Visits of the pages for browsers, in headless Chromium."""

import json
import os

import pytest

import browser
import packages
import pictures
import shell

LOOKS = [(width, is_dark) for width in (1280, 390) for is_dark in (False, True)]

WEB = os.path.join(shell.ROOT, ".build", "web")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    packages.run("sh", "ext/tools/install-packages.sh", "browser")
    started = browser.Browser(tmp_path_factory.mktemp("browser"), 2 * shell.PATIENCE)
    yield started
    started.close()


@pytest.fixture(scope="module")
def base():
    packages.made("web")
    with browser.served(WEB) as address:
        yield address


def is_light(page, selector):
    """Whether an element's corner is light, as it is seen."""
    x, y = page.js(f"(({{ left, top }}) => [left + scrollX, top + scrollY])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
    return pictures.png_pixels(page.screenshot(x=x + 3, y=y + 3, width=2, height=2))[1][..., :3].mean() > 128


def barriers(page):
    """What axe-core finds on a page that keeps somebody from using it."""
    with open(os.path.join(packages.npm_installed("axe-core@4.14.1", "--ignore-scripts"), "axe-core", "axe.min.js"), encoding="utf-8") as file:
        page.js(file.read() + "; null")
    found = page.js("axe.run().then(({ violations, passes }) => [passes.length, violations.map(({ impact, id, nodes }) => [impact, id, nodes.map(({ html }) => html.slice(0, 200))])])")
    assert found[0] > 10  # rules that were at work
    return [each for each in found[1] if each[0] in ("serious", "critical")]


class Visit:
    """One who has opened a page."""

    def __init__(self, chromium, base, name="index.html"):
        self.page = chromium.open(f"{base}/{name}")
        self.until_ready()

    def until_ready(self):
        self.page.wait("document.body.dataset.state === 'ready'")

    def text(self, selector):
        return self.page.js(f"document.querySelector({json.dumps(selector)}).textContent")

    def choose(self, *paths, chooser="#chooser"):
        count = self.page.js("document.querySelectorAll('#files li').length")
        self.page.choose(chooser, paths)
        self.page.wait(f"document.querySelectorAll('#files li').length > {count}")
        self.page.wait("document.body.dataset.state === 'ready' && (document.querySelector('#results table') || document.querySelector('#error').textContent !== '')")

    def begin(self, sql):
        self.until_ready()
        self.page.js(f"document.querySelector('#sql').value = {json.dumps(sql)}; document.querySelector('#run').click()")

    def ask(self, sql):
        """The rows of the last result, as texts; a Failed when there is an error."""
        self.begin(sql)
        self.until_ready()
        if error := self.text("#error"):
            raise browser.Failed(error)
        tables = self.page.js(
            "[...document.querySelectorAll('#results table')].map((table) => [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
        )
        return tables[-1] if tables else []

    def pictures(self):
        """[width, height] of pictures that are shown, which have loaded."""
        self.page.wait("[...document.images].every((image) => image.complete)")
        return self.page.js("[...document.images].map((image) => [image.naturalWidth, image.naturalHeight])")
