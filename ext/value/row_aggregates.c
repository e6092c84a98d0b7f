/* npy_stack and npy_records: each row of the group becomes a row of the array, from one value or from one for
 * each field. */

#include "aggregates.h"
#include "array_builder.h"

typedef struct rows_group {
    npyext_group group;
    npyext_array_builder builder;
    npyext_rows rows; /* of npy_stack */
} rows_group;

static void rows_clear(npyext_group *group) {
    npyext_array_builder_clear(&((rows_group *)group)->builder);
}

/* ---- npy_stack(row [, dtype]): rows of one shape along a new first axis ---- */

static npyx_status stack_begin(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, group->connection, error));
    return group->argc > 1 ? npyext_array_builder_set_dtype(builder, group->argv[1], error) : NPYX_OK;
}

static npyx_status stack_append(npyext_group *group, npyx_error *error) {
    rows_group *g = (rows_group *)group;
    return npyext_rows_append(&g->rows, &g->builder, group->context, &group->aggregate->caller,
                              group->argv[0], error);
}

static npyx_status stack_finish(npyext_group *group, npyx_error *error) {
    rows_group *g = (rows_group *)group;
    int64_t shape[NPYX_MAX_NDIM + 1] = {group->nrows};
    memcpy(shape + 1, g->rows.shape, (size_t)g->rows.ndim * sizeof shape[0]);
    return npyext_array_builder_result(&g->builder, group->context, g->rows.ndim + 1, shape, error);
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

static npyx_status records_begin(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    NPYX_TRY(npyext_array_builder_begin(builder, group->connection, error));
    if (group->argc < 1)
        return npyx_refuse(error, "takes a dtype and a value for each of its fields");
    NPYX_TRY(npyext_array_builder_set_dtype(builder, group->argv[0], error));
    const npyx_dtype *dtype = builder->dtype;
    if (dtype == NULL || dtype->type != NPYX_STRUCT)
        return npyx_refuse(
            error, "the first argument is a structured dtype, as in '[[\"x\", \"<f4\"], [\"y\", \"<i8\"]]'");
    char shown[NPYX_MESSAGE_NBYTES];
    npyx_buffer names = npyx_buffer_over(shown, sizeof shown);
    int nfields = 0, nvalues = group->argc - 1;
    for (int i = 0; i < dtype->nfields; i++) {
        if (!dtype->fields[i].is_padding)
            npyx_buffer_printf(&names, "%s%.200s", nfields++ == 0 ? "" : ", ", dtype->fields[i].name);
    }
    return nfields == nvalues
               ? NPYX_OK
               : npyx_refuse(error, "%d value%s for %d field%s: %.*s", nvalues, nvalues == 1 ? "" : "s",
                             nfields, nfields == 1 ? "" : "s", NPYX_SHOWN(shown, names.nbytes, 200));
}

static npyx_status records_append(npyext_group *group, npyx_error *error) {
    npyext_array_builder *builder = &((rows_group *)group)->builder;
    const npyx_dtype *dtype = builder->dtype;
    sqlite3_value **value = group->argv; /* the descr */
    uint8_t *item = NULL;
    NPYX_TRY(npyext_items_reserve(&builder->out, dtype, 1, &item, error));
    memset(item, 0, (size_t)dtype->itemsize);
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        npyx_status status = npyext_items_encode(builder->out.host, field->dtype, field->ndim, field->shape,
                                                 *++value, item + field->off, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "row %" PRId64 ", field '%.60s'", group->nrows,
                                    field->name);
    }
    builder->out.nbytes += (size_t)dtype->itemsize;
    return NPYX_OK;
}

static npyx_status records_finish(npyext_group *group, npyx_error *error) {
    return npyext_array_builder_result(&((rows_group *)group)->builder, group->context, 1, &group->nrows,
                                       error);
}

const npyext_aggregate npyext_npy_records = {.caller = {"npy_records", "npy_records(descr, value)"},
                                             .format = NPYX_FORMAT_NPY,
                                             .state_nbytes = sizeof(rows_group),
                                             .begin = records_begin,
                                             .append = records_append,
                                             .finish = records_finish,
                                             .clear = rows_clear};
