"""The Datasette plugin: npyext in every connection, pictures in cells, and a page of arrays, /-/arrays.

The extension is loaded by its read-only entry point, and sees nothing outside of one folder: `root` of the plugin's
configuration, or NPYEXT_ROOT where that is set, or else the folder that Datasette was started in.

    plugins:
      npyext:
        root: /data
"""

import base64
import os
import sqlite3

from datasette import hookimpl
from markupsafe import Markup, escape

from .._load import can_load, load_readonly
from .pages import arrays

# Longer ones stay what Datasette makes of them.
PICTURE_NBYTES = 4 << 20


def root_of(datasette):
    """The folder that paths are below, as the process has it."""
    configured = (datasette.plugin_config("npyext") or {}).get("root")
    if configured is not None and not os.path.isdir(configured):
        raise RuntimeError(f"npyext: the root {configured!r} is no folder")
    return os.path.realpath(os.environ.get("NPYEXT_ROOT") or configured or os.getcwd())


@hookimpl
def prepare_connection(conn, database, datasette):
    os.environ["NPYEXT_ROOT"] = root_of(datasette)  # which the extension reads when it is loaded
    if not can_load(conn):
        return
    try:
        load_readonly(conn)
    except sqlite3.OperationalError as error:
        if "already loaded" not in str(error):  # by --load-extension, with another entry point, which stays
            raise


@hookimpl
def render_cell(value):
    """A PNG or an SVG as a picture. In an <img> an SVG runs no scripts."""
    if isinstance(value, bytes) and value.startswith(b"\x89PNG\r\n\x1a\n") and len(value) <= PICTURE_NBYTES:
        return picture("image/png", value, f"a picture of {len(value)} bytes")
    if isinstance(value, str) and value.startswith("<svg ") and len(value) <= PICTURE_NBYTES:
        return picture("image/svg+xml", value.encode(), f"a drawing of {len(value)} characters")
    return None


def picture(kind, data, name, width=None):
    """An <img>; `width` in pixels, when it is not its own. A strip of a pixel is shown wider than it is."""
    about = {"src": f"data:{kind};base64,{base64.b64encode(data).decode()}", "alt": name, "width": width}
    attributes = " ".join(f'{key}="{escape(value)}"' for key, value in about.items() if value is not None)
    kind_class = ' class="drawing"' if kind == "image/svg+xml" else ""
    return Markup(f'<img {attributes}{kind_class} style="max-width: 100%; max-height: 40rem; min-width: 16px; min-height: 16px">')


@hookimpl
def register_routes():
    return [(r"^/-/arrays$", arrays)]


@hookimpl
def menu_links(datasette):
    return [{"href": datasette.urls.path("/-/arrays"), "label": "Arrays"}]
