-- How far the same array has drifted from run to run: whose mean and spread moved most from a baseline.
--
--     .parameter init
--     .parameter set :source "'runs/*/*.{npy,npz,ten}'"
--     .parameter set :baseline "'runs/r1/'"
--     .read sql/drift.sql
--
-- A run is a folder; the same array is one of the same name in a file of the same name. So checkpoints in one folder are one run, with
-- nothing to compare: sql/checkpoint_diff.sql compares two such files. The baseline is the folder whose path begins as `:baseline`
-- does, or that of the first run that has the array. `shift` is how many standard deviations of the baseline the mean has moved,
-- `spread` the standard deviation over that of the baseline: 0 and 1 are no drift. NULL means that it cannot be computed: the baseline
-- is constant, all values are NaN, or some are infinite. Only arrays that differ are shown; every array of numbers is read once.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

-- What was searched: if no rows follow, nothing was found.
SELECT count(DISTINCT path) AS files, count(dtype) AS arrays, count(error) AS errors FROM npy_meta(coalesce(:source, 'runs/*/*.{npy,npz,ten}'));

-- Why no rows can follow.
SELECT 'every file lies in the folder ' || coalesce(nullif(folder, ''), '.') || ': one run alone, and none to compare it with' AS note
  FROM (SELECT count(DISTINCT folder) AS folders, min(folder) AS folder
          FROM (SELECT rtrim(path, replace(path, '/', '')) AS folder FROM npy_meta(coalesce(:source, 'runs/*/*.{npy,npz,ten}')) WHERE dtype IS NOT NULL))
 WHERE folders = 1;

WITH arrays AS MATERIALIZED (
         SELECT rtrim(m.path, replace(m.path, '/', '')) AS run, replace(m.path, rtrim(m.path, replace(m.path, '/', '')), '') AS file,
                m.name, m.shape, s.field_name, s.nulls + s.infs AS unusual, s.mean, s.std
           FROM npy_meta(coalesce(:source, 'runs/*/*.{npy,npz,ten}')) AS m
           JOIN npy_stats(m.path, m.idx) AS s
          WHERE m.error IS NULL AND m.kind IN ('b', 'i', 'u', 'f', 'V') AND NOT m.has_objects AND s.on_error = 'skip'
     ),
     paired AS (
         SELECT *, first_value(run) OVER same AS first_run, first_value(shape) OVER same AS first_shape,
                first_value(mean) OVER same AS first_mean, first_value(std) OVER same AS first_std
           FROM arrays
         WINDOW same AS (PARTITION BY file, name, field_name ORDER BY substr(run, 1, length(:baseline)) <> :baseline, length(run), run)
     ),
     drifts AS (
         SELECT *, (mean - first_mean) / nullif(first_std, 0) AS shift, std / nullif(first_std, 0) AS spread
           FROM paired
          WHERE run <> first_run
     )
SELECT run, file, name, field_name AS field, CASE WHEN shape <> first_shape THEN shape || ', was ' || first_shape ELSE shape END AS shape,
       round(mean, 4) AS mean, round(first_mean, 4) AS was, round(shift, 3) AS shift, round(spread, 3) AS spread, unusual
  FROM drifts
 WHERE mean IS NOT first_mean OR std IS NOT first_std OR unusual > 0
 ORDER BY max(coalesce(abs(shift), 0), coalesce(spread - 1, 0), CASE WHEN spread = 0 THEN 9e999 ELSE coalesce(1 / spread - 1, 0) END) DESC, file, name, run
 LIMIT 50;
