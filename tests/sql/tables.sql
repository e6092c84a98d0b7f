-- CREATE VIRTUAL TABLE ... USING npy: arrays as typed tables.
.headers on
.nullvalue NULL

CREATE VIRTUAL TABLE x USING npy('X.npy');
SELECT rowid, * FROM x;
CREATE VIRTUAL TABLE named USING npy('X.npy', columns='length,width,"a,b",select', slice='1:5:2');
SELECT rowid, * FROM named;
CREATE VIRTUAL TABLE y USING npy('y.npy', columns=label);
SELECT y.label, count(*), avg(x.c0) FROM x JOIN y ON x.rowid = y.rowid GROUP BY y.label;

.print ---- declared types
CREATE VIRTUAL TABLE s USING npy('structured/plain.npy');
CREATE VIRTUAL TABLE nested USING npy('structured/nested.npy');
CREATE VIRTUAL TABLE subarray USING npy('structured/subarray.npy');
CREATE VIRTUAL TABLE padded USING npy('structured/padded.npy');
CREATE VIRTUAL TABLE grid USING npy('structured/fortran.npy');
CREATE VIRTUAL TABLE cube USING npy('orders/f.npy');
CREATE VIRTUAL TABLE scalar USING npy('shapes/scalar.npy');
CREATE VIRTUAL TABLE b16 USING npy('types/bfloat16.npy', view='bfloat16');
SELECT m.name AS "table", group_concat(trim(p.name || ' ' || p.type), ', ') AS columns
  FROM sqlite_master AS m, pragma_table_info(m.name) AS p WHERE m.sql LIKE '%USING npy%' GROUP BY m.rowid;
SELECT * FROM s;
SELECT id, json_extract(pos, '$.x') AS x FROM nested;
SELECT * FROM subarray;
SELECT * FROM padded;
SELECT * FROM grid;
SELECT * FROM cube;
SELECT rowid, * FROM scalar;
SELECT * FROM b16;

.print ---- arrays side by side
CREATE VIRTUAL TABLE w USING npy('w.npz');
CREATE VIRTUAL TABLE w USING npy('w.npz', members='b');
SELECT * FROM w;
CREATE VIRTUAL TABLE one USING npy('w.npz', member='w');
SELECT * FROM one;
CREATE VIRTUAL TABLE third USING npy('multi.ten', member=2);
SELECT * FROM third;
CREATE VIRTUAL TABLE m USING npy('checkpoints/step_1/model.npz');

.print ---- conditions and order
SELECT rowid, label FROM y WHERE rowid BETWEEN 1 AND 3 ORDER BY rowid DESC;
SELECT rowid, label FROM y WHERE rowid IN (5, 0, 9) ORDER BY rowid;
SELECT rowid FROM y WHERE rowid = '1';
EXPLAIN QUERY PLAN SELECT * FROM y;
EXPLAIN QUERY PLAN SELECT * FROM y WHERE rowid = 3;
EXPLAIN QUERY PLAN SELECT * FROM y WHERE rowid > 3 AND rowid <= 5 ORDER BY rowid;
EXPLAIN QUERY PLAN SELECT * FROM y ORDER BY rowid DESC LIMIT 2;
EXPLAIN QUERY PLAN SELECT * FROM y ORDER BY label;
EXPLAIN QUERY PLAN SELECT * FROM x JOIN y ON x.rowid = y.rowid WHERE label = 7;

.print ---- the declaration
SELECT * FROM named_npy;
ALTER TABLE named RENAME TO "other name";
SELECT count(*) FROM "other name";
SELECT count(*) FROM "other name_npy";
DROP TABLE "other name";
SELECT count(*) FROM sqlite_master WHERE name LIKE '%name%';
CREATE TEMP TABLE ids AS SELECT 2 AS id;
CREATE VIRTUAL TABLE temp.t USING npy('y.npy');
SELECT value FROM ids JOIN t ON t.rowid = id;

.print ---- errors
CREATE VIRTUAL TABLE e USING npy();
CREATE VIRTUAL TABLE e USING npy('X.npy', 'y.npy');
CREATE VIRTUAL TABLE e USING npy('X.npy', name='x');
CREATE VIRTUAL TABLE e USING npy('X.npy', mode='w+');
CREATE VIRTUAL TABLE e USING npy('X.npy', slice=':' ':');
CREATE VIRTUAL TABLE e USING npy('X.npy', columns='a,b');
CREATE VIRTUAL TABLE e USING npy('w.npz', member='z');
CREATE VIRTUAL TABLE e USING npy('w.npz', member='w', members='b');
CREATE VIRTUAL TABLE e USING npy('multi.ten', member='y');
CREATE VIRTUAL TABLE e USING npy('gone.npy');
CREATE VIRTUAL TABLE objects USING npy('objects/field.npy');
SELECT rowid, a, o, typeof(o), o -> 'k' FROM objects;
CREATE VIRTUAL TABLE e USING npy('shapes/empty.npy', slice=':, :0');
UPDATE y SET label = 1;
CREATE VIEW v AS SELECT * FROM y;
SELECT * FROM v;
DROP VIEW v;
-- In defensive mode nobody but the module writes into the shadow table.
.dbconfig defensive on
UPDATE y_npy SET value = 'x';
ALTER TABLE y RENAME TO yy;
SELECT count(*) FROM yy;
ALTER TABLE yy RENAME TO y;
.dbconfig defensive off
-- Files that change: more rows are read, another dtype or shape is an error, and the table can still be dropped.
SELECT writefile('y.npy', readfile('types/i8.npy')) > 0 AS written;
SELECT rowid, label FROM y;
SELECT writefile('y.npy', readfile('types/i4.npy')) > 0 AS written;
SELECT rowid, label FROM y;
SELECT writefile('X.npy', x'') AS written;
SELECT c0 FROM x;
SELECT writefile('w.npz', readfile('mixed.npz')) > 0 AS written;
SELECT * FROM one;
DROP TABLE x;
DROP TABLE y;
SELECT count(*) FROM sqlite_master WHERE name GLOB '[xy]*';
