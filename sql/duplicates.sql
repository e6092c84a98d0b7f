-- Which arrays are the same, whatever file they lie in: a .npy and a member of an .npz, C and Fortran order, either byte order.
--
--     .parameter init
--     .parameter set :source "'data/**/*.{npy,npz,ten}'"
--     .read sql/duplicates.sql
--
-- Headers say which arrays could be equal (same dtype and shape, not empty); only those are read, once each, for the CRC-32 of
-- their items. Arrays with the same one are each compared with the first, item by item: `status` must be 'equal'.
-- Faulty files are left out: sql/survey.sql and sql/npz_audit.sql show faults. Arrays of objects are left out, too.

-- `sqlite3 -init` has loaded nothing yet.
SELECT 1 WHERE CASE WHEN NOT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = 'npyext_version') THEN load_extension('./npyext') END;

-- What was searched: if no rows follow, nothing was found.
SELECT count(DISTINCT path) AS files, count(dtype) AS arrays, count(error) AS errors FROM npy_meta(coalesce(:source, 'dataset/**/*.{npy,npz,ten}'));

WITH arrays AS MATERIALIZED (
         SELECT path, idx, dtype, shape, nbytes, count(*) OVER (PARTITION BY dtype, shape) AS alike
           FROM npy_meta(coalesce(:source, 'dataset/**/*.{npy,npz,ten}'))
          WHERE error IS NULL AND size > 0 AND NOT has_objects
     ),
     sums AS MATERIALIZED (
         -- A structured array has a row for each of its fields.
         SELECT a.path, a.idx, s.name, a.dtype, a.shape, a.nbytes, group_concat(s.field_name || s.crc32) AS by_field, max(s.crc32) AS crc32
           FROM arrays AS a JOIN npy_stats(a.path, a.idx) AS s
          WHERE a.alike > 1 AND s.on_error = 'skip'
          GROUP BY a.path, a.idx
     ),
     ranked AS MATERIALIZED (
         SELECT *, row_number() OVER same AS number, first_value(path) OVER same AS first_path, first_value(idx) OVER same AS first_idx,
                first_value(name) OVER same AS first_name
           FROM sums
         WINDOW same AS (PARTITION BY dtype, shape, crc32, by_field ORDER BY path, idx)
     )
SELECT r.first_path AS path, r.first_name AS name, r.path AS copy, r.name AS copy_name, r.dtype, r.shape, r.nbytes AS bytes, c.status
  FROM ranked AS r
  JOIN npy_file(r.first_path, r.first_idx) AS a
  JOIN npy_file(r.path, r.idx) AS b
  JOIN npy_compare(a.array, b.array) AS c
 WHERE r.number > 1
 ORDER BY r.nbytes DESC, 1, 2, 3, 4;
