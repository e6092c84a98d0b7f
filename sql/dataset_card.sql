-- A dataset card: what is in a folder of arrays, as a document in Markdown.
--
--     .parameter init
--     .parameter set :source "'data/**/*.{npy,npz,ten}'"
--     .parameter set :title "'Digits, second release'"
--     .mode list
--     .headers off
--     .output card.md
--     .read sql/dataset_card.sql
--     .output
--
-- One value comes back: the document. Every array of numbers is read, for its statistics. Arrays with the same name, dtype and
-- row shape in files whose paths differ only in digits share one line, with the statistics of all of them. Whole numbers along
-- one axis with few distinct values are taken as labels and counted.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

WITH arrays AS MATERIALIZED (
         SELECT path, idx, name, dtype, kind, ndim, size, nbytes, has_objects, file_size, error,
                CASE WHEN ndim > 0 THEN json_extract(shape, '$[0]') END AS rows,
                CASE WHEN ndim = 0 THEN '[]' WHEN ndim = 1 THEN '[*]' ELSE '[*' || substr(shape, instr(shape, ',')) END AS shape,
                replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
                    path, '0', '#'), '1', '#'), '2', '#'), '3', '#'), '4', '#'), '5', '#'), '6', '#'), '7', '#'), '8', '#'), '9', '#') AS family,
                path || CASE WHEN name <> '' THEN ':' || name ELSE '' END AS title
           FROM npy_meta(coalesce(:source, 'dataset/**/*.{npy,npz,ten}'))
     ),
     kinds AS MATERIALIZED (
         SELECT *, dense_rank() OVER (ORDER BY family, name, dtype, shape) AS number FROM arrays WHERE dtype IS NOT NULL AND error IS NULL
     ),
     named AS MATERIALIZED (
         SELECT number, CASE WHEN count(*) = 1 THEN title ELSE family || CASE WHEN name <> '' THEN ':' || name ELSE '' END END AS title,
                count(*) AS arrays, dtype, shape, sum(rows) AS rows, sum(nbytes) AS nbytes
           FROM kinds
          GROUP BY number
     ),
     items AS MATERIALIZED (
         SELECT k.number, k.path, k.idx, k.title, s.count, s.nulls, s.infs, s.zeros, s.min, s.max, s.mean, s.m2, s.error
           FROM kinds AS k JOIN npy_stats(k.path, k.idx) AS s
          WHERE k.kind IN ('b', 'i', 'u', 'f') AND s.on_error = 'row'
     ),
     means AS (
         SELECT number, sum(count * mean) / sum(count) AS mean FROM items GROUP BY number
     ),
     statistics AS MATERIALIZED (
         -- Merged by the rule of Chan, Golub and LeVeque: see merged_statistics.sql.
         SELECT i.number, sum(i.count) AS count, sum(i.nulls) AS nulls, sum(i.infs) AS infs, min(i.min) AS min, max(i.max) AS max, m.mean,
                CASE WHEN sum(i.infs) = 0 THEN sqrt((sum(i.m2) + sum(i.count * (i.mean - m.mean) * (i.mean - m.mean))) / sum(i.count)) END AS std,
                100.0 * sum(i.zeros) / (sum(i.count) + sum(i.nulls)) AS zeros
           FROM items AS i JOIN means AS m USING (number)
          GROUP BY i.number
         HAVING sum(i.count) > 0
     ),
     labels AS MATERIALIZED (
         SELECT number, r.value AS label, count(*) AS n
           FROM kinds AS k JOIN items AS i USING (number, path, idx) JOIN statistics AS s USING (number) JOIN npy_rows(k.path, k.idx) AS r
          WHERE k.ndim = 1 AND k.kind IN ('b', 'i', 'u') AND i.error IS NULL AND s.max - s.min < 20 AND s.count > 2 * (s.max - s.min + 1)
          GROUP BY number, r.value
     ),
     problems(title, problem) AS (
         SELECT title, replace(error, 'npyext: ' || title, '') FROM arrays WHERE error IS NOT NULL
         UNION
         SELECT i.title, replace(i.error, 'npyext: ' || i.title, '') FROM items AS i WHERE i.error IS NOT NULL
         UNION ALL
         SELECT title, ': Python objects, a pickle' FROM arrays WHERE has_objects
         UNION ALL
         SELECT title, printf(': %d NaN and %d infinite values', nulls, infs) FROM items WHERE nulls + infs > 0
         UNION ALL
         SELECT title, ': no items' FROM arrays WHERE size = 0
     ),
     lines(part, number, line) AS (
         SELECT 1, 0, '# ' || coalesce(:title, 'Dataset card') || char(10)
         UNION ALL
         SELECT 1, 1, printf('%,d files, %,d arrays, %,d items; %,d bytes on disk, %,d in memory.', count(DISTINCT path), count(dtype) FILTER (WHERE error IS NULL), total(size) FILTER (WHERE error IS NULL),
                             (SELECT total(bytes) FROM (SELECT max(file_size) AS bytes FROM arrays GROUP BY path)), total(nbytes) FILTER (WHERE error IS NULL)) || char(10)
           FROM arrays
         UNION ALL
         SELECT 2, 0, '## Arrays' || char(10) || char(10) || '| | array | count | dtype | shape | rows | bytes |' || char(10) || '|---|---|---:|---|---|---:|---:|'
         UNION ALL
         SELECT 2, number, printf('| %d | `%s` | %,d | %s | `%s` | %s | %,d |', number,
                                  replace(title, '|', '\|'), arrays, dtype, shape, CASE WHEN rows IS NULL THEN '' ELSE printf('%,d', rows) END, nbytes)
           FROM named
         UNION ALL
         SELECT 3, 0, char(10) || '## Values' || char(10) || char(10) || '| | least | greatest | mean | deviation | NaN | infinite | zeros |' ||
                      char(10) || '|---|---:|---:|---:|---:|---:|---:|---:|'
         UNION ALL
         SELECT 3, number, printf('| %d | %.6g | %.6g | %s | %s | %,d | %,d | %.1f %% |', number, min, max,
                                  CASE WHEN mean IS NULL THEN '' ELSE printf('%.6g', mean) END, CASE WHEN std IS NULL THEN '' ELSE printf('%.6g', std) END,
                                  nulls, infs, zeros)
           FROM statistics
         UNION ALL
         SELECT 4, 0, char(10) || '## Labels' || char(10) WHERE EXISTS (SELECT 1 FROM labels)
         UNION ALL
         SELECT 4, number, '- `' || title || '`: ' || group_concat(label || ' × ' || n, ', ')
           FROM (SELECT * FROM labels JOIN named USING (number) ORDER BY number, n DESC, label) GROUP BY number
         UNION ALL
         SELECT 5, 0, char(10) || '## Problems' || char(10) WHERE EXISTS (SELECT 1 FROM problems)
         UNION ALL
         SELECT 5, row_number() OVER (ORDER BY title, problem), '- `' || title || '`' || problem FROM problems
     )
SELECT group_concat(line, char(10)) AS card FROM (SELECT line FROM lines ORDER BY part, number);
