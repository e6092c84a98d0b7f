-- Which settings gave the best loss, and what each run has left on disk: the experiment log joined with its files.
--
--     .read sql/experiments.sql
--
-- Change the `.import` line to your log, or drop it and put your table in place of temp.log. Change the paths, too, on the four
-- lines with 'runs/. The run's name is a part of each path, here the second. A run without files, and files that are not in
-- the log, get lines too.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.log;
.import --csv --schema temp experiments.csv log

-- CAST gives `run` the affinity that it has in the log; without that, or MATERIALIZED, SQLite may join by nested loops.
WITH losses AS MATERIALIZED (
         SELECT CAST(json_extract(m.parts, '$[1]') AS TEXT) AS run, s.count + s.nulls AS epochs, s.min AS best, s.argmin AS best_epoch,
                (SELECT value FROM npy_rows(m.path, '', -1)) AS last, s.nulls
           FROM npy_meta('runs/*/loss.npy') AS m JOIN npy_stats(m.path) AS s
          WHERE m.error IS NULL AND s.on_error = 'skip'
     ),
     weights AS MATERIALIZED (
         SELECT CAST(json_extract(parts, '$[1]') AS TEXT) AS run, sum(size) AS parameters, group_concat(DISTINCT dtype) AS dtype
           FROM npy_meta('runs/*/weights.npz')
          WHERE dtype IS NOT NULL
          GROUP BY run
     ),
     confusion AS MATERIALIZED (
         SELECT CAST(json_extract(parts, '$[1]') AS TEXT) AS run,
                (SELECT 1.0 * sum(value) FILTER (WHERE i0 = i1) / sum(value) FROM npy_elements(m.path)) AS accuracy
           FROM npy_meta('runs/*/confusion.npy') AS m
          WHERE m.error IS NULL AND m.ndim = 2
     ),
     runs AS (
         SELECT run FROM temp.log
         UNION
         SELECT json_extract(parts, '$[1]') FROM npy_meta('runs/*/*.np[yz]')
     )
SELECT run, log.optimizer, log.learning_rate, log.width, round(best, 4) AS best_loss, best_epoch, epochs, round(last, 4) AS last_loss,
       round(accuracy, 3) AS accuracy, parameters, dtype,
       CASE
           WHEN log.run IS NULL THEN 'not in the log'
           WHEN losses.run IS NULL THEN 'no losses'
           WHEN nulls > 0 THEN nulls || ' losses are NaN'
           WHEN weights.run IS NULL THEN 'no weights'
           WHEN epochs < max(epochs) OVER () THEN 'stopped early'
       END AS note
  FROM runs
  LEFT JOIN temp.log AS log USING (run)
  LEFT JOIN losses USING (run)
  LEFT JOIN weights USING (run)
  LEFT JOIN confusion USING (run)
 ORDER BY best_loss IS NULL, best_loss, run;
