-- npy_compare: two files or arrays, array by array.
.headers on
.nullvalue NULL

.print ---- checkpoints
SELECT * FROM npy_compare('checkpoints/step_1/model.npz', 'checkpoints/step_2/model.npz');
SELECT * FROM npy_compare('checkpoints/step_2/model.npz', 'checkpoints/step_3/model.npz');
SELECT name, status FROM npy_compare('w.npz', 'deflated.npz');
SELECT name, status FROM npy_compare('w.npz', 'mixed.npz');
SELECT name, status FROM npy_compare('mixed.npz', 'w.npz');
SELECT name, status FROM npy_compare('multi.ten', 'big_endian.ten');

.print ---- names, and one array on each side
SELECT name, status FROM npy_compare('orders/c.npy', 'orders/f.npy');
SELECT name, status FROM npy_compare('types/f4.npy', readfile('types/f4_be.npy'));
SELECT c.name, c.status FROM npy_file('w.npz', 'b') f, npy_compare(f.array, 'w.npz') c;
SELECT c.name, c.status, differing FROM npy_file('w.npz', 'b') f, npy_file('y.npy') g, npy_compare(f.array, g.array) c;
SELECT name, status FROM npy_compare('empty.npz', 'empty.ten');
SELECT name, status FROM npy_compare('w.npz', 'empty.ten');

.print ---- dtypes and shapes
SELECT m.stem, c.status, max_abs, max_rel, rms, differing, first_at
  FROM npy_meta('types/{f2,f4,f8_be,f16}.npy') AS m, npy_compare(m.path, 'types/f8.npy') AS c;
SELECT status, max_abs, differing FROM npy_compare('types/i4.npy', 'types/u4.npy');
SELECT status, max_abs, differing FROM npy_compare('types/i8.npy', 'types/u8.npy');
SELECT status, differing FROM npy_compare('types/U4.npy', 'types/U4_be.npy');
SELECT status, differing FROM npy_compare('types/M8_D.npy', 'types/M8_ns.npy');
SELECT status, max_abs, differing FROM npy_compare('types/M8_D.npy', 'types/M8_D.npy');
SELECT status, max_abs, differing FROM npy_compare('structured/plain.npy', 'structured/plain.npy');
SELECT status, differing FROM npy_compare('structured/plain.npy', 'structured/nested.npy');
SELECT status, max_abs, differing FROM npy_compare('shapes/empty.npy', 'shapes/empty.npy');

.print ---- arguments
SELECT count(*) FROM npy_compare('w.npz', NULL);
SELECT count(*) FROM npy_compare(NULL, 'w.npz');
SELECT * FROM npy_compare('w.npz');
SELECT * FROM npy_compare('w.npz', '');
SELECT * FROM npy_compare('w.npz', 7);
SELECT * FROM npy_compare('checkpoints/*/model.npz', 'w.npz');
SELECT * FROM npy_compare('w.npz', '["gone*.npz"]');
SELECT name, status FROM npy_compare('w.n[p]z', '["deflated.npz"]') WHERE name = 'b';
SELECT a, b, name FROM npy_compare WHERE a = 'y.npy' AND b = 'y.npy' AND on_error = '';

.print ---- faults
SELECT name, status FROM npy_compare('survey/z.npz', 'survey/z.npz');
SELECT name, status, differing, error FROM npy_compare('survey/z.npz', 'survey/a.npy', 'row');
SELECT name, status, error FROM npy_compare('survey/z.npz', 'survey/z.npz', 'skip');
SELECT name, status, error FROM npy_compare('survey/[z].npz', 'survey/z.npz');
SELECT * FROM npy_compare('survey/a.npy', 'gone.npy');
SELECT name, status, error FROM npy_compare('survey/a.npy', 'gone.npy', 'row');
SELECT name, status, error FROM npy_compare('survey/a.npy', 'survey/truncated.npy', 'row');
SELECT name, status, error FROM npy_compare('survey/objects.npy', 'survey/objects.npy', 'row');
SELECT name, status, error FROM npy_compare('survey/objects.npy', 'shapes/scalar.npy', 'row');

.print ---- plans
EXPLAIN QUERY PLAN SELECT name FROM npy_compare('w.npz', 'deflated.npz');
EXPLAIN QUERY PLAN SELECT status FROM npy_compare('w.npz', 'deflated.npz') WHERE name = 'b';
EXPLAIN QUERY PLAN SELECT status FROM npy_compare('w.npz');

-- The files of two patterns.
SELECT path, name, status, max_abs FROM npy_compare('checkpoints/step_1/**', 'checkpoints/step_2/*');
SELECT path, name, status, error_kind FROM npy_compare('dataset/images/*.npy', 'dataset/backup/*');
SELECT path, name, status FROM npy_compare('gone/*.npy', 'orders/*.npy');
SELECT path, name, status FROM npy_compare('gone/*.npy', 'gone/*');
SELECT path, name, status FROM npy_compare('orders/{**,}/c.npy', 'orders/*.npy', 'skip');
EXPLAIN QUERY PLAN SELECT status FROM npy_compare('orders/*', 'shapes/*') WHERE path = 'orders/c.npy';
