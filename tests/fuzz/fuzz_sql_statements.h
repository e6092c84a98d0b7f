/* The statements of fuzz_sql: every table function, scalar and aggregate, most arguments and constraints. */
#ifndef FUZZ_SQL_STATEMENTS_H
#define FUZZ_SQL_STATEMENTS_H

/*
 * ?1 is the file as a BLOB, ?2 to ?4 are the input's arguments, ?5 is another file; 'f' and 'd/f' are the
 * file by its path, 'o' is the other one, and what is written is 'g' with any suffix. `same` gives the same
 * rows whenever both succeed; NULL: there is nothing to compare with. setup runs first; %Q in it are ?2 to ?4
 * as texts.
 */
typedef struct statement {
    const char *sql, *same, *setup;
} statement;

/* A comparison that the codec makes and one that it leaves to SQLite. */
/* clang-format off */
#define FILTERED(columns, call, seen, hidden, operator)                                                      \
    {                                                                                                        \
        "SELECT " columns " FROM " call " WHERE " seen " " operator,                                         \
            "SELECT " columns " FROM " call " WHERE " hidden " " operator, NULL                              \
    }
/* clang-format on */
#define COMPARED(columns, call, seen, hidden)                                                                \
    FILTERED(columns, call, seen, hidden, "= ?2"), FILTERED(columns, call, seen, hidden, "<> ?2"),           \
        FILTERED(columns, call, seen, hidden, "< ?2"), FILTERED(columns, call, seen, hidden, "<= ?2"),       \
        FILTERED(columns, call, seen, hidden, "> ?2"), FILTERED(columns, call, seen, hidden, ">= ?2"),       \
        FILTERED(columns, call, seen, hidden, "BETWEEN ?2 AND ?3"),                                          \
        FILTERED(columns, call, seen, hidden, "IN (?2, ?3, ?4) ORDER BY " columns),                          \
        FILTERED(columns, call, seen, hidden, "IS NULL"),                                                    \
        FILTERED(columns, call, seen, hidden, "IS NOT NULL")

static const statement statements[] = {
    /* listings */
    {"SELECT *, parts, stem, strides, array_key FROM npy_meta(?1)", NULL, NULL},
    {"SELECT * FROM npy_meta WHERE source = ?1 AND on_error = ?2 AND name = ?3", NULL, NULL},
    {"SELECT *, crc_ok, array_key FROM npz_members(?1)", NULL, NULL},
    {"SELECT name, crc_ok, error FROM npz_members(?1, ?2)", NULL, NULL},
    {"SELECT *, array_key FROM ten_arrays(?1)", NULL, NULL},
    {"SELECT name, error FROM ten_arrays(?1, 'skip') WHERE name = ?2", NULL, NULL},
    {"SELECT name, idx, format, dtype, descr, shape, strides, fields, data_offset, compression FROM "
     "npy_meta('f')",
     "SELECT name, idx, format, dtype, descr, shape, strides, fields, data_offset, compression FROM "
     "npy_meta(?1, 'raise')",
     NULL},
    /* rows */
    {"SELECT *, data, path, name, array_key FROM npy_rows(?1)", NULL, NULL},
    {"SELECT *, data FROM npy_rows(?1, ?2, ?3)", NULL, NULL},
    {"SELECT *, data FROM npy_rows(?1, '', ?2) WHERE field = ?3 AND view = ?4", NULL, NULL},
    {"SELECT *, data FROM npy_rows WHERE source = ?1 AND astype = ?2 AND expect = ?3 AND on_error = 'skip'",
     NULL, NULL},
    {"SELECT value FROM npy_rows(?1, '', ?2) WHERE astype = ?3", NULL, NULL},
    {"SELECT count(*) FROM npy_rows(?1)",
     "SELECT count(*) FROM (SELECT row, data FROM npy_rows(?1) WHERE length(data) >= 0)", NULL},
    {"SELECT row, data FROM npy_rows(?1) ORDER BY row DESC LIMIT 5",
     "SELECT row, data FROM npy_rows(?1) ORDER BY +row DESC LIMIT 5", NULL},
    {"SELECT row, data FROM npy_rows(?1) LIMIT 3 OFFSET 2",
     "SELECT * FROM (SELECT row, data FROM npy_rows(?1) LIMIT 1000) LIMIT 3 OFFSET 2", NULL},
    COMPARED("name, row, data", "npy_rows(?1)", "row", "CAST(row AS INTEGER)"),
    COMPARED("name, row, value", "npy_rows(?1)", "value", "+value"),
    COMPARED("name, row", "npy_rows(?1, '', ?4)", "value", "+value"),
    {"SELECT row, data FROM npy_rows('f')", "SELECT row, data FROM npy_rows(?1)", NULL},
    {"SELECT r.row, r.data FROM (VALUES (3), (0), (1), (?2)) v JOIN npy_rows('f') r ON r.row = v.column1",
     "SELECT r.row, r.data FROM (VALUES (3), (0), (1), (?2)) v JOIN npy_rows(?1) r ON r.row = v.column1",
     NULL},
    /* elements */
    {"SELECT *, real, imag, path, name, i4, i5, i63, array_key FROM npy_elements(?1)", NULL, NULL},
    {"SELECT *, real, imag FROM npy_elements(?1, ?2, ?3)", NULL, NULL},
    {"SELECT * FROM npy_elements(?1, '', ?2) WHERE field = ?3 AND astype = ?4", NULL, NULL},
    {"SELECT * FROM npy_elements(?1, '', ?2) WHERE view = ?3 AND expect = ?4", NULL, NULL},
    {"SELECT idx, value FROM npy_elements(?1, '', ?2) ORDER BY idx DESC LIMIT 9",
     "SELECT idx, value FROM npy_elements(?1, '', ?2) ORDER BY +idx DESC LIMIT 9", NULL},
    COMPARED("name, idx, value", "npy_elements(?1)", "idx", "CAST(idx AS INTEGER)"),
    COMPARED("name, idx, i0, i1", "npy_elements(?1, '', ?4)", "i0", "CAST(i0 AS INTEGER)"),
    COMPARED("name, idx, i1", "npy_elements(?1)", "i1", "CAST(i1 AS INTEGER)"),
    COMPARED("name, idx, value", "npy_elements(?1)", "value", "+value"),
    COMPARED("name, idx, real", "npy_elements(?1)", "real", "+real"),
    COMPARED("name, idx, imag", "npy_elements(?1)", "imag", "+imag"),
    {"SELECT count(*) FROM npy_elements(?1)",
     "SELECT count(*) FROM (SELECT idx FROM npy_elements(?1) WHERE idx >= +0)", NULL},
    {"SELECT idx, value FROM npy_elements('f', '', ?2)", "SELECT idx, value FROM npy_elements(?1, '', ?2)",
     NULL},
    /* statistics */
    {"SELECT *, argmin, argmax, var, m2, crc32, array_key FROM npy_stats(?1)", NULL, NULL},
    {"SELECT *, argmin, argmax, var, m2, crc32 FROM npy_stats(?1, ?2, ?3, ?4)", NULL, NULL},
    {"SELECT * FROM npy_stats(?1, '', ?2) WHERE axis = ?3 AND field = ?4", NULL, NULL},
    {"SELECT * FROM npy_stats WHERE source = ?1 AND view = ?2 AND expect = ?3 AND on_error = ?4", NULL, NULL},
    {"SELECT name, field_name, count, nulls, infs, zeros, min, max, mean, std, sum, crc32 FROM "
     "npy_stats('f')",
     "SELECT name, field_name, count, nulls, infs, zeros, min, max, mean, std, sum, crc32 FROM npy_stats(?1)",
     NULL},
    {"SELECT total(s.count <> (SELECT count(value) FROM npy_elements(?1))) FROM npy_stats(?1) s WHERE "
     "npy_valid(?1) AND npy_dtype(?1) NOT LIKE 'complex%' AND s.field_name IS NULL AND npy_dtype(?1) NOT "
     "LIKE 'void%'",
     "SELECT 0.0", NULL},
    {"SELECT min, max FROM npy_stats(?1) WHERE npy_valid(?1) AND npy_dtype(?1) GLOB '*int[1-3]*' AND count > "
     "0",
     "SELECT min(value), max(value) FROM npy_elements(?1) WHERE npy_valid(?1) AND npy_dtype(?1) GLOB "
     "'*int[1-3]*' HAVING count(*) > 0",
     NULL},
    {"SELECT *, label, argmin FROM npy_stats(?1, '', ?2, ?3) WHERE by = ?4", NULL, NULL},
    {"SELECT *, label, argmin FROM npy_stats(?1, '', ?2) WHERE by = ?1", NULL, NULL},
    {"SELECT *, label FROM npy_stats(?1, '', '', 0) WHERE by = npy_slice(?1, ':, 0')", NULL, NULL},
    {"SELECT *, label FROM npy_stats(?1, '', '', ?2) WHERE by = npy_from_json(?3) AND field = ?4", NULL,
     NULL},
    {"SELECT label, count, min, max FROM npy_stats(?1, '', '', 0) WHERE by = npy_slice(?1, ':, 0')",
     "SELECT label, count, min, max FROM npy_stats(npy_order(?1, 'F'), '', '', 0) WHERE by = npy_slice(?1, "
     "':, "
     "0')",
     NULL},
    {"SELECT npy_sum(?1), npy_mean(?1), npy_std(?1)", NULL, NULL},
    {"SELECT npy_min(?1, ?2), npy_max(?1, ?3), npy_sum(?1, ?4), npy_argmax(?1, ?2)", NULL, NULL},
    {"SELECT npy_mean(?1, ?2), npy_std(?1, 0), npy_argmin(?1, '[0, 1]')", NULL, NULL},
    {"SELECT npy_min(?1), npy_max(?1), npy_argmin(?1), npy_argmax(?1)",
     "SELECT min, max, argmin, argmax FROM npy_stats(?1)", NULL},
    /* a complex NaN is a value of two parts, and statistics of no items are NULL */
    {"SELECT nullif(npy_mean(array), '[null,null]') FROM npy_rows(?1)",
     "SELECT mean FROM npy_rows(?1) r, npy_stats(r.array)", NULL},
    {"SELECT npy_json(array) FROM npy_rows(?1, '', ?2) WHERE row < 9",
     "SELECT npy_json(npy_from_data(data, npy_dtype(array), npy_shape(array))) FROM npy_rows(?1, '', ?2) "
     "WHERE row < 9",
     NULL},
    /* vectors */
    {"SELECT *, query_row, data, array_key FROM npy_nearest(?1, '', ?2, ?3, ?4)", NULL, NULL},
    {"SELECT *, query_row FROM npy_nearest(?1, '', '', npy_slice(?1, ?2), 3, ?3)", NULL, NULL},
    {"SELECT row, distance, data FROM npy_nearest(?1, '', '', npy_from_json(?2), ?3) WHERE view = ?4", NULL,
     NULL},
    {"SELECT row, distance FROM npy_nearest(?1, '', '', npy_slice(?1, 0), 9, 'cityblock')",
     "SELECT row, distance FROM npy_nearest(npy_order(?1, 'F'), '', '', npy_slice(?1, 0), 9, 'cityblock')",
     NULL},
    {"SELECT npy_norm(?1), npy_norm(?1, ?2), npy_dot(?1, ?1), npy_distance(?1, npy_from_json(?3), ?4)", NULL,
     NULL},
    {"SELECT npy_distance(r.array, (SELECT npy_slice(?1, 0)), ?2) FROM npy_rows(?1) r", NULL, NULL},
    /* histograms */
    {"SELECT *, path, name, array_key FROM npy_histogram(?1)", NULL, NULL},
    {"SELECT * FROM npy_histogram(?1, '', ?2, ?3)", NULL, NULL},
    {"SELECT * FROM npy_histogram(?1, '', '', ?2, ?3, ?4)", NULL, NULL},
    {"SELECT * FROM npy_histogram(?1, ?2, ?3) WHERE field = ?4 AND bins = 7", NULL, NULL},
    {"SELECT * FROM npy_histogram(?1) WHERE view = ?2 AND expect = ?3 AND range_lo = 0 AND range_hi = ?4",
     NULL, NULL},
    /* comparisons */
    {"SELECT *, array_key FROM npy_compare(?1, ?2)", NULL, NULL},
    {"SELECT * FROM npy_compare(?2, ?1, ?3)", NULL, NULL},
    {"SELECT status FROM npy_compare(?1, ?1)", "SELECT 'equal' FROM npy_file(?1)", NULL},
    {"SELECT status, first_at FROM npy_compare(?1, npy_order(?1, 'F'))",
     "SELECT 'equal', NULL FROM npy_compare(?1, npy_order(?1, 'F'))", NULL},
    {"SELECT * FROM npy_compare(?1, npy_astype(?1, ?2))", NULL, NULL},
    {"SELECT * FROM npy_compare(?1, npy_from_data(?2, npy_dtype(?1), npy_shape(?1)))", NULL, NULL},
    {"SELECT * FROM npy_compare(npy_slice(?1, ?2), npy_slice(?1, ?3))", NULL, NULL},
    /* handles, and writing, which finds no folder */
    {"SELECT *, array_key FROM npy_file(?1, ?2)", NULL, NULL},
    {"SELECT npy_json(array), npy_shape(array) FROM npy_file('f', ?2)", NULL, NULL},
    {"SELECT npy_json(array) FROM npy_file('f')", "SELECT npy_json(?1)", NULL},
    {"SELECT row, data FROM npy_file('f') h, npy_rows(h.array) r", "SELECT row, data FROM npy_rows(?1)",
     NULL},
    {"SELECT npy_get(array, ?2, ?3), npy_valid(array) FROM npy_file('f')", NULL, NULL},
    {"SELECT * FROM npy_write(?2, ?1)", NULL, NULL},
    {"SELECT * FROM npy_write('g', ?1)", NULL, NULL},
    {"SELECT * FROM npy_rows(?2)", NULL, NULL},
    {"SELECT path, error FROM npy_meta(?2)", NULL, NULL},
    /* scalars */
    {"SELECT npy_shape(?1), npy_dtype(?1), npy_ndim(?1), npy_size(?1), npy_valid(?1)", NULL, NULL},
    {"SELECT npy_valid(?1) AND error IS NOT NULL FROM npy_meta(?1, 'row')",
     "SELECT 0 FROM npy_meta(?1, 'row')", NULL},
    {"SELECT npy_get(?1), npy_get(?1, ?2), npy_get(?1, ?2, ?3), npy_get(?1, ?2, ?3, ?4)", NULL, NULL},
    {"SELECT npy_get_or(?1, ?2, ?3), npy_get_or(?1, ?2, ?3, ?4), npy_get(?1, 0, -1)", NULL, NULL},
    {"SELECT npy_slice(?1, ?2)", NULL, NULL},
    {"SELECT data FROM npy_rows(npy_slice(?1, ?2))", "SELECT data FROM npy_rows(?1, '', ?2)", NULL},
    {"SELECT npy_json(?1)", "SELECT npy_json(npy_reshape(?1, npy_shape(?1)))", NULL},
    {"SELECT npy_data(?1)", "SELECT npy_data(npy_order(?1, 'F'))", NULL},
    {"SELECT npy_data(?1)", "SELECT npy_data(npy_order(npy_order(?1, 'F'), 'C'))", NULL},
    {"SELECT npy_json(?1)", "SELECT npy_json(npy_transpose(npy_transpose(?1)))", NULL},
    {"SELECT npy_from_json(?2), npy_from_json(?2, ?3)", NULL, NULL},
    {"SELECT npy_json(npy_from_json(npy_json(?1), (SELECT descr FROM npy_meta(?1))))", "SELECT npy_json(?1)",
     NULL},
    {"SELECT npy_from_data(?1, ?2, ?3)", NULL, NULL},
    {"SELECT npy_data(npy_from_data(npy_data(?1), (SELECT descr FROM npy_meta(?1)), npy_shape(?1)))", NULL,
     NULL},
    {"SELECT npy_member(?1, ?2)", NULL, NULL},
    {"SELECT npy_json(npy_member(?1, idx)) FROM npy_meta(?1)",
     "SELECT npy_json(npy_member(?1, m.idx)) FROM npy_meta(?1) m", NULL},
    {"SELECT npy_json(npy_astype(?1, ?2))", NULL, NULL},
    {"SELECT data FROM npy_rows(npy_astype(?1, ?2))",
     "SELECT data FROM npy_rows WHERE source = ?1 AND astype = ?2", NULL},
    {"SELECT npy_json(npy_reshape(?1, ?2))", NULL, NULL},
    {"SELECT npy_json(npy_order(?1, ?2))", NULL, NULL},
    {"SELECT npy_json(npy_transpose(?1)), npy_json(npy_transpose(?1, ?2))", NULL, NULL},
    {"SELECT npyext_version(), npyext_debug(), npyext_counters(), npyext_counters('process'), npy_valid(?2), "
     "npy_shape(?3), "
     "npy_hash(?1), npy_hash(?1, ?2)",
     NULL, NULL},
    /* aggregates */
    {"SELECT npy_json(npy_array(value)) FROM npy_elements(?1)", NULL, NULL},
    {"SELECT npy_json(npy_array(value, ?2)) FROM npy_elements(?1)", NULL, NULL},
    {"SELECT npy_json(npy_array(value, ?2, ?3)) FROM npy_elements(?1)", NULL, NULL},
    {"SELECT npy_array(column1, ?3, ?4) FROM (VALUES (?2), (1), (NULL), (?1))", NULL, NULL},
    {"SELECT npy_json(npy_array(value, (SELECT descr FROM npy_meta(?1)), npy_shape(?1))) FROM "
     "npy_elements(?1) HAVING count(*) > 0",
     "SELECT npy_json(?1) FROM npy_meta(?1) WHERE size > 0", NULL},
    {"SELECT npy_json(npy_stack(data, ?2)) FROM npy_rows(?1)", NULL, NULL},
    {"SELECT npy_json(npy_stack(value)) FROM npy_rows(?1)", NULL, NULL},
    {"SELECT npy_json(npy_stack(column1)) FROM (VALUES (?1), (?1))", NULL, NULL},
    {"SELECT npy_json(npy_stack(column1, ?3)) FROM (VALUES (?1), (?2))", NULL, NULL},
    {"SELECT npy_json(npy_records(?2, ?3, ?4)), npy_records(?2, ?3)", NULL, NULL},
    {"SELECT npy_json(npy_records(?2, row, value)) FROM npy_rows(?1)", NULL, NULL},
    {"SELECT npy_json(npy_records('[(''a'', ''<i8''), (''b'', ' || quote((SELECT descr FROM npy_meta(?1))) "
     "|| ')]', row, value)) FROM npy_rows(?1)",
     NULL, NULL},
    {"WITH z(b) AS (SELECT npz_archive('x', ?1)) SELECT data FROM z, npy_rows(z.b)",
     "SELECT data FROM npy_rows(?1)", NULL},
    {"WITH z(b) AS (SELECT npz_archive('x', ?1, 'deflate')) SELECT crc_ok FROM z, npz_members(z.b)", NULL,
     NULL},
    {"SELECT npz_archive(column1, ?1, ?4) FROM (VALUES (?2), (?3), ('a'))", NULL, NULL},
    {"WITH z(b) AS (SELECT ten_archive(?1, 'x')) SELECT data FROM z, npy_rows(z.b)",
     "SELECT data FROM npy_rows(?1)", NULL},
    {"SELECT ten_archive(column1, ?2), ten_archive(column1) FROM (VALUES (?1), (?1), (?3))", NULL, NULL},
    /* typed tables */
    {"SELECT rowid, * FROM t", NULL, "CREATE VIRTUAL TABLE t USING npy('f')"},
    {"SELECT rowid, * FROM t WHERE rowid = ?2 OR rowid > ?3 ORDER BY rowid DESC", NULL,
     "CREATE VIRTUAL TABLE t USING npy('f')"},
    {"SELECT rowid, * FROM t", NULL, "CREATE VIRTUAL TABLE t USING npy('f', slice=%Q, view=%Q)"},
    {"SELECT rowid, * FROM t", NULL, "CREATE VIRTUAL TABLE t USING npy('f', columns=%Q, member=%Q)"},
    {"SELECT rowid, * FROM t", NULL, "CREATE VIRTUAL TABLE t USING npy('f', members=%Q, columns=%Q)"},
    {"INSERT INTO t VALUES (?2)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', dtype=%Q, shape=%Q)"},
    {"INSERT INTO t VALUES (?2, ?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a', method=%Q)"},
    /* a database that someone else made: what the shadow table says is not to be believed */
    {"SELECT rowid, * FROM t WHERE rowid < 100", NULL,
     "CREATE VIRTUAL TABLE t USING npy('f'); UPDATE t_npy SET value = %Q WHERE position = length(%Q) + 1; "
     "PRAGMA writable_schema = RESET"},
    {"SELECT rowid, * FROM t", NULL,
     "CREATE VIRTUAL TABLE t USING npy('f'); UPDATE t_npy SET name = %Q WHERE position = length(%Q) + 1; "
     "PRAGMA writable_schema = RESET"},
    {"SELECT * FROM t", NULL,
     "CREATE VIRTUAL TABLE t USING npy('f'); INSERT INTO t_npy(item, name, value) VALUES (%Q, %Q, %Q); "
     "PRAGMA writable_schema = RESET"},
    {"SELECT * FROM t", NULL,
     "CREATE VIRTUAL TABLE t USING npy('f'); DELETE FROM t_npy WHERE position = length(%Q); PRAGMA "
     "writable_schema = RESET; ALTER TABLE t RENAME TO u; DROP TABLE u"},
    /* tables of samples */
    {"SELECT rowid, * FROM t", "SELECT rowid, * FROM t ORDER BY rowid",
     "CREATE VIRTUAL TABLE t USING wds('f')"},
    {"SELECT rowid, * FROM t WHERE __key__ = ?2 ORDER BY rowid", "SELECT rowid, * FROM t WHERE +__key__ = ?2",
     "CREATE VIRTUAL TABLE t USING wds('f')"},
    {"SELECT rowid, * FROM t WHERE rowid > ?2 AND rowid <= ?3 OR __key__ IN (?2, ?4)", NULL,
     "CREATE VIRTUAL TABLE t USING wds('[\"d/f\", \"f\"]', columns=%Q)"},
    {"SELECT * FROM t", NULL,
     "CREATE VIRTUAL TABLE t USING wds('f'); UPDATE t_npy SET name = %Q, value = %Q WHERE position = "
     "length(%Q) "
     "+ 1; PRAGMA writable_schema = RESET"},
    {"INSERT OR IGNORE INTO t(__key__, cls, npy) VALUES (?2, ?3, ?1), (?3, ?2, ?4), (?4, 1, ?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING wds('g-%%d', mode='w+', columns='cls, npy', maxcount=2)"},
    {"COMMIT", NULL,
     "CREATE VIRTUAL TABLE temp.t USING wds('g-%%d', mode='w+', columns='txt', maxcount=1); BEGIN; INSERT OR "
     "IGNORE INTO "
     "t(__key__, txt) VALUES ('a', %Q); SAVEPOINT a; INSERT OR IGNORE INTO t(__key__, txt) VALUES ('b', %Q), "
     "('c', %Q); "
     "ROLLBACK TO a; INSERT INTO t(__key__, txt) VALUES ('d', 'd')"},
    /* patterns, and tables that write; what they publish can be read */
    {"SELECT path FROM npy_file('**/f')", "SELECT path FROM npy_file('[\"d/f\", \"f\"]')", NULL},
    {"SELECT path FROM npy_file('{d,.}/[e-g]')", "SELECT path FROM npy_file('[\"./f\", \"d/f\"]')", NULL},
    {"SELECT path, error FROM npz_members(?2)", NULL, NULL},
    {"SELECT w.bytes > 0 FROM npy_file('f', ?2) h, npy_write('g', h.array) w", NULL, NULL},
    {"SELECT data FROM npy_rows('g')", "SELECT data FROM npy_rows('f', 0)",
     "SELECT * FROM npy_file('f', 0) h, npy_write('g', h.array) w"},
    {"INSERT INTO t SELECT value FROM npy_rows(?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', dtype=%Q, shape=%Q)"},
    {"INSERT INTO t VALUES (?3), (?4), (?3)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', dtype=%Q)"},
    {"INSERT INTO t VALUES (?3, ?4), (?4, ?3)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', columns='a,b', dtype=%Q)"},
    {"INSERT INTO t SELECT data FROM npy_rows(?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', shape='[-1, 3]', dtype=%Q)"},
    {"INSERT INTO t(name, array) VALUES (?3, ?1), (?4, ?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g.npz', mode='w+', method=%Q)"},
    {"INSERT INTO t(name, array) VALUES (?2, ?1), (?3, ?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g.ten', mode='w+')"},
    {"INSERT INTO t VALUES (?2)", NULL, "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a')"},
    {"INSERT INTO t SELECT data FROM npy_rows(?1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a')"},
    {"INSERT INTO t VALUES (?2, ?1), (?3, ?4)", NULL, "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a')"},
    {"COMMIT", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', dtype=%Q); BEGIN; INSERT INTO t VALUES (%Q); "
     "SAVEPOINT a; INSERT INTO t VALUES (%Q); INSERT INTO t SELECT value FROM npy_rows('f'); ROLLBACK TO a; "
     "INSERT INTO t VALUES (1)"},
    {"COMMIT", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a'); BEGIN; SAVEPOINT a; INSERT INTO t SELECT data "
     "FROM npy_rows('d/f'); SAVEPOINT b; INSERT INTO t SELECT data FROM npy_rows('d/f'); ROLLBACK TO b; "
     "RELEASE a; INSERT INTO t SELECT data FROM npy_rows('d/f')"},
    {"COMMIT", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g.npz', mode='w+', method=%Q); BEGIN; INSERT INTO t SELECT 'a' "
     "|| idx, array FROM npy_file('f'); SAVEPOINT a; INSERT INTO t SELECT name, array FROM npy_file('f'); "
     "ROLLBACK TO a; INSERT INTO t SELECT 'b' || name, array FROM npy_file('f')"},
    {"DELETE FROM t WHERE rowid = ?3", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('g', mode='w+', dtype=%Q); UPDATE t SET value = 3"},
    /* tables that change rows: what is taken back is as it was, what is read is what is committed */
    {"SELECT rowid, * FROM t", "SELECT rowid, * FROM r",
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+'); CREATE VIRTUAL TABLE temp.r USING npy('d/f'); "
     "BEGIN; UPDATE OR IGNORE t SET value = value; SAVEPOINT a; UPDATE OR IGNORE t SET value = %Q; "
     "UPDATE OR IGNORE t SET value = %Q WHERE rowid > 1; ROLLBACK TO a"},
    {"SELECT rowid, * FROM t", "SELECT rowid, * FROM r",
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+'); CREATE VIRTUAL TABLE temp.r USING npy('d/f'); "
     "BEGIN; UPDATE OR IGNORE t SET c0 = %Q; UPDATE OR IGNORE t SET x = %Q, y = 3; UPDATE OR IGNORE t SET "
     "c1 = c0, c2 = %Q WHERE rowid < 5; ROLLBACK"},
    {"SELECT rowid, * FROM t", "SELECT rowid, * FROM r",
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+'); CREATE VIRTUAL TABLE temp.r USING npy('f'); "
     "UPDATE OR IGNORE t SET value = %Q; UPDATE OR IGNORE t SET c0 = c1, c1 = 7; UPDATE OR IGNORE t SET x = "
     "y, "
     "y = x"},
    {"UPDATE OR IGNORE t SET value = ?3, c0 = ?4", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+', slice=%Q)"},
    {"UPDATE OR IGNORE t SET value = ?4, c0 = ?4, x = ?4", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+', view=%Q, columns=%Q)"},
    {"SELECT rowid, * FROM t", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a'); BEGIN; INSERT INTO t SELECT data FROM "
     "npy_rows('d/f'); INSERT INTO t SELECT name, array FROM npy_file('d/f')"},
    /* rows of several kinds */
    {"SELECT npy_json(npy_stack(column1)) FROM (VALUES (?1), (npy_json(?1)), (?2), (?3), (?4))", NULL, NULL},
    {"SELECT npy_json(npy_stack(column1)) FROM (VALUES (npy_from_json(?2, ?3)), (?2), (?4))", NULL, NULL},
    /* tars */
    {"SELECT *, sample, mode, uid, gid, uname, gname, linkname, header_offset, data_offset, data, array_key "
     "FROM tar_members(?1, ?2)",
     NULL, NULL},
    {"SELECT idx, name, key, ext, type, size, mtime, sample, linkname, data FROM tar_members('f')",
     "SELECT idx, name, key, ext, type, size, mtime, sample, linkname, data FROM tar_members(?1)", NULL},
    {"SELECT name, typeof(data), error_kind FROM tar_members('f', 'row')",
     "SELECT name, typeof(data), error_kind FROM tar_members(?1, 'row')", NULL},
    {"SELECT name, ext FROM tar_members(?1) WHERE key = ?2 OR name LIKE ?3 OR sample = ?4 ORDER BY idx DESC",
     NULL, NULL},
    {"SELECT sum(length(data)) FROM tar_members(?1)",
     "SELECT sum(size) FROM tar_members(?1) WHERE type = 'file'", NULL},
    {"SELECT *, key, ext, parts, array_key FROM npy_meta(?1, 'row') WHERE key = ?2 OR ext <> ?3", NULL, NULL},
    {"SELECT name, row, data FROM npy_rows(?1) WHERE key = ?2",
     "SELECT name, row, data FROM npy_rows(?1) WHERE +key = ?2", NULL},
    {"SELECT m.idx, r.row, r.data FROM npy_meta('f') m JOIN npy_rows('f', m.idx) r",
     "SELECT m.idx, r.row, r.data FROM npy_meta(?1) m JOIN npy_rows(?1, m.idx) r", NULL},
    {"SELECT m.name, npy_json(npy_member(?1, m.name)) FROM npy_meta(?1, 'skip') m", NULL, NULL},
    {"SELECT t.name, n.* FROM tar_members(?1, 'row') t JOIN npy_meta(t.data, 'row') n", NULL, NULL},
    /* ranges */
    {"SELECT name, row, data FROM npy_rows(json_object('path', 'f', 'offset', 0, 'nbytes', length(?1)))",
     "SELECT name, row, data FROM npy_rows(?1)", NULL},
    {"SELECT * FROM npy_meta(json_object('path', 'd/f', 'offset', 0 + ?2, 'nbytes', 0 + ?3), ?4)", NULL,
     NULL},
    {"SELECT t.idx, n.name, n.dtype, n.shape, n.error_kind FROM tar_members('f') t JOIN npy_meta(json_object("
     "'path', 'f', 'offset', t.data_offset, 'nbytes', t.size), 'row') n WHERE t.type = 'file' AND t.size > 0",
     "SELECT t.idx, n.name, n.dtype, n.shape, n.error_kind FROM tar_members(?1) t JOIN npy_meta(t.data, "
     "'row') n WHERE t.type = 'file' AND t.size > 0",
     NULL},
    {"SELECT path, data FROM npy_rows((SELECT json_group_array(json_object('path', 'f', 'offset', "
     "data_offset, 'nbytes', size)) FROM tar_members('f') WHERE ext = 'npy'))",
     NULL, NULL},
    {"SELECT name, data FROM tar_members(json_object('path', 'f', 'offset', 512 * ?2, 'nbytes', length(?1) - "
     "512 * ?2))",
     "SELECT name, data FROM tar_members(substr(?1, 1 + 512 * ?2))", NULL},
    {"SELECT path, name, error FROM npy_meta(json_array(json_object('path', 'f', 'offset', 0 + ?2, "
     "'nbytes', 0 + ?3), 'f', ?4), 'row')",
     NULL, NULL},
    {"SELECT status, first_at FROM npy_compare(?1, json_object('path', 'f', 'offset', 0, 'nbytes', "
     "length(?1)))",
     "SELECT status, first_at FROM npy_compare(?1, ?1)", NULL},
    {"SELECT npy_json(array) FROM npy_file(json_object('path', 'f', 'offset', 0, 'nbytes', length(?1)))",
     "SELECT npy_json(array) FROM npy_file('f')", NULL},
    /* quantiles; what is new comes last, for findings are kept by number */
    {"SELECT *, array_key FROM npy_quantile(?1, '', ?2, ?3, ?4)", NULL, NULL},
    {"SELECT * FROM npy_quantile(?1) WHERE method = ?2 AND field = ?3", NULL, NULL},
    {"SELECT q, value FROM npy_quantile(?1, '', ?2)",
     "SELECT q, value FROM npy_quantile(npy_order(npy_slice(?1, ?2), 'F'))", NULL},
    {"SELECT median, npy_median(?1, ?2) FROM npy_stats(?1, '', '', ?3)", NULL, NULL},
    {"SELECT *, array_key FROM npy_unique(?1, '', ?2) WHERE view = ?3", NULL, NULL},
    {"SELECT value, count FROM npy_unique(?1, '', ?2)",
     "SELECT value, count FROM npy_unique(?1, '', ?2) WHERE first IS NOT NULL", NULL},
    {"SELECT *, label, first FROM npy_unique(?1, '', ?2) WHERE by = npy_slice(?1, ':, 0')", NULL, NULL},
    {"SELECT label, value, count FROM npy_unique(?1) WHERE by = npy_slice(?1, ?2)",
     "SELECT label, value, count FROM npy_unique(npy_order(?1, 'F')) WHERE by = npy_slice(?1, ?2)", NULL},
    {"SELECT npy_png(?1), npy_png(npy_slice(?1, ?2), ?3, ?4)", NULL, NULL},
    {"SELECT npy_png(?1, 'magma')", "SELECT npy_png(npy_order(?1, 'F'), 'magma')", NULL},
    {"SELECT npy_plot(?1, ?2)", "SELECT npy_plot(npy_order(?1, 'F'), ?2)", NULL},
    {"SELECT npy_spark(?1, ?2)", "SELECT npy_spark(npy_order(?1, 'F'), ?2)", NULL},
    {"SELECT npy_preview(?1)", "SELECT npy_preview(npy_order(?1, 'F'))", NULL},
    {"SELECT npy_preview(npy_slice(?1, ?2), ?3), npy_spark(npy_slice(?1, ?2))", NULL, NULL},
    {"SELECT npy_corrcoef(npy_slice(?1, ?2), 0)",
     "SELECT npy_corrcoef(npy_transpose(npy_order(npy_slice(?1, ?2), 'F')))", NULL},
    {"SELECT npy_argmax(npy_slice(?1, ?2), -1)", "SELECT npy_argmax(npy_order(npy_slice(?1, ?2), 'F'), -1)",
     NULL},
    {"SELECT npy_sketch(npy_slice(?1, ?2))", "SELECT npy_sketch(npy_order(npy_slice(?1, ?2), 'F'))", NULL},
    {"SELECT npy_sketch_quantile(?1, 0.5), npy_sketch_merge(?1)", NULL, NULL},
    {"SELECT npy_sketch_quantile(npy_sketch_merge(s), ?2) FROM (SELECT npy_sketch(npy_slice(?1, ?2), 8) AS s "
     "UNION ALL SELECT npy_sketch(?1, 9))",
     NULL, NULL},
    {"SELECT * FROM npy_paths(?1) UNION ALL SELECT * FROM npy_paths(?2)", NULL, NULL},
    /* two files */
    {"SELECT *, label, argmin FROM npy_stats(?1, '', ?2, ?3) WHERE by = ?5", NULL, NULL},
    {"SELECT *, label, argmax, var FROM npy_stats(?1, '', ?2, ?3) WHERE by = ?5 AND field = ?4", NULL, NULL},
    {"SELECT label, count, min, max FROM npy_stats(?1, '', ?2, ?3) WHERE by = npy_slice(?5, ?4)",
     "SELECT label, count, min, max FROM npy_stats(npy_order(?1, 'F'), '', ?2, ?3) WHERE by = "
     "npy_slice(npy_order(?5, 'F'), ?4)",
     NULL},
    {"SELECT label, count, mean FROM npy_stats('f', '', ?2, 0) WHERE by = 'o'",
     "SELECT label, count, mean FROM npy_stats(?1, '', ?2, 0) WHERE by = ?5", NULL},
    {"SELECT label, total(count) FROM npy_stats(?1, '', '', 0) WHERE by = ?5 GROUP BY label",
     "SELECT label, total(count) FROM npy_stats(?1) WHERE by = ?5 GROUP BY label", NULL},
    {"SELECT *, label FROM npy_stats(?1, '', ?2) WHERE by = npy_reshape(npy_astype(?5, ?4), npy_shape(?1))",
     NULL, NULL},
    {"SELECT *, label, first FROM npy_unique(?1, '', ?2) WHERE by = ?5", NULL, NULL},
    {"SELECT label, value, count FROM npy_unique(?1) WHERE by = npy_slice(?5, ?2)",
     "SELECT label, value, count FROM npy_unique(npy_order(?1, 'F')) WHERE by = npy_slice(?5, ?2)", NULL},
    {"SELECT label, value, count, first FROM npy_unique('f', '', ?2) WHERE by = 'o'",
     "SELECT label, value, count, first FROM npy_unique(?1, '', ?2) WHERE by = ?5", NULL},
    {"SELECT *, label FROM npy_unique(?1, '', ?2) WHERE by = ?5 AND field = ?3 AND label = ?4", NULL, NULL},
    {"SELECT *, array_key FROM npy_compare(?1, ?5)", NULL, NULL},
    {"SELECT status, differing, max_abs FROM npy_compare(?1, ?5) WHERE npy_valid(?1) AND npy_valid(?5)",
     "SELECT status, differing, max_abs FROM npy_compare(?5, ?1) WHERE npy_valid(?1) AND npy_valid(?5)",
     NULL},
    {"SELECT * FROM npy_compare('f', 'o', ?2)", "SELECT * FROM npy_compare(?1, ?5, ?2)", NULL},
    {"SELECT status, differing, max_abs FROM npy_compare(npy_order(?1, 'F'), ?5)",
     "SELECT status, differing, max_abs FROM npy_compare(npy_order(?1, 'C'), ?5)", NULL},
    {"SELECT * FROM npy_compare(npy_slice(?1, ?2), npy_slice(?5, ?3))", NULL, NULL},
    {"SELECT * FROM npy_compare(?1, npy_from_data(?5, npy_dtype(?1), npy_shape(?1)))", NULL, NULL},
    {"SELECT *, query_row, data FROM npy_nearest(?1, '', ?2, ?5, ?3, ?4)", NULL, NULL},
    {"SELECT row, query_row, distance FROM npy_nearest(?1, '', '', ?5, 5, ?4)",
     "SELECT row, query_row, distance FROM npy_nearest(npy_order(?1, 'F'), '', '', npy_order(?5, 'F'), 5, "
     "?4)",
     NULL},
    {"SELECT row, query_row, distance FROM npy_nearest('f', '', '', npy_slice(?5, ?2), 3, 'cosine')",
     "SELECT row, query_row, distance FROM npy_nearest(?1, '', '', npy_slice(?5, ?2), 3, 'cosine')", NULL},
    {"SELECT npy_dot(?1, ?5), npy_distance(?1, ?5), npy_distance(?1, ?5, ?2)",
     "SELECT npy_dot(?5, ?1), npy_distance(?5, ?1), npy_distance(?5, ?1, ?2)", NULL},
    {"SELECT npy_dot(npy_slice(?1, ?2), npy_slice(?5, ?3)), npy_distance(npy_slice(?1, ?2), npy_slice(?5, "
     "?3), ?4)",
     NULL, NULL},
    {"SELECT npy_distance(r.array, ?5, ?2), npy_dot(?5, r.array) FROM npy_rows(?1) r", NULL, NULL},
    {"SELECT a.row, a.data, b.data FROM npy_rows(?1) a JOIN npy_rows(?5) b ON a.row = b.row", NULL, NULL},
    {"SELECT npy_json(npy_stack(column1, ?2)) FROM (VALUES (?1), (?5), (?1))", NULL, NULL},
    {"SELECT npy_json(npy_array(column1, ?2)) FROM (VALUES (?1), (?5))", NULL, NULL},
    {"SELECT npy_sketch_quantile(npy_sketch_merge(column1), ?2) FROM (VALUES (?1), (?5))", NULL, NULL},
    {"WITH z(b) AS (SELECT npz_archive(column1, column2, ?4) FROM (VALUES ('x', ?1), (?2, ?5))) SELECT name, "
     "data FROM z, npy_rows(z.b)",
     NULL, NULL},
    {"SELECT npy_get(?1, ?5), npy_slice(?1, ?5), npy_member(?1, ?5), npy_reshape(?1, ?5)", NULL, NULL},
    {"SELECT path, name, error FROM npy_meta(json_array('f', 'o', ?2), 'row')", NULL, NULL},
    {"INSERT INTO t SELECT data FROM npy_rows('o')", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='a')"},
    {"UPDATE OR IGNORE t SET value = (SELECT data FROM npy_rows(?5) r WHERE r.row = t.rowid - 1)", NULL,
     "CREATE VIRTUAL TABLE temp.t USING npy('f', mode='r+')"},
    {"SELECT *, error_kind, array_key FROM npy_globals(?1, ?2)", NULL, NULL},
    {"SELECT name, module, qualname, count, known, error_kind FROM npy_globals('f', 'row')",
     "SELECT name, module, qualname, count, known, error_kind FROM npy_globals(?1, 'row')", NULL},
    {"SELECT npy_json(npy_field(?1, ?2)), npy_hash(npy_copy(npy_slice(npy_field((SELECT array FROM "
     "npy_file('f')), ?2), ?3)))",
     NULL, NULL},
    {"SELECT field_name, dtype, shape, at FROM npy_stats(?1, '', ?2, ?3) WHERE field = ?4", NULL, NULL},
    {"SELECT *, query_row, data FROM npy_nearest(?1, '', ?2, npy_slice(?1, 0)) WHERE max_distance = ?3", NULL,
     NULL},
    {"SELECT row, distance FROM npy_nearest(?1, '', '', ?2, ?3, ?4) WHERE max_distance = 2",
     "SELECT row, distance FROM npy_nearest(npy_order(?1, 'F'), '', '', ?2, ?3, ?4) WHERE max_distance = 2",
     NULL},
    {"SELECT *, path, parent, array_key FROM npy_compare('[fo]', '{f,o}')", NULL, NULL},
    {"SELECT path, name, status, differing FROM npy_compare('f*', 'o*', ?2)", NULL, NULL},
};

enum { NSTATEMENTS = sizeof statements / sizeof statements[0] };

#endif
