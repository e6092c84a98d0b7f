/* Codes of dtypes, such as `<f8` and `M8[25s]`: src/array/dtype_parse.c. */
#include "memory.h"

#include "array/dtype.c"
#include "array/dtype_parse.c"
#include "base/utf8.c"

/* A list of names may or may not have one, which takes too many comparisons to look at. */
bool any_name(npyx_span name, const char *names) {
    (void)name;
    (void)names;
    return nondet_bool();
}

/* Any unit, or none: what prove_unit_parse says of it. */
bool any_unit(const char *text, size_t nbytes, npyx_unit *unit, int32_t *multiple) {
    holds(nbytes == 0 || __CPROVER_r_ok(text, nbytes));
    *unit = (npyx_unit)nondet_i64_from(0, NPYX_UNIT_as);
    *multiple = (int32_t)nondet_i64_from(1, INT32_MAX);
    return nondet_bool();
}

/*
 * A code is a type of which items have a size, or is none, and nothing before or after its text is looked at.
 *
 * Bound: 8 bytes
 * Unwind: 40
 * Replaces: npyx_span_is_among by any_name
 * Replaces: npyx_unit_parse by any_unit
 * Planted: src/array/dtype_parse.c: bool is_sized = nbytes > 1 && => bool is_sized =
 * Took: 11 s, quick
 */
void prove_dtype_code(void) {
    any_bytes(char, text, 8);
    npyx_error error = {0};
    npyx_arena arena = {.host = &prove_host};
    const context c = {&arena, &error};
    const npyx_literal code = {.kind = NPYX_LITERAL_TEXT, .text = text, .text_nbytes = text_nbytes};
    npyx_dtype dtype;
    npyx_status status = dtype_from_code(&c, &code, &dtype);
    if (status != NPYX_OK)
        return;
    holds(dtype.type >= 0 && dtype.type < NPYX_NTYPES);
    holds(dtype.itemsize >= 0 && dtype.itemsize <= NPYX_MAX_ITEMSIZE);
    holds(npyx_types[dtype.type].itemsize == 0 || dtype.itemsize == npyx_types[dtype.type].itemsize);
    holds(dtype.multiple > 0);
    reached(dtype.type == NPYX_F8 && dtype.is_big_endian);
    reached(dtype.type == NPYX_DATETIME && dtype.multiple == 9);
    reached(dtype.type == NPYX_TEXT && dtype.itemsize == 4000);
}
