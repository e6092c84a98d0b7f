/* npy_stack and npy_records: a row of the group is a row of the array, of one value or of one for each field.
 */

#include "aggregates.h"
#include "row_value.h"

typedef struct rows_group {
    npyext_group group;
    npyext_array_builder builder;
    npyext_rows rows; /* of npy_stack */
} rows_group;

static void rows_clear(npyext_group *group) {
    npyext_array_builder_clear(&((rows_group *)group)->builder);
}

/* ---- npy_stack(row [, dtype]): rows of one shape along a new first axis ---- */

static npyx_status stack_begin(npyext_group *group, npyext_connection *connection, int argc,
                               sqlite3_value **argv, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, connection, error));
    return argc > 1 ? npyext_array_builder_set_dtype(builder, argv[1], error) : NPYX_OK;
}

static npyx_status stack_append(npyext_group *group, sqlite3_context *context, int argc, sqlite3_value **argv,
                                npyx_error *error) {
    rows_group *g = (rows_group *)group;
    (void)argc;
    return npyext_rows_append(&g->rows, &g->builder, context, &group->aggregate->caller, argv[0], error);
}

static npyx_status stack_finish(npyext_group *group, sqlite3_context *context, npyx_error *error) {
    rows_group *g = (rows_group *)group;
    int64_t shape[NPYX_MAX_NDIM + 1] = {group->nrows};
    memcpy(shape + 1, g->rows.shape, (size_t)g->rows.ndim * sizeof shape[0]);
    return npyext_array_builder_result(&g->builder, context, g->rows.ndim + 1, shape, error);
}

const npyext_aggregate npyext_npy_stack = {.caller = {"npy_stack", "npy_stack(array)"},
                                           .row_name = "row",
                                           .format = NPYX_FORMAT_NPY,
                                           .state_nbytes = sizeof(rows_group),
                                           .begin = stack_begin,
                                           .append = stack_append,
                                           .finish = stack_finish,
                                           .clear = rows_clear};

/* ---- npy_records(descr, v1, v2, ...): a structured array, a value for each field ---- */

/* Says which fields there are. */
static npyx_status fail_count(const npyx_dtype *dtype, int nfields, int nvalues, npyx_host *host,
                              npyx_error *error) {
    npyx_buffer names = {.host = host};
    for (int i = 0; i < dtype->nfields; i++) {
        if (!dtype->fields[i].is_padding)
            npyx_buffer_printf(&names, "%s%s", names.nbytes == 0 ? "" : ", ", dtype->fields[i].name);
    }
    npyx_status status = npyx_buffer_check(&names, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, -1, "%d value%s for %d field%s: %.*s", nvalues,
                           nvalues == 1 ? "" : "s", nfields, nfields == 1 ? "" : "s",
                           NPYX_SHOWN(names.nbytes == 0 ? "" : names.bytes, names.nbytes, 200));
    npyx_buffer_clear(&names);
    return status;
}

static npyx_status records_begin(npyext_group *group, npyext_connection *connection, int argc,
                                 sqlite3_value **argv, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, connection, error));
    if (argc < 1)
        return npyx_fail(error, NPYX_INVALID, -1, "takes a dtype and a value for each of its fields");
    NPYX_TRY(npyext_array_builder_set_dtype(builder, argv[0], error));
    const npyx_dtype *dtype = builder->dtype;
    if (dtype == NULL || dtype->type != NPYX_STRUCT)
        return npyx_fail(
            error, NPYX_INVALID, -1,
            "the first argument is a structured dtype, as in '[[\"x\", \"<f4\"], [\"y\", \"<i8\"]]'");
    int nfields = 0;
    for (int i = 0; i < dtype->nfields; i++)
        nfields += !dtype->fields[i].is_padding;
    return nfields == argc - 1 ? NPYX_OK : fail_count(dtype, nfields, argc - 1, &connection->host, error);
}

static npyx_status records_append(npyext_group *group, sqlite3_context *context, int argc,
                                  sqlite3_value **argv, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    const npyx_dtype *dtype = builder->dtype;
    uint8_t *item = NULL;
    (void)context, (void)argc;
    NPYX_TRY(npyext_items_reserve(&builder->out, dtype, 1, &item, error));
    memset(item, 0, (size_t)dtype->itemsize);
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        npyx_status status = npyext_items_encode(builder->out.host, field->dtype, field->ndim, field->shape,
                                                 *++argv, item + field->off, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "row %" PRId64 ", field '%.60s'", group->nrows,
                                    field->name);
    }
    builder->out.nbytes += (size_t)dtype->itemsize;
    return NPYX_OK;
}

static npyx_status records_finish(npyext_group *group, sqlite3_context *context, npyx_error *error) {
    return npyext_array_builder_result(&((rows_group *)group)->builder, context, 1, &group->nrows, error);
}

const npyext_aggregate npyext_npy_records = {.caller = {"npy_records", "npy_records(descr, value)"},
                                             .format = NPYX_FORMAT_NPY,
                                             .state_nbytes = sizeof(rows_group),
                                             .begin = records_begin,
                                             .append = records_append,
                                             .finish = records_finish,
                                             .clear = rows_clear};
