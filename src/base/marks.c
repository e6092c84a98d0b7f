#include "marks.h"

npyx_status npyx_marks_note(npyx_marks *marks, int64_t index, int64_t off, npyx_error *error) {
    if (index != marks->noffs * NPYX_MARKS_SPAN)
        return NPYX_OK;
    int64_t *offs = npyx_grow(marks->host, marks->offs, marks->noffs, &marks->capacity_noffs, sizeof *offs);
    NPYX_TRY(npyx_check_memory(offs, error));
    marks->offs = offs;
    offs[marks->noffs++] = off;
    return NPYX_OK;
}

bool npyx_marks_nearest(const npyx_marks *marks, int64_t index, int64_t *marked_index, int64_t *off) {
    int64_t i = index / NPYX_MARKS_SPAN < marks->noffs ? index / NPYX_MARKS_SPAN : marks->noffs - 1;
    if (i < 0)
        return false;
    *marked_index = i * NPYX_MARKS_SPAN;
    *off = marks->offs[i];
    return true;
}

void npyx_marks_clear(npyx_marks *marks) {
    npyx_free(marks->host, marks->offs);
    *marks = (npyx_marks){.host = marks->host};
}
