/* npy_calc(expression, a, b, ...) and npy_concat(source [, member [, axis]]), arrays that are made when they
 * are read; and npy_copy(array), which makes a BLOB of any array. */
#include "scalars.h"

/* What takes the place of a path has at most 100 characters of a text, each of at most four bytes, and never
 * ends in the middle of one. */
enum { SHOWN_NBYTES = 512 };

static bool is_handle(const npyext_argument *argument) {
    return argument->type == SQLITE_BLOB && npyext_handle_is_like(argument->bytes, argument->nbytes);
}

static npyx_status append_items(npyext_call *c, npyx_archive *archive) {
    const npyx_array *array = &((npyext_lazy *)archive)->array;
    npyx_source *source = NULL;
    uint8_t *items = NULL;
    NPYX_TRY(npyext_call_append_array(c, array->dtype, array->ndim, array->shape, array->nelem, &items));
    NPYX_TRY(npyx_archive_open_payload(archive, 0, &source, &c->error));
    npyx_status status = NPYX_OK;
    for (int64_t off = 0; off < array->nbytes && status == NPYX_OK; off += NPYX_MEMBER_PIECE_NBYTES) {
        int64_t left_nbytes = array->nbytes - off;
        size_t nbytes =
            (size_t)(left_nbytes < NPYX_MEMBER_PIECE_NBYTES ? left_nbytes : NPYX_MEMBER_PIECE_NBYTES);
        status = npyx_source_read_exactly(source, off, items + off, nbytes, &c->error);
    }
    npyx_source_close(source);
    return status;
}

/* Without handles there is nothing to wait for: the array is made at once. */
static npyx_status make_now(npyext_call *c, const npyext_recipe *recipe) {
    npyx_archive *archive = NULL;
    npyx_file_info info;
    npyext_connection_begin(c->value.connection);
    NPYX_TRY(npyext_lazy_open(c->value.connection, recipe, &archive, &info, &c->error));
    npyx_status status = append_items(c, archive);
    npyx_archive_close(archive);
    return status;
}

npyx_status npyext_npy_calc(npyext_call *c) {
    npyext_recipe recipe = {.kind = NPYEXT_RECIPE_CALC, .narguments = c->argc};
    bool is_lazy = false;
    char shown[SHOWN_NBYTES];
    if (c->argc < 2 || c->argc > NPYEXT_RECIPE_MAX_NARGUMENTS)
        return npyext_call_refuse(
            c, "takes an expression and its operands, a to z, as in npy_calc('a - b', x, y)");
    for (int i = 0; i < c->argc; i++) {
        NPYX_TRY(npyext_argument_borrow(&recipe.arguments[i], c->argv[i], &c->error));
        if (recipe.arguments[i].type == SQLITE_NULL)
            return NPYX_DONE;
        is_lazy |= i > 0 && is_handle(&recipe.arguments[i]);
    }
    if (recipe.arguments[0].type != SQLITE_TEXT)
        return npyext_call_refuse(c, "the expression must be a TEXT, as in npy_calc('a - b', x, y)");
    if (!is_lazy)
        return make_now(c, &recipe);
    sqlite3_snprintf(sizeof shown, shown, "npy_calc(%!.60Q, …)", recipe.arguments[0].bytes);
    return npyext_lazy_append_handle(c->value.connection, &recipe, shown, &c->out, &c->error);
}

npyx_status npyext_npy_concat(npyext_call *c) {
    npyext_recipe recipe = {.kind = NPYEXT_RECIPE_CONCAT, .narguments = 3};
    char shown[SHOWN_NBYTES];
    for (int i = 0; i < c->argc; i++) {
        NPYX_TRY(npyext_argument_borrow(&recipe.arguments[i], c->argv[i], &c->error));
        if (recipe.arguments[i].type == SQLITE_NULL) /* as if it were left out */
            recipe.arguments[i] = (npyext_argument){0};
    }
    const npyext_argument *source = &recipe.arguments[0];
    if (source->type == 0)
        return NPYX_DONE;
    if (source->type == SQLITE_BLOB && !is_handle(source))
        return make_now(c, &recipe);
    sqlite3_snprintf(sizeof shown, shown, "npy_concat(%!.100Q)",
                     source->type == SQLITE_TEXT ? source->bytes : "handle");
    return npyext_lazy_append_handle(c->value.connection, &recipe, shown, &c->out, &c->error);
}
