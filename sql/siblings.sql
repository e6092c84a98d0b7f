-- Which arrays have another dtype or shape than their siblings: the batch that was saved as float32, the run of another width.
--
--     .parameter init
--     .parameter set :source "'data/**/*.{npy,npz,ten}'"
--     .read sql/siblings.sql
--
-- Siblings are arrays of one name in files whose paths differ only in digits (batch-000, batch-001; run1/x.npy, run2/x.npy).
-- The most frequent dtype, and the most frequent shape of a row, are taken to be right. The number of rows is compared only
-- where more than half of the siblings agree on it, as batches often do and logs do not.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

-- What was searched: if no rows follow, nothing was found.
SELECT count(DISTINCT path) AS files, count(dtype) AS arrays, count(error) AS errors FROM npy_meta(coalesce(:source, '{runs,dataset}/**/*.{npy,npz,ten}'));

WITH arrays AS MATERIALIZED (
         SELECT path, name, dtype, shape,
                CASE WHEN ndim < 2 THEN ndim ELSE substr(shape, instr(shape, ',')) END AS row_shape,
                replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
                    path, '0', ''), '1', ''), '2', ''), '3', ''), '4', ''), '5', ''), '6', ''), '7', ''), '8', ''), '9', '') AS family
           FROM npy_meta(coalesce(:source, '{runs,dataset}/**/*.{npy,npz,ten}'))
          WHERE dtype IS NOT NULL
     ),
     counted AS (
         SELECT *, count(*) OVER (PARTITION BY family, name) AS siblings,
                count(*) OVER (PARTITION BY family, name, dtype) AS of_dtype,
                count(*) OVER (PARTITION BY family, name, row_shape) AS of_row_shape,
                count(*) OVER (PARTITION BY family, name, shape) AS of_shape
           FROM arrays
     ),
     usual AS MATERIALIZED (
         SELECT *, first_value(dtype) OVER (PARTITION BY family, name ORDER BY of_dtype DESC, path) AS usual_dtype,
                first_value(row_shape) OVER (PARTITION BY family, name ORDER BY of_row_shape DESC, path) AS usual_row_shape,
                first_value(shape) OVER (PARTITION BY family, name ORDER BY of_row_shape DESC, of_shape DESC, path) AS usual_shape,
                max(of_shape) OVER (PARTITION BY family, name) AS of_usual_shape
           FROM counted
          WHERE siblings > 1
     )
SELECT path, name,
       CASE WHEN dtype <> usual_dtype THEN 'dtype' WHEN row_shape <> usual_row_shape THEN 'shape' ELSE 'rows' END AS differs_in,
       dtype, shape, usual_dtype, usual_shape, siblings
  FROM usual
 WHERE dtype <> usual_dtype OR row_shape <> usual_row_shape OR (shape <> usual_shape AND of_usual_shape > siblings / 2)
 ORDER BY family, path, name;
