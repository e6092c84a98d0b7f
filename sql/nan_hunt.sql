-- Where NaN and infinities are, in which checkpoint they first appeared, and at which position in the array.
--
--     .parameter init
--     .parameter set :source "'checkpoints/**/*.npz'"
--     .read sql/nan_hunt.sql
--
-- Every array of real or complex numbers is read once. Checkpoints of one series are files whose paths differ only in digits, in
-- the order of their names, shorter names first, so that step_10 comes after step_9: the first of a series that has NaN or
-- infinities in an array says `first` under `turn`. `at` is the flat position of the first NaN, or infinity where there is no NaN.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

-- What was searched: if no rows follow, nothing was found.
SELECT count(DISTINCT path) AS files, count(dtype) AS arrays, count(error) AS errors FROM npy_meta(coalesce(:source, 'checkpoints/**/*.npz'));

WITH arrays AS MATERIALIZED (
         SELECT path, idx, name,
                replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
                    path, '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '') AS family
           FROM npy_meta(coalesce(:source, 'checkpoints/**/*.npz'))
          WHERE error IS NULL AND (kind IN ('f', 'c') OR fields IS NOT NULL OR dtype = 'bfloat16' OR dtype GLOB 'float8*') AND NOT has_objects
     ),
     found AS MATERIALIZED (
         SELECT m.path, m.idx, m.name, s.field_name, s.nulls, s.infs, s.count,
                row_number() OVER (PARTITION BY m.family, m.name, s.field_name ORDER BY length(m.path), m.path) AS turn
           FROM arrays AS m JOIN npy_stats(m.path, m.idx) AS s
          WHERE s.on_error = 'skip' AND s.nulls + s.infs > 0
     )
SELECT path, name, field_name AS field, nulls AS nans, infs, nulls + count AS items,
       CASE
           WHEN nulls = 0
           THEN (SELECT idx FROM npy_elements(f.path, f.idx) WHERE field = coalesce(f.field_name, '') AND (abs(real) = 9e999 OR abs(imag) = 9e999) LIMIT 1)
           ELSE coalesce((SELECT idx FROM npy_elements(f.path, f.idx) WHERE field = coalesce(f.field_name, '') AND value IS NULL LIMIT 1),
                         (SELECT idx FROM npy_elements(f.path, f.idx) WHERE field = coalesce(f.field_name, '') AND (real IS NULL OR imag IS NULL) LIMIT 1))
       END AS at,
       CASE turn WHEN 1 THEN 'first' ELSE '' END AS turn
  FROM found AS f
 ORDER BY length(path), path, name, field;
