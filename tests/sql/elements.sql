-- npy_elements; see make_files.py for the files.
.headers on
.nullvalue NULL
SELECT * FROM npy_elements('shapes/scalar.npy');
SELECT * FROM npy_elements('shapes/empty.npy');
SELECT * FROM npy_elements('w.npz', 'w');
SELECT name, idx, i0, value FROM npy_elements('multi.ten') WHERE i0 = 1;
-- Places are those of the whole array, whatever the slice.
SELECT idx, i0, i1, i2, value FROM npy_elements('orders/c.npy', '', '1, ::-1, ::2');
SELECT idx, i0, i1, i2, value FROM npy_elements('orders/f.npy', '', '1, ::-1, ::2');
SELECT idx, i0, i1, i2, i3 FROM npy_elements('orders/f.npy', '', ':, None, 2, -1');
SELECT idx, i0, i1, i2, value FROM npy_elements('structured/subarray.npy', '', '', 'm');
-- Every kind of value.
SELECT idx, value, real, imag FROM npy_elements('types/c8.npy');
SELECT idx, value, real, imag FROM npy_elements('types/u8.npy');
SELECT idx, value, real, imag FROM npy_elements('types/M8_ns.npy');
SELECT idx, value, real FROM npy_elements('types/f2.npy');
SELECT idx, value FROM npy_elements('structured/plain.npy');
SELECT idx, hex(value) FROM npy_elements('types/V3.npy');
SELECT idx, value, typeof(value) FROM npy_elements('types/f4.npy', '', ':3', '', '', 'complex64');
-- Conditions.
SELECT idx, value FROM npy_elements('X.npy') WHERE idx BETWEEN 7 AND 9;
SELECT idx, value FROM npy_elements('X.npy') WHERE i1 = 3 AND i0 >= 4;
SELECT idx, value FROM npy_elements('X.npy') WHERE value > 4 AND i1 <> 2;
SELECT count(*) FROM npy_elements('X.npy') WHERE i2 IS NULL;
SELECT count(*) FROM npy_elements('X.npy') WHERE i2 = 0;
SELECT idx FROM npy_elements('X.npy') WHERE idx IN (23, 24, -1, '3', 2.5, NULL);
SELECT idx, real FROM npy_elements('types/c8.npy') WHERE imag = -2;
-- Joined with labels, and the largest of each row.
SELECT e.i0, max(e.value), e.i1, y.value AS label FROM npy_elements('X.npy', '', '..., ::-1') e JOIN npy_rows('y.npy') y ON y.row = e.i0 GROUP BY e.i0 LIMIT 3;
-- A confusion matrix without its diagonal.
SELECT i0 AS truth, i1 AS guess, value FROM npy_elements('runs/r1/confusion.npy') WHERE i0 <> i1 AND value > 0 ORDER BY value DESC, truth LIMIT 3;
EXPLAIN QUERY PLAN SELECT value FROM npy_elements('X.npy') WHERE i0 = 1 AND i1 < 2;
EXPLAIN QUERY PLAN SELECT idx FROM npy_elements('X.npy', '', '::2') WHERE value > 2;
