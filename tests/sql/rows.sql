-- npy_rows: rows, values, data and members.
.headers on
.nullvalue NULL

SELECT * FROM npy_rows('y.npy');
-- Rows of two dimensions and more are JSON; data is the same in little-endian bytes.
SELECT row, value, hex(data) FROM npy_rows('X.npy') LIMIT 2;
SELECT r.row, j.key, j.value FROM npy_rows('X.npy') AS r, json_each(r.value) AS j WHERE r.row = 5;
SELECT path, row, value, hex(data) FROM npy_rows('orders/*.npy');
SELECT path, row, value, hex(data) FROM npy_rows('shapes/*.npy');
SELECT path, row, value FROM npy_rows('versions/*.npy');

.print ---- members
SELECT name, row, value FROM npy_rows('w.npz');
SELECT name, row, value FROM npy_rows('deflated.npz', 'b');
SELECT name, row, value FROM npy_rows('w.npz', 1);
SELECT name, row, value FROM npy_rows('w.npz', 1.0);
SELECT name, row, value FROM npy_rows('w.npz') WHERE name = 'b';
-- Of duplicate names in a zip the last one counts; the file name in the zip chooses too.
SELECT name, row, value FROM npy_rows('mixed.npz', 'a');
SELECT name, row, value FROM npy_rows('mixed.npz', 'a.npy') LIMIT 1;
SELECT name, row, value FROM npy_rows('mixed.npz', 0);
SELECT name, row, value FROM npy_rows('mixed.npz', 'sub/c') LIMIT 1;
-- A text is a name, also when it looks like a number.
SELECT name, row, value FROM npy_rows('w.npz', '1');
-- In a pattern, files without the name are passed over.
SELECT path, name, row, value FROM npy_rows('checkpoints/*/model.npz', 'step');
SELECT path, count(*) FROM npy_rows('{w,deflated,empty,mixed}.npz', 'b') GROUP BY path;
SELECT count(*) FROM npy_rows('checkpoints/*/model.npz', 'none of this name');

.print ---- conditions and order
SELECT row, value FROM npy_rows('y.npy') WHERE row BETWEEN 1 AND 3 ORDER BY row DESC;
SELECT row FROM npy_rows('y.npy') WHERE row = '1';
SELECT row, value FROM npy_rows('y.npy') WHERE value = 7 LIMIT 2 OFFSET 1;
-- value has no type of its own: a text is not equal to a number.
SELECT count(*) FROM npy_rows('y.npy') WHERE value = '7';
SELECT count(*), sum(value), min(value), max(value) FROM npy_rows('shards/*.npy');

.print ---- arguments as columns
SELECT quote(source), quote(member), quote(slice), quote(on_error), array_key IS NOT NULL
  FROM npy_rows('w.npz', 1, '') LIMIT 1;
SELECT row, value FROM npy_rows WHERE source = 'w.npz' AND member = 'b';
