/*
 * Every size at which the code takes another path, with its reason: blocks, windows, tables, and points from
 * which something else is worth its cost.
 *
 * Small arrays never reach these sizes, so tests with small arrays never take the other paths. Where
 * NPYX_TUNED is defined, the sizes are variables: NPYEXT_TUNE='work_nbytes=64,batch_nruns=2' sets some of
 * them, and 'least' sets all to the least that the code can work with. `make check-small` runs the tests that
 * way. Otherwise they are constants.
 *
 * No value exceeds its default, NAME_MOST, by which arrays are sized, and no first size exceeds the size it
 * grows to (tunables.c ensures both). Loops over a multiple of a vector's items remain so for any default
 * shifted to the right.
 */
#ifndef NPYX_TUNABLES_H
#define NPYX_TUNABLES_H

/* T(name, default, least): the default is the released value. */
/* clang-format off */
#define NPYX_TUNABLES(T) \
    /* ---- walk: blocks and panels of rows (reader.c) ---- */            \
    T(NPYX_FIRST_BLOCK_NBYTES, 1 << 14, 256)         /* the first block, so that a LIMIT reads little; each next one is twice as large */ \
    T(NPYX_WORK_NBYTES, 1 << 18, 1 << 10)            /* the largest block, well inside a second-level cache, where filters and the host find it */ \
    T(NPYX_FIRST_PANEL_NBYTES, 1 << 16, 64)          /* likewise for gathered rows */ \
    T(NPYX_MAX_PANEL_NBYTES, 1 << 23, 128)           /* the largest panel: each piece of the file is read once per panel */ \
    T(NPYX_FORWARD_PANEL_NBYTES, 1 << 24, 1 << 15)   /* where each panel is one pass through deflated bytes */ \
    T(NPYX_READER_WINDOW_NBYTES, 1 << 20, 128)       /* the window that strided items are gathered from */ \
    T(NPYX_GAP_NBYTES, 1 << 12, 1)                   /* a gap that is read through: another system call costs as much */ \
    T(NPYX_BATCH_NRUNS, 16, 2)                       /* runs read before they are copied together */ \
    T(NPYX_AHEAD_NBYTES, 1 << 22, 1)                 /* from here on other threads are worth starting */ \
    T(NPYX_MAX_ROW_NBYTES, 1 << 18, 1 << 11)         /* rows stay below this, so that a block of them is about a block */ \
    /* ---- io: reading ---- */ \
    T(NPYX_FIRST_INPUT_NBYTES, 1 << 12, 16)          /* compressed bytes read at first, for callers that want little */ \
    T(NPYX_INPUT_NBYTES, 1 << 16, 256)               /* and later */ \
    T(NPYX_SKIP_NBYTES, 1 << 16, 512)                /* output inflated and dropped at a time */ \
    T(NPYX_JUMP_NBYTES, 1 << 14, 512)                /* inflating this much costs more than resuming at a checkpoint */ \
    T(NPYX_ASIDE_INPUT_NBYTES, 1 << 16, 64)          /* compressed bytes that a thread reads at a time */ \
    T(NPYX_ASIDE_STEP_NBYTES, 1 << 16, 64)           /* output between two CRC-32s, taken while it is in the cache */ \
    T(NPYX_GZIP_KEPT_NBYTES, 1 << 17, 64)            /* output of a gzip file that is kept: a header's reader continues with what follows */ \
    T(NPYX_CHECKPOINT_MIN_SPAN_NBYTES, 1 << 18, 1 << 10) /* least output between two checkpoints */ \
    T(NPYX_CHECKPOINTS_PER_TABLE, 256, 4)            /* 8 MiB of windows */ \
    T(NPYX_CHECKPOINTS_PER_HOST, 512, 8)             /* 16 MiB of windows */ \
    T(NPYX_CHECKED_NBYTES, 1 << 20, 64)              /* a scan checks this often whether the file is still the same */ \
    T(NPYX_MAPPED_NBYTES, 1 << 23, 1 << 16)          /* of a mapped file that a scan keeps resident */ \
    T(NPYX_HELD_NBYTES, 1 << 23, 64)                 /* arrays up to this size are held in memory */ \
    T(NPYX_HELD_FROM_NLOOKUPS, 4, 1)                 /* after this many lookups */ \
    T(NPYX_REMOTE_BLOCK_NBYTES, 1 << 16, 64)         /* the least that is asked of a file elsewhere: a round trip costs more than its bytes */ \
    T(NPYX_REMOTE_RANGE_NBYTES, 1 << 22, 64)         /* one range; more at once are several, which the host may read side by side */ \
    T(NPYX_REMOTE_CALL_NBYTES, 1 << 25, 64)          /* all ranges of one question */ \
    T(NPYX_REMOTE_KEPT_NBYTES, 1 << 26, 1 << 10)     /* blocks that are kept */ \
    T(NPYX_REMOTE_AHEAD_NFILES, 64, 1)               /* files elsewhere that are asked for together */ \
    /* ---- io: writing ---- */ \
    T(NPYX_EDIT_WINDOWS_NBYTES, 1 << 20, 1 << 12)    /* all windows for changes in place */ \
    T(NPYX_EDIT_WINDOW_NBYTES, 1 << 18, 64)          /* one of them */ \
    T(NPYX_COLLECTED_NBYTES, 1 << 18, 64)            /* bytes that a sink collects before writing */ \
    T(NPYX_SINK_PIECE_NBYTES, 1 << 23, 7)            /* bytes written between two checks for an interrupt */ \
    /* ---- format ---- */ \
    T(NPYX_NPZ_AHEAD_NBYTES, 3 << 19, 64)            /* entries up to this size are inflated by threads before they are wanted */ \
    T(NPYX_PICKLE_FIRST_NBYTES, 1 << 12, 1)          /* of a pickle, read first, and after what is left in the file */ \
    T(NPYX_PICKLE_PIECE_NBYTES, 1 << 18, 16)         /* of a pickle, read at a time at most */ \
    T(NPYX_PICKLE_LEFT_NBYTES, 1 << 14, 16)          /* of a byte string that is left in the file */ \
    T(NPYX_ZIP_TAIL_NBYTES, 1 << 12, 64)             /* the end of a zip that is read first: all of a small one's directory */ \
    T(NPYX_DIRECTORY_WINDOW_NBYTES, 1 << 16, 64)     /* a window on a zip's directory */ \
    T(NPYX_ZIP_PIECE_NBYTES, 1 << 18, 7)             /* deflated between two checks for an interrupt */ \
    T(NPYX_TAR_SMALL_NBYTES, 1 << 16, 1 << 10)       /* members up to this size are read together with the headers around them */ \
    T(NPYX_MARKS_SPAN, 256, 2)                       /* arrays of a series between two noted places */ \
    T(NPYX_SWAPPED_NBYTES, 1 << 16, 64)              /* bytes of a .ten swapped at a time */ \
    T(NPYX_KEPT_OBJECTS_NBYTES, 1 << 26, 64)         /* objects that a host keeps with their archives */ \
    /* ---- stat: chunks that stay in a first-level cache, multiples of a vector's length ---- */ \
    T(NPYX_CALC_NELEM, 1 << 13, 64)                  /* items made at a time by each operation of an expression */ \
    T(NPYX_CONCAT_AHEAD_NBYTES, 1 << 23, 64)         /* parts of a concatenation that begin within this are opened ahead */ \
    T(NPYX_STATS_NELEM, 1 << 11, 64)                 /* of the two passes of statistics */ \
    T(NPYX_DIFFERENCE_NELEM, 512, 64)                /* of comparisons */ \
    T(NPYX_HISTOGRAM_NELEM, 512, 64)                 /* of histograms */ \
    T(NPYX_WIDENED_NELEM, 256, 64)                   /* of numbers converted to double for distances */ \
    T(NPYX_COLUMNS_NROWS, 256, 2)                    /* rows added at a time along an axis */ \
    T(NPYX_WIDE_NROWS, 32, 1)                        /* likewise for rows too long for that */ \
    T(NPYX_COLUMNS_NPLAIN, 16, 1)                    /* rows added plainly before their sum is compensated */ \
    /* ---- stat: which method is used, and on how much ---- */ \
    T(NPYX_SHARED_NBINS, 2048, 2)                    /* with more bins no thread has counters of its own */ \
    T(NPYX_GROUP_NSTATS, 1 << 14, 2)                 /* statistics in one pass */ \
    T(NPYX_GROUP_NSTATS_BY, 1 << 20, 8)              /* likewise by labels */ \
    T(NPYX_MERGED_NELEM, 64, 2)                      /* longer runs are merged one by one; shorter ones are gathered */ \
    T(NPYX_GATHERED_NBYTES, 1 << 18, 64)             /* gathered at a time */ \
    T(NPYX_LABEL_ROW_NBYTES, 1 << 16, 16)            /* longer entries of a label are handled one by one just as well */ \
    T(NPYX_LABEL_PIECE_NROWS, 1 << 12, 2)            /* rows sorted by label at a time */ \
    T(NPYX_LABEL_GATHERED_NELEM, 1 << 10, 64)        /* items of one label gathered at a time */ \
    T(NPYX_LABEL_RESULT_NBYTES, 1 << 19, 64)         /* larger results are not built per block and merged */ \
    T(NPYX_LABEL_BLOCK_NBYTES, 1 << 21, 64)          /* the largest block of the file */ \
    T(NPYX_LABEL_BLOCK_NRESULTS, 4, 1)               /* a block is as large as this many results, so that merging them costs little */ \
    T(NPYX_ORDER_NKEYS, 1 << 20, 64)                 /* keys held at a time: 8 MiB, and as much again while those of labels are put together */ \
    T(NPYX_ORDER_NLEADING, 16, 8)                    /* leading bits counted per pass; at least 2 more than ORDER_FEW_NSPANS takes to number */ \
    T(NPYX_ORDER_FEW_NRANKS, 32, 1)                  /* with more ranks, sorting is faster than selecting */ \
    T(NPYX_ORDER_FEW_NSPANS, 64, 1)                  /* with more spans, each has fewer counters */ \
    T(NPYX_ORDER_PIECE_NELEM, 1 << 10, 64)           /* keys made at a time */ \
    T(NPYX_ORDER_BLOCK_NBYTES, 1 << 20, 64)          /* a thread's block */ \
    T(NPYX_ORDER_CAUGHT_NKEYS, 1 << 14, 64)          /* keys of a block that fit; with more the caller does it again */ \
    T(NPYX_ORDER_BY_NCOUNTERS, 1 << 21, 16)          /* counters of all labels: 16 MiB; more only if there are two for each span */ \
    T(NPYX_ORDER_BY_NRESULTS, 1 << 16, 2)            /* quantiles of labels that are found at once */ \
    T(NPYX_BRACKETS_NLEADING, 18, 14)                /* leading bits of the brackets' table: 256 KiB, of which most arrays touch little */ \
    T(NPYX_BRACKETS_CLOSER_NELEM, 512, 64)           /* candidates collected before they are checked again */ \
    T(NPYX_BRACKETS_PIECE_NELEM, 1 << 10, 64)        /* keys made at a time */ \
    T(NPYX_BRACKETS_BLOCK_NBYTES, 1 << 18, 64)       /* a thread's block */ \
    T(NPYX_BRACKETS_CAUGHT_NKEYS, 1 << 14, 64)       /* keys of a block that fit */ \
    T(NPYX_BRACKETS_NPIECES, 1 << 11, 4)             /* pieces of the sample, far apart */ \
    T(NPYX_QUANTILES_PANEL_NBYTES, 12 << 20, 64)     /* a panel of rows whose quantiles are taken at once */ \
    T(NPYX_SORT_PIECE_NKEYS, 1 << 18, 4)             /* a thread's piece: one or two milliseconds */ \
    T(NPYX_SORT_THREADS_NKEYS, 1 << 19, 16)          /* with as many keys threads sort the pieces */ \
    T(NPYX_KEY_TABLE_NBITS, 12, 2)                   /* the first table of distinct keys */ \
    T(NPYX_KEY_TABLE_MOST_N, 1 << 16, 4)             /* more keys than this are listed and sorted */ \
    T(NPYX_KEY_LIST_NKEYS, 1 << 21, 16)              /* the first such list */ \
    T(NPYX_UNIQUE_NBITS, 12, 8)                      /* the table of a block */ \
    T(NPYX_UNIQUE_BLOCK_NBYTES, 1 << 19, 64)         /* a thread's block */ \
    T(NPYX_LATELY_NBITS, 10, 1)                      /* recently numbered items, which mostly recur */ \
    T(NPYX_NEAREST_RESULT_NBYTES, 1 << 18, 64)       /* larger results are not built per block */ \
    T(NPYX_NEAREST_BLOCK_NITEMS, 1 << 23, 16)        /* items times queries per block: a few milliseconds' work */ \
    T(NPYX_NEAREST_ROWS_NBYTES, 1 << 13, 1)          /* rows compared with some queries before others are taken: a first-level cache holds both */ \
    T(NPYX_NEAREST_MIN_BLOCK_NBYTES, 1 << 14, 1)     /* the smallest block */ \
    /* ---- item, base ---- */ \
    T(NPYX_JSON_NELEM, 64, 1)                        /* numbers printed per check of their type */ \
    T(NPYX_NAMES_NSLOTS, 64, 2)                      /* the first table of names */ \
    /* ---- ext ---- */ \
    T(NPYX_TABLE_BLOCKS_NBYTES, 1 << 22, 64)         /* all blocks of a typed table's cursor */ \
    T(NPYX_SKIPPED_NBYTES, 1 << 13, 1)               /* a second axis is read in part only if that skips this much of each row */ \
    T(NPYX_SMALL_ARRAY_NBYTES, 1 << 18, 64)          /* statistics of smaller arrays are computed at once */ \
    T(NPYX_MEMO_WINDOW_NBYTES, 1 << 14, 64)          /* the window on an array that a scalar function was called with before */ \
    T(NPYX_KEPT_HEADER_NBYTES, 1 << 16, 64)          /* longer headers are parsed again for each row */ \
    T(NPYX_CACHE_NFILES, 16, 1)                      /* files kept open while not in use */ \
    T(NPYX_MEMBER_PIECE_NBYTES, 1 << 20, 7)          /* of a member, copied at a time */ \
    T(NPYX_WRITE_PIECE_NBYTES, 1 << 22, 7)           /* of an array, written by npy_write at a time */ \
    T(NPYX_SWEPT_NARRAYS, 1 << 12, 1)                /* names of dropped arrays before their memory is freed */ \
    T(NPYX_OPEN_NTARGETS, 64, 2)                     /* files of one transaction that are open while being put in place */
/* clang-format on */

#define NPYX_TUNABLE_MOST(name, most, least) name##_MOST = (most),
enum { NPYX_TUNABLES(NPYX_TUNABLE_MOST) NPYX_NO_TUNABLE };

#ifdef NPYX_TUNED
#define NPYX_TUNABLE_VALUE(name, most, least) extern int name;
NPYX_TUNABLES(NPYX_TUNABLE_VALUE)
#else
#define NPYX_TUNABLE_VALUE(name, most, least) name = (most),
enum { NPYX_TUNABLES(NPYX_TUNABLE_VALUE) NPYX_NO_TUNABLE_VALUE };
#endif

#endif
