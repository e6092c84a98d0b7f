/* npy_stack(row [, dtype]): rows of one shape along a new first axis. */
#include <inttypes.h>
#include <string.h>

#include "aggregates.h"
#include "row_value.h"

typedef struct stack_state {
    npyext_array_builder builder;
    bool is_failed;
    npyext_rows rows;
} stack_state;

static const npyext_caller caller = {"npy_stack", "npy_stack(array)"};

void npyext_npy_stack_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    stack_state *state = sqlite3_aggregate_context(context, sizeof *state);
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (state == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (state->is_failed)
        return;
    if (state->builder.connection == NULL) {
        status = npyext_array_builder_begin(&state->builder, sqlite3_user_data(context), &error);
        if (status == NPYX_OK && argc > 1)
            status = npyext_array_builder_set_dtype(&state->builder, argv[1], &error);
    }
    if (status == NPYX_OK) {
        status = npyext_rows_append(&state->rows, &state->builder, context, &caller, argv[0], &error);
        if (status != NPYX_OK)
            npyx_error_place(&error, status, "row %" PRId64, state->rows.nrows);
    }
    state->is_failed = status != NPYX_OK;
    if (state->is_failed)
        npyext_array_builder_fail(context, caller.name, &error);
}

void npyext_npy_stack_final(sqlite3_context *context) {
    stack_state *state = sqlite3_aggregate_context(context, 0);
    npyx_error error;
    if (state == NULL || state->builder.connection == NULL) /* no rows: neither shape nor dtype was seen */
        return;
    if (!state->is_failed) {
        const npyext_rows *rows = &state->rows;
        int64_t shape[NPYX_MAX_NDIM + 1];
        shape[0] = rows->nrows;
        memcpy(shape + 1, rows->shape, (size_t)rows->ndim * sizeof shape[0]);
        if (npyext_array_builder_result(&state->builder, context, rows->ndim + 1, shape, &error) != NPYX_OK)
            npyext_array_builder_fail(context, caller.name, &error);
    }
    npyext_array_builder_clear(&state->builder);
}
