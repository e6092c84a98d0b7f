/* npy_records(descr, v1, v2, ...): a structured array, a value for each field. */
#include <inttypes.h>
#include <string.h>

#include "aggregates.h"
#include "row_value.h"

typedef struct records_state {
    npyext_array_builder builder;
    bool is_failed;
    int64_t nrows;
} records_state;

static const char records_name[] = "npy_records";

/* The names of fields, for a message. */
static npyx_status fail_count(const npyx_dtype *dtype, int nfields, int nvalues, npyx_host *host,
                              npyx_error *error) {
    enum { SHOWN_NBYTES = 200 };
    npyx_buffer names = {.host = host};
    for (int i = 0; i < dtype->nfields; i++) {
        if (!dtype->fields[i].is_padding)
            npyx_buffer_printf(&names, "%s%s", names.nbytes == 0 ? "" : ", ", dtype->fields[i].name);
    }
    npyx_status status = npyx_buffer_check(&names, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, -1, "%d value%s for %d field%s: %.*s", nvalues,
                           nvalues == 1 ? "" : "s", nfields, nfields == 1 ? "" : "s",
                           (int)(names.nbytes < SHOWN_NBYTES ? names.nbytes : SHOWN_NBYTES),
                           names.nbytes == 0 ? "" : names.bytes);
    npyx_buffer_clear(&names);
    return status;
}

static npyx_status records_begin(records_state *state, sqlite3_context *context, int argc,
                                 sqlite3_value **argv, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    npyx_status status = npyext_array_builder_begin(builder, sqlite3_user_data(context), error);
    if (status == NPYX_OK && argc < 1)
        status = npyx_fail(error, NPYX_INVALID, -1, "takes a dtype and a value for each of its fields");
    if (status == NPYX_OK)
        status = npyext_array_builder_set_dtype(builder, argv[0], error);
    if (status != NPYX_OK)
        return status;
    if (builder->dtype == NULL || builder->dtype->type != NPYX_STRUCT)
        return npyx_fail(
            error, NPYX_INVALID, -1,
            "the first argument is a structured dtype, as in '[[\"x\", \"<f4\"], [\"y\", \"<i8\"]]'");
    int nfields = 0;
    for (int i = 0; i < builder->dtype->nfields; i++)
        nfields += !builder->dtype->fields[i].is_padding;
    return nfields == argc - 1 ? NPYX_OK
                               : fail_count(builder->dtype, nfields, argc - 1, builder->out.host, error);
}

static npyx_status records_append(records_state *state, sqlite3_value **values, npyx_error *error) {
    npyx_buffer *out = &state->builder.out;
    const npyx_dtype *dtype = state->builder.dtype;
    if (!npyx_buffer_reserve(out, (size_t)dtype->itemsize))
        return npyx_buffer_check(out, error);
    uint8_t *item = (uint8_t *)out->bytes + out->nbytes;
    memset(item, 0, (size_t)dtype->itemsize);
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        if (field->is_padding)
            continue;
        npyx_status status = npyext_items_encode(out->host, field->dtype, field->ndim, field->shape,
                                                 *values++, item + field->off, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "row %" PRId64 ", field '%.60s'", state->nrows,
                                    field->name);
    }
    out->nbytes += (size_t)dtype->itemsize;
    state->nrows++;
    return NPYX_OK;
}

void npyext_npy_records_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    records_state *state = sqlite3_aggregate_context(context, sizeof *state);
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (state == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (state->is_failed)
        return;
    if (state->builder.connection == NULL)
        status = records_begin(state, context, argc, argv, &error);
    if (status == NPYX_OK)
        status = records_append(state, argv + 1, &error);
    state->is_failed = status != NPYX_OK;
    if (state->is_failed)
        npyext_array_builder_fail(context, records_name, &error);
}

void npyext_npy_records_final(sqlite3_context *context) {
    records_state *state = sqlite3_aggregate_context(context, 0);
    npyx_error error;
    if (state == NULL || state->builder.connection == NULL) /* no rows: no dtype was seen either */
        return;
    if (!state->is_failed &&
        npyext_array_builder_result(&state->builder, context, 1, &state->nrows, &error) != NPYX_OK)
        npyext_array_builder_fail(context, records_name, &error);
    npyext_array_builder_clear(&state->builder);
}
