#include "edit.h"

#include "file_system.h"

enum { EDIT_PAGE_NBYTES = 1 << 12 };

/* What follows the bytes of a note. */
typedef struct edit_note {
    int64_t off;
    int64_t nbytes;
} edit_note;

npyx_status npyx_edit_open(npyx_edit *edit, npyx_sink *sink, int notes_descriptor, int nwindows,
                           npyx_error *error) {
    npyx_host *host = sink->host;
    size_t share_nbytes = (size_t)(NPYX_EDIT_WINDOWS_NBYTES / nwindows);
    *edit = (npyx_edit){
        .sink = sink,
        .notes_descriptor = notes_descriptor,
        .nwindows = nwindows,
        .max_nbytes = share_nbytes < NPYX_EDIT_WINDOW_NBYTES ? share_nbytes : NPYX_EDIT_WINDOW_NBYTES,
        .windows = npyx_alloc_array_zeroed(host, nwindows, sizeof edit->windows[0]),
    };
    npyx_status status = npyx_check_memory(edit->windows, error);
    if (status == NPYX_OK)
        status = npyx_sink_open_file(host, notes_descriptor, 0, &edit->notes, error);
    if (status != NPYX_OK)
        npyx_edit_close(edit);
    return status;
}

void npyx_edit_close(npyx_edit *edit) {
    if (edit->sink == NULL)
        return;
    npyx_host *host = edit->sink->host;
    for (int i = 0; edit->windows != NULL && i < edit->nwindows; i++)
        npyx_free(host, edit->windows[i].now);
    npyx_free(host, edit->windows);
    npyx_sink_close(edit->notes);
    npyx_descriptor_close(&edit->notes_descriptor);
    *edit = (npyx_edit){0};
}

/* ---- windows ---- */

/* The window's bytes as they are in the file. */
static uint8_t *edit_before(const npyx_edit *edit, const npyx_edit_window *window) {
    return window->now + edit->max_nbytes;
}

static npyx_status edit_take_note(const npyx_edit *edit, const npyx_edit_window *window, npyx_error *error) {
    edit_note note = {.off = window->off + (int64_t)window->low,
                      .nbytes = (int64_t)(window->high - window->low)};
    NPYX_TRY(
        npyx_sink_append(edit->notes, edit_before(edit, window) + window->low, (size_t)note.nbytes, error));
    return npyx_sink_append(edit->notes, &note, sizeof note, error);
}

static npyx_status edit_flush_window(npyx_edit *edit, npyx_edit_window *window, bool takes_notes,
                                     npyx_error *error) {
    if (window->low >= window->high)
        return NPYX_OK;
    size_t low = window->low, nbytes = window->high - low;
    if (takes_notes)
        NPYX_TRY(edit_take_note(edit, window, error));
    NPYX_TRY(npyx_sink_rewrite(edit->sink, window->off + (int64_t)low, window->now + low, nbytes, error));
    memcpy(edit_before(edit, window) + low, window->now + low, nbytes);
    window->low = window->high = 0;
    return NPYX_OK;
}

/* A window that continues where the last one ended is twice as large. */
static void edit_choose_size(const npyx_edit *edit, npyx_edit_window *window, int64_t off) {
    int64_t gap_nbytes = off - (window->off + (int64_t)window->nbytes);
    bool goes_on = window->nbytes > 0 && gap_nbytes >= 0 && gap_nbytes < (int64_t)window->nbytes;
    window->wanted_nbytes = goes_on ? 2 * window->wanted_nbytes : EDIT_PAGE_NBYTES;
    if (window->wanted_nbytes > edit->max_nbytes)
        window->wanted_nbytes = edit->max_nbytes;
}

/* Moves a window so that it contains off. */
static npyx_status edit_move(npyx_edit *edit, npyx_edit_window *window, const npyx_edit_line *line,
                             int64_t off, bool takes_notes, npyx_error *error) {
    NPYX_TRY(edit_flush_window(edit, window, takes_notes, error));
    if (window->now == NULL)
        window->now = npyx_alloc(edit->sink->host, 2 * edit->max_nbytes);
    NPYX_TRY(npyx_check_memory(window->now, error));
    edit_choose_size(edit, window, off);
    /* From the start of the page, or of the part of it that a window holds: off has to be in the window. */
    int64_t part_nbytes = edit->max_nbytes < EDIT_PAGE_NBYTES ? (int64_t)edit->max_nbytes : EDIT_PAGE_NBYTES;
    int64_t first_off = off / part_nbytes * part_nbytes;
    first_off = first_off > line->off ? first_off : line->off;
    int64_t left_nbytes = line->end_off - first_off;
    size_t nbytes =
        left_nbytes < (int64_t)window->wanted_nbytes ? (size_t)left_nbytes : window->wanted_nbytes;
    window->nbytes = 0; /* it is empty until all has been read */
    NPYX_TRY(npyx_sink_read(edit->sink, first_off, edit_before(edit, window), nbytes, error));
    memcpy(window->now, edit_before(edit, window), nbytes);
    window->off = first_off;
    window->nbytes = nbytes;
    return NPYX_OK;
}

npyx_status npyx_edit_write(npyx_edit *edit, const npyx_edit_line *line, int64_t off, const void *bytes,
                            size_t nbytes, bool takes_notes, npyx_error *error) {
    npyx_edit_window *window = &edit->windows[line->window];
    const uint8_t *from = bytes;
    while (nbytes > 0) {
        bool is_shown = (uint64_t)(off - window->off) < window->nbytes;
        if (!is_shown)
            NPYX_TRY(edit_move(edit, window, line, off, takes_notes, error));
        size_t at = (size_t)(off - window->off), left_nbytes = window->nbytes - at;
        size_t piece_nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
        memcpy(window->now + at, from, piece_nbytes);
        bool is_first = window->low >= window->high;
        window->low = is_first || at < window->low ? at : window->low;
        window->high = is_first || at + piece_nbytes > window->high ? at + piece_nbytes : window->high;
        off += (int64_t)piece_nbytes;
        from += piece_nbytes;
        nbytes -= piece_nbytes;
    }
    return NPYX_OK;
}

npyx_status npyx_edit_flush(npyx_edit *edit, bool takes_notes, npyx_error *error) {
    for (int i = 0; edit->sink != NULL && i < edit->nwindows; i++)
        NPYX_TRY(edit_flush_window(edit, &edit->windows[i], takes_notes, error));
    return NPYX_OK;
}

/* ---- marks ---- */

int64_t npyx_edit_mark(const npyx_edit *edit) {
    return edit->sink == NULL ? 0 : edit->notes->nbytes;
}

/* Restores the bytes of the last note; *end is where the notes end, and moves to where that note began. A
 * note is never longer than a window. */
static npyx_status edit_bring_back(const npyx_edit *edit, int64_t *end, uint8_t *bytes, npyx_error *error) {
    edit_note note;
    int64_t note_off = *end - (int64_t)sizeof note;
    NPYX_TRY(npyx_sink_read(edit->notes, note_off, &note, sizeof note, error));
    if (note.nbytes < 0 || note.nbytes > (int64_t)edit->max_nbytes || note.nbytes > note_off)
        return npyx_fail(error, NPYX_IO, note_off, "the notes of what was changed are damaged");
    *end = note_off - note.nbytes;
    NPYX_TRY(npyx_sink_read(edit->notes, *end, bytes, (size_t)note.nbytes, error));
    return npyx_sink_rewrite(edit->sink, note.off, bytes, (size_t)note.nbytes, error);
}

npyx_status npyx_edit_return(npyx_edit *edit, int64_t mark, npyx_error *error) {
    if (edit->sink == NULL)
        return NPYX_OK;
    for (int i = 0; i < edit->nwindows; i++) {
        npyx_edit_window *window = &edit->windows[i];
        window->nbytes = window->low = window->high = 0;
    }
    npyx_host *host = edit->sink->host;
    uint8_t *bytes = npyx_alloc(host, edit->max_nbytes);
    npyx_status status = npyx_check_memory(bytes, error);
    for (int64_t end = edit->notes->nbytes; status == NPYX_OK && end > mark;)
        status = edit_bring_back(edit, &end, bytes, error);
    if (status == NPYX_OK)
        status = npyx_sink_cut(edit->notes, mark, error);
    npyx_free(host, bytes);
    return status;
}
