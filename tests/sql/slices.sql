-- The arguments slice, field, view, astype and expect of npy_rows; see make_files.py for the files.
.headers on
.nullvalue NULL
SELECT row, value FROM npy_rows('X.npy', '', '1:3');
SELECT row, value FROM npy_rows('X.npy', '', ':, 3');
SELECT row, value FROM npy_rows('X.npy', '', '..., ::-2') LIMIT 2;
SELECT row, value FROM npy_rows('X.npy', '', '-1');
SELECT row, value FROM npy_rows('X.npy', '', -1);
SELECT row, value FROM npy_rows('X.npy', '', '[4:1:-2, 0]');
SELECT row, value FROM npy_rows('X.npy', '', 'None, 0, :2');
SELECT row, value FROM npy_rows('X.npy', '', '2, 1');
SELECT row, value FROM npy_rows('X.npy', '', '5:5');
SELECT row, value FROM npy_rows('y.npy', '', '::-1') WHERE row < 2;
-- In C and in Fortran order, stored, deflated and in a .ten.
SELECT c.row, c.value, f.value = c.value AS same FROM npy_rows('orders/c.npy', '', '1, ::-1, 1:3') c
  JOIN npy_rows('orders/f.npy', '', '1, ::-1, 1:3') f USING (row);
SELECT s.row, s.value, d.value = s.value AS same FROM npy_rows('w.npz', 'w', '::2') s JOIN npy_rows('deflated.npz', 'w', '::2') d USING (row);
SELECT name, row, value FROM npy_rows('multi.ten', 'x', ':, 0');
-- A slice for each row of another table.
SELECT t.value AS slice, group_concat(r.value) FROM json_each('["::2", "1::2", "-1"]') t, npy_rows('y.npy', '', t.value) r GROUP BY t.id;
-- Fields.
SELECT row, value FROM npy_rows('structured/plain.npy', '', '', 'x');
SELECT row, value FROM npy_rows('structured/nested.npy', '', '::-1', 'pos.y');
SELECT row, value FROM npy_rows('structured/nested.npy', '', '', 'pos');
SELECT row, value FROM npy_rows('structured/subarray.npy', '', '0, :, 1', 'm');
SELECT row, value FROM npy_rows('structured/titled.npy', '', '', 'the title');
-- Views.
SELECT row, value FROM npy_rows('types/bfloat16.npy', '', '', '', 'bfloat16');
SELECT row, value FROM npy_rows('types/u8.npy', '', '', '', '<i8');
SELECT row, hex(value) FROM npy_rows('types/V3.npy', '', '', '', 'S3');
-- Conversions.
SELECT row, value, hex(data) FROM npy_rows('y.npy', '', ':2', '', '', '<f4');
SELECT row, value, typeof(value) FROM npy_rows('X.npy', '', ':, 1', '', '', 'int8') LIMIT 2;
-- Expectations.
SELECT count(*) FROM npy_rows('X.npy') WHERE expect = 'float32[*, 4]';
SELECT count(*) FROM npy_rows('X.npy') WHERE expect = '[>=6, ...]';
-- What is refused.
SELECT value FROM npy_rows('X.npy', '', '6');
SELECT value FROM npy_rows('X.npy', '', '0, 0, 0');
SELECT value FROM npy_rows('X.npy', '', '::0');
SELECT value FROM npy_rows('X.npy', '', 'first');
SELECT value FROM npy_rows('structured/nested.npy', '', '', 'pos.z');
SELECT value FROM npy_rows('X.npy', '', '', 'x');
SELECT value FROM npy_rows('X.npy', '', '', '', '<i8');
SELECT value FROM npy_rows('types/f4.npy', '', '', '', '', 'i4');
SELECT value FROM npy_rows('y.npy', '', '', '', '', 'S4');
SELECT value FROM npy_rows('X.npy') WHERE expect = 'float64[*, 4]';
SELECT value FROM npy_rows('X.npy') WHERE expect = '[*, 4';
SELECT value FROM npy_rows('X.npy', '', 1.5);
