/* Handles and recipes as bytes: written, recognised and checked. */
#include "handle.h"

/* ---- handles ---- */

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

/* ---- recipes ----
 *
 * The kind, then for each argument its type, eight bytes (a number, or a length), and the bytes of that
 * length and a NUL. Nobody else can make one, for a handle has a MAC; still nothing is read beyond its end.
 */

enum { RECIPE_HEAD_NBYTES = 9 };

void npyext_recipe_append(const npyext_recipe *recipe, npyx_buffer *out) {
    npyx_buffer_append_char(out, (char)recipe->kind);
    for (int i = 0; i < recipe->narguments; i++) {
        const npyext_argument *argument = &recipe->arguments[i];
        uint8_t head[RECIPE_HEAD_NBYTES] = {(uint8_t)argument->type};
        bool has_bytes = argument->type == SQLITE_TEXT || argument->type == SQLITE_BLOB;
        uint64_t word = has_bytes ? (uint64_t)argument->nbytes : (uint64_t)argument->integer;
        if (argument->type == SQLITE_FLOAT)
            memcpy(&word, &argument->real, sizeof word);
        npyx_store_u64(head + 1, word, false);
        npyx_buffer_append(out, head, sizeof head);
        if (has_bytes) {
            npyx_buffer_append(out, argument->bytes, argument->nbytes);
            npyx_buffer_append_char(out, '\0');
        }
    }
}

bool npyext_recipe_read(const void *from, size_t nbytes, npyext_recipe *recipe) {
    const uint8_t *bytes = from;
    size_t at = 1;
    recipe->kind = nbytes > 0 ? (npyext_recipe_kind)bytes[0] : NPYEXT_RECIPE_CALC;
    for (recipe->narguments = 0; at < nbytes; recipe->narguments++) {
        if (recipe->narguments == NPYEXT_RECIPE_MAX_NARGUMENTS || nbytes - at < RECIPE_HEAD_NBYTES)
            return false;
        npyext_argument *argument = &recipe->arguments[recipe->narguments];
        uint64_t word = npyx_load_u64(bytes + at + 1, false);
        *argument = (npyext_argument){.type = bytes[at], .integer = (int64_t)word};
        at += RECIPE_HEAD_NBYTES;
        memcpy(&argument->real, &word, sizeof word);
        if (argument->type != SQLITE_TEXT && argument->type != SQLITE_BLOB)
            continue;
        if (word >= nbytes - at)
            return false;
        argument->bytes = (const char *)bytes + at;
        argument->nbytes = (size_t)word;
        at += (size_t)word + 1;
    }
    return true;
}

bool npyext_part_is_made(const npyext_part *part) {
    return part->recipe_nbytes > 0 && *(const uint8_t *)part->recipe != NPYEXT_RECIPE_RAW;
}
