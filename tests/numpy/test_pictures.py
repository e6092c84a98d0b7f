"""npy_png, npy_plot, npy_spark and npy_preview: pixels, places and texts against NumPy."""

import math
import re

import numpy as np
import pytest

import quantiles
from arrays import both_byte_orders, npy_bytes, object_npy_bytes, seeded_generator
from expected import counters, error_of, since
from pictures import Plot, png_chunks, png_pixels

NUMPY = tuple(int(n) for n in np.__version__.split(".")[:2])


def png(db, array, *arguments):
    (data,) = db.execute(f"SELECT npy_png({', '.join('?' * (1 + len(arguments)))})", (npy_bytes(array), *arguments)).fetchone()
    return png_pixels(data)


def plot(db, array, *title):
    return Plot(db.execute(f"SELECT npy_plot({', '.join('?' * (1 + len(title)))})", (npy_bytes(array), *title)).fetchone()[0])


def spark(db, array, *width):
    return db.execute(f"SELECT npy_spark({', '.join('?' * (1 + len(width)))})", (npy_bytes(array), *width)).fetchone()[0]


def levels(array, lo=None, hi=None):
    """256 equal pieces of the finite range; infinities are at its ends."""
    real = array.astype("f8")
    finite = real[np.isfinite(real)]
    lo = (finite.min() if finite.size else 0) if lo is None else lo
    hi = (finite.max() if finite.size else 0) if hi is None else hi
    with np.errstate(all="ignore"):
        part = (real - lo) / (hi - lo) if hi > lo else np.where(np.isposinf(real), 1.0, 0.0)
    return np.clip(np.floor(np.nan_to_num(part, nan=0, posinf=1, neginf=0) * 256), 0, 255).astype("i8")


# --- npy_png ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 1), (1, 7, 5), (7, 5, 3), (7, 5, 4), (3, 7, 5), (1, 1), (3, 4, 3)])
@pytest.mark.parametrize("order", "CF")
def test_bytes_are_levels(db, shape, order):
    array = np.asarray(seeded_generator().integers(0, 256, shape).astype("u1"), order=order)
    kind, pixels = png(db, array)
    if shape in ((1, 7, 5), (3, 7, 5)):
        array = array.transpose(1, 2, 0)
    array = array.reshape(*array.shape[:2], -1)
    assert kind == {1: 0, 3: 2, 4: 6}[array.shape[2]]
    assert np.array_equal(pixels[..., : array.shape[2]], array)
    assert array.shape[2] > 1 or (pixels[..., 0] == pixels[..., 2]).all()
    assert array.shape[2] == 4 or (pixels[..., 3] == 255).all()


@pytest.mark.parametrize("dtype", [t for t in quantiles.REALS if t not in ("?", "u1")])
def test_other_numbers_are_scaled_from_their_finite_range(db, dtype):
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        array = (rng.integers(0, 100, (9, 6)) * (1.0 if np.dtype(dtype).kind != "f" else 0.37)).astype(order)
        kind, pixels = png(db, array)
        assert kind == 0 and np.abs(pixels[..., 0].astype("i8") - levels(array)).max() == 0, order
        _, pixels = png(db, array, None, 10, 20)
        assert np.abs(pixels[..., 0].astype("i8") - levels(array, 10, 20)).max() == 0, order


def test_bytes_with_a_range_are_scaled(db):
    array = np.arange(256, dtype="u1").reshape(16, 16)
    for lo, hi in ((0, 127), (100, None), (None, 10.5)):
        _, pixels = png(db, array, "gray", lo, hi)
        assert np.array_equal(pixels[..., 0], levels(array, lo, hi))


def test_bools_are_black_and_white(db):
    array = np.array([[True, False, False], [False, True, True]])
    assert np.array_equal(png(db, array)[1][..., 0], array * 255)
    assert png(db, np.ones((2, 2), "?"))[1][..., 0].tolist() == [[255, 255]] * 2


def test_nan_is_transparent(db):
    array = np.array([[0, 1, np.nan], [2, np.inf, -np.inf]])
    for cmap, wanted in (("gray", 4), ("viridis", 6)):
        kind, pixels = png(db, array, cmap)
        assert kind == wanted and pixels[..., 3].tolist() == [[255, 255, 0], [255, 255, 255]]
    assert png(db, array)[1][..., 0].tolist() == [[0, 128, 0], [255, 255, 0]]
    colours = np.zeros((1, 2, 3))
    colours[0, 0, 1], colours[0, 1, 2] = np.nan, 1
    assert png(db, colours)[1].tolist() == [[[0, 0, 0, 0], [0, 0, 255, 255]]]


@pytest.mark.parametrize("array", [np.full((2, 3), 7.5), np.full((2, 3), np.nan), np.array([[np.inf, -np.inf]]), np.array([[-1.7e308, 0, 1.7e308]]), np.array([[0, 5e-324]])])
def test_ranges_of_nothing_and_of_everything(db, array):
    _, pixels = png(db, array)
    if np.isfinite(array).all() and np.ptp(array / 2) > 1e300:
        assert pixels[..., 0].tolist() == [[0, 128, 255]]
    elif array.shape == (1, 2) and np.isfinite(array).all():
        assert pixels[0, 0, 0] == 0
    else:
        assert np.array_equal(pixels[..., 0], levels(array))


def coolwarm(t):
    """Kenneth Moreland, Diverging Color Maps for Scientific Visualization (2009), section 5."""
    white, matrix = np.array([0.9505, 1.0, 1.0890]), np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])

    def msh(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(colour) / 255]
        f = [x ** (1 / 3) if x > 0.008856 else 7.787 * x + 16 / 116 for x in matrix @ linear / white]
        lab = 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])
        m = math.sqrt(sum(v * v for v in lab))
        return m, math.acos(lab[0] / m), math.atan2(lab[2], lab[1])

    def hue(saturated, m):
        spin = saturated[1] * math.sqrt(m * m - saturated[0] ** 2) / (saturated[0] * math.sin(saturated[1]))
        return saturated[2] + spin if saturated[2] > -math.pi / 3 else saturated[2] - spin

    cool, warm = msh((59, 76, 192)), msh((180, 4, 38))
    middle = max(cool[0], warm[0], 88)
    ends = (cool, (middle, 0, hue(cool, middle))) if t < 0.5 else ((middle, 0, hue(warm, middle)), warm)
    part = 2 * t if t < 0.5 else 2 * t - 1
    m, s, h = ((1 - part) * a + part * b for a, b in zip(*ends))
    y = (m * math.cos(s) + 16) / 116
    f = np.array([y + m * math.sin(s) * math.cos(h) / 500, y, y - m * math.sin(s) * math.sin(h) / 200])
    xyz = np.where(f**3 > 0.008856, f**3, (f - 16 / 116) / 7.787) * white
    linear = np.linalg.inv(matrix) @ xyz
    return np.clip([12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in linear], 0, 1) * 255


def test_colour_maps(db):
    array = np.arange(256, dtype="u1").reshape(1, 256)
    maps = {name: png(db, array, name) for name in ("viridis", "magma", "coolwarm")}
    assert all(kind == 3 for kind, _ in maps.values())
    assert np.abs(maps["coolwarm"][1][0, :, :3] - np.array([coolwarm(i / 255) for i in range(256)])).max() <= 0.51
    # the ends that their authors give as #440154, #fde725, #000004 and #fcfdbf
    ends = {name: [bytes(pixels[0, i, :3]).hex() for i in (0, 255)] for name, (_, pixels) in maps.items()}
    assert ends == {"viridis": ["440154", "fde725"], "magma": ["000004", "fcfdbf"], "coolwarm": ["3b4cc0", "b40426"]}
    for name in ("viridis", "magma"):  # they rise evenly in lightness
        grey = maps[name][1][0, :, :3] @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(grey) > -1).all() and grey[-1] - grey[0] > 190


def test_filters_and_sizes(db):
    """Smooth pictures become small, by filters that undo themselves."""
    y, x = np.mgrid[:120, :200]
    smooth = (128 + 100 * np.sin(x / 30) * np.cos(y / 20)).astype("u1")
    (data,) = db.execute("SELECT npy_png(?)", (npy_bytes(smooth),)).fetchone()
    assert np.array_equal(png_pixels(data)[1][..., 0], smooth)
    assert len(data) < smooth.size / 4
    assert [name for name, _ in png_chunks(data)] == ["IHDR", "IDAT", "IEND"]


@pytest.mark.parametrize("array, said", [
    (np.zeros(5), "shape [h, w], [h, w, 3], [h, w, 4] or [3, h, w]; this array's is [5], which npy_plot draws"),
    (np.zeros((2, 3, 5, 6)), "is [2,3,5,6]; npy_slice takes a part of it"),
    (np.zeros((5, 6, 7)), "is [5,6,7]"), (np.array(3), "is []"),
    (np.zeros((2, 0)), "the picture would have no pixels"), (np.zeros((0, 3)), "the picture would have no pixels"),
    (np.zeros((1, 65536), "u1"), "a picture of 65536 x 1 pixels"),
    (np.zeros((2, 2), "c8"), "a picture needs numbers; these items are complex64"),
    (np.zeros((2, 2), "U3"), "a picture needs numbers"), (np.zeros((2, 2), "M8[s]"), "a picture needs numbers")])
def test_what_is_no_picture(db, array, said):
    assert said in error_of(db, "SELECT npy_png(?)", npy_bytes(array))


def test_arguments_of_pictures(db):
    x = npy_bytes(np.zeros((2, 2)))
    assert "the colour map 'jet' is none of gray, viridis, magma, coolwarm" in error_of(db, "SELECT npy_png(?, 'jet')", x)
    assert "vmin is more than vmax" in error_of(db, "SELECT npy_png(?, '', 2, 1)", x)
    assert "vmax must be a finite number" in error_of(db, "SELECT npy_png(?, '', 2, 9e999)", x)
    assert "vmin must be a finite number" in error_of(db, "SELECT npy_png(?, '', '0')", x)
    assert "found a number" in error_of(db, "SELECT npy_png(?, 3)", x)
    assert "object" in error_of(db, "SELECT npy_png(?)", object_npy_bytes())
    assert db.execute("SELECT npy_png(NULL), npy_plot(NULL), npy_spark(NULL), npy_preview(NULL)").fetchone() == (None,) * 4
    assert db.execute("SELECT npy_png(?1) = npy_png(?1, NULL, NULL, NULL)", (x,)).fetchone() == (1,)


def test_a_picture_takes_no_more_memory_than_it_is(connect, heap, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((4000, 4000)))
    db = connect()
    heap(8 << 20)
    try:
        assert db.execute("SELECT length(npy_png(array, 'magma')) < 1000000 FROM npy_file('a.npy')").fetchone() == (1,)
        assert db.execute("SELECT length(npy_plot(npy_reshape(?, 1000))), npy_spark(array) FROM npy_file('a.npy')", (npy_bytes(np.zeros(1000)),)).fetchone()[1] == "▄" * 20
    finally:
        heap(None)


# --- npy_plot ---------------------------------------------------------------------------------------------------------


def test_every_item_is_where_the_ticks_say(db):
    rng = seeded_generator()
    for scale in (1, 1e-9, 3e7, 1e-300, 1e300, 0.02):
        array = rng.normal(size=150) * scale
        drawn = plot(db, array, "a title")
        (line,) = drawn.lines
        (piece,) = line
        x_of, _ = Plot.scale(drawn.x_ticks)
        y_of, _ = Plot.scale(drawn.y_ticks)
        assert [round(x_of(x)) for x, _ in piece] == list(range(150))
        ys = np.array([y for _, y in piece])
        assert (np.abs(y_of(ys) - array) <= Plot.rounding(drawn.y_ticks, ys)).all()
        assert "a title" in drawn.texts and drawn.title == "a title" and not drawn.notes and not drawn.marks


def test_ticks_are_round_numbers(db):
    rng = seeded_generator()
    for _ in range(100):
        array = rng.normal(size=20) * 10.0 ** rng.integers(-12, 12) + rng.choice([0, 1, 1000]) * 10.0 ** rng.integers(-3, 3)
        drawn = plot(db, array)
        values = [value for _, value in drawn.y_ticks]
        steps = np.diff(sorted(values))
        assert 3 <= len(values) <= 9, values
        assert np.allclose(steps, steps[0], rtol=1e-6)
        assert f"{steps[0]:.2e}"[:4] in ("1.00", "2.00", "5.00") or np.ptp(array) < 1e-9 * np.abs(array).max(), steps[0]
        assert len({text for text in drawn.texts}) == len(drawn.texts) or "0" in drawn.texts


def test_a_million_items_keep_their_extremes(db):
    rng = seeded_generator()
    array = rng.normal(size=1_000_000)
    array[654_321], array[123_456] = 60, -70
    drawn = plot(db, array)
    ((piece,),) = drawn.lines
    assert len(piece) < 4 * 720
    x_of, _ = Plot.scale(drawn.x_ticks)
    y_of, nper = Plot.scale(drawn.y_ticks)
    assert [abs(y_of(f(y for _, y in piece)) - v) < abs(0.2 / nper) for f, v in ((min, 60), (max, -70))] == [True, True]
    assert abs(x_of(min(piece, key=lambda p: p[1])[0]) - 654_321) < 2000
    # of each pixel the least and the greatest are there
    places = {}
    for x, y in piece:
        places.setdefault(int(x), []).append(y_of(y))
    for column, ys in list(places.items())[1:-1]:
        of_pixel = array[max(0, math.ceil(x_of(column - 0.05))) : math.floor(x_of(column + 0.95))]
        assert abs(max(ys) - of_pixel.max()) < 0.2 / abs(nper) + 1e-9 or max(ys) > of_pixel.max(), column
        assert abs(min(ys) - of_pixel.min()) < 0.2 / abs(nper) + 1e-9 or min(ys) < of_pixel.min(), column


def test_what_is_not_finite_is_a_gap_and_a_mark(db):
    array = np.array([1, 2, np.inf, 3, -np.inf, np.nan, 4, 5])
    drawn = plot(db, array)
    ((first, alone, last),) = drawn.lines
    assert [len(first), len(alone), len(last)] == [2, 1, 2]
    assert drawn.dots == alone and drawn.notes == ["1 NaN, 2 inf"] and len(drawn.marks) == 3
    assert plot(db, np.full(9, np.nan)).notes == ["9 NaN", "no finite values"]
    assert plot(db, np.zeros(0)).notes == ["no values"] and plot(db, np.zeros((0, 4))).notes == ["no values"]
    long = np.zeros(100_000)
    long[50_000:60_000] = np.nan
    drawn = plot(db, long)
    assert len(drawn.lines[0]) == 2 and drawn.notes == ["10000 NaN"]


def test_a_line_for_each_row(db):
    rng = seeded_generator()
    array = rng.normal(size=(4, 30))
    for order in "CF":
        drawn = plot(db, np.asarray(array, order=order))
        y_of, _ = Plot.scale(drawn.y_ticks)
        assert len(drawn.lines) == 4 and {"0", "1", "2", "3"} <= set(drawn.texts)
        for row, (piece,) in zip(array, drawn.lines):
            ys = np.array([y for _, y in piece])
            assert (np.abs(y_of(ys) - row) <= Plot.rounding(drawn.y_ticks, ys)).all()
    assert len(plot(db, rng.normal(size=(200, 9))).lines) == 200
    assert "a line for each row, and at most 200; this array has 201 rows" in error_of(db, "SELECT npy_plot(?)", npy_bytes(np.zeros((201, 2))))


@pytest.mark.parametrize("array", [np.full(5, 3.25), np.array(7), np.array([0.0]), np.full(3, -1e300), np.full(3, 5e-324), np.array([1e16, 1e16 + 2]),
                                   np.array([1.7e308, -1.7e308]), np.array([5e-324, 0]), np.array([-0.0, 0.0])])
def test_constants_and_the_ends_of_doubles(db, array):
    drawn = plot(db, array)
    places = [place for line in drawn.lines for piece in line for place in piece]
    assert len(places) == array.size and all(0 <= x <= 720 and 0 <= y <= 326 for x, y in places)
    assert len(drawn.y_ticks) >= 2
    low, high = min(v for _, v in drawn.y_ticks), max(v for _, v in drawn.y_ticks)
    assert low <= high and all(math.isfinite(v) for v in (low, high))


def test_complex_numbers_are_drawn_as_their_modulus(db):
    array = np.array([3 + 4j, 0, 5 - 12j, np.nan, complex(0, np.inf)])
    drawn = plot(db, array)
    y_of, nper = Plot.scale(drawn.y_ticks)
    assert np.allclose([y_of(y) for _, y in drawn.lines[0][0]], [5, 0, 13], atol=abs(0.2 / nper)) and drawn.notes == ["1 NaN, 1 inf"]


@pytest.mark.parametrize("dtype", quantiles.REALS)
def test_all_dtypes_are_drawn(db, dtype):
    for order in both_byte_orders(dtype):
        array = (np.arange(20) % 5).astype(order)
        drawn = plot(db, array)
        y_of, nper = Plot.scale(drawn.y_ticks)
        assert np.allclose([y_of(y) for _, y in drawn.lines[0][0]], array.astype("f8"), atol=abs(0.2 / nper))


def test_titles(db):
    x = np.arange(3)
    assert plot(db, x, None).title is None and plot(db, x, "").title is None
    title = "a < b & \"c\" > d \u00e9\U0001f600"
    assert plot(db, x, title).title == title and title in plot(db, x, title).texts
    long = "\u00e9" * 300
    drawn = plot(db, x, long)
    assert drawn.title == long and "\u00e9" * 80 + "\u2026" in drawn.texts
    assert plot(db, x, 3).title == "3"
    (text,) = db.execute("SELECT npy_plot(?, 'a' || char(1) || CAST(x'ff' AS TEXT) || char(65534) || 'b')", (npy_bytes(x),)).fetchone()
    assert Plot(text).title == "a\ufffd\ufffd\ufffdb"
    assert "not a BLOB" in error_of(db, "SELECT npy_plot(?, x'00')", npy_bytes(x))


@pytest.mark.parametrize("array, said", [(np.zeros((2, 2, 2)), "number of axes of this array is 3; npy_slice takes a part of it"), (np.zeros(2, "U2"), "a plot needs numbers"),
                                         (np.zeros(2, "M8[D]"), "a plot needs numbers"), (np.zeros(2, [("a", "f4")]), "a plot needs numbers")])
def test_what_is_no_plot(db, array, said):
    assert said in error_of(db, "SELECT npy_plot(?)", npy_bytes(array))


# --- npy_spark --------------------------------------------------------------------------------------------------------


def sparks(array, width=20, lo=None, hi=None):
    """The mean of what shares a character, in eight levels of their range."""
    flat = np.abs(array).ravel().astype("f8") if array.dtype.kind == "c" else array.ravel().astype("f8")
    width = min(width, flat.size)
    means = []
    for i in range(width):
        cell = flat[i * flat.size // width : (i + 1) * flat.size // width]
        infinite, finite = cell[np.isinf(cell)], cell[np.isfinite(cell)]
        means.append((math.inf if (infinite > 0).sum() >= (infinite < 0).sum() else -math.inf) if infinite.size else sum(finite) / finite.size if finite.size else math.nan)
    finite = [m for m in means if math.isfinite(m)]
    lo = min(finite, default=0) if lo is None else lo
    hi = max(finite, default=0) if hi is None else hi
    text = ""
    for m in means:
        if math.isnan(m):
            text += "·"
        elif math.isinf(m):
            text += "█" if m > 0 else "▁"
        elif lo >= hi:
            text += "▄"
        else:
            text += "▁▂▃▄▅▆▇█"[max(0, min(7, int((m / 2 - lo / 2) / (hi / 2 - lo / 2) * 8)))]
    return text


@pytest.mark.parametrize("dtype", [*quantiles.REALS, "c8", "c16"])
def test_sparks(db, dtype):
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        for _ in range(20):
            array = rng.integers(0, 100, int(rng.integers(1, 200))).astype(order)
            if array.dtype.kind in "fc":
                array[rng.random(array.size) < 0.1] = rng.choice([np.nan, np.inf, -np.inf])
            width = int(rng.integers(1, 50))
            assert spark(db, array, width) == sparks(array, width)
            assert spark(db, array) == sparks(array)
            for lo, hi in ((0, None), (None, 50), (20, 30.5)):
                assert spark(db, array, width, lo, hi) == sparks(array, width, lo, hi)


def test_sparks_of_little_and_of_much(db):
    assert spark(db, np.zeros(0)) == "" and spark(db, np.array(3)) == "▄" and spark(db, np.array([1, 2])) == "▁█"
    array = np.sin(np.arange(1_000_000) / 1e5)
    assert spark(db, array, 1000) == sparks(array, 1000)
    matrix = seeded_generator().normal(size=(30, 40))
    assert spark(db, np.asfortranarray(matrix)) == sparks(matrix)
    assert db.execute("SELECT typeof(npy_spark(?))", (npy_bytes(np.zeros(0)),)).fetchone() == ("text",)


@pytest.mark.parametrize("width", [0, -1, 1001, "20", 2.5])
def test_widths_of_sparks(db, width):
    assert "the width must be an INTEGER from 1 to 1000" in error_of(db, "SELECT npy_spark(?, ?)", npy_bytes(np.zeros(3)), width)
    assert "vmin is more than vmax" in error_of(db, "SELECT npy_spark(?, 5, 2, 1)", npy_bytes(np.zeros(3)))


# --- npy_preview ------------------------------------------------------------------------------------------------------


def printed(array, n=3):
    """As NumPy prints it, on one line."""
    text = np.array2string(array, threshold=0, edgeitems=n, max_line_width=10**9)
    return re.sub(r"\n+ *", " ", text)


def preview(db, array, *n):
    return db.execute(f"SELECT npy_preview({', '.join('?' * (1 + len(n)))})", (npy_bytes(array), *n)).fetchone()[0]


def random_reals(rng, shape):
    array = rng.normal(size=shape)
    way = rng.integers(0, 7)
    if way == 1:
        array = array * 10.0 ** rng.integers(-12, 12)
    elif way == 2:
        array = np.round(array, int(rng.integers(0, 4)))
    elif way == 3:
        array = array * 10.0 ** rng.integers(-9, 9, shape)
    elif way == 4:
        array = np.where(rng.random(shape) < 0.3, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0]), array)
    elif way == 5:
        array = rng.integers(-5, 1000, shape) / rng.choice([1, 3, 7, 1000])
    elif way == 6:
        array = np.abs(array) * 1e-3
    return np.asarray(array)


def is_printed_otherwise(array):
    """Since 2.3 NumPy goes over to exponents at the precision of the dtype, and not at 1e8."""
    part = {"f2": 1e3, "f4": 1e6, "c8": 1e6}.get(array.dtype.str[1:])
    if NUMPY >= (2, 3) or part is None:
        return False
    parts = np.abs(np.stack([array.real, array.imag]).astype("f8"))
    return bool(((parts >= part) & (parts < 1e8)).any())


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16"])
def test_previews_of_floats(db, dtype):
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        for _ in range(300):
            shape = tuple(rng.integers(1, 9, int(rng.integers(0, 4))))
            with np.errstate(all="ignore"):
                array = random_reals(rng, shape)
                array = np.asarray(array + (1j * random_reals(rng, shape) if np.dtype(dtype).kind == "c" else 0)).astype(order)
            n = int(rng.integers(1, 5))
            if not is_printed_otherwise(array):
                assert preview(db, array, n) == printed(array, n)


def test_previews_of_long_doubles_had_the_digits_of_doubles(db):
    for text in ["0x1.2388b562c6915p+26", "0x1.707a426815868p+26", "0x1.54dd3f34f22a9p+26", "0x1.999999999999ap-4", "0x1.8p+1"]:
        array = np.asarray(float.fromhex(text)).astype("g")
        assert preview(db, array, 3) == printed(array, 3)


@pytest.mark.parametrize("dtype", ["?", "i1", "i8", "u8", ">i4", "M8[D]", "M8[Y]", "M8[M]", "M8[h]", "M8[m]", "M8[s]", "M8[ns]", "M8[25s]", "M8[W]", "m8[s]", "U3", "S4", "V3"])
def test_previews_of_other_items(db, dtype):
    rng, dtype = seeded_generator(), np.dtype(dtype)
    for _ in range(60):
        shape = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 9, int(rng.integers(0, 4))))
        if dtype.kind in "iu":
            array = rng.integers(0 if dtype.kind == "u" else -100, 10 ** int(rng.integers(1, 3)), shape).astype(dtype)
        elif dtype.kind == "b":
            array = rng.random(shape) < 0.5
        elif dtype.kind in "mM":
            array = np.where(rng.random(shape) < 0.1, -(2**63), rng.integers(-(10**4), 10**4, shape)).astype("i8").view(dtype)
        elif dtype.kind in "US":
            array = rng.choice(np.array(["", "a", "\u00e9" if dtype.kind == "U" else "q", "it's", "\\n", '"', "\n", "\x7f"]), shape).astype(dtype)
        else:
            array = np.frombuffer(rng.bytes(3 * int(np.prod(shape))), "V3").reshape(shape)
        n = int(rng.integers(1, 5))
        assert preview(db, np.asarray(array), n) == printed(np.asarray(array), n)


def test_previews_of_records(db):
    rng = seeded_generator()
    array = np.zeros(9, [("x", "f4"), ("p", "i4", (2,)), ("n", [("t", "U3"), ("q", "f8", (2, 2))])])
    array["x"], array["p"][:, 1] = rng.normal(size=9), rng.integers(-9, 99, 9)
    array["n"]["t"], array["n"]["q"] = rng.choice(["a", "bcd"], 9), rng.normal(size=(9, 2, 2))
    assert preview(db, array) == printed(array) and preview(db, array[["x"]].copy()) == printed(array[["x"]].copy())
    assert preview(db, array["n"].copy().reshape(3, 3), 1) == printed(array["n"].copy().reshape(3, 3), 1)


def test_previews_of_large_arrays_read_their_ends(db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(4_000_000).reshape(2000, 2000))
    before = counters(db)
    assert db.execute("SELECT npy_preview(array) FROM npy_file('a.npy')").fetchone() == (printed(np.load("a.npy")),)
    assert since(db, before)["bytes_read"] < 1 << 20


def test_previews_of_objects_are_json(db):
    data = npy_bytes(np.array([1, "a", None, {"lr": 0.1}], object))
    assert db.execute("SELECT npy_preview(?)", (data,)).fetchone() == ('[1 "a" null {"lr":0.1}]',)


def test_many_axes_are_shown_with_fewer_items(db):
    array = np.zeros((6,) * 6)
    assert preview(db, array) == printed(array, 2)
    assert "too many axes for a preview (20)" in error_of(db, "SELECT npy_preview(?)", npy_bytes(np.zeros((2,) * 20, "u1")))
    for n in (0, 1001, "3"):
        assert "from 1 to 1000" in error_of(db, "SELECT npy_preview(?, ?)", npy_bytes(array), n)


def test_a_text_that_is_no_text_is_a_fault(db):
    assert "not a Unicode character" in error_of(db, "SELECT npy_preview(?)", npy_bytes(np.array([0x110000], "<u4").view("<U1")))


def test_preview_of_powers_of_two_beside_others(db):
    """Their neighbours below are nearer than those above: float16's 0.015625 is 1.563e-02, which is not what the number
    itself is rounded to (1.562e-02)."""
    for dtype in ("f2", "f4", "f8"):
        info = np.finfo(dtype)
        with np.errstate(all="ignore"):
            for power in range(max(info.minexp, -200), min(info.maxexp, 200)):
                array = np.array([2.0**power, 0.000123, 65.5, 3e4], dtype)
                (got,) = db.execute("SELECT npy_preview(?)", (npy_bytes(array),)).fetchone()
                assert got == str(array), (dtype, power)
