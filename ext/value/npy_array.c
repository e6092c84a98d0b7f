/* npy_array(value [, dtype [, shape]]): an array of scalars. */

#include "aggregates.h"
#include "array_builder.h"
#include "item/encode.h"

typedef struct array_state {
    npyext_group group;
    npyext_array_builder builder; /* while it has no dtype, there were only NULLs */
    int plain_type; /* the SQLite type whose values are copied as they are, 8 bytes each; 0: none */
    /* The values are texts, whose dtype is not known before the longest: out has a length and bytes for
     * each. */
    bool holds_texts;
    npyx_buffer nulls; /* numbers (int64_t) of the NULLs, which are 0 until there is a NaN for them */
    size_t longest_nbytes;
    size_t longest_ncharacters;
    int ndim; /* of the shape that was given; otherwise there is one axis, as long as there are items */
    int64_t shape[NPYX_MAX_NDIM];
} array_state;

static void array_clear(npyext_group *group) {
    array_state *state = (array_state *)group;
    npyx_buffer_clear(&state->nulls);
    npyext_array_builder_clear(&state->builder);
}

/* Derives from the dtype how to take the values to come. */
static void settle(array_state *state) {
    const npyx_dtype *dtype = state->builder.dtype;
    state->plain_type = 0;
    if (dtype == NULL)
        return;
    if (npyx_dtype_is_native(dtype))
        state->plain_type = dtype->type == NPYX_F8   ? SQLITE_FLOAT
                            : dtype->type == NPYX_I8 ? SQLITE_INTEGER
                                                     : 0;
    state->holds_texts = (dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES) && dtype->itemsize == 0;
}

/* For a shape in the place of the dtype, as in reshape, the dtype parser's message would not help. */
static npyx_status name_dtype(npyext_array_builder *builder, sqlite3_value *argument, npyx_error *error) {
    int64_t integers[NPYX_MAX_NDIM];
    int n = 0;
    npyx_value text;
    npyx_status status = npyext_array_builder_set_dtype(builder, argument, error);
    if (status != NPYX_INVALID || sqlite3_value_type(argument) != SQLITE_TEXT)
        return status;
    NPYX_TRY(npyext_value_text(argument, &text, error));
    if (npyx_integers_parse(builder->out.host, "shape", text.bytes, text.nbytes, integers, &n, NULL) !=
        NPYX_OK)
        return status;
    return npyx_refuse(
        error, "%.60s is not a dtype; a shape is the third argument, as in npy_array(value, NULL, '%.60s')",
        text.bytes, text.bytes);
}

static npyx_status array_begin(npyext_group *group, npyx_error *error) {
    array_state *state = (array_state *)group;
    sqlite3_value **argv = group->argv;
    npyx_value text;
    state->nulls.host = &group->connection->host;
    state->ndim = 1;
    state->shape[0] = -1;
    NPYX_TRY(npyext_array_builder_begin(&state->builder, group->connection, error));
    if (group->argc > 1)
        NPYX_TRY(name_dtype(&state->builder, argv[1], error));
    settle(state);
    if (group->argc < 3 || sqlite3_value_type(argv[2]) == SQLITE_NULL)
        return NPYX_OK;
    NPYX_TRY(npyext_value_text(argv[2], &text, error));
    return text.nbytes == 0 ? NPYX_OK
                            : npyx_integers_parse(state->nulls.host, "shape", text.bytes, text.nbytes,
                                                  state->shape, &state->ndim, error);
}

/* ---- inferring the dtype ---- */

static npyx_status fail_mixed(const array_state *state, const npyx_value *value, npyx_error *error) {
    static const char *const names[] = {"NULL", "an INTEGER", "a REAL", "a TEXT", "a BLOB", "a TEXT"};
    npyx_type before = state->builder.dtype->type;
    const char *those = before == NPYX_TEXT ? "TEXTs" : before == NPYX_VOID ? "BLOBs" : "numbers";
    return npyx_refuse(error, "%s among %s; name a dtype that fits both, or convert it", names[value->kind],
                       those);
}

/* Makes NaN of the NULLs so far. */
static void fill_nulls(array_state *state) {
    const double nan = __builtin_nan("");
    const int64_t *numbers = (const void *)state->nulls.bytes;
    uint8_t *items = npyext_array_builder_items(&state->builder);
    for (size_t i = 0; i < state->nulls.nbytes / sizeof numbers[0]; i++)
        memcpy(items + (size_t)numbers[i] * sizeof nan, &nan, sizeof nan);
    npyx_buffer_reset(&state->nulls);
}

/* Makes float64 of the integers so far. */
static npyx_status widen(array_state *state, npyx_error *error) {
    int64_t item = 0;
    npyx_status status = npyext_array_builder_widen(&state->builder, &item, error);
    if (status == NPYX_OK)
        fill_nulls(state);
    else
        state->group.nrows = item; /* the one that failed */
    return status;
}

/* Fails for the NULLs, naming the first one. */
static npyx_status fail_null(const array_state *state, npyx_error *error) {
    int64_t number = *(const int64_t *)(const void *)state->nulls.bytes;
    if (state->builder.dtype == NULL)
        return npyx_refuse(error, "every value is NULL; name a dtype that has NaN, such as 'float64'");
    return npyx_refuse(
        error, "value %" PRId64 ": NULL does not fit %s; name a dtype that has NaN, such as 'float64'",
        number, npyx_dtype_shown(state->builder.dtype).name);
}

/* The first value that is not NULL decides on the dtype. Only numbers have a value for the NULLs before
 * it. */
static npyx_status infer_first(array_state *state, const npyx_value *value, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    char code[16] = "i8";
    if (value->kind == NPYX_VALUE_INTEGER)
        return npyext_array_builder_infer(builder, code, error);
    if (value->kind == NPYX_VALUE_REAL)
        return widen(state, error);
    if (state->nulls.nbytes > 0)
        return fail_null(state, error);
    if (value->kind == NPYX_VALUE_TEXT)
        return npyext_array_builder_infer(builder, "U", error);
    sqlite3_snprintf(sizeof code, code, "V%d", (int)value->nbytes);
    return npyext_array_builder_infer(builder, code, error);
}

/* Compares a later value with the dtype: a REAL turns int64 into float64, and anything else must be of the
 * same kind. */
static npyx_status infer_again(array_state *state, const npyx_value *value, npyx_error *error) {
    npyx_type type = state->builder.dtype->type;
    bool is_number = value->kind == NPYX_VALUE_INTEGER || value->kind == NPYX_VALUE_REAL;
    bool fits = is_number ? type == NPYX_F8 || type == NPYX_I8
                          : type == (value->kind == NPYX_VALUE_TEXT ? NPYX_TEXT : NPYX_VOID);
    if (!fits)
        return fail_mixed(state, value, error);
    if (value->kind == NPYX_VALUE_INTEGER && type == NPYX_F8)
        return npyext_check_exact(value->integer, error);
    return value->kind == NPYX_VALUE_REAL && type == NPYX_I8 ? widen(state, error) : NPYX_OK;
}

/* ---- values ---- */

/* Adds a text whose length the dtype depends on. */
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
    uint32_t nbytes = (uint32_t)value->nbytes; /* lengths are ints in SQLite */
    npyx_buffer_append(out, &nbytes, sizeof nbytes);
    npyx_buffer_append(out, value->bytes, value->nbytes);
    return npyx_buffer_check(out, error);
}

static npyx_status append_null(array_state *state, npyx_error *error) {
    static const uint8_t zero[sizeof(int64_t)];
    npyx_buffer_append(&state->nulls, &state->group.nrows, sizeof state->group.nrows);
    npyx_buffer_append(&state->builder.out, zero, sizeof zero);
    NPYX_TRY(npyx_buffer_check(&state->nulls, error));
    return npyx_buffer_check(&state->builder.out, error);
}

static npyx_status array_append(npyext_group *group, npyx_error *error) {
    array_state *state = (array_state *)group;
    sqlite3_value *argument = group->argv[0];
    npyext_array_builder *builder = &state->builder;
    npyx_buffer *out = &builder->out;
    npyx_value value;
    uint8_t *item = NULL;
    NPYX_TRY(npyext_value_read(argument, &value, error));
    if (!builder->is_dtype_given && value.kind == NPYX_VALUE_TEXT && sqlite3_value_subtype(argument) == 'J')
        return npyx_refuse(error, "is JSON, like a row of several items; use npy_stack to make an array from "
                                  "such rows, or the dtype 'U' for an array of texts");
    if (!builder->is_dtype_given) {
        bool has_no_nan = builder->dtype == NULL || builder->dtype->type == NPYX_I8;
        if (value.kind == NPYX_VALUE_NULL && has_no_nan)
            return append_null(state, error);
        if (value.kind != NPYX_VALUE_NULL) {
            NPYX_TRY((builder->dtype == NULL ? infer_first : infer_again)(state, &value, error));
            settle(state);
        }
    }
    if (state->holds_texts)
        return array_append_text(state, &value, error);
    NPYX_TRY(npyext_items_reserve(out, builder->dtype, 1, &item, error));
    NPYX_TRY(npyx_encode_value(out->host, builder->dtype, &value, item, error));
    out->nbytes += (size_t)builder->dtype->itemsize;
    return NPYX_OK;
}

/* Most rows are plain numbers of the same type as those before; for them, this is the only call. */
void npyext_npy_array_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    array_state *state = sqlite3_aggregate_context(context, sizeof *state);
    int type = sqlite3_value_type(argv[0]);
    if (state == NULL || type != state->plain_type ||
        state->builder.out.capacity_nbytes - state->builder.out.nbytes < sizeof(int64_t)) {
        npyext_aggregate_step(context, argc, argv);
        return;
    }
    npyx_buffer *out = &state->builder.out;
    if (type == SQLITE_FLOAT) {
        double real = sqlite3_value_double(argv[0]);
        memcpy(out->bytes + out->nbytes, &real, sizeof real);
    } else {
        sqlite3_int64 integer = sqlite3_value_int64(argv[0]);
        memcpy(out->bytes + out->nbytes, &integer, sizeof integer);
    }
    out->nbytes += sizeof(int64_t);
    state->group.nrows++;
}

/* ---- the array ---- */

/* Makes items of the texts, now that the longest is known. texts is what builder->out contained before. */
static npyx_status encode_texts(array_state *state, const char *texts, npyx_error *error) {
    npyext_array_builder *builder = &state->builder;
    bool is_text = builder->dtype->type == NPYX_TEXT;
    size_t longest = is_text ? state->longest_ncharacters : state->longest_nbytes;
    char code[24];
    uint8_t *item = NULL;
    npyx_buffer_append(&builder->out, texts, NPYEXT_HEADER_NBYTES);
    texts += NPYEXT_HEADER_NBYTES;
    sqlite3_snprintf(sizeof code, code, "%s%d", is_text ? "U" : "S", (int)(longest < 1 ? 1 : longest));
    NPYX_TRY(npyext_array_builder_infer(builder, code, error));
    NPYX_TRY(npyext_items_reserve(&builder->out, builder->dtype, state->group.nrows, &item, error));
    for (int64_t i = 0; i < state->group.nrows; i++) {
        uint32_t nbytes;
        NPYX_TRY(npyx_poll(builder->out.host, error)); /* xFinal is called after an interrupt, too */
        memcpy(&nbytes, texts, sizeof nbytes);
        npyx_value value = {.kind = NPYX_VALUE_TEXT, .bytes = texts + sizeof nbytes, .nbytes = nbytes};
        npyx_status status = npyx_encode_value(builder->out.host, builder->dtype, &value, item, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "value %" PRId64, i);
        builder->out.nbytes += (size_t)builder->dtype->itemsize;
        item += builder->dtype->itemsize;
        texts += sizeof nbytes + nbytes;
    }
    return NPYX_OK;
}

static npyx_status lay_out_texts(array_state *state, npyx_error *error) {
    npyx_buffer texts = state->builder.out;
    state->builder.out = (npyx_buffer){.host = texts.host, .limit_nbytes = texts.limit_nbytes};
    npyx_status status = encode_texts(state, texts.bytes, error);
    npyx_buffer_clear(&texts);
    return status;
}

static npyx_status array_finish(npyext_group *group, npyx_error *error) {
    array_state *state = (array_state *)group;
    if (state->nulls.nbytes > 0)
        return fail_null(state, error);
    if (state->holds_texts)
        NPYX_TRY(lay_out_texts(state, error));
    NPYX_TRY(npyx_shape_resolve(state->shape, state->ndim, group->nrows, error));
    return npyext_array_builder_result(&state->builder, group->context, state->ndim, state->shape, error);
}

const npyext_aggregate npyext_npy_array = {.caller = {"npy_array", "npy_array(value)"},
                                           .row_name = "value",
                                           .format = NPYX_FORMAT_NPY,
                                           .state_nbytes = sizeof(array_state),
                                           .begin = array_begin,
                                           .append = array_append,
                                           .finish = array_finish,
                                           .clear = array_clear};
