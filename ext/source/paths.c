/* The list of the paths of a source: copies in an arena, sorted with a key beside each pointer. */
#include "format/tar.h"
#include "pattern.h"

npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error) {
    npyx_host *host = paths->arena.host;
    size_t max_npaths = paths->max_npaths == 0 ? NPYEXT_MAX_NPATHS : paths->max_npaths;
    if (paths->npaths == max_npaths)
        return npyx_fail(error, NPYX_TOOBIG, -1, "the source matches more than %zu files", max_npaths);
    const char *copy = npyx_arena_copy(&paths->arena, path, nbytes);
    void *grown = npyx_grow(host, (void *)paths->paths, (int64_t)paths->npaths, &paths->capacity_npaths,
                            sizeof(char *));
    paths->paths = grown == NULL ? paths->paths : grown;
    if (copy == NULL || grown == NULL)
        return npyx_fail_nomem(error);
    paths->paths[paths->npaths++] = copy;
    return NPYX_OK;
}

void npyext_paths_clear(npyext_paths *paths) {
    npyx_free(paths->arena.host, (void *)paths->paths);
    npyx_arena_clear(&paths->arena);
    *paths = (npyext_paths){.arena.host = paths->arena.host, .max_npaths = paths->max_npaths};
}

/* A path, and as a number that sorts like them, the 8 bytes after those that all paths share: most
 * comparisons are decided without the text, which is rarely in the processor's cache. */
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

/* shared: how many bytes all paths share at their beginning. */
static int compare_sort_items(const void *a, const void *b, const void *shared) {
    const sort_item *left = a, *right = b;
    const size_t shared_nbytes = *(const size_t *)shared;
    if (left->head != right->head)
        return left->head < right->head ? -1 : 1;
    return strcmp(left->path + shared_nbytes, right->path + shared_nbytes);
}

npyx_status npyext_paths_sort(npyext_paths *paths, size_t first, size_t shared_nbytes, npyx_error *error) {
    size_t npaths = paths->npaths - first;
    if (npaths < 2)
        return NPYX_OK;
    const char **unsorted = paths->paths + first;
    npyx_host *host = paths->arena.host;
    sort_item *items = npyx_alloc_array(host, (int64_t)npaths, sizeof *items);
    NPYX_TRY(npyx_check_memory(items, error));
    for (size_t i = 0; i < npaths; i++)
        items[i] = make_sort_item(unsorted[i], shared_nbytes);
    npyx_status status =
        npyx_sort(host, items, npaths, sizeof *items, compare_sort_items, &shared_nbytes, error);
    paths->npaths = first;
    for (size_t i = 0; i < npaths && status == NPYX_OK; i++) {
        if (i == 0 || compare_sort_items(&items[i - 1], &items[i], &shared_nbytes) != 0)
            paths->paths[paths->npaths++] = items[i].path;
    }
    npyx_free(host, items);
    return status;
}
