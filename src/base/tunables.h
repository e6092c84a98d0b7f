/*
 * Every size at which the code takes another path, with its reason: sizes of blocks, windows and tables, and
 * from where on something else is worth its while.
 *
 * Small arrays never reach them, and so no test with small arrays does. Where NPYX_TUNED is defined they are
 * variables, which NPYEXT_TUNE gives values between the least and the usual one, as in
 * 'work_nbytes=64,batch_nruns=2' ('least' for all of the least): `make check-small` asks everything again so.
 * Otherwise they are constants.
 *
 * No value is beyond its default, by which arrays are sized: NAME_MOST. Loops whose bounds are multiples of a
 * vector stay so when a value is its default shifted to the right.
 */
#ifndef NPYX_TUNABLES_H
#define NPYX_TUNABLES_H

/* T(name, default, least) */
/* clang-format off */
#define NPYX_TUNABLES(T) \
    /* walk/reader.c: blocks of what is contiguous grow from the first to the work's, which lies \
     * well inside of a second-level cache, where filters and SQLite then find it */ \
    T(NPYX_FIRST_BLOCK_NBYTES, 1 << 14, 64) \
    T(NPYX_WORK_NBYTES, 1 << 18, 64) \
    /* walk/reader.c: panels of what is not; an inflating source starts anew for every panel: fewer \
     * and larger ones */ \
    T(NPYX_FIRST_PANEL_NBYTES, 1 << 16, 64) \
    T(NPYX_MAX_PANEL_NBYTES, 1 << 23, 128) \
    T(NPYX_FORWARD_PANEL_NBYTES, 1 << 24, 1 << 12) \
    /* walk/reader.c: the window that strided items are gathered from, the gap that is read over \
     * because another call to the system is as dear, runs copied together, and from where on other \
     * threads are worth their start */ \
    T(NPYX_READER_WINDOW_NBYTES, 1 << 20, 128) \
    T(NPYX_GAP_NBYTES, 1 << 12, 1) \
    T(NPYX_BATCH_NRUNS, 16, 2) \
    T(NPYX_AHEAD_NBYTES, 1 << 22, 1) \
    /* walk/blocks.c: rows are smaller, so that a block of them is about a block */ \
    T(NPYX_MAX_ROW_NBYTES, 1 << 18, 8) \
    /* io: what is inflated at a time, skipped at a time, and how far on a checkpoint is worth a \
     * jump */ \
    T(NPYX_FIRST_INPUT_NBYTES, 1 << 12, 1) \
    T(NPYX_INPUT_NBYTES, 1 << 16, 2) \
    T(NPYX_SKIP_NBYTES, 1 << 16, 64) \
    T(NPYX_JUMP_NBYTES, 1 << 14, 64) \
    T(NPYX_ASIDE_INPUT_NBYTES, 1 << 16, 1) \
    T(NPYX_ASIDE_STEP_NBYTES, 1 << 16, 1) \
    T(NPYX_GZIP_KEPT_NBYTES, 1 << 17, 2) \
    /* io/checkpoints.h: of output between one and the next, at least; and how many, of 32 KiB each */ \
    T(NPYX_CHECKPOINT_MIN_SPAN_NBYTES, 1 << 18, 16) \
    T(NPYX_CHECKPOINTS_PER_TABLE, 256, 4) \
    T(NPYX_CHECKPOINTS_PER_HOST, 512, 8) \
    /* io: a checksum of so much is taken when a range begins later; places where a file's end is \
     * looked at; mapped pages that are given back; bytes held after so many lookups */ \
    T(NPYX_CATCH_UP_NBYTES, 1 << 16, 1) \
    T(NPYX_CHECKED_NBYTES, 1 << 20, 64) \
    T(NPYX_MAPPED_NBYTES, 1 << 23, 1 << 16) \
    T(NPYX_HELD_NBYTES, 1 << 23, 64) \
    T(NPYX_HELD_FROM_NLOOKUPS, 4, 1) \
    /* io: windows of what is changed in place, and bytes that are collected, or written, at a time */ \
    T(NPYX_EDIT_WINDOWS_NBYTES, 1 << 20, 1 << 12) \
    T(NPYX_EDIT_WINDOW_NBYTES, 1 << 18, 64) \
    T(NPYX_COLLECTED_NBYTES, 1 << 18, 64) \
    T(NPYX_SINK_PIECE_NBYTES, 1 << 23, 7) \
    /* format: entries that threads inflate ahead, pickles read at a time, the end of a zip that \
     * holds the directory of a small one, windows on directories and tars, and where of many \
     * arrays places are noted */ \
    T(NPYX_NPZ_AHEAD_NBYTES, 3 << 19, 64) \
    T(NPYX_PICKLE_PIECE_NBYTES, 1 << 18, 16) \
    T(NPYX_ZIP_TAIL_NBYTES, 1 << 12, 64) \
    T(NPYX_DIRECTORY_WINDOW_NBYTES, 1 << 16, 64) \
    T(NPYX_ZIP_PIECE_NBYTES, 1 << 18, 7) \
    T(NPYX_TAR_SMALL_NBYTES, 1 << 16, 1 << 10) \
    T(NPYX_MARKS_SPAN, 256, 2) \
    T(NPYX_SWAPPED_NBYTES, 1 << 16, 64) \
    T(NPYX_KEPT_OBJECTS_NBYTES, 1 << 26, 64) \
    /* stat: items that go through a loop at a time, in chunks that stay in a first-level cache; \
     * multiples of what a vector holds */ \
    T(NPYX_STATS_NELEM, 1 << 10, 64) \
    T(NPYX_DIFFERENCE_NELEM, 512, 64) \
    T(NPYX_HISTOGRAM_NELEM, 512, 64) \
    T(NPYX_WIDENED_NELEM, 256, 64) \
    T(NPYX_COLUMNS_NROWS, 256, 2) \
    T(NPYX_WIDE_NROWS, 32, 1) \
    T(NPYX_COLUMNS_NPLAIN, 16, 1) \
    /* stat/histogram.c: of more bins each thread has none of its own */ \
    T(NPYX_SHARED_NBINS, 2048, 2) \
    /* stat/reduction.c: statistics of one pass; runs that are merged one by one, others are \
     * gathered */ \
    T(NPYX_GROUP_NSTATS, 1 << 14, 2) \
    T(NPYX_GROUP_NSTATS_BY, 1 << 20, 8) \
    T(NPYX_MERGED_NELEM, 64, 2) \
    T(NPYX_GATHERED_NBYTES, 1 << 18, 64) \
    /* stat/reduction_by.c: longer entries are as good one by one; rows of a piece, bytes of a \
     * result that is merged, blocks of the file, as large as so many results, so that merging them \
     * is little */ \
    T(NPYX_LABEL_ROW_NBYTES, 1 << 16, 16) \
    T(NPYX_LABEL_PIECE_NROWS, 1 << 12, 2) \
    T(NPYX_LABEL_GATHERED_NELEM, 1 << 10, 64) \
    T(NPYX_LABEL_RESULT_NBYTES, 1 << 19, 64) \
    T(NPYX_LABEL_BLOCK_NBYTES, 1 << 21, 64) \
    T(NPYX_LABEL_BLOCK_NRESULTS, 4, 1) \
    /* stat/order.c: keys sorted at once, leading bits counted, brackets' table, keys made or \
     * caught at a time, pieces of the sample; of more ranks sorting is quicker than selecting */ \
    T(NPYX_ORDER_NKEYS, 1 << 20, 64) \
    T(NPYX_ORDER_NLEADING, 16, 4) \
    T(NPYX_ORDER_FEW_NRANKS, 32, 1) \
    T(NPYX_ORDER_FEW_NSPANS, 64, 1) \
    T(NPYX_ORDER_PIECE_NELEM, 1 << 10, 64) \
    T(NPYX_ORDER_BLOCK_NBYTES, 1 << 20, 64) \
    T(NPYX_ORDER_CAUGHT_NKEYS, 1 << 14, 64) \
    T(NPYX_BRACKETS_NLEADING, 18, 14) \
    T(NPYX_BRACKETS_CLOSER_NELEM, 512, 64) \
    T(NPYX_BRACKETS_PIECE_NELEM, 1 << 10, 64) \
    T(NPYX_BRACKETS_BLOCK_NBYTES, 1 << 20, 64) \
    T(NPYX_BRACKETS_CAUGHT_NKEYS, 1 << 14, 64) \
    T(NPYX_BRACKETS_NPIECES, 1 << 11, 4) \
    T(NPYX_QUANTILES_PANEL_NBYTES, 12 << 20, 64) \
    /* stat: different keys: the first table, from where on they are listed, lists; of a block in a \
     * table of its own; and items numbered lately */ \
    T(NPYX_KEY_TABLE_NBITS, 12, 2) \
    T(NPYX_KEY_TABLE_MOST_N, 1 << 16, 4) \
    T(NPYX_KEY_LIST_NKEYS, 1 << 21, 16) \
    T(NPYX_UNIQUE_NBITS, 12, 8) \
    T(NPYX_UNIQUE_BLOCK_NBYTES, 1 << 19, 64) \
    T(NPYX_LATELY_NBITS, 10, 1) \
    /* stat/nearest.c: what is made of a block by itself, items times queries of a block, and the \
     * least block */ \
    T(NPYX_NEAREST_RESULT_NBYTES, 1 << 18, 64) \
    T(NPYX_NEAREST_BLOCK_NITEMS, 1 << 22, 16) \
    T(NPYX_NEAREST_MIN_BLOCK_NBYTES, 1 << 14, 1) \
    /* item/element_json.c: numbers whose type is looked at once; base: slots of a small table of \
     * names */ \
    T(NPYX_JSON_NELEM, 64, 1) \
    T(NPYX_NAMES_NSLOTS, 64, 2) \
    /* ext: blocks of the rows of a typed table, read backwards too, and rows that are read over; \
     * arrays in memory that are worked on in place; small arrays of which statistics are made at \
     * once; windows on arrays named by text; files that stay open */ \
    T(NPYX_TABLE_BLOCKS_NBYTES, 1 << 22, 64) \
    T(NPYX_BACK_FIRST_NBYTES, 1 << 14, 64) \
    T(NPYX_BACK_MOST_NBYTES, 1 << 18, 64) \
    T(NPYX_SKIPPED_NBYTES, 1 << 13, 1) \
    T(NPYX_IN_PLACE_NBYTES, 1 << 20, 64) \
    T(NPYX_SMALL_ARRAY_NBYTES, 1 << 18, 64) \
    T(NPYX_MEMO_WINDOW_NBYTES, 1 << 14, 64) \
    T(NPYX_KEPT_HEADER_NBYTES, 1 << 16, 64) \
    T(NPYX_CACHE_NFILES, 16, 1) \
    T(NPYX_MEMBER_PIECE_NBYTES, 1 << 20, 7) \
    T(NPYX_WRITE_PIECE_NBYTES, 1 << 22, 7) \
    T(NPYX_SWEPT_NARRAYS, 1 << 12, 1) \
    T(NPYX_OPEN_NTARGETS, 64, 2)
/* clang-format on */

#define NPYX_TUNABLE_MOST(name, most, least) name##_MOST = most,
enum { NPYX_TUNABLES(NPYX_TUNABLE_MOST) NPYX_NO_TUNABLE };

#ifdef NPYX_TUNED
#define NPYX_TUNABLE_VALUE(name, most, least) extern int name;
NPYX_TUNABLES(NPYX_TUNABLE_VALUE)
#else
#define NPYX_TUNABLE_VALUE(name, most, least) name = most,
enum { NPYX_TUNABLES(NPYX_TUNABLE_VALUE) NPYX_NO_TUNABLE_VALUE };
#endif

#endif
