/* npy_array(value [, dtype [, shape]]): an array of scalars. */
#include <inttypes.h>
#include <string.h>

#include "aggregates.h"
#include "array_builder.h"

static const char array_name[] = "npy_array";

/* What the items are while values come in. */
typedef enum array_form {
    ARRAY_ITEMS, /* items of the builder's dtype; of none, only NULLs have come */
    TEXTS        /* of the length that the longest of them will say: lengths and bytes, in turn */
} array_form;

typedef struct array_state {
    npyext_array_builder builder;
    bool is_failed;
    int plain_type; /* the SQLite type whose values are copied as they are, 8 bytes each; 0: none */
    array_form form;
    int64_t nvalues;
    npyx_buffer nulls; /* numbers (int64_t) of the values that are NULL and stand as 0, for want of a NaN */
    size_t longest_nbytes;
    size_t longest_ncharacters;
    npyx_buffer shape; /* the argument's text */
} array_state;

static void array_clear(array_state *state) {
    npyx_buffer_clear(&state->nulls);
    npyx_buffer_clear(&state->shape);
    npyext_array_builder_clear(&state->builder);
}

static bool is_native(const npyx_dtype *dtype, npyx_type type) {
    return dtype->type == type && npyx_dtype_is_native(dtype);
}

/* What the dtype in force means for the values to come. */
static void settle(array_state *state) {
    const npyx_dtype *dtype = state->builder.dtype;
    state->plain_type = dtype == NULL               ? 0
                        : is_native(dtype, NPYX_F8) ? SQLITE_FLOAT
                        : is_native(dtype, NPYX_I8) ? SQLITE_INTEGER
                                                    : 0;
    if (dtype != NULL && (dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES) && dtype->itemsize == 0)
        state->form = TEXTS;
}

/* A shape in the place of the dtype, as reshape has it, deserves a better word than the dtype parser's. */
static npyx_status name_dtype(npyext_array_builder *builder, sqlite3_value *argument, npyx_error *error) {
    int64_t integers[NPYX_MAX_NDIM];
    int n = 0;
    npyx_status status = npyext_array_builder_set_dtype(builder, argument, error);
    if (status != NPYX_INVALID || sqlite3_value_type(argument) != SQLITE_TEXT)
        return status;
    const char *text = (const char *)sqlite3_value_text(argument);
    size_t nbytes = (size_t)sqlite3_value_bytes(argument);
    if (npyx_integers_parse(builder->out.host, "shape", text, nbytes, integers, &n, NULL) != NPYX_OK)
        return status;
    return npyx_fail(
        error, NPYX_INVALID, -1,
        "%.60s is no dtype; a shape is the third argument, as in npy_array(value, NULL, '%.60s')", text,
        text);
}

static npyx_status array_begin(array_state *state, sqlite3_context *context, int argc, sqlite3_value **argv,
                               npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    npyx_status status = npyext_array_builder_begin(builder, sqlite3_user_data(context), error);
    state->nulls.host = state->shape.host = builder->out.host;
    if (status == NPYX_OK && argc > 1)
        status = name_dtype(builder, argv[1], error);
    settle(state);
    if (status != NPYX_OK || argc < 3 || sqlite3_value_type(argv[2]) == SQLITE_NULL)
        return status;
    const char *text = (const char *)sqlite3_value_text(argv[2]);
    if (text == NULL)
        return npyx_fail_nomem(error);
    npyx_buffer_append(&state->shape, text, (size_t)sqlite3_value_bytes(argv[2]));
    return npyx_buffer_check(&state->shape, error);
}

/* ---- a dtype that nothing names ---- */

static npyx_status fail_mixed(const array_state *state, const npyx_value *value, npyx_error *error) {
    static const char *const names[] = {"NULL", "an INTEGER", "a REAL", "a TEXT", "a BLOB", "a TEXT"};
    npyx_type before = state->builder.dtype->type;
    const char *those = before == NPYX_TEXT ? "TEXTs" : before == NPYX_VOID ? "BLOBs" : "numbers";
    return npyx_fail(error, NPYX_INVALID, -1, "%s among %s; name a dtype that both fit, or convert it",
                     names[value->kind], those);
}

/* Gives the NULLs that have come so far the value of a NaN. */
static void fill_nulls(array_state *state) {
    const double nan = __builtin_nan("");
    const char *numbers = state->nulls.bytes;
    uint8_t *items = npyext_array_builder_items(&state->builder);
    for (size_t i = 0; i < state->nulls.nbytes; i += sizeof(int64_t)) {
        int64_t number;
        memcpy(&number, numbers + i, sizeof number);
        memcpy(items + (size_t)number * sizeof nan, &nan, sizeof nan);
    }
    npyx_buffer_clear(&state->nulls);
    state->nulls.host = state->builder.out.host;
}

/* The number of the first NULL, for its error. */
static npyx_status fail_null(const array_state *state, npyx_error *error) {
    int64_t number = 0;
    memcpy(&number, state->nulls.bytes, sizeof number);
    if (state->builder.dtype == NULL)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "every value is NULL; name a dtype that has one, as 'float64'");
    npyx_buffer text = {.host = state->nulls.host};
    npyx_dtype_append_name(state->builder.dtype, &text);
    npyx_buffer_append_char(&text, '\0');
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK)
        status =
            npyx_fail(error, NPYX_INVALID, -1,
                      "value %" PRId64 ": NULL does not fit %.40s; name a dtype that has one, as 'float64'",
                      number, text.bytes);
    npyx_buffer_clear(&text);
    return status;
}

/* Makes the dtype one that the value fits, as far as it is not settled. */
static npyx_status infer(array_state *state, const npyx_value *value, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    const npyx_dtype *dtype = builder->dtype;
    bool is_first = dtype == NULL;
    npyx_status status = NPYX_OK;
    if (value->kind == NPYX_VALUE_INTEGER) {
        if (!is_first && dtype->type == NPYX_F8)
            return npyext_check_exact(value->integer, error);
        status = is_first                 ? npyext_array_builder_infer(builder, "i8", error)
                 : dtype->type != NPYX_I8 ? fail_mixed(state, value, error)
                                          : NPYX_OK;
    } else if (value->kind == NPYX_VALUE_REAL) {
        if (!is_first && dtype->type == NPYX_F8)
            return NPYX_OK;
        if (!is_first && dtype->type != NPYX_I8)
            return fail_mixed(state, value, error);
        int64_t item = 0;
        status = npyext_array_builder_widen(builder, &item, error);
        if (status == NPYX_OK)
            fill_nulls(state);
        else
            state->nvalues = item; /* the one at fault */
    } else if (!is_first || state->nulls.nbytes > 0) {
        bool is_text = value->kind == NPYX_VALUE_TEXT;
        if (is_first) /* these have no place for a NULL */
            return fail_null(state, error);
        if (dtype->type != (is_text ? NPYX_TEXT : NPYX_VOID))
            return fail_mixed(state, value, error);
    } else if (value->kind == NPYX_VALUE_TEXT) {
        status = npyext_array_builder_infer(builder, "U", error);
    } else {
        char code[16];
        sqlite3_snprintf(sizeof code, code, "V%d", (int)value->nbytes);
        status = npyext_array_builder_infer(builder, code, error);
    }
    settle(state);
    return status;
}

/* ---- values ---- */

/* A text whose length decides on the dtype's. */
static npyx_status array_append_text(array_state *state, const npyx_value *value, npyx_error *error) {
    npyx_buffer *out = &state->builder.out;
    if (value->kind != NPYX_VALUE_TEXT && value->kind != NPYX_VALUE_BLOB)
        return fail_mixed(state, value, error);
    size_t ncharacters = 0;
    for (size_t i = 0; i < value->nbytes; i++)
        ncharacters += ((unsigned char)value->bytes[i] & 0xc0) != 0x80;
    if (value->nbytes > state->longest_nbytes)
        state->longest_nbytes = value->nbytes;
    if (ncharacters > state->longest_ncharacters)
        state->longest_ncharacters = ncharacters;
    uint32_t nbytes = (uint32_t)value->nbytes; /* SQLite's are ints */
    npyx_buffer_append(out, &nbytes, sizeof nbytes);
    npyx_buffer_append(out, value->bytes, value->nbytes);
    return npyx_buffer_check(out, error);
}

static npyx_status append_null(array_state *state, npyx_error *error) {
    static const uint8_t zero[sizeof(int64_t)];
    npyx_buffer_append(&state->nulls, &state->nvalues, sizeof state->nvalues);
    npyx_buffer_append(&state->builder.out, zero, sizeof zero);
    npyx_status status = npyx_buffer_check(&state->nulls, error);
    return status == NPYX_OK ? npyx_buffer_check(&state->builder.out, error) : status;
}

static npyx_status array_append(array_state *state, sqlite3_value *argument, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    npyx_buffer *out = &builder->out;
    npyx_value value;
    NPYX_TRY(npyext_value_read(argument, &value, error));
    if (!builder->is_dtype_given && value.kind == NPYX_VALUE_TEXT && sqlite3_value_subtype(argument) == 'J')
        return npyx_fail(error, NPYX_INVALID, -1,
                         "is JSON, as a row of several items is; npy_stack makes an array of such rows, and "
                         "npy_array one of texts when the dtype is 'U'");
    if (!builder->is_dtype_given) {
        bool has_no_nan = builder->dtype == NULL || builder->dtype->type == NPYX_I8;
        if (value.kind == NPYX_VALUE_NULL && has_no_nan)
            return append_null(state, error);
        if (value.kind != NPYX_VALUE_NULL)
            NPYX_TRY(infer(state, &value, error));
    }
    if (state->form == TEXTS)
        return array_append_text(state, &value, error);
    size_t itemsize = (size_t)builder->dtype->itemsize;
    if (!npyx_buffer_reserve(out, itemsize))
        return npyx_buffer_check(out, error);
    NPYX_TRY(
        npyx_encode_value(out->host, builder->dtype, &value, (uint8_t *)out->bytes + out->nbytes, error));
    out->nbytes += itemsize;
    return NPYX_OK;
}

static void step_slowly(array_state *state, sqlite3_context *context, int argc, sqlite3_value **argv) {
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (state->is_failed)
        return;
    if (state->builder.connection == NULL)
        status = array_begin(state, context, argc, argv, &error);
    if (status == NPYX_OK) {
        status = array_append(state, argv[0], &error);
        if (status != NPYX_OK)
            npyx_error_place(&error, status, "value %" PRId64, state->nvalues);
    }
    state->nvalues++;
    if (status == NPYX_OK)
        return;
    state->is_failed = true;
    npyext_array_builder_fail(context, array_name, &error);
}

void npyext_npy_array_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    array_state *state = sqlite3_aggregate_context(context, sizeof *state);
    if (state == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    int type = sqlite3_value_type(argv[0]);
    npyx_buffer *out = &state->builder.out;
    if (type != state->plain_type || out->capacity_nbytes - out->nbytes < sizeof(int64_t)) {
        step_slowly(state, context, argc, argv);
        return;
    }
    if (type == SQLITE_FLOAT) {
        double real = sqlite3_value_double(argv[0]);
        memcpy(out->bytes + out->nbytes, &real, sizeof real);
    } else {
        sqlite3_int64 integer = sqlite3_value_int64(argv[0]);
        memcpy(out->bytes + out->nbytes, &integer, sizeof integer);
    }
    out->nbytes += sizeof(int64_t);
    state->nvalues++;
}

/* ---- the array ---- */

/* Makes items of the texts, now that the longest is known. */
static npyx_status lay_out_texts(array_state *state, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    bool is_text = builder->dtype->type == NPYX_TEXT;
    size_t longest = is_text ? state->longest_ncharacters : state->longest_nbytes;
    char code[24];
    sqlite3_snprintf(sizeof code, code, "%s%d", is_text ? "U" : "S", (int)(longest < 1 ? 1 : longest));
    npyx_buffer texts = builder->out;
    builder->out = (npyx_buffer){.host = texts.host, .limit_nbytes = texts.limit_nbytes};
    npyx_buffer *out = &builder->out;
    npyx_buffer_append(out, texts.bytes, NPYEXT_HEADER_NBYTES);
    npyx_status status = npyext_array_builder_infer(builder, code, error);
    size_t itemsize = status == NPYX_OK ? (size_t)builder->dtype->itemsize : 1;
    if (status == NPYX_OK && (uint64_t)state->nvalues > SIZE_MAX / itemsize)
        out->status = NPYX_TOOBIG;
    if (status == NPYX_OK && !npyx_buffer_reserve(out, (size_t)state->nvalues * itemsize))
        status = npyx_buffer_check(out, error);
    const char *at = texts.bytes + NPYEXT_HEADER_NBYTES;
    for (int64_t i = 0; i < state->nvalues && status == NPYX_OK; i++) {
        uint32_t nbytes;
        memcpy(&nbytes, at, sizeof nbytes);
        npyx_value value = {.kind = NPYX_VALUE_TEXT, .bytes = at + sizeof nbytes, .nbytes = nbytes};
        status =
            npyx_encode_value(out->host, builder->dtype, &value, (uint8_t *)out->bytes + out->nbytes, error);
        if (status != NPYX_OK)
            npyx_error_place(error, status, "value %" PRId64, i);
        out->nbytes += itemsize;
        at += sizeof nbytes + nbytes;
    }
    npyx_buffer_clear(&texts);
    return status;
}

static npyx_status array_finish(array_state *state, sqlite3_context *context, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    int ndim = 1;
    int64_t shape[NPYX_MAX_NDIM] = {state->nvalues};
    if (state->nulls.nbytes > 0)
        return fail_null(state, error);
    npyx_status status = state->form == TEXTS ? lay_out_texts(state, error) : NPYX_OK;
    if (status == NPYX_OK && state->shape.nbytes > 0)
        status = npyx_integers_parse(builder->out.host, "shape", state->shape.bytes, state->shape.nbytes,
                                     shape, &ndim, error);
    if (status == NPYX_OK)
        status = npyx_shape_resolve(shape, ndim, state->nvalues, error);
    return status == NPYX_OK ? npyext_array_builder_result(builder, context, ndim, shape, error) : status;
}

void npyext_npy_array_final(sqlite3_context *context) {
    array_state *state = sqlite3_aggregate_context(context, 0);
    npyx_error error;
    if (state == NULL || state->builder.connection == NULL) /* no rows: no dtype was seen either */
        return;
    if (!state->is_failed && array_finish(state, context, &error) != NPYX_OK)
        npyext_array_builder_fail(context, array_name, &error);
    array_clear(state);
}
