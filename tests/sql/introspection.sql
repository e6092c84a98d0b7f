-- npyext_version, npyext_debug and npyext_counters.
.headers on
SELECT npyext_version() GLOB '[0-9]*.[0-9]*.[0-9]*' AS version, typeof(npyext_version()) AS type;
SELECT json_valid(npyext_debug()) AS valid, group_concat(key) AS keys FROM json_each(npyext_debug());
SELECT json_extract(npyext_debug(), '$.version') = npyext_version() AS version,
       json_extract(npyext_debug(), '$.sqlite') = sqlite_version() AS sqlite,
       json_extract(npyext_debug(), '$.entry_point') AS entry_point,
       json_type(npyext_debug(), '$.views_allowed') AS views_allowed;
SELECT group_concat(key) AS keys FROM json_each(npyext_counters());
SELECT json_object('counters', npyext_counters()) = '{"counters":' || npyext_counters() || '}' AS is_json;

-- What each query cost: the counters of the connection before and after it.
CREATE TEMP TABLE costs(step INTEGER PRIMARY KEY, what, files, bytes, inflated, skipped);
CREATE TEMP VIEW counted AS
SELECT json_extract(c, '$.files_opened') AS files, json_extract(c, '$.bytes_read') AS bytes,
       json_extract(c, '$.bytes_inflated') AS inflated, json_extract(c, '$.files_skipped') AS skipped
  FROM (SELECT npyext_counters() AS c);
INSERT INTO costs SELECT NULL, 'start', * FROM counted;
.headers off
SELECT count(*) FROM npy_meta('shards/*.npy');
INSERT INTO costs SELECT NULL, 'npy_meta of 4 files', * FROM counted;
SELECT sum(value) FROM npy_rows('y.npy');
INSERT INTO costs SELECT NULL, 'npy_rows of 1 file', * FROM counted;
SELECT count(*) FROM npz_members('deflated.npz');
INSERT INTO costs SELECT NULL, 'names of a deflated .npz', * FROM counted;
SELECT group_concat(shape, ' ') FROM npz_members('deflated.npz');
INSERT INTO costs SELECT NULL, 'shapes of a deflated .npz', * FROM counted;
SELECT count(*) FROM npy_meta('survey/*', 'skip');
INSERT INTO costs SELECT NULL, 'a survey that skips', * FROM counted;
SELECT count(*) FROM npy_rows(readfile('y.npy'));
INSERT INTO costs SELECT NULL, 'a BLOB', * FROM counted;
SELECT count(*) FROM npy_meta(NULL);
INSERT INTO costs SELECT NULL, 'NULL', * FROM counted;
.headers on
SELECT b.what, b.files - a.files AS files, b.bytes > a.bytes AS reads, b.inflated > a.inflated AS inflates,
       b.skipped - a.skipped AS skipped
  FROM costs AS a JOIN costs AS b ON b.step = a.step + 1 ORDER BY b.step;
