/* The arrays that scalar functions looked at last, described and, if a handle stands for them, open. */
#include "connection.h"
#include "format/header.h"
#include "format/tar.h"

static void memo_forget(npyext_connection *connection, npyext_memo_array *known) {
    npyx_source_close(known->payload); /* before the archive that it reads from */
    npyext_cache_release(connection, known->file);
    npyx_array_clear(&known->array);
    npyx_arena_clear(&known->arena);
    npyx_free(&connection->host, known->window);
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
        known->window_nbytes = 0;
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
    npyx_source_close(known->payload);
    known->payload = NULL;
    known->window_nbytes = 0;
    npyx_status status =
        npyx_archive_open_values(known->file->archive, known->index, &known->array, &known->payload, error);
    known->is_sound = status == NPYX_OK;
    return status;
}

/* Reads ahead if an array is read item by item, but not if reads jump about. */
npyx_status npyext_memo_read(npyext_memo_array *known, int64_t off, size_t nbytes, const uint8_t **bytes,
                             npyx_error *error) {
    int64_t end = known->window_off + (int64_t)known->window_nbytes;
    if (off >= known->window_off && off <= end && (int64_t)nbytes <= end - off) {
        *bytes = nbytes == 0 ? (const uint8_t *)"" : known->window + (off - known->window_off);
        return NPYX_OK;
    }
    NPYX_TRY(
        npyx_source_hold(&known->payload, ++known->nlookups, NPYX_HELD_NBYTES / NPYEXT_MEMO_NARRAYS, error));
    npyx_source *payload = known->payload;
    bool is_onward = payload->is_forward || (off >= known->window_off && off - end < NPYX_MEMO_WINDOW_NBYTES);
    size_t wanted_nbytes = nbytes;
    int64_t present_nbytes = payload->nbytes - off;
    if (is_onward && nbytes < NPYX_MEMO_WINDOW_NBYTES && (int64_t)nbytes < present_nbytes)
        wanted_nbytes =
            present_nbytes < NPYX_MEMO_WINDOW_NBYTES ? (size_t)present_nbytes : NPYX_MEMO_WINDOW_NBYTES;
    size_t room_nbytes = nbytes < NPYX_MEMO_WINDOW_NBYTES ? NPYX_MEMO_WINDOW_NBYTES : nbytes;
    known->window_nbytes = 0;
    if (known->window == NULL || room_nbytes > NPYX_MEMO_WINDOW_NBYTES) {
        npyx_free(payload->host, known->window);
        known->window = npyx_alloc(payload->host, room_nbytes);
        NPYX_TRY(npyx_check_memory(known->window, error));
    }
    npyx_status status = npyx_source_window(payload, off, wanted_nbytes, known->window, bytes, error);
    if (status == NPYX_INVALID && payload->has_gaps && wanted_nbytes > nbytes) {
        wanted_nbytes = nbytes;
        status = npyx_source_window(payload, off, wanted_nbytes, known->window, bytes, error);
    }
    NPYX_TRY(status);
    if (*bytes == known->window) {
        known->window_off = off;
        known->window_nbytes = wanted_nbytes;
    }
    return NPYX_OK;
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

/* ---- handles ---- */

/* Handles as bytes: written, recognised and checked. */

/*
 *   0  8  magic
 *   8 16  SipHash-2-4-128 of all that follows
 *  24  8  index, little-endian
 *  32  8  stamp, little-endian
 *  40  8  where the part of the file begins, and
 *  48  8  how many bytes it has; ALL: it is the whole file; RECIPE: the field before is the path's length
 *  56     path, and after a NUL the recipe, if it has one
 */
enum { MAC_OFF = 8, INDEX_OFF = 24, STAMP_OFF = 32, PART_OFF = 40, PART_NBYTES_OFF = 48, PATH_OFF = 56 };
enum { ALL = -1, RECIPE = -2 };

/* The first byte is not valid UTF-8; the last exposes code that takes BLOBs for text. */
static const uint8_t handle_magic[MAC_OFF] = {0x9d, 'N', 'P', 'Y', 'X', 'H', '\n', 0};

uint64_t npyext_handle_stamp(const npyext_handle_key *key, const npyx_file_info *info) {
    const uint64_t facts[] = {info->device, info->inode, (uint64_t)info->nbytes,
                              (uint64_t)info->mtime_seconds, (uint64_t)info->mtime_ns};
    return npyx_siphash(key->bytes, facts, sizeof facts);
}

npyx_status npyext_handle_check(const npyext_handle_key *key, uint64_t stamp, const npyext_part *part,
                                const npyx_file_info *info, npyx_error *error) {
    if (npyext_handle_stamp(key, info) == stamp)
        return NPYX_OK;
    if (part->recipe != NULL)
        return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                            "its files have changed since this handle of them was made; make it anew");
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "the file has changed since npy_file made this handle of it; call npy_file again");
}

void npyext_handle_append(const npyext_handle_key *key, const npyext_handle *handle, npyx_buffer *out) {
    size_t start = out->nbytes;
    uint8_t head[PATH_OFF] = {0};
    memcpy(head, handle_magic, sizeof handle_magic);
    npyx_store_u64(head + INDEX_OFF, (uint64_t)handle->index, false);
    npyx_store_u64(head + STAMP_OFF, handle->stamp, false);
    const npyext_part *part = &handle->part;
    bool is_made = part->recipe != NULL;
    int64_t off = is_made ? (int64_t)handle->path_nbytes : part->off;
    int64_t part_nbytes = is_made ? RECIPE : part->is_range ? part->nbytes : ALL;
    npyx_store_u64(head + PART_OFF, (uint64_t)off, false);
    npyx_store_u64(head + PART_NBYTES_OFF, (uint64_t)part_nbytes, false);
    npyx_buffer_append(out, head, sizeof head);
    npyx_buffer_append(out, handle->path, handle->path_nbytes);
    if (is_made) {
        npyx_buffer_append_char(out, '\0');
        npyx_buffer_append(out, part->recipe, part->recipe_nbytes);
    }
    if (out->status != NPYX_OK)
        return;
    uint8_t *bytes = (uint8_t *)out->bytes + start;
    npyx_siphash_128(key->bytes, bytes + INDEX_OFF, out->nbytes - start - INDEX_OFF, bytes + MAC_OFF);
}

bool npyext_handle_is_like(const void *bytes, size_t nbytes) {
    return nbytes >= sizeof handle_magic && memcmp(bytes, handle_magic, sizeof handle_magic) == 0;
}

/* Takes the same time wherever they differ. */
static bool is_equal(const uint8_t *a, const uint8_t *b, size_t nbytes) {
    volatile uint8_t difference = 0;
    for (size_t i = 0; i < nbytes; i++)
        difference = (uint8_t)(difference | (a[i] ^ b[i]));
    return difference == 0;
}

bool npyext_handle_read(const npyext_handle_key *key, const void *bytes, size_t nbytes,
                        npyext_handle *handle) {
    const uint8_t *at = bytes;
    uint8_t mac[NPYX_SIPHASH_NBYTES];
    if (nbytes <= PATH_OFF || !npyext_handle_is_like(bytes, nbytes))
        return false;
    npyx_siphash_128(key->bytes, at + INDEX_OFF, nbytes - INDEX_OFF, mac);
    if (!is_equal(mac, at + MAC_OFF, sizeof mac))
        return false;
    int64_t off = (int64_t)npyx_load_u64(at + PART_OFF, false);
    int64_t part_nbytes = (int64_t)npyx_load_u64(at + PART_NBYTES_OFF, false);
    npyext_part part = {0};
    size_t path_nbytes = nbytes - PATH_OFF;
    if (part_nbytes == RECIPE) { /* the MAC vouches for the length */
        path_nbytes = (size_t)off;
        size_t recipe_off = PATH_OFF + path_nbytes + 1;
        part = (npyext_part){.recipe = at + recipe_off, .recipe_nbytes = nbytes - recipe_off};
    } else if (part_nbytes != ALL) {
        part = (npyext_part){.is_range = true, .off = off, .nbytes = part_nbytes};
    }
    *handle = (npyext_handle){.part = part,
                              .path = (const char *)at + PATH_OFF,
                              .path_nbytes = path_nbytes,
                              .index = (int64_t)npyx_load_u64(at + INDEX_OFF, false),
                              .stamp = npyx_load_u64(at + STAMP_OFF, false)};
    return true;
}
