-- The index of a shard that NVIDIA DALI's webdataset reader takes (version v1.2): a line for the shard, and one for each sample.
--
--     .parameter init
--     .parameter set :source "'data/train-000000.tar'"
--     .mode list
--     .headers off
--     .output data/train-000000.idx
--     .read sql/shards_dali.sql
--     .output
--
-- Each sample's line has extension, place, size and name of its parts. Samples are WebDataset's, so members whose name or first
-- folder is `__...__` are in none. Only headers are read. A compressed shard has no places, and no lines of samples.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH parts AS MATERIALIZED (
         SELECT path, sample, idx, substr(name, length(key) + 2) || ' ' || data_offset || ' ' || size || ' ' || name AS part
           FROM tar_members(coalesce(:source, 'wds/train-000000.tar'), 'raise')
          WHERE sample IS NOT NULL AND data_offset IS NOT NULL
          ORDER BY path, idx
     ),
     lines AS (
         SELECT path, -1 AS sample, 'v1.2 ' || count(DISTINCT sample) AS line FROM parts GROUP BY path
         UNION ALL
         SELECT path, sample, group_concat(part, ' ') FROM parts GROUP BY path, sample
     )
SELECT line FROM lines ORDER BY path, sample;
