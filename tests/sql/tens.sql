-- ten_arrays: every column, both byte orders.
.headers on
.nullvalue NULL

SELECT * FROM ten_arrays('multi.ten');
SELECT path, idx, name, dtype, shape FROM ten_arrays('big_endian.ten');
-- A file of 0 bytes holds no arrays, if its name ends in .ten.
SELECT * FROM ten_arrays('empty.ten');
SELECT idx FROM ten_arrays(x'');

.print ---- values, of either byte order
SELECT path, name, row, value, hex(data) FROM npy_rows('{multi,big_endian}.ten');
SELECT name, row, value FROM npy_rows('multi.ten', 'x');
-- Two arrays have this name.
SELECT name, row, value FROM npy_rows('multi.ten', 'y');
SELECT name, row, value FROM npy_rows('multi.ten', 1);

.print ---- faults
-- The last data chunk cut short: what came before is listed.
SELECT idx, name, shape, error FROM ten_arrays(CAST(substr(readfile('multi.ten'), 1, 417) AS BLOB), 'row');
-- Without the final padding it is whole.
SELECT idx, name, shape, error FROM ten_arrays(CAST(substr(readfile('multi.ten'), 1, 418) AS BLOB), 'row');
SELECT idx, error FROM ten_arrays(CAST(substr(readfile('multi.ten'), 1, 64) AS BLOB), 'row');
SELECT idx, name, error FROM ten_arrays(CAST(readfile('multi.ten') || zeroblob(64) AS BLOB), 'row');
SELECT idx FROM ten_arrays('y.npy');
SELECT path, error FROM ten_arrays('{y.npy,multi.ten}') GROUP BY path, error;
