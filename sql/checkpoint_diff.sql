-- What changed between two checkpoints, the array that moved most first.
--
--     .parameter init
--     .parameter set :a "'checkpoints/step_1/model.npz'"
--     .parameter set :b "'checkpoints/step_3/model.npz'"
--     .read sql/checkpoint_diff.sql
--
-- `rms` is the root mean square of b - a, and `relative` is that divided by a's: 0.01 is a step of 1 %. Items that are
-- NaN or infinite are counted in `differing` but in no mean; `new_nan` says how many more NaN there are in b. `relative` is NULL
-- if a holds infinities or nothing but zeros.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH sides AS (
         SELECT coalesce(:a, 'checkpoints/step_1/model.npz') AS a, coalesce(:b, 'checkpoints/step_3/model.npz') AS b
     ),
     changes AS MATERIALIZED (
         SELECT s.a, c.name, c.status, c.differing, c.max_abs, c.rms, c.first_at, nullif(c.nan_b - c.nan_a, 0) AS new_nan, c.error FROM sides AS s JOIN npy_compare(s.a, s.b, 'row') AS c
     ),
     before AS MATERIALIZED (
         SELECT m.name, max(m.idx) AS idx, m.shape, m.size, t.var + t.mean * t.mean AS mean_square
           FROM sides AS s JOIN npy_meta(s.a) AS m LEFT JOIN npy_stats(m.path, m.idx) AS t ON t.on_error = 'skip'
          WHERE m.kind IN ('b', 'i', 'u', 'f') OR m.dtype = 'bfloat16' OR m.dtype GLOB 'float8*'
          GROUP BY m.name
     ),
     -- A .npy, whose array has no name, is compared with the one array of the other side, under the name that it has there.
     alone AS MATERIALIZED (
         SELECT name FROM before WHERE name = '' AND (SELECT count(*) FROM before) = 1
     )
SELECT c.name, coalesce(c.error, c.status) AS status, b.shape, c.differing, round(100.0 * c.differing / b.size, 1) AS percent,
       c.max_abs, round(c.rms, 6) AS rms, round(sqrt(c.rms * c.rms / nullif(b.mean_square, 0)), 6) AS relative, c.first_at, c.new_nan
  FROM changes AS c
  LEFT JOIN before AS b ON b.name = coalesce((SELECT name FROM alone), c.name)
 ORDER BY c.status = 'equal', relative IS NOT NULL, relative DESC, c.name;
