-- Which rows of a matrix lie nearest to one of them: embeddings that look alike.
--
--     .parameter init
--     .parameter set :source "'dataset/features.npy'"
--     .parameter set :query 4
--     .parameter set :k 5
--     .read sql/nearest.sql
--
-- The search is exact, and takes less than 100 ms for a million rows of 128 float32. Rows with a NaN have no distance and are left
-- out. Of shards, `npy_nearest('shards/*.npy', ...)` gives the nearest of all of them, with their paths.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

SELECT n.row, round(n.distance, 6) AS distance, round(1 - npy_distance(r.array, q.array, 'cosine'), 6) AS cosine
  FROM npy_rows(coalesce(:source, 'dataset/features.npy')) AS q
  JOIN npy_nearest(coalesce(:source, 'dataset/features.npy'), '', '', q.array, coalesce(:k, 5) + 1) AS n
  JOIN npy_rows(coalesce(:source, 'dataset/features.npy')) AS r ON r.row = n.row
 WHERE q.row = coalesce(:query, 0) AND n.row <> q.row
 LIMIT coalesce(:k, 5);
