/* Items that are not subtracted are compared field by field, many items at a time. */
#include "difference.h"

/* The size of the largest number; items are gathered side by side for npyx_chunk_load. */
enum { MAX_NUMBER_NBYTES = 32 };

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

/* Numbers and dates are gathered side by side: different bytes may be the same number. */
static void mark_numbers(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                         int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs) {
    uint8_t gathered[NPYX_DIFFERENCE_NELEM_MOST * MAX_NUMBER_NBYTES];
    size_t itemsize = (size_t)dtypes[0]->itemsize;
    for (int k = 0; k < 2 && nelem > 0; k++) {
        for (int64_t i = 0; i < nelem; i++)
            memcpy(gathered + (size_t)i * itemsize, items[k] + i * step_nbytes, itemsize);
        npyx_chunk_load(&chunks[k], dtypes[k], gathered, nelem);
    }
    for (int64_t i = 0; i < nelem; i++)
        differs[i] = differs[i] || npyx_chunk_differs(&chunks[0], &chunks[1], i);
}

static void mark_field(const npyx_field *field, const npyx_dtype *const dtypes[2],
                       const uint8_t *const items[2], int64_t step_nbytes, int64_t nelem,
                       npyx_chunk chunks[2], bool *differs) {
    const int64_t entry_nbytes = field->dtype->itemsize;
    bool is_long = field->nelem > nelem; /* go along an item's entries, which are side by side */
    if (field->is_padding || entry_nbytes == 0)
        return;
    for (int64_t j = 0; !is_long && j < field->nelem; j++) {
        const uint8_t *const entries[2] = {items[0] + j * entry_nbytes, items[1] + j * entry_nbytes};
        npyx_difference_mark(dtypes, entries, step_nbytes, nelem, chunks, differs);
    }
    for (int64_t i = 0; is_long && i < nelem; i++) {
        for (int64_t first = 0; first < field->nelem && !differs[i]; first += NPYX_DIFFERENCE_NELEM) {
            bool found[NPYX_DIFFERENCE_NELEM_MOST] = {false};
            int64_t left = field->nelem - first, off = i * step_nbytes + first * entry_nbytes;
            const uint8_t *const entries[2] = {items[0] + off, items[1] + off};
            npyx_difference_mark(dtypes, entries, entry_nbytes,
                                 left < NPYX_DIFFERENCE_NELEM ? left : NPYX_DIFFERENCE_NELEM, chunks, found);
            differs[i] = memchr(found, true, sizeof found) != NULL;
        }
    }
}

/* Recurses once per level of nested structures. */
void npyx_difference_mark(const npyx_dtype *const dtypes[2], const uint8_t *const items[2],
                          int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2], bool *differs) {
    const npyx_dtype *a = dtypes[0], *b = dtypes[1];
    if (a->itemsize == 0)
        return;
    if (a->type < NPYX_BYTES) {
        mark_numbers(dtypes, items, step_nbytes, nelem, chunks, differs);
        return;
    }
    size_t swap_nbytes = a->is_big_endian != b->is_big_endian ? npyx_types[a->type].swap_nbytes : 1;
    for (int64_t i = 0; a->type != NPYX_STRUCT && i < nelem; i++)
        differs[i] = differs[i] || bytes_differ(items[0] + i * step_nbytes, items[1] + i * step_nbytes,
                                                (size_t)a->itemsize, swap_nbytes);
    for (int k = 0; k < a->nfields; k++) {
        const npyx_field *field = &a->fields[k];
        const npyx_dtype *const field_dtypes[2] = {field->dtype, b->fields[k].dtype};
        const uint8_t *const fields[2] = {items[0] + field->off, items[1] + field->off};
        mark_field(field, field_dtypes, fields, step_nbytes, nelem, chunks, differs);
    }
}
