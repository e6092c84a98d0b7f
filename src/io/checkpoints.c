#include "checkpoints.h"

struct npyx_checkpoints {
    npyx_host *host;
    int64_t span_nbytes; /* least output between two of them */
    int64_t next_off;
    int count;
    int64_t capacity;
    npyx_checkpoint *items;
    npyx_checkpoints *older; /* of the host's tables */
};

npyx_checkpoints *npyx_checkpoints_make(npyx_host *host, int64_t nbytes) {
    if (nbytes <= NPYX_CHECKPOINT_MIN_SPAN_NBYTES && nbytes != NPYX_CHECKPOINTS_ANY_NBYTES)
        return NULL;
    npyx_checkpoints *table = npyx_alloc(host, sizeof *table);
    if (table == NULL)
        return NULL;
    int64_t even_nbytes = nbytes / NPYX_CHECKPOINTS_PER_TABLE, least_nbytes = NPYX_CHECKPOINT_MIN_SPAN_NBYTES;
    int64_t span_nbytes = even_nbytes > least_nbytes ? even_nbytes : least_nbytes;
    *table = (npyx_checkpoints){
        .host = host, .span_nbytes = span_nbytes, .next_off = span_nbytes, .older = host->checkpoints};
    host->checkpoints = table;
    return table;
}

void npyx_checkpoints_free(npyx_checkpoints *table) {
    if (table == NULL)
        return;
    npyx_checkpoints **link = &table->host->checkpoints;
    while (*link != table)
        link = &(*link)->older;
    *link = table->older;
    for (int i = 0; i < table->count; i++)
        npyx_free(table->host, table->items[i].window);
    table->host->ncheckpoints -= table->count;
    npyx_free(table->host, table->items);
    npyx_free(table->host, table);
}

static int64_t add_capped(int64_t a, int64_t b) {
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Drops the first of every two, and wants them twice as far apart from now on. */
static void thin(npyx_checkpoints *table) {
    int nkept = 0;
    for (int i = 0; i < table->count; i++) {
        if (i % 2 == 0)
            npyx_free(table->host, table->items[i].window);
        else
            table->items[nkept++] = table->items[i];
    }
    table->host->ncheckpoints -= table->count - nkept;
    table->count = nkept;
    table->span_nbytes = add_capped(table->span_nbytes, table->span_nbytes);
    table->next_off = add_capped(nkept > 0 ? table->items[nkept - 1].off : 0, table->span_nbytes);
}

/* A host's table with the most checkpoints, the oldest among equals. */
static npyx_checkpoints *largest_table(const npyx_host *host) {
    npyx_checkpoints *largest = host->checkpoints;
    for (npyx_checkpoints *table = largest; table != NULL; table = table->older) {
        if (table->count >= largest->count)
            largest = table;
    }
    return largest;
}

void npyx_checkpoints_add(npyx_checkpoints *table, const npyx_checkpoint *checkpoint) {
    npyx_host *host = table->host;
    bool is_kept = checkpoint->window != NULL;
    if (is_kept && table->count == NPYX_CHECKPOINTS_PER_TABLE)
        thin(table);
    while (is_kept && host->ncheckpoints >= NPYX_CHECKPOINTS_PER_HOST)
        thin(largest_table(host));
    /* If this table was thinned, the checkpoint may now be nearer than wanted. */
    if (checkpoint->off >= table->next_off) {
        table->next_off = add_capped(checkpoint->off, table->span_nbytes);
        npyx_checkpoint *items =
            is_kept ? npyx_grow(host, table->items, table->count, &table->capacity, sizeof *items) : NULL;
        if (items != NULL) {
            table->items = items;
            items[table->count++] = *checkpoint;
            host->ncheckpoints++;
            return;
        }
    }
    npyx_free(host, checkpoint->window);
}

int64_t npyx_checkpoints_next_off(const npyx_checkpoints *table) {
    return table == NULL ? INT64_MAX : table->next_off;
}

/* The number of checkpoints at or before off. */
static int count_to(const npyx_checkpoints *table, int64_t off) {
    int low = 0, high = table == NULL ? 0 : table->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (table->items[middle].off <= off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const npyx_checkpoint *npyx_checkpoints_find(const npyx_checkpoints *table, int64_t off) {
    int n = count_to(table, off);
    return n == 0 ? NULL : &table->items[n - 1];
}

const npyx_checkpoint *npyx_checkpoints_after(const npyx_checkpoints *table, int64_t off) {
    int n = count_to(table, off);
    return table == NULL || n == table->count ? NULL : &table->items[n];
}
