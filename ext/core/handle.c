/* Handles as bytes: written, recognised and checked. */
#include "connection.h"

/*
 *   0  8  magic
 *   8 16  SipHash-2-4-128 of all that follows
 *  24  8  index, little-endian
 *  32  8  stamp, little-endian
 *  40  8  where the part of the file begins, and
 *  48  8  how many bytes it has; -1: it is all of the file
 *  56     path
 */
enum { MAC_OFF = 8, INDEX_OFF = 24, STAMP_OFF = 32, PART_OFF = 40, PART_NBYTES_OFF = 48, PATH_OFF = 56 };

/* The first byte is not valid UTF-8; the last exposes code that takes BLOBs for text. */
static const uint8_t handle_magic[MAC_OFF] = {0x9d, 'N', 'P', 'Y', 'X', 'H', '\n', 0};

uint64_t npyext_handle_stamp(const npyext_handle_key *key, const npyx_file_info *info) {
    const uint64_t facts[] = {info->device, info->inode, (uint64_t)info->nbytes,
                              (uint64_t)info->mtime_seconds, (uint64_t)info->mtime_ns};
    return npyx_siphash(key->bytes, facts, sizeof facts);
}

npyx_status npyext_handle_check(const npyext_handle_key *key, uint64_t stamp, const npyx_file_info *info,
                                npyx_error *error) {
    if (npyext_handle_stamp(key, info) == stamp)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "the file has changed since npy_file made this handle of it; call npy_file again");
}

void npyext_handle_append(const npyext_handle_key *key, const npyext_handle *handle, npyx_buffer *out) {
    size_t start = out->nbytes;
    uint8_t head[PATH_OFF] = {0};
    memcpy(head, handle_magic, sizeof handle_magic);
    npyx_store_u64(head + INDEX_OFF, (uint64_t)handle->index, false);
    npyx_store_u64(head + STAMP_OFF, handle->stamp, false);
    npyx_store_u64(head + PART_OFF, (uint64_t)handle->part.off, false);
    npyx_store_u64(head + PART_NBYTES_OFF, (uint64_t)(handle->part.is_range ? handle->part.nbytes : -1),
                   false);
    npyx_buffer_append(out, head, sizeof head);
    npyx_buffer_append(out, handle->path, handle->path_nbytes);
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
    int64_t part_nbytes = (int64_t)npyx_load_u64(at + PART_NBYTES_OFF, false);
    *handle = (npyext_handle){.part = {.is_range = part_nbytes >= 0,
                                       .off = (int64_t)npyx_load_u64(at + PART_OFF, false),
                                       .nbytes = part_nbytes < 0 ? 0 : part_nbytes},
                              .path = (const char *)at + PATH_OFF,
                              .path_nbytes = nbytes - PATH_OFF,
                              .index = (int64_t)npyx_load_u64(at + INDEX_OFF, false),
                              .stamp = npyx_load_u64(at + STAMP_OFF, false)};
    return true;
}
