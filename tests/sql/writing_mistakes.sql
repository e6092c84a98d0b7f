-- What people get wrong when they write, and what they are told.
.headers off
.nullvalue NULL

.print ---- declarations
CREATE VIRTUAL TABLE out USING npy('out.npy', mode='w+', dtype='f4');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w', dtype='f4');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='r+');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='a');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', dtype='f4');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='flaot32');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='f4,i8');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='object');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', type='f4');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='f4', shape='(None, 4)');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='f4', shape='[-1, 4]', columns='a,b');
CREATE VIRTUAL TABLE temp.out USING npy('out.npz', mode='w+', dtype='f4');
CREATE VIRTUAL TABLE temp.out USING npy('out.npz', mode='w+', method='zstd');
CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='f4', method='deflate');
CREATE VIRTUAL TABLE temp.out USING npy('X.npy', mode='a', dtype='f8');
CREATE VIRTUAL TABLE temp.out USING npy('orders/f.npy', mode='a');
CREATE VIRTUAL TABLE temp.out USING npy('shapes/scalar.npy', mode='a');
CREATE VIRTUAL TABLE temp.out USING npy('survey/truncated.npy', mode='a');
CREATE VIRTUAL TABLE temp.out USING npy('objects/mixed.npy', mode='a');

.print ---- rows of a matrix
CREATE VIRTUAL TABLE temp.m USING npy('m.npy', mode='w+', dtype='f4', shape='[-1, 4]');
INSERT INTO m VALUES (1, 2, 3, 4);
INSERT INTO m VALUES (1);
INSERT INTO m VALUES (NULL);
INSERT INTO m VALUES ('X.npy');
INSERT INTO m VALUES ('[1, 2, 3]');
INSERT INTO m VALUES ('[1, 2, 3, "a"]');
INSERT INTO m VALUES ('[[1, 2, 3, 4]]');
INSERT INTO m VALUES (x'0000803F');
INSERT INTO m VALUES (npy_from_json('[1, 2, 3]'));
INSERT INTO m VALUES (npy_from_json('["a", "b", "c", "d"]'));
INSERT INTO m SELECT value FROM npy_rows('y.npy');
INSERT INTO m SELECT readfile('w.npz');
INSERT INTO m SELECT array FROM npy_file('X.npy');
SELECT * FROM m;
SELECT count(*) FROM m;
UPDATE m SET row = NULL;
DELETE FROM m;
SELECT count(*) FROM npy_meta('m.np[y]');

.print ---- values
CREATE VIRTUAL TABLE temp.u1 USING npy('u1.npy', mode='w+', dtype='u1');
INSERT INTO u1 VALUES (300);
INSERT INTO u1 VALUES (-1);
INSERT INTO u1 VALUES (1.5);
INSERT INTO u1 VALUES ('7');
INSERT INTO u1 VALUES (NULL);
INSERT INTO u1 VALUES (x'07');
INSERT INTO u1 SELECT value FROM generate_series(250, 260);
INSERT INTO u1(rowid, value) VALUES (7, 1);
CREATE VIRTUAL TABLE temp.r USING npy('r.npy', mode='w+', dtype='[("at", "<M8[D]"), ("loss", "<f2"), ("tag", "<U3"), ("v", "<i2", [2])]');
INSERT INTO r VALUES ('2026-02-30', 1, 'a', '[1, 2]');
INSERT INTO r VALUES ('02.01.2026', 1, 'a', '[1, 2]');
INSERT INTO r VALUES ('2026-01-02 03:04:05', 1, 'a', '[1, 2]');
INSERT INTO r VALUES (1.5, 1, 'a', '[1, 2]');
INSERT INTO r VALUES ('2026-01-02', 1e6, 'a', '[1, 2]');
INSERT INTO r VALUES ('2026-01-02', 1, 'abcd', '[1, 2]');
INSERT INTO r VALUES ('2026-01-02', 1, NULL, '[1, 2]');
INSERT INTO r VALUES ('2026-01-02', 1, 'a', '[1, 2, 3]');
INSERT INTO r VALUES ('2026-01-02', 1, 'a', '[1, 70000]');
INSERT INTO r VALUES ('2026-01-02', 1, 'a', 5);
CREATE VIRTUAL TABLE temp.three USING npy('three.npy', mode='w+', dtype='i4', shape='[3]');
INSERT INTO three VALUES (1), (2);
INSERT INTO three VALUES (1), (2), (3), (4);

.print ---- archives
CREATE VIRTUAL TABLE temp.z USING npy('z.npz', mode='w+');
INSERT INTO z SELECT array, name FROM npy_file('w.npz');
INSERT INTO z VALUES ('a', 'y.npy');
INSERT INTO z VALUES ('a', readfile('w.npz'));
INSERT INTO z VALUES ('a', '[1, 2]');
INSERT INTO z VALUES ('a', x'0102');
INSERT INTO z VALUES (NULL, npy_from_json('1'));
INSERT INTO z VALUES ('', npy_from_json('1'));
INSERT INTO z SELECT 'a', array FROM npy_file('w.npz');
CREATE VIRTUAL TABLE temp.t USING npy('t.ten', mode='w+');
INSERT INTO t SELECT 'hidden.weight', array FROM npy_file('w.npz');
INSERT INTO t SELECT 'žluť', array FROM npy_file('w.npz');
INSERT INTO t SELECT 'x', array FROM npy_file('types/M8_ns.npy');
INSERT INTO t SELECT 'x', array FROM npy_file('types/b1.npy');
CREATE VIRTUAL TABLE temp.b USING npy('big_endian.ten', mode='a');
INSERT INTO b SELECT 'x', array FROM npy_file('y.npy');
SELECT npz_archive(array, name) FROM npy_file('w.npz');
SELECT npz_archive('a', array) FROM npy_file('w.npz');
SELECT npz_archive(name, array, 9) FROM npy_file('w.npz');
SELECT ten_archive(array, path) FROM npy_file('shards/*.npy');
SELECT ten_archive(path) FROM npy_file('shards/*.npy');

.print ---- aggregates
SELECT npy_array(value) FROM (SELECT 1 AS value UNION ALL SELECT NULL);
SELECT npy_array(value) FROM (SELECT 1 AS value UNION ALL SELECT 'a');
SELECT npy_array(value) FROM (SELECT 9007199254740993 AS value UNION ALL SELECT 0.5);
SELECT npy_array(NULL);
SELECT npy_array(value, 'i2') FROM npy_rows('types/i4.npy');
SELECT npy_array(value, 'f4', '[4, -1]') FROM npy_rows('y.npy');
SELECT npy_array(value, '[2, 3]') FROM npy_rows('y.npy');
SELECT npy_array(value) OVER () FROM npy_rows('y.npy');
SELECT npy_stack(data) FROM npy_rows('X.npy');
SELECT npy_stack(value) FROM npy_rows('y.npy');
SELECT npy_stack(array) FROM npy_file('{w,deflated}.npz');
SELECT npy_stack(array) FROM npy_file('{X,y}.npy');
SELECT npy_records('float32', value) FROM npy_rows('y.npy');
SELECT npy_records('[("x", "f4"), ("y", "f4")]', value) FROM npy_rows('y.npy');
SELECT npy_records('[("x", "f4"), ("y", "f4")]', value, 'a') FROM npy_rows('y.npy');

.print ---- functions
SELECT npy_from_json('X.npy');
SELECT npy_from_json('[1, [2]]');
SELECT npy_from_json('[[1, 2], [3]]');
SELECT npy_from_json('[1, "a"]');
SELECT npy_dtype(npy_from_json('["a", "bc"]', 'U'));
SELECT npy_from_json('[NaN]');
SELECT npy_from_json('[1, 300]', 'u1');
SELECT npy_from_json('{"x": 1}');
SELECT npy_from_data(x'000000', 'f4', '[-1]');
SELECT npy_from_data('abcd', 'f4', '[-1]');
SELECT npy_astype('X.npy', 'f2');
SELECT npy_astype(array, 'u1') FROM npy_file('w.npz', 'w');
SELECT npy_astype(array, 'U5') FROM npy_file('w.npz', 'w');
SELECT npy_reshape(array, '[5, -1]') FROM npy_file('X.npy');
SELECT npy_transpose(array, '[0, 0]') FROM npy_file('X.npy');
SELECT npy_order(array, 'K') FROM npy_file('X.npy');
SELECT npy_member('w.npz', 'w');
SELECT npy_member(readfile('w.npz'), 'W');

.print ---- npy_write
SELECT * FROM npy_write('x.npy', 'y.npy');
SELECT * FROM npy_write((SELECT array FROM npy_file('y.npy')), 'x.npy');
SELECT * FROM npy_write('x.npy');
SELECT * FROM npy_write('x.npy', 5);
SELECT * FROM npy_write('x.npy', x'0102');
SELECT * FROM npy_write('x.npy', substr(readfile('y.npy'), 1, 150));
SELECT * FROM npy_write('x/y/z.npy', npy_from_json('1'));
SELECT * FROM npy_write('runs', npy_from_json('1'));
SELECT * FROM npy_write('odd/fifo.npy', npy_from_json('1'));
SELECT npy_write('x.npy', npy_from_json('1'));
SELECT count(*) FROM npy_meta('{x,u1,r,three,z,t,out}.*');

.print ---- transactions
CREATE VIRTUAL TABLE temp.a USING npy('a.npy', mode='w+', dtype='i4');
BEGIN;
INSERT INTO a VALUES (1);
DROP TABLE a;
ALTER TABLE a RENAME TO another;
COMMIT;
CREATE VIRTUAL TABLE temp.a2 USING npy('a.npy', mode='a');
BEGIN;
INSERT INTO a VALUES (2);
INSERT INTO a2 VALUES (3);
COMMIT;
SELECT * FROM npy_write('a.npy', npy_from_json('[1]', 'i4')) WHERE bytes = 0;
INSERT INTO a VALUES (4);
CREATE TABLE plain(x);
CREATE TEMP TRIGGER copy AFTER INSERT ON plain BEGIN INSERT INTO a2 VALUES (new.x); END;
INSERT INTO plain VALUES (1);
INSERT INTO a2 VALUES (5) ON CONFLICT DO NOTHING;
CREATE VIRTUAL TABLE temp.reading USING npy('y.npy');
INSERT INTO reading VALUES (1);
DELETE FROM reading;

.print ---- a pattern in place of a path
CREATE VIRTUAL TABLE temp.of_pattern USING npy('*.npy', mode='w+', dtype='f4');
CREATE VIRTUAL TABLE temp.of_pattern USING npy('runs/*.npz', mode='a');
SELECT * FROM npy_write('runs/*.npy', npy_from_json('[1]'));
