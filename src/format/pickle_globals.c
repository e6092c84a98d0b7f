#include "pickle_globals.h"

#include "object_arrays.h"

typedef struct npyx_pickle_global_facts {
    size_t module_nbytes;
    int64_t count;
    bool is_known;
} npyx_pickle_global_facts;

void npyx_pickle_globals_reset(npyx_pickle_globals *globals) {
    npyx_name_set_cut(&globals->names, 0);
}

void npyx_pickle_globals_clear(npyx_pickle_globals *globals) {
    npyx_host *host = globals->key.host;
    npyx_name_set_clear(&globals->names);
    npyx_buffer_clear(&globals->key);
    npyx_free(host, globals->facts);
    *globals = (npyx_pickle_globals){.names.bytes.host = host, .key.host = host};
}

npyx_pickle_global npyx_pickle_globals_at(const npyx_pickle_globals *globals, int64_t i) {
    const npyx_pickle_global_facts *facts = &globals->facts[i];
    size_t nbytes, module_nbytes = facts->module_nbytes;
    const char *text = npyx_name_set_text(&globals->names, i, &nbytes);
    return (npyx_pickle_global){.module = text,
                                .module_nbytes = module_nbytes,
                                .name = text + module_nbytes + 1,
                                .name_nbytes = nbytes - sizeof module_nbytes - module_nbytes - 1,
                                .count = facts->count,
                                .is_known = facts->is_known};
}

/* Of all tables of what is read as data. */
static npyx_status globals_know(npyx_pickle *p, const npyx_object *global, bool *is_known) {
    *is_known = npyx_pickle_is_known_class(global) || npyx_object_arrays_know(global);
    return *is_known ? NPYX_OK : npyx_pickle_know_numpy(p, global, is_known);
}

/* ---- collecting ---- */

/* `a.b` of module `a` and `` of module `a.b` must not be taken for the same. */
static npyx_status globals_make_key(npyx_pickle_globals *globals, const npyx_object *global,
                                    size_t module_nbytes, npyx_error *error) {
    npyx_buffer_reset(&globals->key);
    npyx_buffer_append(&globals->key, global->text.bytes, global->text.nbytes);
    npyx_buffer_append(&globals->key, &module_nbytes, sizeof module_nbytes);
    return npyx_buffer_check(&globals->key, error);
}

static npyx_status globals_add_new(npyx_pickle *p, npyx_pickle_globals *globals, const npyx_object *global,
                                   size_t module_nbytes) {
    const npyx_buffer *key = &globals->key;
    int64_t n = globals->names.count;
    NPYX_TRY(npyx_pickle_spend(p, key->nbytes + 2 * sizeof *globals->facts));
    NPYX_TRY(npyx_grow(key->host, &globals->facts, n, &globals->capacity_nfacts, sizeof globals->facts[0],
                       p->error));
    globals->facts[n] = (npyx_pickle_global_facts){.module_nbytes = module_nbytes, .count = 1};
    NPYX_TRY(globals_know(p, global, &globals->facts[n].is_known));
    return npyx_name_set_add(&globals->names, key->bytes, key->nbytes, p->error);
}

/* An npyx_pickle_take_global. */
static npyx_status globals_add(npyx_pickle *p, void *ctx, const npyx_object *global, size_t module_nbytes) {
    npyx_pickle_globals *globals = ctx;
    NPYX_TRY(npyx_pickle_work(p, global->text.nbytes)); /* a name may be a text of megabytes in the memo */
    NPYX_TRY(globals_make_key(globals, global, module_nbytes, p->error));
    int64_t i = npyx_name_set_find(&globals->names, globals->key.bytes, globals->key.nbytes, NULL);
    if (i < 0)
        return globals_add_new(p, globals, global, module_nbytes);
    globals->facts[i].count++;
    return NPYX_OK;
}

/* ---- reading ---- */

npyx_status npyx_pickle_globals_read(npyx_pickle_globals *globals, npyx_source *source, int64_t off,
                                     int64_t *end_off, npyx_error *error) {
    const npyx_pickle_options options = {
        .takes_ids = true, .is_file = true, .take_global = globals_add, .take_ctx = globals};
    npyx_arena arena = {.host = globals->key.host};
    npyx_budget budget = npyx_budget_of_none(arena.host);
    npyx_object *object;
    npyx_pickle_globals_reset(globals);
    int64_t reached_off = off;
    npyx_status status =
        npyx_pickle_read(&arena, &budget, source, off, options, &object, &reached_off, error);
    npyx_arena_clear(&arena);
    if (status == NPYX_OK)
        *end_off = reached_off;
    return status;
}
