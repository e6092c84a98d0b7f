#include "paths.h"

#include <stdint.h>
#include <string.h>

enum { PATHS_STEPS_PER_POLL = 64 };

npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t max_npaths = paths->max_npaths == 0 ? NPYEXT_MAX_NPATHS : paths->max_npaths;
    if (paths->npaths == max_npaths)
        return npyx_fail(error, NPYX_TOOBIG, -1, "the source comes to more than %zu files", max_npaths);
    if (paths->npaths == paths->capacity_npaths) {
        size_t capacity_npaths = paths->capacity_npaths == 0 ? 16 : paths->capacity_npaths * 2;
        void *grown = host->resize(host->ctx, (void *)paths->paths, capacity_npaths * sizeof(char *));
        if (grown == NULL)
            return npyx_fail_nomem(error);
        paths->paths = grown;
        paths->capacity_npaths = capacity_npaths;
    }
    const char *copy = npyx_arena_copy(&paths->arena, path, nbytes);
    if (copy == NULL)
        return npyx_fail_nomem(error);
    paths->paths[paths->npaths++] = copy;
    return NPYX_OK;
}

void npyext_paths_clear(npyext_paths *paths) {
    npyx_free(paths->arena.host, (void *)paths->paths);
    npyx_arena_clear(&paths->arena);
    *paths = (npyext_paths){.arena.host = paths->arena.host, .max_npaths = paths->max_npaths};
}

/* A match and its first bytes behind those that all share, as a number that sorts like them: it spares most
 * comparisons the way to the text, which is rarely in the processor's cache. */
typedef struct sort_item {
    uint64_t head;
    const char *path;
} sort_item;

static sort_item make_sort_item(const char *path, size_t shared_nbytes) {
    const char *text = path + shared_nbytes;
    uint64_t head = 0;
    for (int i = 0; i < 8; i++) {
        head = head << 8 | (unsigned char)*text;
        text += *text != '\0';
    }
    return (sort_item){.head = head, .path = path};
}

static int compare_sort_items(const sort_item *left, const sort_item *right, size_t shared_nbytes) {
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    return strcmp(left->path + shared_nbytes, right->path + shared_nbytes);
}

/* What one sort works on. */
typedef struct sorting {
    npyx_host *host;
    size_t shared_nbytes;
    size_t nsteps;
} sorting;

/* Merges two sorted runs that follow one another, of nfirst and of nitems - nfirst items. */
static npyx_status merge_runs(sorting *s, const sort_item *runs, size_t nfirst, size_t nitems, sort_item *out,
                              npyx_error *error) {
    size_t i = 0, j = nfirst;
    while (i < nfirst && j < nitems) {
        npyx_status status = ++s->nsteps % PATHS_STEPS_PER_POLL == 0 ? npyx_poll(s->host, error) : NPYX_OK;
        if (status != NPYX_OK)
            return status;
        bool is_first = compare_sort_items(&runs[i], &runs[j], s->shared_nbytes) <= 0;
        *out++ = runs[is_first ? i : j];
        i += is_first;
        j += !is_first;
    }
    memcpy(out, runs + i, (nfirst - i) * sizeof *out);
    memcpy(out + (nfirst - i), runs + j, (nitems - j) * sizeof *out);
    return NPYX_OK;
}

/* Sorts nitems from *from, with as much room at to; *from is then where the sorted ones are. */
static npyx_status merge_sort(sorting *s, sort_item **from, sort_item *to, size_t nitems, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (size_t run = 1; run < nitems && status == NPYX_OK; run *= 2) {
        for (size_t i = 0; i < nitems && status == NPYX_OK; i += 2 * run) {
            size_t nleft = nitems - i;
            status = merge_runs(s, *from + i, run < nleft ? run : nleft, 2 * run < nleft ? 2 * run : nleft,
                                to + i, error);
        }
        sort_item *sorted = to;
        to = *from;
        *from = sorted;
    }
    return status;
}

npyx_status npyext_paths_sort(npyext_paths *paths, size_t first, size_t shared_nbytes, npyx_error *error) {
    size_t npaths = paths->npaths - first;
    if (npaths < 2)
        return NPYX_OK;
    const char **unsorted = paths->paths + first;
    sorting s = {.host = paths->arena.host, .shared_nbytes = shared_nbytes};
    sort_item *items = npyx_alloc(s.host, 2 * npaths * sizeof *items);
    if (items == NULL)
        return npyx_fail_nomem(error);
    for (size_t i = 0; i < npaths; i++)
        items[i] = make_sort_item(unsorted[i], shared_nbytes);
    sort_item *sorted = items;
    npyx_status status = merge_sort(&s, &sorted, items + npaths, npaths, error);
    paths->npaths = first;
    for (size_t i = 0; i < npaths && status == NPYX_OK; i++) {
        if (i == 0 || compare_sort_items(&sorted[i - 1], &sorted[i], shared_nbytes) != 0)
            paths->paths[paths->npaths++] = sorted[i].path;
    }
    npyx_free(s.host, items);
    return status;
}
