/*
 * Small appends to a file are collected up to NPYX_COLLECTED_NBYTES; a larger one goes straight to the file.
 * No call writes more than NPYX_SINK_PIECE_NBYTES, so that a long write can be interrupted.
 */
#include "sink.h"

#include <errno.h>

#include "file_system.h"

/* ---- the file ---- */

static npyx_status write_at(const npyx_sink *sink, int64_t off, const uint8_t *bytes, size_t nbytes,
                            npyx_error *error) {
    while (nbytes > 0) {
        ssize_t n = pwrite(sink->descriptor, bytes,
                           nbytes < NPYX_SINK_PIECE_NBYTES ? nbytes : NPYX_SINK_PIECE_NBYTES, (off_t)off);
        if (n == 0 || (n < 0 && errno != EINTR))
            return npyx_fail(error, NPYX_IO, off, "cannot be written (%s, at byte %" PRId64 ")",
                             strerror(n == 0 ? ENOSPC : errno), off);
        size_t written_nbytes = n < 0 ? 0 : (size_t)n;
        off += (int64_t)written_nbytes;
        bytes += written_nbytes;
        nbytes -= written_nbytes;
        NPYX_TRY(nbytes > 0 ? npyx_poll(sink->host, error) : NPYX_OK);
    }
    return NPYX_OK;
}

/* Appends to the file itself, past the buffer. */
static npyx_status extend(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    npyx_status status = write_at(sink, sink->file_nbytes, bytes, nbytes, error);
    sink->file_nbytes += status == NPYX_OK ? (int64_t)nbytes : 0;
    sink->is_longer = sink->is_longer || status != NPYX_OK;
    return status;
}

static npyx_status write_collected(npyx_sink *sink, npyx_error *error) {
    NPYX_TRY(extend(sink, sink->collected.bytes, sink->collected.nbytes, error));
    sink->collected.nbytes = 0;
    return NPYX_OK;
}

static npyx_status shorten(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    NPYX_TRY(npyx_descriptor_cut(sink->descriptor, nbytes, "cannot be cut off", error));
    sink->is_longer = false;
    sink->file_nbytes = nbytes;
    return NPYX_OK;
}

/* ---- the sink ---- */

npyx_status npyx_sink_append(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    npyx_buffer *buffer = sink->buffer;
    if (nbytes > (uint64_t)(INT64_MAX - sink->nbytes))
        return npyx_fail(error, NPYX_TOOBIG, sink->nbytes, "more than 2^63 - 1 bytes were to be written");
    bool is_file = sink->descriptor >= 0;
    if (is_file && nbytes > NPYX_COLLECTED_NBYTES - buffer->nbytes)
        NPYX_TRY(write_collected(sink, error));
    if (is_file && nbytes >= NPYX_COLLECTED_NBYTES) {
        NPYX_TRY(extend(sink, bytes, nbytes, error));
    } else {
        npyx_buffer_append(buffer, bytes, nbytes);
        npyx_status status = npyx_buffer_check(buffer, error);
        buffer->status = NPYX_OK; /* the sink is as long as before, and a shorter append may still fit */
        NPYX_TRY(status);
    }
    sink->nbytes += (int64_t)nbytes;
    return NPYX_OK;
}

/* Whether a range is inside; a caller that gets it wrong gets an error, not a damaged file. */
static npyx_status check_range(const npyx_sink *sink, int64_t off, size_t nbytes, npyx_error *error) {
    if (off >= 0 && off <= sink->nbytes && nbytes <= (uint64_t)(sink->nbytes - off))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, off,
                     "%zu bytes at byte %" PRId64 " lie outside of what was written (%" PRId64 " bytes)",
                     nbytes, off, sink->nbytes);
}

/* How many of nbytes at off are in the file; the rest is in the buffer. */
static size_t in_file(const npyx_sink *sink, int64_t off, size_t nbytes) {
    int64_t left_nbytes = sink->file_nbytes - off;
    return left_nbytes <= 0 ? 0 : (uint64_t)left_nbytes < nbytes ? (size_t)left_nbytes : nbytes;
}

/* The byte at off in the buffer. */
static char *in_buffer(const npyx_sink *sink, int64_t off) {
    return sink->buffer->bytes + sink->start_nbytes + (size_t)(off - sink->file_nbytes);
}

npyx_status npyx_sink_rewrite(npyx_sink *sink, int64_t off, const void *bytes, size_t nbytes,
                              npyx_error *error) {
    NPYX_TRY(check_range(sink, off, nbytes, error));
    size_t file_nbytes = in_file(sink, off, nbytes);
    NPYX_TRY(write_at(sink, off, bytes, file_nbytes, error));
    if (file_nbytes < nbytes)
        memcpy(in_buffer(sink, off + (int64_t)file_nbytes), (const char *)bytes + file_nbytes,
               nbytes - file_nbytes);
    return NPYX_OK;
}

npyx_status npyx_sink_read(npyx_sink *sink, int64_t off, void *bytes, size_t nbytes, npyx_error *error) {
    NPYX_TRY(check_range(sink, off, nbytes, error));
    size_t file_nbytes = in_file(sink, off, nbytes), read_nbytes;
    NPYX_TRY(npyx_descriptor_read(NULL, sink->descriptor, off, bytes, file_nbytes, &read_nbytes,
                                  "cannot be read back", error));
    if (read_nbytes < file_nbytes)
        return npyx_fail(error, NPYX_IO, off,
                         "the file was cut short while it was written (byte %" PRId64 " is gone)",
                         off + (int64_t)read_nbytes);
    if (file_nbytes < nbytes)
        memcpy((char *)bytes + file_nbytes, in_buffer(sink, off + (int64_t)file_nbytes),
               nbytes - file_nbytes);
    return NPYX_OK;
}

npyx_status npyx_sink_read_rest(npyx_sink *sink, int64_t off, npyx_buffer *rest, npyx_error *error) {
    size_t nbytes = (size_t)(sink->nbytes - off);
    if (!npyx_buffer_reserve(rest, nbytes))
        return npyx_buffer_check(rest, error);
    rest->nbytes = nbytes;
    return npyx_sink_read(sink, off, rest->bytes, nbytes, error);
}

npyx_status npyx_sink_cut(npyx_sink *sink, int64_t nbytes, npyx_error *error) {
    NPYX_TRY(check_range(sink, nbytes, 0, error));
    if (nbytes < sink->first_nbytes)
        return npyx_fail(error, NPYX_INVALID, nbytes, "what was there before cannot be cut off");
    if (nbytes < sink->file_nbytes)
        NPYX_TRY(shorten(sink, nbytes, error));
    sink->buffer->nbytes = sink->start_nbytes + (size_t)(nbytes - sink->file_nbytes);
    sink->nbytes = nbytes;
    return NPYX_OK;
}

npyx_status npyx_sink_flush(npyx_sink *sink, npyx_error *error) {
    if (sink->descriptor < 0)
        return NPYX_OK;
    NPYX_TRY(write_collected(sink, error));
    return sink->is_longer ? shorten(sink, sink->file_nbytes, error) : NPYX_OK;
}

void npyx_sink_close(npyx_sink *sink) {
    if (sink == NULL)
        return;
    npyx_buffer_clear(&sink->collected);
    npyx_free(sink->host, sink);
}

npyx_status npyx_sink_open_memory(npyx_buffer *buffer, npyx_sink **sink, npyx_error *error) {
    npyx_sink *made = npyx_alloc(buffer->host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = (npyx_sink){.host = buffer->host,
                        .buffer = buffer,
                        .start_nbytes = buffer->nbytes,
                        .descriptor = -1,
                        .collected.host = buffer->host};
    *sink = made;
    return NPYX_OK;
}

npyx_status npyx_sink_open_file(npyx_host *host, int descriptor, int64_t nbytes, npyx_sink **sink,
                                npyx_error *error) {
    npyx_sink *made = npyx_alloc(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = (npyx_sink){.host = host,
                        .nbytes = nbytes,
                        .buffer = &made->collected,
                        .descriptor = descriptor,
                        .is_longer = true,
                        .file_nbytes = nbytes,
                        .first_nbytes = nbytes,
                        .collected.host = host};
    if (!npyx_buffer_reserve(&made->collected, NPYX_COLLECTED_NBYTES)) {
        npyx_sink_close(made);
        return npyx_fail_nomem(error);
    }
    *sink = made;
    return NPYX_OK;
}

/* ---- reading what a sink holds ---- */

typedef struct sink_source {
    npyx_source base;
    npyx_sink *sink;
} sink_source;

static npyx_status sink_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    NPYX_TRY(npyx_sink_read(((sink_source *)source)->sink, off, bytes, nbytes, error));
    *read_nbytes = nbytes;
    return NPYX_OK;
}

static const npyx_source_ops sink_ops = {.read = sink_read};

npyx_status npyx_source_open_sink(npyx_sink *sink, npyx_source **source, npyx_error *error) {
    sink_source *made = npyx_alloc(sink->host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = (sink_source){{.ops = &sink_ops, .host = sink->host, .nbytes = sink->nbytes}, sink};
    *source = &made->base;
    return NPYX_OK;
}

/* ---- the same, and what is written later ---- */

typedef struct written_source {
    npyx_source base;
    int descriptor;
    size_t head_nbytes;
    uint8_t head[];
} written_source;

static npyx_status written_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                size_t *read_nbytes, npyx_error *error) {
    const written_source *written = (const written_source *)source;
    size_t head_nbytes = off < (int64_t)written->head_nbytes ? written->head_nbytes - (size_t)off : 0;
    head_nbytes = head_nbytes < nbytes ? head_nbytes : nbytes;
    if (head_nbytes > 0)
        memcpy(bytes, written->head + off, head_nbytes);
    *read_nbytes = head_nbytes;
    if (head_nbytes == nbytes)
        return NPYX_OK;
    size_t after_nbytes = 0;
    npyx_status status = npyx_descriptor_read(source->host, written->descriptor, off + (int64_t)head_nbytes,
                                              (uint8_t *)bytes + head_nbytes, nbytes - head_nbytes,
                                              &after_nbytes, "cannot be read back", error);
    *read_nbytes += after_nbytes;
    return status;
}

static void written_close(npyx_source *source) {
    close(((written_source *)source)->descriptor);
}

static const npyx_source_ops written_ops = {.read = written_read, .close = written_close};

npyx_status npyx_source_open_written(npyx_sink *sink, const void *head, size_t head_nbytes,
                                     npyx_source **source, npyx_error *error) {
    NPYX_TRY(npyx_sink_flush(sink, error));
    written_source *made = npyx_alloc(sink->host, sizeof *made + head_nbytes);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = (written_source){.base = {.ops = &written_ops, .host = sink->host, .nbytes = sink->nbytes},
                             .descriptor = npyx_system_duplicate(sink->descriptor),
                             .head_nbytes = head_nbytes};
    if (made->descriptor < 0) {
        npyx_free(sink->host, made);
        return npyx_fail_errno(error, errno, "cannot be read back");
    }
    if (head_nbytes > 0)
        memcpy(made->head, head, head_nbytes);
    *source = &made->base;
    return NPYX_OK;
}

/* ---- edits ---- */

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
