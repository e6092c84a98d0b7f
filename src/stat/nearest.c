/*
 * The k nearest hits so far of each query are a heap, whose root is the farthest of them: a row that is not
 * nearer than the root costs only its distance. A block has heaps of its own, built by any thread; what they
 * keep is then offered to the heaps of all blocks. If so much is kept that this would be most of the work
 * (many queries, a large k), the caller does it all, and polls the host now and then. With max_distance,
 * blocks usually have few hits, whatever k: the caller does only those that have more than there is room for.
 * The nearest rows are the same set, however they are found.
 *
 * A block that is begun later passes over what is farther than the farthest hit so far: the threads read how
 * far that is while the caller changes it, and any of its values will do.
 */
#include "nearest.h"

#include <math.h>

enum {
    NEAREST_POLL_NITEMS = 1 << 20,
    NEAREST_OFFER_NITEMS = 256,   /* as long as a hit may take: a heap out of the cache, a block allocated */
    NEAREST_MOST_NREALS = 1 << 27 /* of all queries: 1 GiB */
};

/* One query's hits in a block, whose rows count from its first. */
typedef struct nearest_local {
    int64_t n;       /* -1: they are more than there is room for, and not there */
    npyx_hit hits[]; /* a heap of at most capacity */
} nearest_local;

typedef struct nearest_pass {
    npyx_nearest *nearest;
    npyx_ruler ruler;
    npyx_reader reader;
    int64_t array;
    int64_t capacity; /* of a block's heaps */
    bool is_partial;  /* a block may have more hits than that */
} nearest_pass;

/* ---- heaps ---- */

/* Whether a is farther than b: among equal distances, later arrays and rows are. */
static bool nearest_is_farther(const npyx_hit *a, const npyx_hit *b) {
    if (a->distance != b->distance)
        return a->distance > b->distance;
    return a->array != b->array ? a->array > b->array : a->row > b->row;
}

/* Replaces the root by a hit, and sinks it to its place. */
static void nearest_sink(npyx_hit *hits, int64_t n, npyx_hit hit) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && nearest_is_farther(&hits[child + 1], &hits[child]))
            child++;
        if (!nearest_is_farther(&hits[child], &hit))
            break;
        hits[at] = hits[child];
    }
    hits[at] = hit;
}

/* Adds a hit after the last of n, and lifts it to its place. */
static void nearest_lift(npyx_hit *hits, int64_t n, npyx_hit hit) {
    int64_t at = n;
    for (int64_t parent; at > 0 && nearest_is_farther(&hit, &hits[parent = (at - 1) / 2]); at = parent)
        hits[at] = hits[parent];
    hits[at] = hit;
}

static npyx_status nearest_copy_row(const npyx_nearest *nearest, const uint8_t *row, size_t nbytes,
                                    npyx_hit *hit, npyx_error *error) {
    if (!nearest->keeps_rows)
        return NPYX_OK;
    hit->bytes = npyx_alloc(nearest->host, nbytes);
    NPYX_TRY(npyx_check_memory(hit->bytes, error));
    memcpy(hit->bytes, row, nbytes);
    return NPYX_OK;
}

/* Appends a hit of a query that has fewer than k. */
static npyx_status nearest_append(npyx_nearest *nearest, npyx_hits *hits, npyx_hit hit, npyx_error *error) {
    if (nearest->nhits == NPYX_MAX_NHITS) /* of all files together: no fault of the one that is being read */
        return npyx_fail_as(error, NPYX_KIND_QUESTION, NPYX_TOOBIG, -1,
                            "more than %d rows are within max_distance; make it smaller, or give a k",
                            NPYX_MAX_NHITS);
    NPYX_TRY(npyx_grow(nearest->host, &hits->items, hits->n, &hits->capacity, sizeof hits->items[0], error));
    nearest->nhits++;
    if (nearest->k == NPYX_EVERY_HIT) /* none will give way to another */
        hits->items[hits->n++] = hit;
    else
        nearest_lift(hits->items, hits->n++, hit);
    return NPYX_OK;
}

/* Tells the threads how far a query's hits go. 32 bits change at once everywhere; they are rounded up. */
static void nearest_set_bound(npyx_nearest *nearest, int64_t query, double distance) {
    float bound = (float)distance;
    if ((double)bound < distance)
        bound = nextafterf(bound, INFINITY);
    __atomic_store(&nearest->bounds[query], &bound, __ATOMIC_RELAXED);
}

/* Offers a row to a query. */
static npyx_status nearest_offer(nearest_pass *pass, int64_t query, double distance, int64_t row,
                                 const uint8_t *bytes, npyx_error *error) {
    npyx_nearest *nearest = pass->nearest;
    npyx_hits *hits = &nearest->hits[query];
    npyx_hit hit = {.distance = distance, .array = pass->array, .row = row};
    if (!(distance <= nearest->max_distance) || /* NaN, too */
        (hits->n == nearest->k && !nearest_is_farther(&hits->items[0], &hit)))
        return NPYX_OK;
    nearest->nadmitted++;
    NPYX_TRY(nearest_copy_row(nearest, bytes, (size_t)pass->reader.row_nbytes, &hit, error));
    if (hits->n == nearest->k) {
        npyx_free(nearest->host, hits->items[0].bytes);
        nearest_sink(hits->items, hits->n, hit);
    } else {
        npyx_status status = nearest_append(nearest, hits, hit, error);
        if (status != NPYX_OK) {
            npyx_free(nearest->host, hit.bytes);
            return status;
        }
    }
    if (hits->n == nearest->k)
        nearest_set_bound(nearest, query, hits->items[0].distance);
    return NPYX_OK;
}

/* ---- queries ---- */

static npyx_status nearest_check_queries(npyx_nearest *nearest, const npyx_view *view, int64_t *nqueries,
                                         npyx_error *error) {
    NPYX_TRY(npyx_distance_check(view->dtype, error));
    if (view->ndim != 1 && view->ndim != 2)
        return npyx_refuse(error, "must be a vector, or vectors as rows; it has %d dimensions", view->ndim);
    *nqueries = view->ndim == 1 ? 1 : view->shape[0];
    nearest->width = view->shape[view->ndim - 1];
    if (nearest->width == 0)
        return npyx_refuse(error, "must be a vector, or vectors as rows; these have no items");
    if (*nqueries > NEAREST_MOST_NREALS / npyx_distance_padded(nearest->width))
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "%" PRId64 " queries of %" PRId64 " items are more than are kept at a time",
                         *nqueries, nearest->width);
    if (nearest->k != NPYX_EVERY_HIT && *nqueries > 0 && nearest->k > NPYX_MAX_NHITS / *nqueries)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "%" PRId64 " queries of %" PRId64 " hits each are more than %d", *nqueries,
                         nearest->k, NPYX_MAX_NHITS);
    return NPYX_OK;
}

static npyx_status nearest_read_reals(npyx_nearest *nearest, npyx_source *source, const npyx_view *view,
                                      npyx_error *error) {
    const int64_t padded = npyx_distance_padded(nearest->width);
    npyx_reals reals = {0};
    npyx_status status;
    npyx_reals_begin(&reals, source, view);
    for (int64_t position = 0; (status = npyx_reals_next(&reals, error)) == NPYX_OK;) {
        for (int64_t i = 0, n; i < reals.n; i += n, position += n) {
            int64_t column = position % nearest->width, left = nearest->width - column;
            n = reals.n - i < left ? reals.n - i : left;
            double *row = nearest->reals + position / nearest->width * padded;
            memcpy(row + column, reals.values + i, (size_t)n * sizeof *row);
            if (n == left)
                memset(row + nearest->width, 0, (size_t)(padded - nearest->width) * sizeof *row);
        }
    }
    npyx_reals_clear(&reals);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Measures the queries, of which there may be many millions. Their number is that of those measured. */
static npyx_status nearest_measure(npyx_nearest *nearest, int64_t nqueries, npyx_error *error) {
    const int64_t padded = npyx_distance_padded(nearest->width);
    int64_t nreals = 0;
    while (nearest->nqueries < nqueries) {
        const int64_t i = nearest->nqueries++;
        nearest->hits[i] = (npyx_hits){0};
        nearest_set_bound(nearest, i, nearest->max_distance);
        nearest->queries[i] = (npyx_vector){.reals = nearest->reals + i * padded, .nelem = nearest->width};
        npyx_vector_measure(&nearest->queries[i]);
        nreals += padded;
        if (nreals < NEAREST_POLL_NITEMS)
            continue;
        nreals = 0;
        NPYX_TRY(npyx_poll(nearest->host, error));
    }
    return NPYX_OK;
}

npyx_status npyx_nearest_begin(npyx_nearest *nearest, npyx_source *source, const npyx_view *view,
                               npyx_error *error) {
    int64_t nqueries = 0;
    NPYX_TRY(nearest_check_queries(nearest, view, &nqueries, error));
    /* nothing is cleared at once: of a million queries that takes a tenth of a second */
    nearest->memory =
        npyx_alloc_array(nearest->host, nqueries * npyx_distance_padded(nearest->width) + NPYX_DISTANCE_UNIT,
                         sizeof *nearest->reals);
    nearest->queries = npyx_alloc_array(nearest->host, nqueries, sizeof *nearest->queries);
    nearest->hits = npyx_alloc_array(nearest->host, nqueries, sizeof *nearest->hits);
    nearest->bounds = npyx_alloc_array(nearest->host, nqueries, sizeof *nearest->bounds);
    if (nearest->memory == NULL || nearest->queries == NULL || nearest->hits == NULL ||
        nearest->bounds == NULL)
        return npyx_fail_nomem(error);
    nearest->reals = npyx_distance_aligned(nearest->memory);
    NPYX_TRY(nearest_read_reals(nearest, source, view, error));
    return nearest_measure(nearest, nqueries, error);
}

/* ---- blocks by themselves ---- */

static size_t nearest_local_nbytes(int64_t capacity) {
    return sizeof(nearest_local) + (size_t)capacity * sizeof(npyx_hit);
}

/* Where a query's hits are in a block's result. */
static size_t nearest_local_off(const nearest_pass *pass, int64_t query) {
    return (size_t)query * nearest_local_nbytes(pass->capacity);
}

static nearest_local *nearest_local_of(const nearest_pass *pass, void *result, int64_t query) {
    return (nearest_local *)(void *)((uint8_t *)result + nearest_local_off(pass, query));
}

/* The distance beyond which a row is no hit, as far as the blocks that were merged and the query's heap in
 * this one show. */
static double nearest_bound(const nearest_pass *pass, int64_t query, const nearest_local *local) {
    const bool is_full = local->n == pass->capacity && !pass->is_partial;
    float bound;
    __atomic_load(&pass->nearest->bounds[query], &bound, __ATOMIC_RELAXED);
    return is_full && local->hits[0].distance < (double)bound ? local->hits[0].distance : (double)bound;
}

/* Offers a row of a block, which is within the bound, to a query's heap in it. */
static void nearest_keep(const nearest_pass *pass, nearest_local *local, double distance, int64_t row) {
    const npyx_hit hit = {.distance = distance, .row = row};
    if (local->n < 0)
        return;
    if (local->n < pass->capacity)
        nearest_lift(local->hits, local->n++, hit);
    else if (pass->is_partial)
        local->n = -1;
    else if (nearest_is_farther(&local->hits[0], &hit))
        nearest_sink(local->hits, local->n, hit);
}

/* Offers the rows of a part of a block to a query's heap in it. first: the part's first row; step: from a
 * row's distance to the next one's. */
static void nearest_run_query(const nearest_pass *pass, int64_t first, int64_t nrows, const double *distances,
                              int64_t step, int64_t query, nearest_local *local) {
    double bound = nearest_bound(pass, query, local);
    for (int64_t row = 0; row < nrows; row++) {
        const double distance = distances[row * step];
        if (!(distance <= bound)) /* NaN, too */
            continue;
        nearest_keep(pass, local, distance, first + row);
        bound = nearest_bound(pass, query, local);
    }
}

/* Rows that are compared with some queries before others are taken: a first-level cache holds both. */
static int64_t nearest_part_nrows(const nearest_pass *pass) {
    const int64_t nfit = NPYX_NEAREST_ROWS_NBYTES / pass->reader.row_nbytes;
    const int64_t most = npyx_distance_nrows(&pass->ruler, pass->nearest->width);
    return nfit < 1 ? 1 : nfit < most ? nfit : most;
}

/* Builds a block's heaps, in any thread. */
static void nearest_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    (void)first;
    const nearest_pass *pass = ctx;
    const npyx_nearest *nearest = pass->nearest;
    const int64_t row_nbytes = pass->reader.row_nbytes, nrows = (int64_t)nbytes / row_nbytes;
    const int64_t most = nearest_part_nrows(pass);
    double distances[NPYX_DISTANCE_NROWS * NPYX_DISTANCE_NMANY];
    npyx_distance_rows rows;
    for (int64_t query = 0; query < nearest->nqueries; query++)
        nearest_local_of(pass, result, query)->n = 0;
    for (int64_t begin = 0, npart; begin < nrows; begin += npart) {
        npart = nrows - begin < most ? nrows - begin : most;
        npyx_distance_rows_begin(&rows, &pass->ruler, bytes + begin * row_nbytes, npart, nearest->width);
        for (int64_t query = 0, n; query < nearest->nqueries; query += n) {
            n = npyx_distances(&rows, &nearest->queries[query], nearest->nqueries - query, distances);
            for (int64_t i = 0; i < n; i++)
                nearest_run_query(pass, begin, npart, distances + i, n, query + i,
                                  nearest_local_of(pass, result, query + i));
        }
    }
}

/* ---- or by the caller ---- */

/* Offers rows of the block to n queries, given the distances by row and query. */
static npyx_status nearest_add_part(nearest_pass *pass, int64_t begin, int64_t npart, int64_t query,
                                    int64_t n, const double *distances, npyx_error *error) {
    const npyx_reader *reader = &pass->reader;
    for (int64_t row = begin; row < begin + npart; row++) {
        for (int64_t i = 0; i < n; i++, distances++)
            NPYX_TRY(nearest_offer(pass, query + i, *distances, reader->first_row + row,
                                   reader->rows + row * reader->row_nbytes, error));
    }
    return NPYX_OK;
}

/* Offers the rows of the block to the queries from number first on, before end. */
static npyx_status nearest_add_block(nearest_pass *pass, int64_t first, int64_t end, npyx_error *error) {
    const npyx_nearest *nearest = pass->nearest;
    const npyx_reader *reader = &pass->reader;
    const int64_t most = nearest_part_nrows(pass);
    int64_t nitems = 0;
    double distances[NPYX_DISTANCE_NROWS * NPYX_DISTANCE_NMANY];
    npyx_distance_rows rows;
    for (int64_t begin = 0, npart; begin < reader->nrows_read; begin += npart) {
        npart = reader->nrows_read - begin < most ? reader->nrows_read - begin : most;
        npyx_distance_rows_begin(&rows, &pass->ruler, reader->rows + begin * reader->row_nbytes, npart,
                                 nearest->width);
        for (int64_t query = first, n; query < end; query += n) {
            n = npyx_distances(&rows, &nearest->queries[query], end - query, distances);
            NPYX_TRY(nearest_add_part(pass, begin, npart, query, n, distances, error));
            nitems += npart * n * (nearest->width + NEAREST_OFFER_NITEMS);
            if (nitems < NEAREST_POLL_NITEMS)
                continue;
            nitems = 0;
            NPYX_TRY(npyx_poll(nearest->host, error));
        }
    }
    return NPYX_OK;
}

static npyx_status nearest_merge(nearest_pass *pass, const void *result, npyx_error *error) {
    const npyx_reader *reader = &pass->reader;
    for (int64_t query = 0; query < pass->nearest->nqueries; query++) {
        const void *memory = (const uint8_t *)result + nearest_local_off(pass, query);
        const nearest_local *local = memory;
        if (local->n < 0)
            NPYX_TRY(nearest_add_block(pass, query, query + 1, error));
        for (int64_t i = 0; i < local->n; i++) {
            const npyx_hit *hit = &local->hits[i];
            NPYX_TRY(nearest_offer(pass, query, hit->distance, reader->first_row + hit->row,
                                   reader->rows + hit->row * reader->row_nbytes, error));
        }
    }
    return NPYX_OK;
}

/* ---- a pass ---- */

static npyx_status nearest_check_array(const npyx_nearest *nearest, const npyx_view *view,
                                       npyx_error *error) {
    NPYX_TRY(npyx_distance_check(view->dtype, error));
    if (view->ndim != 2)
        return npyx_refuse(error,
                           "rows are compared with the query: the array must have two dimensions, and "
                           "has %d; a slice or npy_reshape makes another shape",
                           view->ndim);
    if (view->shape[1] != nearest->width)
        return npyx_refuse(error, "rows have %" PRId64 " items, and the query has %" PRId64, view->shape[1],
                           nearest->width);
    return NPYX_OK;
}

/* Hits in a block's heap of a query: as many as it may have, or as there is room for if that is usually
 * enough; 0: too many. */
static int64_t nearest_block_capacity(nearest_pass *pass, int64_t nrows) {
    const npyx_nearest *nearest = pass->nearest;
    const size_t room_nbytes = (size_t)(NPYX_NEAREST_RESULT_NBYTES / nearest->nqueries);
    const int64_t most = nrows < nearest->k ? nrows : nearest->k;
    if (nearest_local_nbytes(most) <= room_nbytes)
        return most;
    pass->is_partial = isfinite(nearest->max_distance) && nearest_local_nbytes(1) <= room_nbytes;
    return pass->is_partial ? (int64_t)((room_nbytes - sizeof(nearest_local)) / sizeof(npyx_hit)) : 0;
}

/* Lets blocks build heaps by themselves, if these are small. */
static void nearest_plan(nearest_pass *pass) {
    const npyx_nearest *nearest = pass->nearest;
    const int64_t row_nbytes = pass->reader.row_nbytes;
    int64_t nitems = NPYX_NEAREST_BLOCK_NITEMS / (nearest->nqueries > 0 ? nearest->nqueries : 1);
    int64_t block_nbytes = nitems * pass->ruler.dtype->itemsize;
    block_nbytes = block_nbytes > NPYX_WORK_NBYTES ? NPYX_WORK_NBYTES : block_nbytes;
    if (row_nbytes == 0 || row_nbytes > block_nbytes || block_nbytes < NPYX_NEAREST_MIN_BLOCK_NBYTES)
        return;
    pass->capacity = nearest_block_capacity(pass, block_nbytes / row_nbytes);
    if (pass->capacity == 0)
        return;
    npyx_reader_set_work(&pass->reader, (npyx_work){.run = nearest_run,
                                                    .ctx = pass,
                                                    .result_nbytes = (size_t)nearest->nqueries *
                                                                     nearest_local_nbytes(pass->capacity),
                                                    .block_nbytes = (size_t)block_nbytes,
                                                    .has_all = true});
}

static npyx_status nearest_go(nearest_pass *pass, npyx_error *error) {
    npyx_reader *reader = &pass->reader;
    nearest_plan(pass);
    for (int64_t row = 0; row < reader->nrows; row += reader->nrows_read) {
        NPYX_TRY(npyx_poll(reader->host, error));
        NPYX_TRY(npyx_reader_fill(reader, row, INT64_MAX, error));
        NPYX_TRY(reader->result == NULL ? nearest_add_block(pass, 0, pass->nearest->nqueries, error)
                                        : nearest_merge(pass, reader->result, error));
    }
    return NPYX_OK;
}

npyx_status npyx_nearest_add(npyx_nearest *nearest, npyx_source *source, const npyx_view *view, int64_t array,
                             npyx_error *error) {
    NPYX_TRY(nearest_check_array(nearest, view, error));
    nearest_pass pass = {
        .nearest = nearest, .ruler = npyx_ruler_of(nearest->metric, view->dtype), .array = array};
    npyx_reader_init(&pass.reader, source, view, INT64_MAX);
    npyx_status status = nearest->nqueries == 0 ? NPYX_OK : nearest_go(&pass, error);
    npyx_reader_clear(&pass.reader);
    return status;
}

/* ---- all hits in order ---- */

static int nearest_compare(const void *a, const void *b, const void *ctx) {
    (void)ctx;
    return nearest_is_farther(a, b) ? 1 : nearest_is_farther(b, a) ? -1 : 0;
}

npyx_status npyx_nearest_finish(npyx_nearest *nearest, npyx_error *error) {
    enum { POLL_NQUERIES = 1 << 10 }; /* a few hits are sorted without a look */
    for (int64_t query = 0; query < nearest->nqueries; query++) {
        npyx_hits *hits = &nearest->hits[query];
        if (query % POLL_NQUERIES == 0)
            NPYX_TRY(npyx_poll(nearest->host, error));
        NPYX_TRY(npyx_sort(nearest->host, hits->items, (size_t)hits->n, sizeof *hits->items, nearest_compare,
                           NULL, error));
    }
    return NPYX_OK;
}

void npyx_nearest_clear(npyx_nearest *nearest) {
    npyx_host *host = nearest->host;
    for (int64_t query = 0; query < nearest->nqueries && nearest->hits != NULL; query++) {
        for (int64_t i = 0; i < nearest->hits[query].n; i++)
            npyx_free(host, nearest->hits[query].items[i].bytes);
        npyx_free(host, nearest->hits[query].items);
    }
    npyx_free(host, nearest->hits);
    npyx_free(host, nearest->bounds);
    npyx_free(host, nearest->queries);
    npyx_free(host, nearest->memory);
    *nearest = (npyx_nearest){.host = host};
}
