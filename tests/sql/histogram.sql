-- npy_histogram; see make_files.py for the files.
.headers on
.nullvalue NULL
SELECT * FROM npy_histogram('X.npy', '', '', 4);
SELECT bin, lo, hi, count, bar FROM npy_histogram('y.npy', '', '', 6, 1, 7);
SELECT bin, lo, hi, count, bar FROM npy_histogram('y.npy', '', '', '[1, 3, 6.5, 7]');
-- Arrays of one value, of none, and 0-d.
SELECT bin, lo, hi, count FROM npy_histogram('shapes/ones.npy', '', '', 2);
SELECT bin, lo, hi, count, bar FROM npy_histogram('shapes/empty.npy', '', '', 2);
SELECT bin, lo, hi, count FROM npy_histogram('shapes/scalar.npy', '', '', 1);
-- NaN is counted nowhere.
SELECT name, bin, lo, hi, count FROM npy_histogram('checkpoints/step_3/model.npz', 'w', '', 2);
SELECT bin, lo, hi, count FROM npy_histogram('types/f2.npy', '', '', 2, 0, 3);
SELECT bin, lo, hi, count FROM npy_histogram('types/f8.npy', '', '', '[-Infinity, 0, Infinity]');
-- Integers to their limits.
SELECT path, bin, lo, hi, count FROM npy_histogram('types/[iu]8.npy', '', '', 2);
-- Every array of a file, one of them, a part of it.
SELECT name, bin, lo, hi, count FROM npy_histogram('w.npz', '', '', 2);
SELECT name, bin, lo, hi, count FROM npy_histogram('w.npz', 'b', '', 2);
SELECT bin, count FROM npy_histogram('deflated.npz', 'w', ':, 0', 2);
SELECT bin, count FROM npy_histogram('structured/nested.npy', '', '', 2) WHERE field = 'pos.x';
SELECT bin, lo, hi, count FROM npy_histogram('types/bfloat16.npy', '', '', 2) WHERE view = 'bfloat16';
SELECT bin, lo, hi, count FROM npy_histogram('types/M8_D.npy', '', '', 2, -100, 30000) WHERE view = '<i8';
-- Arguments are columns.
SELECT bins, range_lo, range_hi, sum(count) FROM npy_histogram WHERE source = 'X.npy' AND bins IN (2, '[0, 1]') GROUP BY bins;
SELECT count(*) FROM npy_histogram('X.npy', '', '', NULL);
SELECT m.path, m.name, sum(h.count) FROM npy_meta('{X.npy,w.npz}') AS m, npy_histogram(m.path, m.idx) AS h GROUP BY 1, 2;
SELECT path, count FROM npy_histogram('shards/*.npy', '', '', 1);
-- The call is at fault.
SELECT * FROM npy_histogram;
SELECT * FROM npy_histogram('X.npy', '', '', 0);
SELECT * FROM npy_histogram('X.npy', '', '', 'auto');
SELECT * FROM npy_histogram('X.npy', '', '', '[3, 2]');
SELECT * FROM npy_histogram('X.npy', '', '', 5, 0);
SELECT * FROM npy_histogram('X.npy', '', '', 5, 1, 0);
SELECT * FROM npy_histogram('X.npy', '', '', 5, 0, 9e999);
-- The array is.
SELECT * FROM npy_histogram('types/f4.npy');
SELECT * FROM npy_histogram('types/c8.npy');
SELECT * FROM npy_histogram('types/M8_D.npy');
SELECT * FROM npy_histogram('structured/plain.npy');
SELECT * FROM npy_histogram('objects/mixed.npy');
SELECT path, sum(count) FROM npy_histogram('types/*.npy', '', '', 3) WHERE on_error = 'skip' AND path GLOB '*[ui][12].npy' GROUP BY path;
EXPLAIN QUERY PLAN SELECT bin FROM npy_histogram('X.npy', '', '', 5, 0, 1) WHERE count > 2;
EXPLAIN QUERY PLAN SELECT bin FROM npy_histogram('X.npy');
