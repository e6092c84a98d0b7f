/*
 * Order statistics by label: of the items of each label, those that have a rank if all of that label are
 * sorted; exactly, in memory that depends on the labels and not on the number of items.
 *
 * A first pass counts the keys of each label, unless items without a key cannot occur. Then each wanted rank
 * is in a span: first all keys of its label, later those that begin with the same bits.
 *
 *     label 0   | ............ |        passes count the next bits of the keys in spans, until there are
 *     label 1        | ..... |          few enough for a last pass to list them, span by span, or all bits
 *                                       are known
 */
#ifndef NPYX_ORDER_BY_H
#define NPYX_ORDER_BY_H

#include "labels.h"
#include "order_keys.h"

/* At most this many labels have order statistics. */
enum { NPYX_ORDER_BY_MAX_NLABELS = 1 << 16 };

typedef struct npyx_order_by {
    npyx_host *host;
    npyx_order_keys keys;
    int64_t nlabels;
    int64_t *nkeys; /* by label */
    /* private */
    npyx_source *source; /* borrowed */
    npyx_view view;
    npyx_label_runs runs;
} npyx_order_by;

/* Makes room for nlabels. NPYX_TOOBIG for more than NPYX_ORDER_BY_MAX_NLABELS. Call npyx_order_by_end on
 * failure, too. */
npyx_status npyx_order_by_init(npyx_order_by *by, npyx_host *host, int64_t nlabels, npyx_error *error);

/* Counts the keys of a view's items, of a dtype that npyx_order_keys_of accepts, by label. source, the view's
 * dtype and the runs' numbers must outlive the order. Polls the host. */
npyx_status npyx_order_by_read(npyx_order_by *by, npyx_source *source, const npyx_view *view,
                               const npyx_order_keys *keys, const npyx_label_runs *runs, npyx_error *error);

/* Finds n keys: found[i] is the one of ranks[i], below the label's number of keys, among those of labels[i].
 * Labels must increase, and the ranks of each. NPYX_IO if the items have changed meanwhile. Polls the host.
 */
npyx_status npyx_order_by_find(npyx_order_by *by, const int32_t *labels, const int64_t *ranks, int64_t n,
                               uint64_t *found, npyx_error *error);

/* Accepts a zero-initialised one, too. */
void npyx_order_by_end(npyx_order_by *by);

#endif
