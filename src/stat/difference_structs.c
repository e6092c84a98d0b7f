#include "difference_tally.h"

#include <string.h>

/* Items side by side for npyx_chunk_load: no number is larger than this. */
enum { MAX_NUMBER_NBYTES = 32 };

static bool structs_is_swapped(const npyx_dtype *a, const npyx_dtype *b) {
    return npyx_types[a->type].swap_nbytes > 1 && a->is_big_endian != b->is_big_endian;
}

static bool bytes_differ(const uint8_t *a, const uint8_t *b, size_t nbytes, size_t swap_nbytes) {
    if (swap_nbytes == 1)
        return memcmp(a, b, nbytes) != 0;
    for (size_t off = 0; off < nbytes; off += swap_nbytes) {
        for (size_t k = 0; k < swap_nbytes; k++) {
            if (a[off + k] != b[off + swap_nbytes - 1 - k])
                return true;
        }
    }
    return false;
}

static void load_apart(npyx_chunk *chunk, const npyx_dtype *dtype, const uint8_t *items, int64_t step_nbytes,
                       int64_t nelem) {
    uint8_t gathered[NPYX_DIFFERENCE_NELEM * MAX_NUMBER_NBYTES];
    for (int64_t i = 0; i < nelem; i++)
        memcpy(gathered + i * dtype->itemsize, items + i * step_nbytes, (size_t)dtype->itemsize);
    npyx_chunk_load(chunk, dtype, gathered, nelem);
}

/* Numbers and dates: other bytes may be the same number. */
static void mark_numbers(const npyx_dtype *a_dtype, const uint8_t *a, const npyx_dtype *b_dtype,
                         const uint8_t *b, int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2],
                         bool *differs) {
    load_apart(&chunks[0], a_dtype, a, step_nbytes, nelem);
    load_apart(&chunks[1], b_dtype, b, step_nbytes, nelem);
    for (int64_t i = 0; i < nelem; i++)
        differs[i] = differs[i] || npyx_chunk_differs(&chunks[0], &chunks[1], i);
}

/* A field that is a subarray of more entries than there are items: its entries are side by side. */
static void mark_long_field(const npyx_field *field, const uint8_t *a, const npyx_dtype *b_dtype,
                            const uint8_t *b, int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2],
                            bool *differs) {
    int64_t entry_nbytes = field->dtype->itemsize;
    for (int64_t i = 0; i < nelem; i++) {
        for (int64_t first = 0; first < field->nelem && !differs[i]; first += NPYX_DIFFERENCE_NELEM) {
            bool found[NPYX_DIFFERENCE_NELEM] = {false};
            int64_t left = field->nelem - first;
            int64_t count = left < NPYX_DIFFERENCE_NELEM ? left : NPYX_DIFFERENCE_NELEM;
            int64_t off = i * step_nbytes + first * entry_nbytes;
            npyx_difference_mark(field->dtype, a + off, b_dtype, b + off, entry_nbytes, count, chunks, found);
            differs[i] = memchr(found, true, sizeof found) != NULL;
        }
    }
}

static void mark_field(const npyx_field *field, const uint8_t *a, const npyx_dtype *b_dtype, const uint8_t *b,
                       int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs) {
    if (field->is_padding || field->dtype->itemsize == 0)
        return;
    if (field->nelem > nelem) {
        mark_long_field(field, a, b_dtype, b, step_nbytes, nelem, chunks, differs);
        return;
    }
    for (int64_t j = 0; j < field->nelem; j++) {
        int64_t off = j * field->dtype->itemsize;
        npyx_difference_mark(field->dtype, a + off, b_dtype, b + off, step_nbytes, nelem, chunks, differs);
    }
}

/* Recurses once a level of nested structures. */
void npyx_difference_mark(const npyx_dtype *a_dtype, const uint8_t *a, const npyx_dtype *b_dtype,
                          const uint8_t *b, int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2],
                          bool *differs) {
    if (a_dtype->itemsize == 0)
        return;
    if (a_dtype->type < NPYX_BYTES) {
        mark_numbers(a_dtype, a, b_dtype, b, step_nbytes, nelem, chunks, differs);
        return;
    }
    size_t swap_nbytes = structs_is_swapped(a_dtype, b_dtype) ? npyx_types[a_dtype->type].swap_nbytes : 1;
    for (int64_t i = 0; a_dtype->type != NPYX_STRUCT && i < nelem; i++) {
        const uint8_t *p = a + i * step_nbytes, *q = b + i * step_nbytes;
        differs[i] = differs[i] || bytes_differ(p, q, (size_t)a_dtype->itemsize, swap_nbytes);
    }
    for (int k = 0; k < a_dtype->nfields; k++) {
        const npyx_field *field = &a_dtype->fields[k];
        mark_field(field, a + field->off, b_dtype->fields[k].dtype, b + field->off, step_nbytes, nelem,
                   chunks, differs);
    }
}
