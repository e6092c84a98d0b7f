/*
 * Items go block by block through a pipeline whose steps are chosen once for the two types:
 *
 *     items -> stage (copied when swapped, apart or few) -> load -> recast -> store -> stage -> items
 *                                                    an npyx_form
 *
 * Each step runs over 64 items whatever it meets, and reports only whether all fit; only if not is the item
 * looked for that does not.
 */
#include "convert.h"

#include <stdio.h>

#include "element.h"
#include "text/number_text.h"

static bool is_complex(npyx_type type) {
    return npyx_type_part(type) != type;
}

npyx_status npyx_convert_check(const npyx_dtype *from, const npyx_dtype *to, npyx_error *error) {
    if (npyx_dtype_is_same(from, to))
        return NPYX_OK;
    bool are_numbers = from->type <= NPYX_C32 && to->type <= NPYX_C32;
    if (are_numbers && (is_complex(to->type) || !is_complex(from->type)))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1, "%s cannot be converted to %s%s", npyx_dtype_shown(from).name,
                     npyx_dtype_shown(to).name, are_numbers ? ", which has no imaginary part" : "");
}

/* The steps for a block, chosen once. Complex items are two parts each. */
typedef struct pipeline {
    npyx_type from, to; /* parts */
    npyx_form form;     /* what load yields */
    npyx_block_load *load;
    npyx_block_recast *recast; /* NULL: none */
    npyx_block_store *store;
    bool swaps_out;
    int parts_per_item; /* of from */
    bool spreads;       /* imaginary parts of 0 go between the results */
} pipeline;

static pipeline choose_pipeline(const npyx_dtype *from, const npyx_dtype *to) {
    pipeline line = {.from = npyx_type_part(from->type), .to = npyx_type_part(to->type)};
    line.swaps_out = !npyx_dtype_is_native(to);
    line.parts_per_item = is_complex(from->type) ? 2 : 1;
    line.spreads = is_complex(to->type) && !is_complex(from->type);
    bool is_float = line.to == NPYX_F4 || line.to == NPYX_F8;
    bool is_small = npyx_block_loader(line.from, NPYX_FORM_I32) != NULL;
    line.form = is_float && is_small ? NPYX_FORM_I32 : npyx_block_form(line.from);
    line.load = npyx_block_loader(line.from, line.form);
    line.store = npyx_block_storer(line.form, line.to);
    if (line.store == NULL) {
        npyx_form form;
        line.recast = npyx_block_recaster(line.form, line.to, &form);
        line.store = npyx_block_storer(form, line.to);
    }
    return line;
}

static bool run_block(const pipeline *line, const uint8_t *parts, uint8_t *out) {
    npyx_block block;
    line->load(parts, &block);
    bool fits = line->recast == NULL || line->recast(&block);
    return line->store(&block, out) && fits;
}

/* Writes a value as text, with a NUL. */
static void write_value(npyx_type type, const uint8_t *part, char *text) {
    npyx_block_room room;
    const uint8_t *parts = npyx_block_stage(&room, type, NPYX_HOST_IS_BIG_ENDIAN, part, 0, 1);
    npyx_block exact, real;
    npyx_form form = npyx_block_form(type);
    npyx_block_loader(type, form)(parts, &exact);
    npyx_block_loader(type, NPYX_FORM_F64)(parts, &real);
    const npyx_number number = {.form = form == NPYX_FORM_I64   ? NPYX_NUMBER_I64
                                        : form == NPYX_FORM_U64 ? NPYX_NUMBER_U64
                                                                : NPYX_NUMBER_F64,
                                .i64 = exact.i64[0],
                                .u64 = exact.u64[0],
                                .f64 = real.f64[0]};
    int exponent = form == NPYX_FORM_X87 ? (exact.x87[0].sign_exponent & 0x7fff) - 16383 : INT16_MAX;
    size_t nbytes;
    if (form == NPYX_FORM_X87 && isinf(number.f64) && exponent != 0x7fff - 16383)
        nbytes = (size_t)snprintf(text, NPYX_NUMBER_TEXT_NBYTES, "about %s2^%d", number.f64 < 0 ? "-" : "",
                                  exponent);
    else if (type == NPYX_F4 && isfinite(number.f64))
        nbytes = npyx_text_f32((float)number.f64, text);
    else
        nbytes = npyx_number_text(&number, text);
    text[nbytes] = '\0';
}

/* Reports the first part in a block that does not fit; first is the index of the block's first part. *nfit is
 * set to the number of items before it. */
static npyx_status fail_misfit(const pipeline *line, const uint8_t *parts, int64_t first,
                               const npyx_dtype *to, int64_t first_item, int64_t *nfit, npyx_error *error) {
    size_t part_nbytes = npyx_types[line->from].itemsize;
    int64_t i = 0;
    for (; i < NPYX_BLOCK_NELEM - 1; i++, parts += part_nbytes) {
        npyx_block_room alone, out;
        if (!run_block(line, npyx_block_stage(&alone, line->from, NPYX_HOST_IS_BIG_ENDIAN, parts, 0, 1),
                       out.bytes))
            break;
    }
    char value[NPYX_NUMBER_TEXT_NBYTES + 1];
    write_value(line->from, parts, value);
    *nfit = (first + i) / line->parts_per_item;
    return npyx_fail(error, NPYX_INVALID, -1, "item %" PRId64 " is %s, which %s cannot hold",
                     first_item + *nfit, value, npyx_dtype_shown(to).name);
}

/* Puts the first count parts of a result in their places, in the byte order of its dtype. */
static void stage_out(npyx_block_room *out, const pipeline *line, uint8_t *target, size_t count) {
    size_t part_nbytes = npyx_types[line->to].itemsize;
    if (line->swaps_out)
        npyx_swap_words(out->bytes, part_nbytes, count);
    if (!line->spreads) {
        memcpy(target, out->bytes, count * part_nbytes);
        return;
    }
    memset(target, 0, 2 * count * part_nbytes);
    for (size_t i = 0; i < count; i++)
        memcpy(target + 2 * i * part_nbytes, out->bytes + i * part_nbytes, part_nbytes);
}

static npyx_status convert_numbers(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                                   const npyx_dtype *to, uint8_t *out, int64_t first_item, int64_t *nfit,
                                   npyx_error *error) {
    pipeline line = choose_pipeline(from, to);
    npyx_block_room in, staged;
    int64_t nparts = nelem * line.parts_per_item;
    size_t from_nbytes = npyx_types[line.from].itemsize;
    size_t to_nbytes = (size_t)npyx_types[line.to].itemsize * (line.spreads ? 2 : 1);
    for (int64_t first = 0; first < nparts; first += NPYX_BLOCK_NELEM) {
        size_t count = nparts - first < NPYX_BLOCK_NELEM ? (size_t)(nparts - first) : NPYX_BLOCK_NELEM;
        const uint8_t *parts = npyx_block_stage(&in, line.from, from->is_big_endian,
                                                items + (size_t)first * from_nbytes, from_nbytes, count);
        uint8_t *target = out + (size_t)first * to_nbytes;
        bool is_staged = count < NPYX_BLOCK_NELEM || line.swaps_out || line.spreads;
        if (!run_block(&line, parts, is_staged ? staged.bytes : target))
            return fail_misfit(&line, parts, first, to, first_item, nfit, error);
        if (is_staged)
            stage_out(&staged, &line, target, count);
    }
    return NPYX_OK;
}

npyx_status npyx_convert_items(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                               const npyx_dtype *to, uint8_t *out, int64_t first_item, int64_t *nfit,
                               npyx_error *error) {
    int64_t unused;
    nfit = nfit == NULL ? &unused : nfit;
    *nfit = 0;
    npyx_status status = npyx_convert_check(from, to, error);
    if (status != NPYX_OK || nelem <= 0)
        return status;
    if (!npyx_dtype_is_same(from, to))
        return convert_numbers(from, items, nelem, to, out, first_item, nfit, error);
    *nfit = nelem;
    memcpy(out, items, (size_t)(nelem * from->itemsize));
    if (from->type == NPYX_STRUCT || from->is_big_endian != to->is_big_endian) {
        npyx_element_swap(from, out, nelem); /* to little-endian and back from it, which is the same step */
        npyx_element_swap(to, out, nelem);
    }
    return NPYX_OK;
}
