-- The JSON index of a set of shards for wids, WebDataset's library for random access.
--
--     .parameter init
--     .parameter set :source "'data/train-{000000..000127}.tar'"
--     .parameter set :set "'train'"
--     .mode list
--     .headers off
--     .output data/train.json
--     .read sql/shards_wids.sql
--     .output
--
-- Each shard has its path as the url, its number of samples and its size. An md5sum, which wids writes and does not need, is left
-- out: nothing but headers is read.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH counted AS MATERIALIZED (
         SELECT path, count(DISTINCT sample) AS nsamples FROM tar_members(coalesce(:source, 'wds/*.tar'), 'raise') GROUP BY path
     ),
     sized AS MATERIALIZED (
         SELECT path, max(file_size) AS filesize FROM npy_meta(coalesce(:source, 'wds/*.tar'), 'raise') GROUP BY path
     )
SELECT json_object('__kind__', 'wids-shard-index-v1', 'wids_version', 1, 'name', coalesce(:set, 'shards'),
                   'shardlist', json_group_array(json_object('url', path, 'nsamples', nsamples, 'filesize', filesize))) AS shardindex
  FROM (SELECT path, coalesce(nsamples, 0) AS nsamples, filesize FROM sized LEFT JOIN counted USING (path) ORDER BY path);
