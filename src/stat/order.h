/*
 * Order statistics of a view: the item that has a rank if all are sorted, exactly, in memory that does not
 * depend on their number.
 *
 * A view of few items is read once and sorted. For a larger one, passes count keys by their leading bits,
 * until the keys that share them with the wanted ones are few enough for a last pass to collect, or share all
 * bits:
 *
 *     pass 1    0 .... 65535    of the leading 16 bits; each wanted rank is in one bucket
 *     pass 2         ....       of the next bits, of keys in those buckets
 *     ...
 *     last           ||         what is left is collected and sorted
 *
 * Mostly the first pass is enough: a sample shows about where the wanted keys are, and the pass catches the
 * keys there, too. Its counts show whether the ranks are among them.
 */
#ifndef NPYX_ORDER_H
#define NPYX_ORDER_H

#include "order_keys.h"
#include "walk/reader.h"

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
    int64_t n; /* items that have a key */
    /* private */
    npyx_source *source;
    npyx_view view;
    bool is_listed, is_sorted;      /* the list is of all keys, and in order */
    uint64_t *list, *room;          /* to sort in; NULL: not needed yet */
    int64_t list_nkeys, room_nkeys; /* for which there is memory */
    bool is_counted;                /* all keys, by their leading bits */
    uint64_t *counts;
    npyx_order_bracket brackets[NPYX_ORDER_NBRACKETS]; /* disjoint, in order; the list has what they caught */
    int nbrackets;
    int64_t ncaught;
} npyx_order;

/* Allocates nothing yet. Call npyx_order_end in the end. */
void npyx_order_init(npyx_order *order, npyx_host *host);

/* Reads a view's items, of a dtype that npyx_order_keys_of accepts, and counts them. The keys to be found
 * next include those at nplaces places (from 0, the first, to 1, the last), in increasing order. source and
 * the view's dtype must outlive the order. Polls the host. */
npyx_status npyx_order_read(npyx_order *order, npyx_source *source, const npyx_view *view,
                            const npyx_order_keys *keys, const double *places, int64_t nplaces,
                            npyx_error *error);

/* Likewise for items in memory, at most NPYX_ORDER_NKEYS. */
npyx_status npyx_order_take(npyx_order *order, const uint8_t *items, int64_t nelem,
                            const npyx_order_keys *keys, npyx_error *error);

/* Finds the keys of nranks ranks, from 0 to n - 1, in increasing order. NPYX_IO if the items have changed
 * meanwhile. */
npyx_status npyx_order_find(npyx_order *order, const int64_t *ranks, int64_t nranks, uint64_t *found,
                            npyx_error *error);

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

/* Sorts n keys of a list. */
npyx_status npyx_order_sort(npyx_order *order, uint64_t *list, int64_t n, npyx_error *error);

#endif
