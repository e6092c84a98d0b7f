-- Arguments that come from other tables.
.headers on
.nullvalue NULL

CREATE TABLE logs(run TEXT, path TEXT);
INSERT INTO logs VALUES ('one', 'shards/shard-000001.npy'), ('none', NULL), ('empty', 'shapes/empty.npy'), ('two', 'y.npy');

.print ---- inner joins, in either order
SELECT run, row, value FROM logs JOIN npy_rows(logs.path) AS r WHERE r.row < 2;
SELECT run, row, value FROM npy_rows(logs.path) AS r JOIN logs WHERE r.row < 2;
SELECT m.path, m.name, r.row, r.value FROM npy_rows(m.path, m.idx) AS r JOIN npy_meta('w.npz') AS m;
SELECT t.name, r.value FROM ten_arrays('multi.ten') AS t JOIN npy_rows(t.path, t.idx) AS r WHERE r.row = 0;
-- name is '' for a .npy, and '' is an argument not given.
SELECT m.path, m.name, count(*) AS n FROM npy_meta('{y.npy,w.npz}') AS m JOIN npy_rows(m.path, m.name) AS r GROUP BY m.path, m.name;

.print ---- left joins
SELECT run, row, value FROM logs LEFT JOIN npy_rows(logs.path) AS r ON r.row = 1;
SELECT run, shape FROM logs LEFT JOIN npy_meta(logs.path) AS m;

.print ---- subqueries
SELECT run, (SELECT max(value) FROM npy_rows(logs.path)) AS greatest FROM logs;
SELECT name FROM ten_arrays('multi.ten') AS t WHERE EXISTS (SELECT 1 FROM npy_elements(t.path, t.idx) WHERE value = 7);
SELECT value FROM npy_rows((SELECT path FROM logs WHERE run = 'one'));
WITH m AS (SELECT path, idx, name FROM npy_meta('w.npz')) SELECT m.name, r.value FROM m, npy_rows(m.path, m.idx) AS r WHERE r.row = 1;

.print ---- the same function twice
SELECT a.row, a.value AS left, b.value AS right FROM npy_rows('y.npy') AS a JOIN npy_rows('y.npy') AS b ON b.row = a.row + 1 ORDER BY a.row;
SELECT a.row, a.value, b.value FROM npy_rows('w.npz', 'w') AS a JOIN npy_rows('deflated.npz', 'w') AS b USING (row) WHERE a.value = b.value ORDER BY row;
SELECT row, value FROM npy_rows('w.npz', 'b') UNION ALL SELECT row, value FROM npy_rows('y.npy') WHERE row = 0;

.print ---- labels and vectors by row
SELECT y.value AS label, x.row, x.value FROM npy_rows('X.npy') AS x JOIN npy_rows('y.npy') AS y USING (row) WHERE y.value = 7 ORDER BY x.row;

.print ---- OR
SELECT source, row, value FROM npy_rows WHERE (source = 'y.npy' AND row < 2) OR (source = 'shards/shard-000003.npy' AND row < 2) ORDER BY source, row;
SELECT name, row, value FROM npy_rows('w.npz') WHERE member = 'b' OR member = 'w' ORDER BY name, row;
SELECT name, row, value FROM npy_rows('w.npz') WHERE member IN ('b', 0) ORDER BY name, row;
SELECT name, row, value FROM npy_rows('w.npz') WHERE name = 'b' OR row = 2 ORDER BY name, row;
-- Arguments that differ are different arrays, even when they choose the same.
SELECT member, row, value FROM npy_rows('w.npz') WHERE member IN ('b', 1) ORDER BY typeof(member), row;
-- An argument that is not given equals nothing.
SELECT count(*) FROM npy_rows('w.npz') WHERE member <> 'w';
SELECT count(*) FROM npy_rows('w.npz') WHERE member IS NULL;

.print ---- BLOB columns
CREATE TABLE blobs(id INTEGER PRIMARY KEY, bytes BLOB);
INSERT INTO blobs VALUES (1, readfile('shards/shard-000002.npy')), (2, NULL), (3, readfile('w.npz'));
CREATE TEMP VIEW contents AS SELECT id, name, row, value FROM blobs LEFT JOIN npy_rows(blobs.bytes);
SELECT * FROM contents;
SELECT * FROM contents WHERE id = 3 AND name = 'b';

.print ---- stored views and triggers reach no files
CREATE VIEW stored AS SELECT value FROM npy_rows('y.npy');
SELECT * FROM stored;
CREATE TRIGGER peek AFTER INSERT ON blobs BEGIN SELECT count(*) FROM npy_meta('*'); END;
INSERT INTO blobs VALUES (4, NULL);
DROP TRIGGER peek;
DROP VIEW stored;

.print ---- sources that need each other
SELECT * FROM npy_meta(r.path) AS m, npy_rows(m.path) AS r;
