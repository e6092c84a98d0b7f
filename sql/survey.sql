-- What is in a folder of arrays: how much, of which dtypes and shapes, and what is odd about it.
--
--     .parameter init
--     .parameter set :source "'data/**/*.{npy,npz,ten}'"
--     .read sql/survey.sql
--
-- Only headers are read, once. The table temp.survey stays, for questions of your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.survey;
CREATE TEMP TABLE survey AS
  SELECT path, name, format, dtype, descr, kind, byteorder, ndim, shape, size, nbytes, fortran_order, has_objects, compression, file_size, error,
         rtrim(path, replace(path, '/', '')) AS folder,
         CASE WHEN ndim = 0 THEN '[]' WHEN ndim = 1 THEN '[*]' ELSE '[*' || substr(shape, instr(shape, ',')) END AS row_shape
    FROM npy_meta(coalesce(:source, 'dataset/**/*.{npy,npz,ten}'));

-- Totals. `disk` counts each file once; `bytes` are those of the arrays, as they are in memory. Arrays with an
-- error, such as one that is cut short, are counted as errors alone.
SELECT count(DISTINCT path) AS files, count(dtype) FILTER (WHERE error IS NULL) AS arrays,
       printf('%,d', sum(nbytes) FILTER (WHERE error IS NULL)) AS bytes,
       (SELECT printf('%,d', sum(bytes)) FROM (SELECT max(file_size) AS bytes FROM temp.survey GROUP BY path)) AS disk,
       count(error) AS errors
  FROM temp.survey;

-- What kinds of array there are, the largest first; arrays that differ only in their number of rows are one kind.
SELECT format, dtype, row_shape AS shape, count(*) AS arrays, count(DISTINCT path) AS files,
       CASE WHEN ndim > 0 THEN sum(json_extract(shape, '$[0]')) END AS rows, printf('%,d', sum(nbytes)) AS bytes, min(path) AS example
  FROM temp.survey
 WHERE dtype IS NOT NULL AND error IS NULL
 GROUP BY format, dtype, row_shape
 ORDER BY sum(nbytes) DESC, format, dtype, row_shape
 LIMIT 30;

-- What is odd: at most one line for each array and oddity, what cannot be used first.
WITH oddities(path, name, severity, oddity) AS (
         SELECT path, name, 1, error FROM temp.survey WHERE error IS NOT NULL
         UNION ALL
         SELECT path, name, 2, 'Python objects, in a pickle: values only' FROM temp.survey WHERE has_objects
         UNION ALL
         SELECT path, name, 3, 'no items: shape ' || shape FROM temp.survey WHERE size = 0
         UNION ALL
         SELECT path, NULL, 3, 'an archive without arrays' FROM temp.survey WHERE name IS NULL AND error IS NULL
         UNION ALL
         SELECT path, name, 4, 'big-endian (' || descr || '): slow on most machines' FROM temp.survey WHERE byteorder = '>'
         UNION ALL
         SELECT path, name, 4, 'Fortran order: rows are scattered in the file' FROM temp.survey WHERE fortran_order AND ndim > 1
         UNION ALL
         SELECT path, name, 4, 'float128: what it holds depends on the machine that wrote it' FROM temp.survey WHERE dtype IN ('float128', 'complex256')
         UNION ALL
         SELECT path, name, 4, 'the name stands ' || count(*) || ' times: NumPy loads the last' FROM temp.survey
          WHERE format = 'npz' GROUP BY path, name HAVING count(*) > 1
     )
SELECT path, name, oddity FROM oddities ORDER BY severity, path, name, oddity;
