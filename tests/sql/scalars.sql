-- npy_file and the scalar functions of arrays: .npy BLOBs and handles.
.headers on
.nullvalue NULL

SELECT path, name, typeof(array), npy_shape(array), npy_dtype(array), npy_ndim(array), npy_size(array)
  FROM npy_file('{X.npy,w.npz,multi.ten}');
SELECT path, npy_get(array, -1) AS last, npy_get(array, 9) AS outside, npy_get_or(array, 'none', 9) AS fallback
  FROM npy_file('y.npy');
SELECT npy_get(array, 1, 2), npy_get(array, 1), npy_get(array, 1.0, -1) FROM npy_file('X.npy');
SELECT npy_get(array), npy_json(array) FROM npy_file('shapes/scalar.npy');
SELECT npy_json(array), npy_get(array, 0) FROM npy_file('shapes/empty.npy');
-- A NaN is NULL, and is there.
SELECT path, npy_get(array, 2), npy_get_or(array, 'none', 2) FROM npy_file('checkpoints/*/model.npz', 'w');

.print ---- every type
SELECT substr(path, 7) AS file, npy_dtype(array) AS dtype, npy_json(array) AS json,
       CASE typeof(npy_get(array, 1)) WHEN 'blob' THEN hex(npy_get(array, 1)) ELSE npy_get(array, 1) END AS second
  FROM npy_file('types/*.npy');
SELECT path, npy_json(array) FROM npy_file('structured/*.npy');
SELECT path, hex(npy_data(array)) FROM npy_file('orders/*.npy');

.print ---- slices
SELECT npy_shape(npy_slice(array, ':, 0')) AS shape, npy_json(npy_slice(array, '..., ::-2')) AS json
  FROM npy_file('orders/*.npy');
SELECT hex(npy_slice(array, '2')) FROM npy_file('y.npy');
SELECT npy_json(npy_slice(array, -1)) FROM npy_file('X.npy');

.print ---- BLOBs
SELECT npy_shape(readfile('X.npy')) AS shape, npy_get(readfile('X.npy'), 0, 0) AS first;
SELECT path, name, length(array), npy_json(array) FROM npy_file(readfile('deflated.npz'));
SELECT name, npy_json(array) FROM npy_file(readfile('big_endian.ten'));
SELECT npy_valid(readfile('y.npy')) AS whole, npy_valid(substr(readfile('y.npy'), 1, 100)) AS cut,
       npy_valid(x'') AS empty, npy_valid(NULL) AS none;
SELECT path, npy_valid(array) FROM npy_file('survey/*.npy', '', 'skip');

.print ---- handles
WITH h AS MATERIALIZED (SELECT path, array FROM npy_file('shards/*.npy') ORDER BY path DESC)
SELECT path, npy_get(array, 0) FROM h WHERE npy_get(array, 1) > 1;
CREATE TEMP TABLE h AS SELECT * FROM npy_file('shards/*.npy');
SELECT sum(npy_get(array, 0)), count(DISTINCT array) FROM h;

.print ---- schemas
PRAGMA trusted_schema = OFF;
CREATE TABLE arrays(id INTEGER PRIMARY KEY, array BLOB, shape AS (npy_shape(array)), CHECK (npy_ndim(array) = 1));
CREATE TABLE checked(array BLOB CHECK (npy_valid(array)));
CREATE INDEX by_first ON arrays(npy_get(array, 0));
CREATE VIEW heads AS SELECT id, npy_json(npy_slice(array, ':2')) AS head FROM arrays;
INSERT INTO arrays(array) VALUES (readfile('shards/shard-000002.npy')), (readfile('y.npy'));
INSERT INTO arrays(array) VALUES (readfile('X.npy'));
INSERT INTO checked VALUES (x'00');
SELECT id, shape FROM arrays WHERE npy_get(array, 0) = 7;
EXPLAIN QUERY PLAN SELECT length(array) FROM arrays WHERE npy_get(array, 0) = 7;
SELECT * FROM heads;

.print ---- faults
SELECT npy_get('y.npy', 0);
SELECT npy_shape(1);
SELECT npy_json(readfile('w.npz'));
SELECT npy_json(readfile('multi.ten'));
SELECT npy_data(x'6162');
SELECT npy_get(array, 0, 0) FROM npy_file('y.npy');
SELECT npy_get(array, 'first') FROM npy_file('y.npy');
SELECT npy_slice(array, '9') FROM npy_file('y.npy');
SELECT npy_data(array) FROM npy_file('objects/mixed.npy');
SELECT npy_shape(array) FROM npy_file('survey/truncated.npy');
SELECT npy_shape(x'9d4e505958480a00' || zeroblob(40));
SELECT npy_shape(CAST(x'9d4e505958480a00' || zeroblob(40) AS BLOB));
SELECT * FROM npy_file('gone.npy');
SELECT * FROM npy_file('w.npz', 'gone');
SELECT * FROM npy_file('mixed.npz', 'readme.txt');
SELECT * FROM npy_file('y.npy', '', 'row');
