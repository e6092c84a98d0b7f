-- What is in a checkpoint, of one file or of many parts: parameters by dtype and by kind of layer, its metadata, what is odd.
--
--     .parameter init
--     .parameter set :source "'models/llama/*.safetensors'"
--     .read sql/checkpoint_survey.sql
--
-- Only headers are read. .npz files work as checkpoints, too. The table temp.checkpoint_arrays stays, for questions of your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

-- `layer` is the name with a star for each number in it, which stands for one of many layers.
DROP TABLE IF EXISTS temp.checkpoint_arrays;
CREATE TEMP TABLE checkpoint_arrays AS
  SELECT path, stem, idx, name,
         (SELECT group_concat(CASE WHEN part.value GLOB '[0-9]*' AND part.value NOT GLOB '*[^0-9]*' THEN '*' ELSE part.value END, '.')
            FROM json_each('[' || replace(json_quote(name), '.', '","') || ']') AS part) AS layer,
         dtype, kind, shape, size, nbytes, metadata, error
    FROM npy_meta(coalesce(:source, 'llm/*.safetensors'), 'row');

-- Totals, and totals by dtype.
SELECT count(DISTINCT path) AS files, count(dtype) AS arrays, printf('%,d', sum(size)) AS parameters, printf('%,d', sum(nbytes)) AS bytes
  FROM temp.checkpoint_arrays;
SELECT dtype, count(*) AS arrays, printf('%,d', sum(size)) AS parameters, printf('%,d', sum(nbytes)) AS bytes,
       round(100.0 * sum(nbytes) / (SELECT sum(nbytes) FROM temp.checkpoint_arrays), 1) AS percent
  FROM temp.checkpoint_arrays
 WHERE dtype IS NOT NULL
 GROUP BY dtype
 ORDER BY sum(nbytes) DESC, dtype;

-- Kinds of layer: how many arrays have this dtype and shape.
SELECT layer, dtype, shape, count(*) AS arrays, printf('%,d', sum(size)) AS parameters, printf('%,d', sum(nbytes)) AS bytes
  FROM temp.checkpoint_arrays
 WHERE dtype IS NOT NULL
 GROUP BY layer, dtype, shape
 ORDER BY sum(nbytes) DESC, layer, dtype, shape
 LIMIT 50;

-- Its metadata.
SELECT m.path, said.key, substr(said.value, 1, 100) AS value
  FROM (SELECT path, min(metadata) AS metadata FROM temp.checkpoint_arrays GROUP BY path) AS m, json_each(m.metadata) AS said
 WHERE said.type <> 'object' OR said.value NOT LIKE '{"__array__":%' -- the metadata of a pickle has a place for each array
 ORDER BY m.path, said.key
 LIMIT 100;

-- What is odd; no rows mean nothing is. A part is called NAME-00001-of-00002.
WITH parts AS MATERIALIZED (
         SELECT DISTINCT substr(stem, 1, length(stem) - 15) AS base, CAST(substr(stem, -14, 5) AS INTEGER) AS part, CAST(substr(stem, -5) AS INTEGER) AS nparts
           FROM temp.checkpoint_arrays
          WHERE stem GLOB '*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]'
     )
SELECT path, name, error AS what FROM temp.checkpoint_arrays WHERE error IS NOT NULL
UNION ALL
SELECT path, name, 'the dtype ' || dtype || ' is not read' FROM temp.checkpoint_arrays WHERE dtype IS NOT NULL AND kind IS NULL
UNION ALL
SELECT min(path), name, 'is in ' || count(*) || ' files' FROM temp.checkpoint_arrays WHERE name IS NOT NULL GROUP BY name HAVING count(*) > 1
UNION ALL
SELECT base, NULL, count(DISTINCT part) || ' of ' || nparts || ' parts are there' FROM parts GROUP BY base, nparts HAVING count(DISTINCT part) < nparts
 ORDER BY 1, 2, 3
 LIMIT 100;
