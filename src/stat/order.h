/*
 * Order statistics of a view: the item that has a rank if all are sorted, or all of one label, exactly, in
 * memory that does not depend on the number of items.
 *
 * A view of few items is read once, and its keys are listed by label. For a larger one, passes count the keys
 * of each label by their leading bits, until the keys that share them with the wanted ones are few enough for
 * a last pass to list, or share all bits:
 *
 *     pass 1    0 .... 65535    of the leading bits; each wanted rank is in one bucket
 *     pass 2         ....       of the next bits, of keys in those buckets
 *     ...
 *     last           ||         what is left is listed, bucket by bucket, and sorted
 *
 * Without labels the first pass is mostly enough: a sample shows about where the wanted keys are, and the
 * pass catches the keys there, too. Its counts show whether the ranks are among them.
 */
#ifndef NPYX_ORDER_H
#define NPYX_ORDER_H

#include "labels.h"
#include "order_keys.h"
#include "walk/reader.h"

/* At most this many labels have order statistics. */
enum { NPYX_ORDER_MAX_NLABELS = 1 << 16 };

/* Keys that the first pass looks for: from low to high, both included. They are counted if low is high, and
 * caught if not. */
typedef struct npyx_order_bracket {
    uint64_t low, high;
    int64_t nbelow; /* keys below low */
    int64_t nkeys;
} npyx_order_bracket;

enum { NPYX_ORDER_NPLACES = 16, NPYX_ORDER_NBRACKETS = 3 * NPYX_ORDER_NPLACES };

typedef struct npyx_order {
    npyx_host *host;
    npyx_order_keys keys;
    int64_t nlabels; /* 1 if there are none: all items are of label 0 */
    int64_t *firsts; /* [nlabels + 1]: how many keys are of lower labels */
    /* private */
    npyx_source *source;
    npyx_view view;
    bool has_labels;
    npyx_label_runs runs;
    bool is_listed;                 /* the list is of all keys, label after label */
    uint64_t *list, *room;          /* room: to put keys of labels together; NULL: not needed yet */
    int64_t list_nkeys, room_nkeys; /* for which there is memory */
    int32_t *labels;                /* while keys are listed: theirs */
    int nbits;                      /* leading bits by which all keys of each label are counted */
    uint64_t *counts;               /* NULL: they are not */
    npyx_order_bracket brackets[NPYX_ORDER_NBRACKETS]; /* disjoint, in order; the list has what they caught */
    int nbrackets;
    int64_t ncaught;
} npyx_order;

/* nlabels: 1 without labels. NPYX_TOOBIG for more than NPYX_ORDER_MAX_NLABELS. Call npyx_order_end on
 * failure, too. */
npyx_status npyx_order_init(npyx_order *order, npyx_host *host, int64_t nlabels, npyx_error *error);

/* Reads a view's items, of a dtype that npyx_order_keys_of accepts, and counts those of each label that have
 * keys. runs: their labels; NULL: all are of label 0. The keys to be found next include those at nplaces
 * places (from 0, the first, to 1, the last), in increasing order. source, the view's dtype and the runs'
 * numbers must outlive the order. Polls the host. */
npyx_status npyx_order_read(npyx_order *order, npyx_source *source, const npyx_view *view,
                            const npyx_order_keys *keys, const npyx_label_runs *runs, const double *places,
                            int64_t nplaces, npyx_error *error);

/* Likewise for items in memory, at most NPYX_ORDER_NKEYS. */
npyx_status npyx_order_take(npyx_order *order, const uint8_t *items, int64_t nelem,
                            const npyx_order_keys *keys, const npyx_label_runs *runs, npyx_error *error);

/* How many items of a label have a key. */
static inline int64_t npyx_order_nkeys(const npyx_order *order, int64_t label) {
    return order->firsts[label + 1] - order->firsts[label];
}

/* Finds n keys: found[i] is the one of ranks[i], below the label's number of keys, among those of labels[i]
 * (NULL: of label 0). Labels must increase, and the ranks of each. NPYX_IO if the items have changed
 * meanwhile. Polls the host. */
npyx_status npyx_order_find(npyx_order *order, const int32_t *labels, const int64_t *ranks, int64_t n,
                            uint64_t *found, npyx_error *error);

/* Accepts a zero-initialised order, too. */
void npyx_order_end(npyx_order *order);

/* ---- by a sample: order_brackets.c, only for order.c ---- */

/* Counts the keys, of more than NPYX_BRACKETS_NLEADING bits, and catches those near the places. NPYX_DONE,
 * with nothing counted, if that is unlikely to catch the wanted ones. */
npyx_status npyx_order_read_brackets(npyx_order *order, const double *places, int64_t nplaces,
                                     npyx_error *error);

/* Finds the keys of ranks in increasing order. *is_found: all are among those caught; else nothing is
 * found. */
npyx_status npyx_order_find_in_brackets(npyx_order *order, const int64_t *ranks, int64_t nranks,
                                        uint64_t *found, bool *is_found, npyx_error *error);

/* Makes room for n keys; its contents are lost. */
npyx_status npyx_order_make_room(npyx_order *order, uint64_t **room, int64_t *nkeys, int64_t n,
                                 npyx_error *error);

/* Finds the keys of ranks among n keys of a list, which is sorted as far as that takes. */
npyx_status npyx_order_select(npyx_order *order, uint64_t *list, int64_t n, const int64_t *ranks,
                              int64_t nranks, uint64_t *found, npyx_error *error);

/* A pass over all items. */
typedef struct npyx_order_pass {
    /* What any thread does with a block. If part_nelem is 0, the caller gives it no memory for a result: the
     * work itself adds its result to those of other threads. */
    npyx_work work;
    bool has_threads;
    int64_t part_nelem; /* items that the caller does at a time: their result always fits */
    /* Adds a result, in the caller's thread; false, with nothing added, if it had too little room. */
    bool (*add)(const void *ctx, const void *result);
} npyx_order_pass;

npyx_status npyx_order_go(const npyx_order *order, const npyx_order_pass *pass, npyx_error *error);

#endif
