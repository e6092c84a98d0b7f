-- Makes one .npz for training from the arrays of a folder, if they fit together: the same number of rows, no NaN, no pickles.
--
--     .parameter init
--     .parameter set :source "'[\"data/features.npy\", \"data/labels.npy\"]'"
--     .parameter set :target "'train.npz'"
--     .read sql/pack.sql
--
-- It shows what does not fit. If everything does, the file is written in one step, each array under its file's name, deflated.
-- Then each is read back and compared. For archives up to SQLite's limit for a value (1 GB); docs/cookbook.md has the table
-- for longer ones.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.parts;
CREATE TEMP TABLE parts AS
  SELECT m.path, m.idx, CASE WHEN m.format = 'npy' THEN m.stem ELSE m.name END AS name, m.dtype, m.shape, m.nbytes,
         CASE WHEN m.ndim > 0 THEN json_extract(m.shape, '$[0]') END AS rows, m.has_objects,
         coalesce(m.error, (SELECT max(s.error) FROM npy_stats(m.path, m.idx) AS s WHERE s.on_error = 'row' AND NOT m.has_objects)) AS error,
         (SELECT sum(s.nulls + s.infs) FROM npy_stats(m.path, m.idx) AS s WHERE s.on_error = 'skip' AND m.error IS NULL AND NOT m.has_objects) AS unusual
    FROM npy_meta(coalesce(:source, '["dataset/features.npy", "dataset/labels.npy"]')) AS m;

DROP TABLE IF EXISTS temp.problems;
CREATE TEMP TABLE problems AS
  SELECT path, name, error AS problem FROM temp.parts WHERE error IS NOT NULL
  UNION ALL
  SELECT path, name, 'holds Python objects' FROM temp.parts WHERE has_objects
  UNION ALL
  SELECT path, name, unusual || ' values are NaN or infinite' FROM temp.parts WHERE unusual > 0
  UNION ALL
  SELECT path, name, 'has no rows: shape ' || shape FROM temp.parts WHERE dtype IS NOT NULL AND coalesce(rows, 0) = 0
  UNION ALL
  SELECT path, name, 'has ' || rows || ' rows, the first array ' || (SELECT rows FROM temp.parts ORDER BY rowid LIMIT 1) FROM temp.parts
   WHERE rows <> (SELECT rows FROM temp.parts ORDER BY rowid LIMIT 1)
  UNION ALL
  SELECT min(path), name, count(*) || ' arrays would have this name' FROM temp.parts GROUP BY name HAVING count(*) > 1;
SELECT path, name, problem FROM temp.problems ORDER BY path, name;

-- NULL writes nothing.
SELECT path, bytes
  FROM npy_write(coalesce(:target, 'packed.npz'),
         CASE
             WHEN EXISTS (SELECT 1 FROM temp.parts) AND NOT EXISTS (SELECT 1 FROM temp.problems)
             THEN (SELECT npz_archive(p.name, f.array, 'deflate') FROM temp.parts AS p JOIN npy_file(p.path, p.idx) AS f)
         END);

SELECT p.name, p.dtype, p.shape, c.status
  FROM temp.parts AS p
  JOIN npy_file(p.path, p.idx) AS f
  JOIN npy_file(coalesce(:target, 'packed.npz'), p.name) AS g
  JOIN npy_compare(f.array, g.array) AS c
 WHERE NOT EXISTS (SELECT 1 FROM temp.problems)
 ORDER BY p.rowid;
