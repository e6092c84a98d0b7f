/* The arrays that scalar functions looked at last, described and, if a handle stands for them, open. */
#include "connection.h"
#include "format/header.h"

static void memo_forget(npyext_connection *connection, npyext_memo_array *known) {
    npyx_window_clear(&known->window);
    npyx_source_close(known->payload); /* before the archive that it reads from */
    npyext_cache_release(connection, known->file);
    npyx_array_clear(&known->array);
    npyx_arena_clear(&known->arena);
    /* its key stays, for messages: the path is in it */
    *known = (npyext_memo_array){.key = known->key, .path = known->path};
}

static npyext_memo_array *memo_find(npyext_connection *connection, const void *key, size_t key_nbytes) {
    connection->clock++;
    for (int i = 0; i < NPYEXT_MEMO_NARRAYS; i++) {
        npyext_memo_array *known = &connection->known[i];
        if (known->is_sound && known->key.nbytes == key_nbytes &&
            memcmp(known->key.bytes, key, key_nbytes) == 0) {
            known->used_at = connection->clock;
            return known;
        }
    }
    return NULL;
}

/* Frees the place of the one unused for longest, for a new one. */
static npyext_memo_array *memo_replace(npyext_connection *connection, const void *key, size_t key_nbytes) {
    npyext_memo_array *oldest = &connection->known[0];
    for (int i = 1; i < NPYEXT_MEMO_NARRAYS; i++) {
        if (connection->known[i].used_at < oldest->used_at)
            oldest = &connection->known[i];
    }
    memo_forget(connection, oldest);
    oldest->array.arena.host = oldest->arena.host = oldest->key.host = &connection->host;
    npyx_buffer_reset(&oldest->key);
    npyx_buffer_append(&oldest->key, key, key_nbytes);
    oldest->path = NULL;
    oldest->used_at = connection->clock;
    return oldest;
}

npyx_status npyext_memo_of_header(npyext_connection *connection, const void *header, size_t header_nbytes,
                                  npyext_memo_array **known, npyx_error *error) {
    *known = memo_find(connection, header, header_nbytes);
    if (*known != NULL)
        return NPYX_OK;
    npyext_memo_array *made = memo_replace(connection, header, header_nbytes);
    npyx_status status = npyx_buffer_check(&made->key, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_parse((const uint8_t *)made->key.bytes, header_nbytes, &made->array, error);
    made->is_sound = status == NPYX_OK;
    *known = made;
    return status;
}

/* Finds the entry and keeps its name, which a .ten's archive would overwrite. */
static npyx_status find_entry(npyext_memo_array *known, int64_t index, npyx_error *error) {
    npyx_status status = npyx_archive_entry(known->file->archive, index, &known->entry, error);
    if (status == NPYX_DONE)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "the array that the handle stands for is gone");
    NPYX_TRY(status);
    known->entry.name = npyx_arena_copy(&known->arena, known->entry.name, known->entry.name_nbytes);
    known->has_entry = known->entry.name != NULL;
    return npyx_check_memory(known->entry.name, error);
}

/* Opens what a handle describes; the path is in known already. */
static npyx_status open_array(npyext_connection *connection, npyext_memo_array *known,
                              const npyext_handle *handle, npyx_error *error) {
    NPYX_TRY(
        npyext_cache_acquire(connection, known->path, &known->part, known->tick, NULL, &known->file, error));
    NPYX_TRY(
        npyext_handle_check(&connection->handle_key, handle->stamp, &known->part, &known->file->info, error));
    npyx_archive *archive = known->file->archive;
    known->index = handle->index;
    NPYX_TRY(find_entry(known, handle->index, error));
    NPYX_TRY(npyx_archive_describe(archive, handle->index, &known->array, error));
    if (!known->array.is_array)
        return npyx_archive_fail_no_array(error);
    return npyx_archive_open_payload(archive, handle->index, &known->payload, error);
}

/* Whether the file that a handle's array was opened from is still at its path; if not, forgets the array
 * (NPYX_DONE). */
static npyx_status validate(npyext_connection *connection, npyext_memo_array *known, int64_t tick,
                            npyx_error *error) {
    npyext_cached_file *file = NULL;
    npyx_status status =
        npyext_cache_acquire(connection, known->path, &known->part, tick, NULL, &file, error);
    bool is_same = file == known->file;
    npyext_cache_release(connection, file);
    if (status == NPYX_OK && is_same) {
        known->tick = tick;
        known->window.nbytes = 0;
        return NPYX_OK;
    }
    memo_forget(connection, known);
    return status == NPYX_OK ? NPYX_DONE : status;
}

npyx_status npyext_memo_of_handle(npyext_connection *connection, const void *bytes, size_t nbytes,
                                  int64_t tick, npyext_memo_array **known, npyx_error *error) {
    npyext_handle handle;
    npyext_memo_array *found = *known = memo_find(connection, bytes, nbytes);
    if (found != NULL) {
        npyx_status status = found->tick == tick ? NPYX_OK : validate(connection, found, tick, error);
        if (status != NPYX_DONE)
            return status;
    }
    if (!npyext_handle_read(&connection->handle_key, bytes, nbytes, &handle))
        return npyx_refuse(error, "the handle is not one that npy_file made on this connection");
    found = memo_replace(connection, bytes, nbytes);
    npyx_buffer_append_char(&found->key, '\0');
    NPYX_TRY(npyx_buffer_check(&found->key, error));
    found->key.nbytes--;
    found->path = found->key.bytes + (handle.path - (const char *)bytes);
    found->part = handle.part;
    if (handle.part.recipe != NULL)
        found->part.recipe = found->key.bytes + ((const char *)handle.part.recipe - (const char *)bytes);
    found->tick = tick;
    *known = found;
    npyx_status status = open_array(connection, found, &handle, error);
    found->is_sound = status == NPYX_OK;
    return status;
}

npyx_status npyext_memo_hold(npyext_memo_array *known, npyx_error *error) {
    npyx_window_clear(&known->window);
    npyx_source_close(known->payload);
    known->payload = NULL;
    npyx_status status =
        npyx_archive_open_values(known->file->archive, known->index, &known->array, &known->payload, error);
    known->is_sound = status == NPYX_OK;
    return status;
}

/* Reads ahead if an array is read item by item, but not if reads jump about. */
npyx_status npyext_memo_read(npyext_memo_array *known, int64_t off, size_t nbytes, const uint8_t **bytes,
                             npyx_error *error) {
    npyx_window *window = &known->window;
    int64_t end = window->off + (int64_t)window->nbytes;
    *bytes = (const uint8_t *)"";
    if (nbytes == 0)
        return NPYX_OK;
    if (off < window->off || (int64_t)nbytes > end - off) {
        NPYX_TRY(npyx_source_hold(&known->payload, ++known->nlookups, NPYX_HELD_NBYTES / NPYEXT_MEMO_NARRAYS,
                                  error));
        window->source = known->payload;
        NPYX_TRY(npyx_source_borrow(known->payload, off, nbytes, bytes, error));
        if (*bytes != NULL)
            return NPYX_OK;
    }
    const npyx_source *payload = known->payload;
    bool is_onward = payload->is_forward || (off >= window->off && off - end < NPYX_MEMO_WINDOW_NBYTES);
    npyx_status status = npyx_window_at(window, off, nbytes, is_onward ? NPYX_MEMO_WINDOW_NBYTES : 0,
                                        payload->nbytes, bytes, error);
    if (status == NPYX_INVALID && payload->has_gaps && is_onward)
        status = npyx_window_at(window, off, nbytes, 0, payload->nbytes, bytes, error);
    return status;
}

void npyext_memo_clear(npyext_connection *connection, bool only_large) {
    for (int i = 0; i < NPYEXT_MEMO_NARRAYS; i++) {
        npyext_memo_array *known = &connection->known[i];
        bool is_large = known->key.nbytes > NPYX_KEPT_HEADER_NBYTES;
        if (known->key.host == NULL || (only_large && !is_large))
            continue;
        memo_forget(connection, known);
        npyx_buffer_clear(&known->key);
        known->path = NULL;
    }
}
