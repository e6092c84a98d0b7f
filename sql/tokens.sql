-- What is in a file of token ids, as nanoGPT's prepare.py writes it: how many tokens and documents, how long they are, what is odd.
--
--     .parameter init
--     .parameter set :source "'data/openwebtext/train.bin'"
--     .read sql/tokens.sql
--
-- :dtype is that of an id, :eot the id that ends a document (the default is GPT-2's), :vocab_size how many ids there are. The file has
-- no header, so a wrong dtype shows only in the numbers. It is read twice; temp.token_counts and temp.token_documents stay.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.token_counts;
CREATE TEMP TABLE token_counts AS
  SELECT value AS token, count FROM npy_unique(json_object('path', coalesce(:source, 'tokens/train.bin'), 'dtype', coalesce(:dtype, '<u2')));

-- A document is what lies before an :eot; `first` is the row of its first token. Tokens after the last :eot are one, too, without an end.
DROP TABLE IF EXISTS temp.token_documents;
CREATE TEMP TABLE token_documents AS
  WITH ends AS (
         SELECT row, 1 AS is_eot
           FROM npy_rows(json_object('path', coalesce(:source, 'tokens/train.bin'), 'dtype', coalesce(:dtype, '<u2')))
          WHERE value = coalesce(:eot, 50256)
          UNION ALL
         SELECT coalesce(sum(count), 0), 0 FROM temp.token_counts
       )
  SELECT first, row - first AS length, is_eot AS has_end
    FROM (SELECT lag(row, 1, -1) OVER (ORDER BY row) + 1 AS first, row, is_eot FROM ends);
DELETE FROM temp.token_documents WHERE length = 0 AND NOT has_end;

-- Totals.
SELECT printf('%,d', sum(count)) AS tokens, count(*) AS distinct_tokens, min(token) AS least, max(token) AS greatest,
       (SELECT printf('%,d', count(*)) FROM temp.token_documents) AS documents
  FROM temp.token_counts;

-- How long documents are, without the :eot.
SELECT CAST(max(CASE q WHEN 0 THEN value END) AS INTEGER) AS shortest, CAST(max(CASE q WHEN 0.5 THEN value END) AS INTEGER) AS median,
       CAST(max(CASE q WHEN 0.95 THEN value END) AS INTEGER) AS percentile_95, CAST(max(CASE q WHEN 1 THEN value END) AS INTEGER) AS longest
  FROM npy_quantile((SELECT npy_array(length, 'i8') FROM temp.token_documents), '', '', '[0, 0.5, 0.95, 1]');

-- The most frequent ids.
SELECT token, printf('%,d', count) AS count, round(100.0 * count / (SELECT sum(count) FROM temp.token_counts), 2) AS percent
  FROM temp.token_counts
 ORDER BY temp.token_counts.count DESC, token
 LIMIT 10;

-- What is odd; no rows mean nothing is.
SELECT *
  FROM (SELECT 'ids that are not in the vocabulary' AS what, count(*) AS count, sum(count) AS tokens, min(token) AS example
          FROM temp.token_counts
         WHERE token < 0 OR token >= coalesce(:vocab_size, 50257)
         UNION ALL
        SELECT 'ids that never occur', coalesce(:vocab_size, 50257) - count(*), NULL, NULL
          FROM temp.token_counts
         WHERE token BETWEEN 0 AND coalesce(:vocab_size, 50257) - 1) AS odd
 WHERE odd.count > 0
 UNION ALL
SELECT 'documents without a token; the first in row', count(*), 0, min(first) FROM temp.token_documents WHERE length = 0 GROUP BY length
 UNION ALL
SELECT 'no end after the last document; it begins in row', 1, length, first FROM temp.token_documents WHERE NOT has_end;
