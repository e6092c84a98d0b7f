-- Plans read like a sentence.
EXPLAIN QUERY PLAN SELECT path, name, idx FROM npy_meta('*.npy');
EXPLAIN QUERY PLAN SELECT path, shape FROM npy_meta('*.npy');
EXPLAIN QUERY PLAN SELECT path, shape FROM npy_meta('*.npy', 'skip');
EXPLAIN QUERY PLAN SELECT name, method, crc32 FROM npz_members('w.npz');
EXPLAIN QUERY PLAN SELECT name, dtype FROM npz_members('w.npz');
EXPLAIN QUERY PLAN SELECT name, crc_ok FROM npz_members('w.npz');
EXPLAIN QUERY PLAN SELECT name, header_offset FROM ten_arrays('multi.ten');
EXPLAIN QUERY PLAN SELECT name, shape FROM ten_arrays('multi.ten');
EXPLAIN QUERY PLAN SELECT count(*) FROM npy_rows('y.npy');
EXPLAIN QUERY PLAN SELECT row, value FROM npy_rows('y.npy');
EXPLAIN QUERY PLAN SELECT row, data FROM npy_rows('w.npz', 'w');
EXPLAIN QUERY PLAN SELECT value FROM npy_rows WHERE on_error = 'skip' AND member = 'w' AND source = 'w.npz';
-- A join runs in the order that supplies the arguments, however it is written.
EXPLAIN QUERY PLAN SELECT m.shape, r.value FROM npy_rows(m.path, m.idx) AS r, npy_meta('*.npy') AS m;
EXPLAIN QUERY PLAN SELECT r.value FROM ten_arrays('multi.ten') AS t, npy_rows(t.path, t.idx) AS r;
-- Rows of several arrays are sorted by SQLite.
EXPLAIN QUERY PLAN SELECT value FROM npy_rows('w.npz') ORDER BY row;
-- An argument that is missing is an error only when the plan is run.
EXPLAIN QUERY PLAN SELECT path FROM npy_meta;
EXPLAIN QUERY PLAN SELECT row FROM npy_rows WHERE member = 'w';
