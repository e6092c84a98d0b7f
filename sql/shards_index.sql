-- A table of where each member of a set of shards begins, and the array of one sample through it, without reading its shard.
--
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .parameter set :key "'000009'"
--     .parameter set :ext "'emb.npy'"
--     .read sql/shards_index.sql
--
-- The table shard_index is made anew, in the open database. If that is a file (sqlite3 index.db), later sessions need only look
-- samples up. It describes the shards as they were then; make it again when they change. Members of a compressed shard have no
-- place of their own: unpack such shards (gunzip) to find theirs, too.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS shard_index;
CREATE TABLE shard_index AS
  SELECT path, key, ext, data_offset, size FROM tar_members(coalesce(:source, 'wds/*.tar*'), 'row') WHERE sample IS NOT NULL AND error IS NULL;
CREATE INDEX shard_index_by_key ON shard_index(key, ext);

-- What it holds. `places` counts the members that can be looked up.
SELECT ext, count(*) AS members, count(data_offset) AS places, printf('%,d', sum(size)) AS bytes FROM shard_index GROUP BY ext ORDER BY ext LIMIT 100;

-- A sample: its parts.
SELECT path, key, ext, data_offset, size FROM shard_index WHERE key = coalesce(:key, '000009') ORDER BY path, data_offset;

-- And one of its arrays, or those of an .npz: a range of the shard is a source, like a file.
SELECT i.path, i.key, i.ext, r.name, r.row, r.value
  FROM shard_index AS i
  JOIN npy_rows(json_object('path', i.path, 'offset', i.data_offset, 'nbytes', i.size)) AS r
 WHERE i.key = coalesce(:key, '000009') AND i.ext = coalesce(:ext, 'emb.npy') AND i.data_offset IS NOT NULL;
