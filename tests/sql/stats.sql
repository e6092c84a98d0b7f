-- npy_stats; see make_files.py for the files.
.headers on
.nullvalue NULL
SELECT * FROM npy_stats('X.npy');
SELECT argmin, argmax, var, m2, crc32 FROM npy_stats('X.npy');
SELECT at, count, min, max, mean, sum, argmax FROM npy_stats('X.npy', '', '', 0);
SELECT at, sum FROM npy_stats('X.npy', '', '1:3', -1);
SELECT at, sum FROM npy_stats('orders/f.npy', '', '', '[0, 2]');
SELECT at, count FROM npy_stats('orders/c.npy', '', '', '[0, 1, 2]');
-- Every kind of item.
SELECT path, count, nulls, infs, zeros, min, max, mean, sum FROM npy_stats('types/*.npy');
SELECT field_name, count, min, max, sum, argmin FROM npy_stats('structured/*.npy');
-- Archives, members and files that are not good.
SELECT path, name, count, sum FROM npy_stats('w.npz');
SELECT name, count FROM npy_stats('w.npz', 'b');
SELECT path, name, count, error FROM npy_stats('survey/*');
SELECT path, count FROM npy_stats('survey/*') WHERE on_error = 'skip';
SELECT * FROM npy_stats('X.npy', '', '', 2);
SELECT * FROM npy_stats('X.npy', '', '', '0, 0');
SELECT * FROM npy_stats('X.npy', '', '', 'rows');
SELECT * FROM npy_stats('objects/field.npy');
SELECT count(*) FROM npy_stats(NULL);
-- Equal arrays have equal checksums in any container, order and byte order.
SELECT c.crc32 = f.crc32 AS same FROM npy_stats('orders/c.npy') c, npy_stats('orders/f.npy') f;
EXPLAIN QUERY PLAN SELECT crc32 FROM npy_stats('X.npy');
EXPLAIN QUERY PLAN SELECT s.max FROM npy_meta('*.npy') m, npy_stats(m.path, m.idx) s;
