/*
 * What a scan's arguments choose of the array at hand: member, field, view, expect, slice and astype, in this
 * order. Every function that reads items has one.
 */
#ifndef NPYEXT_SELECTION_H
#define NPYEXT_SELECTION_H

#include "scan.h"

typedef struct npyext_selection {
    bool is_open;
    npyx_array array;
    npyx_source *payload;
    npyx_view view;
    const npyx_dtype *astype; /* what items are converted to; NULL: they stay as they are */
} npyext_selection;

void npyext_selection_init(npyext_selection *selection, npyx_host *host);

/* Opens the array at which the scan is. NPYX_DONE: the entry is no array, and was not asked for by name. */
npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error);
void npyext_selection_close(npyext_selection *selection);

/* The dtype of the items as they come out. */
static inline const npyx_dtype *npyext_selection_dtype(const npyext_selection *selection) {
    return selection->astype != NULL ? selection->astype : selection->view.dtype;
}

/* The axis argument: which axes of an array are meant, as an integer or a text that is a list of them. Sets
 * axes[axis] for those of the view's axes that the argument names, which may count them from the end, and
 * clears the others. *is_given false: there is no argument. NPYX_INVALID for what names no axis of the view,
 * or one twice. */
npyx_status npyext_axis_argument_read(const npyext_argument *argument, const npyx_view *view, npyx_host *host,
                                      bool axes[NPYX_MAX_NDIM], bool *is_given, npyx_error *error);

/* The type to decode an item by without looking at its dtype again; NPYX_NTYPES when only the codec can. */
npyx_type npyext_plain_type(const npyx_dtype *dtype);

/* An item of a plain type as xColumn's result; false for types that are not decoded here. */
static inline bool npyext_result_plain(sqlite3_context *context, npyx_type type, const uint8_t *item) {
    const bool big = NPYX_HOST_IS_BIG_ENDIAN;
    if (type == NPYX_F8) { /* before the jump through a table; SQLite turns a NaN into NULL itself */
        sqlite3_result_double(context, npyx_load_f64(item, big));
        return true;
    }
    switch (type) {
    case NPYX_F4: sqlite3_result_double(context, (double)npyx_load_f32(item, big)); return true;
    case NPYX_BOOL: sqlite3_result_int(context, *item != 0); return true;
    case NPYX_I1: sqlite3_result_int(context, (int8_t)*item); return true;
    case NPYX_I2: sqlite3_result_int(context, (int16_t)npyx_load_u16(item, big)); return true;
    case NPYX_I4: sqlite3_result_int(context, (int32_t)npyx_load_u32(item, big)); return true;
    case NPYX_I8: sqlite3_result_int64(context, (int64_t)npyx_load_u64(item, big)); return true;
    case NPYX_U1: sqlite3_result_int(context, *item); return true;
    case NPYX_U2: sqlite3_result_int(context, npyx_load_u16(item, big)); return true;
    case NPYX_U4: sqlite3_result_int64(context, npyx_load_u32(item, big)); return true;
    default: return false;
    }
}

#endif
