-- Where NaN and infinities are, in which checkpoint they came up first, and at which place of the array.
--
--     .parameter init
--     .parameter set :source "'checkpoints/**/*.npz'"
--     .read sql/nan_hunt.sql
--
-- Every array of real or complex numbers is read once. Files are taken in the order of their names, shorter names first, so
-- that step_10 comes behind step_9. `at` is the flat position of the first NaN, or infinity where there is no NaN.
WITH found AS MATERIALIZED (
         SELECT m.path, m.idx, m.name, s.field_name, s.nulls, s.infs, s.count,
                row_number() OVER (PARTITION BY m.stem, m.name, s.field_name ORDER BY length(m.path), m.path) AS turn
           FROM npy_meta(coalesce(:source, 'checkpoints/**/*.npz')) AS m
           JOIN npy_stats(m.path, m.idx) AS s
          WHERE m.error IS NULL AND (m.kind IN ('f', 'c') OR m.fields IS NOT NULL) AND NOT m.has_objects
            AND s.on_error = 'skip' AND s.nulls + s.infs > 0
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
