-- The index of a set of shards that Megatron-Energon reads: the tables samples and sample_parts of its index.sqlite.
--
--     mkdir -p data/.nv-meta && sqlite3 data/.nv-meta/index.sqlite
--     .load ./npyext
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .read sql/shards_energon.sql
--
-- The tables are made in the open database, and existing ones are not replaced: to make them anew, remove the file first. Shards
-- are numbered in the order of their paths. A key that stands for two samples is an error, as in Energon, and so is a damaged
-- shard. Only headers are read. Compressed shards have no places to index.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.shard_members;
CREATE TEMP TABLE shard_members AS
  SELECT dense_rank() OVER (ORDER BY path) - 1 AS shard, idx, name, key, sample, header_offset, data_offset, size,
         data_offset + CASE WHEN type IN ('file', 'other') THEN (size + 511) / 512 * 512 ELSE 0 END AS end_offset
    FROM tar_members(coalesce(:source, 'wds/*.tar'), 'raise');

-- A sample goes from the header of its first part to that of the next sample, the last one to the end of the members.
CREATE TABLE samples AS
  SELECT s.shard AS tar_file_id, s.key AS sample_key, s.sample AS sample_index, s.header_offset AS byte_offset,
         coalesce(lead(s.header_offset) OVER (PARTITION BY s.shard ORDER BY s.sample), e.end_offset) - s.header_offset AS byte_size
    FROM (SELECT shard, sample, key, min(header_offset) AS header_offset FROM temp.shard_members
           WHERE sample IS NOT NULL AND header_offset IS NOT NULL
           GROUP BY shard, sample) AS s
    JOIN (SELECT shard, max(end_offset) AS end_offset FROM temp.shard_members GROUP BY shard) AS e ON e.shard = s.shard
   ORDER BY s.shard, s.sample;
CREATE UNIQUE INDEX idx_samples_sample_key ON samples(sample_key);
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);

-- Energon keeps the letters of an extension as they are in the name.
CREATE TABLE sample_parts AS
  SELECT shard AS tar_file_id, sample AS sample_index, substr(name, length(key) + 2) AS part_name,
         data_offset AS content_byte_offset, size AS content_byte_size
    FROM temp.shard_members
   WHERE sample IS NOT NULL AND header_offset IS NOT NULL
   ORDER BY shard, idx;
CREATE INDEX idx_sample_parts_seq ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size);
DROP TABLE temp.shard_members;

-- What they hold.
SELECT (SELECT count(DISTINCT tar_file_id) FROM samples) AS shards, (SELECT count(*) FROM samples) AS samples, (SELECT count(*) FROM sample_parts) AS parts;
