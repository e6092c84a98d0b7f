-- Whether archives are sound, what compression saved, and what in them is not what it seems.
--
--     .parameter init
--     .parameter set :source "'models/**/*.npz'"
--     .read sql/npz_audit.sql
--
-- Every entry is read to its end once, for its CRC-32. The table temp.entries stays, for questions of your own.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

DROP TABLE IF EXISTS temp.entries;
CREATE TEMP TABLE entries AS
  SELECT path, idx, name, filename, is_array, dtype, descr, shape, method, compressed_size, uncompressed_size, ratio, encrypted, crc_ok, error,
         count(*) OVER (PARTITION BY path, filename) AS of_this_name
    FROM npz_members(coalesce(:source, 'dataset/**/*.npz'));

-- Archives: `percent` is what is left of the bytes; what compressing a stored entry would save is not known.
SELECT path, count(idx) AS entries, coalesce(sum(is_array), 0) AS arrays, group_concat(DISTINCT method) AS methods,
       printf('%,d', sum(uncompressed_size)) AS bytes, printf('%,d', sum(compressed_size)) AS packed,
       round(100.0 * sum(compressed_size) / nullif(sum(uncompressed_size), 0), 1) AS percent,
       count(nullif(crc_ok, 1)) AS damaged, count(idx) - count(crc_ok) AS unread, count(error) AS errors
  FROM temp.entries
 GROUP BY path
 ORDER BY path;

-- What is wrong or odd, the worst first; no rows mean nothing is.
WITH findings(severity, path, name, finding) AS (
         SELECT 1, path, filename, error FROM temp.entries WHERE error IS NOT NULL
         UNION ALL
         SELECT 1, path, filename, 'its bytes are damaged: the CRC-32 is another one' FROM temp.entries WHERE crc_ok = 0
         UNION ALL
         SELECT 2, path, filename, 'encrypted: cannot be read' FROM temp.entries WHERE encrypted
         UNION ALL
         SELECT 2, path, filename, 'compressed by ' || method || ': NumPy reads it, npyext does not' FROM temp.entries
          WHERE method NOT IN ('stored', 'deflate')
         UNION ALL
         SELECT 2, path, filename, 'a pickle: numpy.load(allow_pickle=True) runs whatever code is in it' FROM temp.entries WHERE instr(descr, '|O')
         UNION ALL
         SELECT 2, path, filename, 'its name leads out of the folder into which it is unpacked' FROM temp.entries
          WHERE filename LIKE '/%' OR '/' || replace(filename, '\', '/') || '/' LIKE '%/../%'
         UNION ALL
         SELECT 3, path, filename, of_this_name || ' entries have this name: NumPy loads the last' FROM temp.entries
          WHERE of_this_name > 1 GROUP BY path, filename
         UNION ALL
         SELECT 3, path, filename, 'no array' FROM temp.entries WHERE is_array = 0
         UNION ALL
         SELECT 4, path, filename, 'inflates to ' || (uncompressed_size / compressed_size) || ' times its size' FROM temp.entries
          WHERE compressed_size > 0 AND uncompressed_size / compressed_size > 200
         UNION ALL
         SELECT 4, path, filename, 'compressed for nothing: ' || round(100 * ratio, 1) || ' % are left' FROM temp.entries
          WHERE method <> 'stored' AND ratio > 0.95
     )
SELECT path, name, finding FROM findings ORDER BY severity, path, name, finding;
