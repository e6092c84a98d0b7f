/* JSON, and safetensors' header on top of it: src/text/json_text.c, src/format/archive_safetensors.c. */
#include "memory.h"

#include "base/utf8.c"
#include "format/archive_safetensors.c"
#include "text/json_text.c"

/* What text/number_text.c does, as number.c says. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    holds(nbytes == 0 || __CPROVER_r_ok(text, nbytes));
    if (nbytes == 0 || !(npyx_is_digit(text[0]) || text[0] == '-'))
        return 0;
    *number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true, .i64 = nondet_i64()};
    return nondet_size_to(nbytes);
}

/* A reader at any place of a text. */
#define any_reader(name, most)                                                                               \
    any_bytes(char, text, most);                                                                             \
    npyx_error error;                                                                                        \
    static npyx_json_reader name;                                                                            \
    npyx_json_init(&name, &prove_host, text, text_nbytes);                                                   \
    name.off = name.polled_off = nondet_size_to(text_nbytes);                                                \
    name.depth = (int)nondet_size_to(NPYX_JSON_DEPTH);                                                       \
    name.place = nondet_u8() & 3;                                                                            \
    const size_t off = name.off

/* A string, which is read to a place after its first quote, or is none. */
npyx_status any_string(npyx_json_reader *r, npyx_error *error) {
    if (nondet_bool())
        return npyx_fail(error, NPYX_INVALID, 0, "no string");
    r->off += 1 + nondet_size_to(r->nbytes - r->off - 1);
    r->string = r->text;
    r->string_nbytes = nondet_size_to(r->nbytes);
    return NPYX_OK;
}

/*
 * A token goes on in the text, and the depth stays between 0 and the most.
 *
 * Bound: 6 bytes from any place and depth, of strings any
 * Unwind: 10
 * Replaces: read_string by any_string
 * Planted: src/text/json_text.c: if (r->depth == NPYX_JSON_DEPTH) => if (r->depth == NPYX_JSON_DEPTH + 1)
 * Took: 23 s
 */
void prove_json_next(void) {
    any_reader(r, 6);
    r.is_object[r.depth] = r.depth > 0 && nondet_bool();
    int depth = r.depth;
    npyx_status status = npyx_json_next(&r, &error);
    holds(r.off >= off && r.off <= text_nbytes);
    if (status != NPYX_OK)
        return;
    holds(r.depth >= 0 && r.depth <= NPYX_JSON_DEPTH && r.depth >= depth - 1 && r.depth <= depth + 1);
    holds(r.token_off >= off && (r.off > r.token_off || r.token == NPYX_JSON_END));
    reached(r.token == NPYX_JSON_NULL && r.off == 6);
    reached(r.token == NPYX_JSON_LIST && r.depth == NPYX_JSON_DEPTH);
    reached(r.token == NPYX_JSON_END);
}

/*
 * An escape of hexadecimal digits, or two of them, is a character.
 *
 * Bound: 13 bytes
 * Unwind: 15
 * Planted: src/text/json_text.c: nbytes = 12; => nbytes = 14;
 * Took: 3 s, quick
 */
void prove_json_code_point(void) {
    any_reader(r, 13);
    assume(text_nbytes - off >= 2 && text[off] == '\\' && text[off + 1] == 'u');
    npyx_status status = read_code_point(&r, &error);
    holds(r.off >= off && r.off <= text_nbytes);
    if (status == NPYX_OK && r.scratch.status == NPYX_OK)
        holds(npyx_utf8_character(r.scratch.bytes, r.scratch.nbytes) == r.scratch.nbytes);
    holds(status != NPYX_OK || r.off - off == 6 || r.off - off == 12);
    reached(status == NPYX_OK && r.off - off == 12);
}

/* A token of any kind. */
npyx_status any_token(safetensors_parser *p) {
    p->reader.token = (npyx_json_token)(nondet_u8() % (NPYX_JSON_NAME + 1));
    p->reader.number = (npyx_number){.form = (npyx_number_form)(nondet_u8() % 3), .i64 = nondet_i64()};
    p->reader.number.is_integer = nondet_bool();
    if (p->reader.token == NPYX_JSON_NUMBER && p->reader.number.form == NPYX_NUMBER_I64)
        assume((p->reader.text[p->reader.token_off] == '-') || p->reader.number.i64 >= 0);
    return nondet_bool() ? NPYX_OK : npyx_fail(p->error, NPYX_CORRUPT, 0, "no token");
}

/*
 * A list of lengths has no more than there is room for, and none below 0.
 *
 * Bound: lists of any tokens, up to 3 lengths
 * Unwind: 6
 * Replaces: safetensors_next by any_token
 * Planted: src/format/archive_safetensors.c: if (!is_length || *n == most) => if (!is_length || *n > most)
 * Took: 2 s, quick
 */
void prove_safetensors_integers(void) {
    npyx_error error;
    char text[1] = {(char)nondet_u8()};
    static safetensors_parser p;
    int64_t integers[3];
    int n = 0;
    p.error = &error;
    p.reader.text = text;
    npyx_status status = safetensors_integers(&p, "a list", 3, integers, &n);
    holds(n >= 0 && n <= 3);
    for (int i = 0; status == NPYX_OK && i < n; i++)
        holds(integers[i] >= 0);
    reached(status == NPYX_OK && n == 3 && integers[2] == INT64_MAX);
}

/* The order of tensors is base.c's. */
npyx_status npyx_sort(npyx_host *host, void *items, size_t n, size_t item_nbytes, npyx_compare *compare,
                      const void *ctx, npyx_error *error) {
    (void)host, (void)items, (void)n, (void)item_nbytes, (void)compare, (void)ctx, (void)error;
    return NPYX_OK;
}
npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error) {
    (void)source, (void)error;
    return status;
}
const npyx_type_info npyx_types[NPYX_NTYPES] = {
    [NPYX_U1] = {.itemsize = 1}, [NPYX_F4] = {.itemsize = 4}, [NPYX_F8] = {.itemsize = 8}};

/*
 * Tensors that are accepted fill the data one after the other, and each has the bytes of its shape.
 *
 * Bound: 2 tensors of up to 2 axes, in order; any offsets of 64 bits, lengths up to 15
 * Unwind: 4
 * Planted: src/format/archive_safetensors.c: if (tensor->begin != at || tensor->end < tensor->begin)
 *           => if (tensor->begin < at || tensor->end < tensor->begin)
 * Took: 4 s, quick
 */
void prove_safetensors_check(void) {
    static const npyx_type types[] = {NPYX_U1, NPYX_F4, NPYX_F8, NPYX_NTYPES};
    npyx_source source = {.host = &prove_host, .nbytes = nondet_i64_from(8, INT64_MAX)};
    int64_t shapes[2][2];
    safetensor tensors[2] = {{.name = "", .shape = shapes[0]}, {.name = "", .shape = shapes[1]}};
    safetensors_archive archive = {.base.source = &source, .tensors = tensors, .data_off = 8};
    npyx_error error;
    archive.ntensors = nondet_i64_from(0, 2);
    for (int i = 0; i < 2; i++) {
        tensors[i].dtype.type = types[nondet_u8() & 3];
        tensors[i].dtype.nbits = tensors[i].dtype.type == NPYX_NTYPES ? (nondet_bool() ? 4 : 6) : 0;
        tensors[i].ndim = (int)(nondet_u8() & 1) + 1;
        shapes[i][0] = nondet_u8() & 15;
        shapes[i][1] = nondet_u8() & 15;
        tensors[i].begin = nondet_i64_from(0, INT64_MAX);
        tensors[i].end = nondet_i64_from(0, INT64_MAX);
    }
    npyx_status status = safetensors_check(&archive, &error);
    if (status != NPYX_OK)
        return;
    int64_t at = 0;
    for (int64_t i = 0; i < archive.ntensors; i++) {
        holds(tensors[i].begin == at && tensors[i].end >= at && tensors[i].end <= source.nbytes - 8);
        at = tensors[i].end;
    }
    holds(at == source.nbytes - 8);
    reached(archive.ntensors == 2 && at == 75 && tensors[1].dtype.type == NPYX_F8);
    reached(tensors[0].dtype.nbits == 4 && at == 3);
}
