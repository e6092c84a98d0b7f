"""Every question about an array that is made when it is read, beside the same about its items stored in one file."""

import math
import os

import numpy as np

from arrays import npy_bytes


def write(path, contents):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(contents)


def write_parts(parts, name="x-{:03}.npy", contents=npy_bytes):
    for i, part in enumerate(parts):
        write(name.format(i), contents(part))


def cut(array, *cuts, axis=0):
    return np.split(array, cuts, axis)


# {x} is a source, and {y} another one like it.
QUESTIONS = [
    "SELECT row, value, hex(data) FROM npy_rows({x})",
    "SELECT row, value, hex(data) FROM npy_rows({x}, '', '::-2')",
    "SELECT row, value FROM npy_rows({x}, '', '1:-1, ::-1')",
    "SELECT row, value FROM npy_rows({x}, '', 'None, 2:5')",
    "SELECT row, value FROM npy_rows({x}, '', '3')",
    "SELECT row, value FROM npy_rows({x}, '', '..., 0') WHERE row > 2 AND value > 1 ORDER BY value, row DESC LIMIT 7 OFFSET 2",
    "SELECT row, value FROM npy_rows({x}, '', '', '', '', '<f8') WHERE row IN (0, 4, 5, 99) ORDER BY row DESC",
    "SELECT a.row, b.value FROM npy_rows({x}) AS a JOIN npy_rows({y}) AS b USING (row)",
    "SELECT i.value, b.value FROM json_each('[7, 0, 3, 3, 8, 1]') AS i JOIN npy_rows({x}) AS b ON b.row = i.value ORDER BY i.key",
    "SELECT idx, i0, i1, value FROM npy_elements({x}) WHERE value > 0 OR idx % 3 = 1",
    "SELECT idx, i0, value FROM npy_elements({x}, '', '::-3')",
    "SELECT count, nulls, min, max, sum, mean, std, argmin, argmax FROM npy_stats({x})",
    "SELECT at, count, min, max, sum, mean, std, argmin, argmax FROM npy_stats({x}, '', '', 0)",
    "SELECT at, count, min, max, sum, argmax FROM npy_stats({x}, '', '', -1)",
    "SELECT label, count, sum, max FROM npy_stats({x}, '', ':, 0') WHERE by = (SELECT npy_array(row % 3) FROM npy_rows({y}))",
    "SELECT count(*), sum(sum) FROM npy_stats('one.npy', '', ':, 0') WHERE by = npy_astype(npy_slice({h}, ':, 0'), 'i2')",
    "SELECT lo, hi, count FROM npy_histogram({x}, '', '', 4)",
    "SELECT q, value FROM npy_quantile({x}, '', '', '[0, 0.3, 0.5, 1]')",
    "SELECT at, q, value FROM npy_quantile({x}, '', '', 0.4, 0)",
    "SELECT value, count, first FROM npy_unique({x})",
    "SELECT row, distance, hex(data) FROM npy_nearest({x}, '', '', (SELECT npy_slice(array, 2) FROM npy_file('one.npy')), 5)",
    "SELECT query_row, row, distance FROM npy_nearest('one.npy', '', '', {h}, 2)",
    "SELECT status, differing, max_abs FROM npy_compare({x}, 'one.npy')",
    "SELECT status, differing, max_abs FROM npy_compare('two.npy', {x})",
    "SELECT dtype, descr, kind, itemsize, ndim, shape, size, nbytes, fortran_order, error FROM npy_meta({x})",
    "SELECT npy_shape(array), npy_dtype(array), npy_json(array) FROM npy_file({x})",
    "SELECT npy_json(npy_array(value)) FROM npy_rows({x}, '', '::-1, 1')",
    "SELECT npy_json(npy_stack(array)) FROM npy_rows({x})",
    "SELECT bytes > 0 FROM npy_write('out.npy', {h}); SELECT status FROM npy_compare('out.npy', 'one.npy')",
    "SELECT npy_copy({h}) = npy_copy({one})",
    "SELECT npy_json(npy_slice({h}, '::-1, 0')), npy_json(npy_transpose({h})), npy_json(npy_reshape({h}, '[-1]'))",
    "SELECT npy_get({h}, 0, 0), npy_get({h}, -1, -1), npy_get_or({h}, 'none', 99, 0), npy_json({h}), npy_hash(npy_data({h}))",
    "SELECT npy_sum({h}), npy_mean({h}, 0), npy_std({h}, 1), npy_median({h}), npy_argmax({h}, 0), npy_norm({h}), npy_preview({h}), npy_spark({h})",
    "SELECT npy_json(npy_calc('a - b', {h}, {h})), npy_json(npy_calc('a * 2', {h}))",
    "SELECT npy_valid({h}), npy_ndim({h}), npy_size({h}), npy_json(npy_astype({h}, 'f4')), npy_sketch_quantile(npy_sketch({h}), 0.5)",
]


def answers(db, text, parameters):
    rows = []
    for sql in text.split(";"):
        used = {name: value for name, value in parameters.items() if f":{name}" in sql}
        rows += [tuple("nan" if value != value else value for value in row) for row in db.execute(sql, used)]
    return rows


def compare(db, call, parameters, questions=QUESTIONS):
    """Every question about the call's result and about one.npy."""
    one = "(SELECT array FROM npy_file('one.npy'))"
    differing = []
    for question in questions:
        got = answers(db, question.format(x=call, y=call, h=call, one=one), parameters)
        expected = answers(db, question.format(x="'one.npy'", y="'one.npy'", h=one, one=one), parameters)
        if "npy_stats" in question or "npy_mean" in question:  # sums of other blocks
            alike = len(got) == len(expected) and all(map(is_close, sum(got, ()), sum(expected, ())))
        else:
            alike = got == expected
        if not alike:
            differing.append((question, got[:9], expected[:9]))
    assert differing == []


def is_close(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))


def write_one(array):
    write("one.npy", npy_bytes(np.ascontiguousarray(array)))
    write("two.npy", npy_bytes(np.ascontiguousarray(array[::-1])))
