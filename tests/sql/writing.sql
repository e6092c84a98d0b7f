-- Arrays, archives and files made in SQL.
.headers on
.nullvalue NULL

.print ---- arrays of values, rows and records
SELECT npy_dtype(a), npy_shape(a), npy_json(a) FROM (SELECT npy_array(value) AS a FROM npy_rows('y.npy'));
SELECT npy_dtype(a), npy_shape(a), npy_json(a) FROM (SELECT npy_array(value, '>u2', '[2, -1]') AS a FROM npy_rows('y.npy'));
SELECT npy_dtype(a), npy_json(a) FROM (SELECT npy_array(name) AS a FROM npy_meta('w.npz'));
SELECT npy_dtype(a), npy_json(a) FROM (SELECT npy_array(nullif(value, 7), 'f4') AS a FROM npy_rows('y.npy'));
SELECT npy_dtype(a), npy_json(a) FROM (SELECT npy_array(column1, 'M8[ms]') AS a FROM (VALUES ('2026-01-02T10:11:12.5Z'), ('2026-01-02'), (1000), (NULL)));
SELECT npy_dtype(a), npy_shape(a) FROM (SELECT npy_stack(value) AS a FROM npy_rows('X.npy'));
SELECT npy_dtype(a), npy_shape(a) FROM (SELECT npy_stack(data, 'f4') AS a FROM npy_rows('X.npy'));
SELECT npy_dtype(a), npy_json(a) FROM (SELECT npy_stack(array, 'f2') AS a FROM npy_file('shards/*.npy'));
SELECT npy_dtype(a), npy_json(a) FROM (SELECT npy_records('[("n", "i1"), ("at", [("x", "f4"), ("y", "f4")]), ("v", "u1", 2)]', row, '[1, 2]', x'0708') AS a FROM npy_rows('y.npy', '', ':2'));
SELECT label, npy_json(npy_array(row)) AS rows FROM (SELECT row, value AS label FROM npy_rows('y.npy') ORDER BY row) GROUP BY label;
SELECT npy_array(value) AS a, npy_stack(data) AS s, npy_records('[("x", "f4")]', value) AS r, length(npz_archive('a', data)) AS z, length(ten_archive(data)) AS t
  FROM npy_rows('y.npy') WHERE row < 0;

.print ---- arrays of arrays
SELECT npy_json(npy_from_json('[[1, 2], [3, 4.5]]')) AS j, npy_json(npy_from_json('3', 'u1')) AS item, npy_json(npy_from_json('["a", "bc"]')) AS texts;
SELECT npy_json(npy_from_data(data, '>f4', '[2, -1]')) AS a FROM npy_rows('X.npy') WHERE row = 0;
SELECT npy_json(npy_astype(array, 'i1')) AS i1, npy_json(npy_reshape(array, '[2, 3]')) AS reshaped, npy_json(npy_transpose(array)) AS t FROM npy_file('w.npz', 'w');
SELECT npy_shape(npy_transpose(array, '[2, 0, 1]')) AS t, npy_compare.status FROM npy_file('orders/c.npy') AS f, npy_compare(f.array, npy_order(f.array, 'F'));
SELECT npy_json(npy_member(readfile('w.npz'), 'b')) AS b, npy_json(npy_member(readfile('multi.ten'), 2)) AS y;

.print ---- files
SELECT * FROM npy_write('labels.npy', (SELECT npy_array(value, 'u1') FROM npy_rows('y.npy')));
SELECT w.* FROM npy_file('w.npz') AS f, npy_write('copy_of_' || f.name || '.npy', f.array) AS w;
SELECT * FROM npy_write('w.ten', (SELECT ten_archive(array, name) FROM npy_file('w.npz')));
SELECT * FROM npy_write('w9.npz', (SELECT npz_archive(name, array, 'deflate:9') FROM npy_file('w.npz')));
SELECT * FROM npy_write('none.npz', (SELECT npz_archive(name, array) FROM npy_file('w.npz') WHERE 0));
SELECT * FROM npy_write('nothing.npy', (SELECT npy_array(value) FROM npy_rows('y.npy') WHERE 0));
SELECT path, name, dtype, shape, compression FROM npy_meta('{labels,copy_of_*,nothing,w9,none,w}.{npy,ten,npz}');
SELECT name, status FROM npy_compare('w.npz', 'w9.npz');
SELECT name, status FROM npy_compare('w.npz', 'w.ten');

.print ---- a table that writes a .npy
CREATE VIRTUAL TABLE temp.sevens USING npy('sevens.npy', mode='w+', dtype='float32', shape='[-1, 4]');
SELECT name, type FROM pragma_table_info('sevens');
INSERT INTO sevens SELECT x.data FROM npy_rows('X.npy') AS x JOIN npy_rows('y.npy') AS y USING (row) WHERE y.value = 7;
SELECT changes(), last_insert_rowid();
INSERT INTO sevens VALUES ('[1, 2, 3, null]'), (npy_from_json('[1, 2, 3, 4]'));
SELECT row, value FROM npy_rows('sevens.npy');
DROP TABLE sevens;
CREATE VIRTUAL TABLE temp.named USING npy('sevens.npy', mode='a', columns='a,b,c,d');
INSERT INTO named(d, a, b, c) VALUES (4, 1, 2, 3);
INSERT INTO named(a) VALUES (1.5);
SELECT row, value FROM npy_rows('sevens.npy', '', '-2:');

.print ---- a structured log
CREATE VIRTUAL TABLE temp.log USING npy('log.npy', mode='a', dtype='[("at", "<M8[s]"), ("loss", "<f4"), ("tag", "<U4")]');
INSERT INTO log VALUES ('2026-01-02 03:04:05', 0.5, 'a'), ('2026-01-02', NULL, 'žluť');
DROP TABLE log;
CREATE VIRTUAL TABLE temp.log USING npy('log.npy', mode='a');
INSERT INTO log(tag, at) VALUES ('', NULL);
CREATE VIRTUAL TABLE temp.read_log USING npy('log.npy');
SELECT rowid, * FROM read_log;

.print ---- archives
CREATE VIRTUAL TABLE temp.pack USING npy('pack.npz', mode='w+', method='deflate');
INSERT INTO pack SELECT f.name, f.array FROM npy_file('w.npz') AS f;
INSERT INTO pack SELECT m.stem, f.array FROM npy_meta('shards/*.npy') AS m JOIN npy_file(m.path) AS f;
DROP TABLE pack;
CREATE VIRTUAL TABLE temp.pack USING npy('pack.npz', mode='a');
INSERT INTO pack VALUES ('stored/x', npy_from_json('[1]'));
SELECT name, dtype, shape, method FROM npz_members('pack.npz');
CREATE VIRTUAL TABLE temp.tens USING npy('pack.ten', mode='w+');
INSERT INTO tens SELECT 'same', array FROM npy_file('shards/*.npy');
SELECT idx, name, dtype, shape FROM ten_arrays('pack.ten');

.print ---- transactions
CREATE VIRTUAL TABLE temp.t USING npy('t.npy', mode='w+', dtype='u1');
BEGIN;
INSERT INTO t VALUES (1);
SAVEPOINT s;
INSERT INTO t VALUES (2);
ROLLBACK TO s;
INSERT INTO t VALUES (3);
SELECT count(*) AS before_commit FROM npy_meta('t.np[y]');
COMMIT;
SELECT npy_json(array) AS committed FROM npy_file('t.npy');
BEGIN;
INSERT INTO t VALUES (4);
ROLLBACK;
INSERT INTO t SELECT value FROM npy_rows('t.npy');
SELECT npy_json(array) AS doubled FROM npy_file('t.npy');
INSERT OR IGNORE INTO t VALUES (5), (300), (NULL), ('six'), (6.0), (6.5);
INSERT OR FAIL INTO t VALUES (7), (300), (8);
INSERT INTO t VALUES (9), (300);
SELECT npy_json(array) AS fitting FROM npy_file('t.npy');
DROP TABLE t;
CREATE VIRTUAL TABLE temp.t USING npy('t.npy', mode='w+', dtype='u1');
BEGIN;
INSERT INTO t VALUES (1), (300);
COMMIT;
SELECT npy_json(array) AS old_one FROM npy_file('t.npy');
INSERT INTO t SELECT 1 WHERE 0;
SELECT npy_shape(array) AS empty FROM npy_file('t.npy');
