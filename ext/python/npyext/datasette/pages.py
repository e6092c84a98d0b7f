"""The page of arrays: a folder with its arrays, or one array.

What it shows comes from SQL, in Datasette's own threads and by its time limit: one page takes no longer than one query
may. What there was no time for is left out, and said.
"""

import json
import os
import re
import time

from datasette import Forbidden, NotFound, Response
from datasette.database import Database, QueryInterrupted
from markupsafe import Markup

SUFFIXES = (".npy", ".npz", ".ten", ".tar", ".tar.gz", ".tgz", ".safetensors", ".gguf", ".pt", ".pth", ".pkl", ".joblib")
NFILES = 50  # of a page
NARRAYS = 200
NROWS = 10
NBINS = 40
NCHARACTERS = 16  # of a text among the statistics
PICTURE_SIDE = 1024
SMALL_PICTURE = 256


class Clock:
    """The time that is left of one query's."""

    def __init__(self, datasette):
        self.end = time.monotonic() + datasette.sql_time_limit_ms / 1000

    def left_ms(self):
        return int(1000 * (self.end - time.monotonic()))


class Arrays:
    """SQL over the files below a root; paths are relative to it."""

    def __init__(self, datasette, root):
        self.root, self.clock = root, Clock(datasette)
        self.database = Database(datasette, is_memory=True)
        self.database.name = "npyext_arrays"
        self.is_late = False

    async def rows(self, sql, **parameters):
        """The rows as dicts; None when there was no time for them, [{'error': ...}] when they failed."""
        left_ms = self.clock.left_ms()
        if left_ms <= 0:
            self.is_late = True
            return None
        try:
            found = await self.database.execute(sql, parameters, custom_time_limit=left_ms, log_sql_errors=False)
        except QueryInterrupted:
            self.is_late = True
            return None
        except Exception as error:
            return [{"error": self.short(str(error))}]
        rows = [dict(row) for row in found.rows]
        for row in rows:
            if row.get("error"):
                row["error"] = self.short(row["error"])
        return rows

    def short(self, message):
        """Without what is the same in all: who says it, and the folder."""
        return message.replace("npyext: ", "", 1).replace(self.root.rstrip(os.sep) + os.sep, "")

    async def row(self, sql, **parameters):
        return (await self.rows(sql, **parameters) or [{}])[0]


def place(root, relative):
    """The path below the root; Forbidden for what leads out of it."""
    path = os.path.realpath(os.path.join(root, relative))
    if path != root and not path.startswith(root.rstrip(os.sep) + os.sep):
        raise Forbidden("This path leads out of the folder of arrays.")
    if not os.path.exists(path):
        raise NotFound(f"There is no {relative}.")
    return path


def listing(path):
    """The folders and the files of arrays in a folder, by name."""
    folders, files = [], []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file() and entry.name.lower().endswith(SUFFIXES):
                files.append(entry.name)
    return sorted(folders), sorted(files)


def trail(relative):
    """[(name, folder)] of the folders above and of this one."""
    parts = [part for part in relative.split(os.sep) if part not in ("", ".")]
    return [(part, os.sep.join(parts[: i + 1])) for i, part in enumerate(parts)]


def shown(value):
    """A statistic in few digits; the beginning of a text."""
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= NCHARACTERS else text[:NCHARACTERS] + "…"


def absent(dtype):
    """What SQL's NULL is among values of a dtype."""
    return "NaN" if re.match("b?float|complex", dtype) else "NaT" if re.match("datetime|timedelta", dtype) else "null"


async def arrays(datasette, request):
    from . import root_of

    await datasette.ensure_permissions(request.actor, ["view-instance"])
    if not await datasette.permission_allowed(request.actor, "execute-sql", default=True):
        raise Forbidden("Arrays are shown to those who may execute SQL.")
    root = root_of(datasette)
    relative = request.args.get("path") or ""
    path = place(root, relative)
    relative = "" if path == root else os.path.relpath(path, root)
    db = Arrays(datasette, root)
    if os.path.isdir(path):
        template, context = "npyext_folder.html", await folder(db, path, relative, request)
    else:
        template, context = "npyext_array.html", await array(db, path, relative, request)
    context.update(trail=trail(relative), page=datasette.urls.path("/-/arrays"), is_late=db.is_late, shown=shown)
    html = await datasette.render_template(template, context, request=request)
    return Response.html(html.replace("<html>", '<html lang="en">', 1))  # which Datasette's own pages do not say


# --- a folder ---------------------------------------------------------------------------------------------------------


async def folder(db, path, relative, request):
    folders, files = listing(path)
    first = int(request.args.get("first")) if (request.args.get("first") or "").isdigit() else 0
    if first > 0 and first >= len(files):
        raise NotFound(f"There are only {len(files)} files of arrays here.")
    sources = [os.path.join(path, name) for name in files[first : first + NFILES]]
    found = await db.rows(
        "SELECT path, name, dtype, shape, ndim, error FROM npy_meta(:sources) WHERE on_error = 'row' LIMIT :n",
        sources=json.dumps(sources), n=NARRAYS + 1) if sources else []
    lines = [line for line in found or []]
    more = len(lines) > NARRAYS
    for line in lines[:NARRAYS]:
        if "path" in line:
            line["file"] = os.path.relpath(line["path"], db.root)
            line["short"] = os.path.basename(line["path"])
        if not line["error"]:
            await add_statistics(db, line)
    return {
        "folders": [(name, os.path.join(relative, name)) for name in folders], "lines": lines[:NARRAYS], "more": more,
        "relative": relative, "nfiles": len(files), "first": first, "after": first + NFILES if first + NFILES < len(files) else None,
        "before": max(0, first - NFILES) if first else None,
    }


async def add_statistics(db, line):
    which = {"path": line["path"], "name": line["name"]}
    of_fields = await db.rows("SELECT * FROM npy_stats(:path, :name) WHERE on_error = 'row'", **which)
    if of_fields is None:
        return
    line["error"] = next((each["error"] for each in of_fields if each.get("error")), None)
    if line["error"] or len(of_fields) != 1:
        line["note"] = f"{len(of_fields)} fields"
        return
    line.update({key: of_fields[0][key] for key in ("min", "max", "mean", "nulls", "infs")})
    if line["ndim"] == 1:
        sql = "SELECT npy_spark(array, 24) AS spark FROM npy_file(:path, :name)"
    else:
        sql = "SELECT npy_spark(npy_array(count), 24, 0) AS spark FROM npy_histogram(:path, :name, '', 24)"
    line["spark"] = (await db.row(sql, **which)).get("spark")


# --- one array --------------------------------------------------------------------------------------------------------


async def array(db, path, relative, request):
    name = request.args.get("array")
    which = {"path": path, "name": name if name is not None else ""}
    names = await db.rows("SELECT name, dtype, shape, ndim, error FROM npy_meta(:path) WHERE on_error = 'row' LIMIT :n", path=path, n=NARRAYS)
    line = next((each for each in names or [] if each.get("name") == which["name"]), None)
    if line is None and name and not db.is_late and not any(each["error"] for each in names):  # it may come after the first NARRAYS
        found = await db.rows("SELECT name, dtype, shape, ndim, error FROM npy_meta(:path) WHERE name = :name LIMIT 1", **which)
        if found == []:
            raise NotFound(f"There is no array {name} in {relative}.")
        line = (found or [{}])[0]
    line = line or (names or [{}])[0]
    which["name"] = line.get("name") or ""
    context = {"relative": relative, "names": names or [], "line": line, "name": which["name"], "error": line.get("error")}
    if not line or line.get("error"):
        return context
    context["absent"] = absent(line["dtype"])
    context["statistics"] = await db.rows(
        "SELECT field_name, count, nulls, infs, zeros, min, max, mean, std, error FROM npy_stats(:path, :name) WHERE on_error = 'row'", **which)
    nedge = max(1, 4 - line["ndim"])
    context["preview"] = await db.row("SELECT npy_preview(array, :n) AS text FROM npy_file(:path, :name)", n=nedge, **which)
    context["picture"] = await drawn(db, which, line)
    context["bars"] = bars(await db.rows("SELECT lo, hi, count FROM npy_histogram(:path, :name, '', :n)", n=NBINS, **which))
    value = "value" if line["ndim"] < 2 else f"npy_preview(array, {nedge}) AS value"
    context["rows"] = await db.rows(f"SELECT row, {value} FROM npy_rows(:path, :name) LIMIT :n", n=NROWS, **which)
    return context


async def drawn(db, which, line):
    """A picture of the array, or a plot: what its shape is for. {} when it is for none."""
    shape = json.loads(line["shape"])
    batch = []  # of a batch of pictures the first
    while len(shape) > 3 or (len(shape) == 3 and shape[2] not in (1, 3, 4) and shape[0] not in (1, 3)):
        batch.append("0")
        shape = shape[1:]
    steps = [max(1, -(-length // PICTURE_SIDE)) for length in shape]
    is_planes = len(shape) == 3 and shape[2] not in (1, 3, 4)
    parts = ["::" + str(step) if axis != (0 if is_planes else 2) else ":" for axis, step in enumerate(steps)]
    one = f"npy_slice(array, '{', '.join(batch + parts)}')" if batch or any(step > 1 for step in steps) else "array"
    if len(shape) >= 2 and min(shape) > 0:
        sql = f"SELECT npy_png({one}, 'viridis') AS picture FROM npy_file(:path, :name)"
    elif len(shape) == 1 and shape[0] > 0:
        sql = "SELECT npy_plot(array) AS picture FROM npy_file(:path, :name)"
    else:
        return {}
    made = await db.row(sql, **which)
    if made.get("picture") is None:
        return {}
    from . import picture

    data = made["picture"]
    name = which["name"] or os.path.basename(which["path"])
    if isinstance(data, bytes):
        width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))  # of its header
        scale = SMALL_PICTURE // max(width, height)  # small ones are shown larger, so that one sees their pixels
        html = picture("image/png", data, f"A picture of {name}", width=width * scale if scale > 1 else None)
    else:
        html = picture("image/svg+xml", data.encode(), f"A plot of {name}")
    return {"html": html, "is_first": bool(batch)}


def bars(bins):
    """The histogram as an SVG, with its ends; None when there is none, or no value in it."""
    if not bins or "error" in bins[0] or not any(each["count"] for each in bins):
        return None
    most = max(each["count"] for each in bins)
    width, height = 720, 160
    step = width / len(bins)
    rects = "".join(
        f'<rect x="{i * step + 1:.1f}" y="{height - each["count"] / most * height:.1f}" width="{step - 2:.1f}" '
        f'height="{each["count"] / most * height:.1f}"><title>{each["lo"]:.6g} to {each["hi"]:.6g}: {each["count"]}</title></rect>'
        for i, each in enumerate(bins))
    lo, hi = shown(bins[0]["lo"]), shown(bins[-1]["hi"])
    html = Markup(f'<svg class="bars" role="img" aria-label="{sum(each["count"] for each in bins)} values from {lo} to {hi}" '
                  f'viewBox="0 0 {width} {height + 1}">{rects}<path d="M0 {height}H{width}"/></svg>')
    return {"html": html, "lo": lo, "hi": hi}
