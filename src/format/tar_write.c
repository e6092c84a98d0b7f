#include "tar_write.h"

#include <stdio.h>

#include "base/utf8.h"
#include "io/first_bytes.h"
#include "samples.h"

enum {
    NAME_NBYTES_IN_HEADER = 100,
    MAX_USTAR_NBYTES_SHIFT = 33, /* 11 octal digits */
    RECORD_NBYTES = 20 * NPYX_TAR_BLOCK_NBYTES
};

static const char owner[] = "bigdata";

/* The name as ASCII, with a question mark for each other character, cut to the header's room. */
static void tar_put_name(uint8_t *block, const char *name, size_t nbytes) {
    size_t room = NAME_NBYTES_IN_HEADER;
    for (size_t i = 0; i < nbytes && room > 0; room--) {
        size_t length = npyx_utf8_character(name + i, nbytes - i);
        *block++ = length == 1 ? (uint8_t)name[i] : '?';
        i += length == 0 ? 1 : length;
    }
}

/* An octal number of ndigits, followed by a NUL. */
static void tar_put_octal(uint8_t *field, int ndigits, uint64_t number) {
    for (int i = ndigits - 1; i >= 0; i--, number >>= 3)
        field[i] = (uint8_t)('0' + (number & 7));
}

static void tar_make_header(uint8_t block[NPYX_TAR_BLOCK_NBYTES], const char *name, size_t name_nbytes,
                            unsigned mode, uint64_t nbytes, char type, const char *of) {
    memset(block, 0, NPYX_TAR_BLOCK_NBYTES);
    tar_put_name(block, name, name_nbytes);
    tar_put_octal(block + 100, 7, mode);
    tar_put_octal(block + 108, 7, 0);
    tar_put_octal(block + 116, 7, 0);
    tar_put_octal(block + 124, 11, nbytes);
    tar_put_octal(block + 136, 11, 0);
    memset(block + 148, ' ', 8);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    memcpy(block + 265, of, strlen(of));
    memcpy(block + 297, of, strlen(of));
    uint64_t sum = 0;
    for (size_t i = 0; i < NPYX_TAR_BLOCK_NBYTES; i++)
        sum += block[i];
    tar_put_octal(block + 148, 6, sum);
    block[154] = '\0';
}

/* Contents, padded to whole blocks. */
static npyx_status tar_append_filled(npyx_sink *sink, const void *bytes, size_t nbytes, npyx_error *error) {
    static const uint8_t zeros[NPYX_TAR_BLOCK_NBYTES];
    size_t left = nbytes % NPYX_TAR_BLOCK_NBYTES;
    if (nbytes > 0)
        NPYX_TRY(npyx_sink_append(sink, bytes, nbytes, error));
    return left == 0 ? NPYX_OK : npyx_sink_append(sink, zeros, NPYX_TAR_BLOCK_NBYTES - left, error);
}

/* `LENGTH path=NAME\n`, where LENGTH counts its own digits. */
static npyx_status tar_append_pax(npyx_sink *sink, const char *name, size_t name_nbytes, npyx_error *error) {
    npyx_buffer record = {.host = sink->host};
    uint8_t block[NPYX_TAR_BLOCK_NBYTES];
    char number[24];
    size_t bare_nbytes = name_nbytes + sizeof " path=\n" - 1, nbytes = bare_nbytes + 1;
    while (bare_nbytes + (size_t)snprintf(number, sizeof number, "%zu", nbytes) != nbytes)
        nbytes = bare_nbytes + strlen(number);
    npyx_buffer_printf(&record, "%s path=", number);
    npyx_buffer_append(&record, name, name_nbytes);
    npyx_buffer_append_char(&record, '\n');
    npyx_status status = npyx_buffer_check(&record, error);
    static const char pax_name[] = "././@PaxHeader";
    tar_make_header(block, pax_name, sizeof pax_name - 1, 0, record.nbytes, 'x', "");
    if (status == NPYX_OK)
        status = npyx_sink_append(sink, block, sizeof block, error);
    if (status == NPYX_OK)
        status = tar_append_filled(sink, record.bytes, record.nbytes, error);
    npyx_buffer_clear(&record);
    return status;
}

static npyx_status tar_append_member(npyx_sink *sink, const char *name, size_t name_nbytes,
                                     const void *contents, size_t nbytes, npyx_error *error) {
    uint8_t block[NPYX_TAR_BLOCK_NBYTES];
    if (name_nbytes > NAME_NBYTES_IN_HEADER || npyx_count_high(name, name_nbytes) > 0)
        NPYX_TRY(tar_append_pax(sink, name, name_nbytes, error));
    tar_make_header(block, name, name_nbytes, 0444, nbytes, '0', owner);
    NPYX_TRY(npyx_sink_append(sink, block, sizeof block, error));
    return tar_append_filled(sink, contents, nbytes, error);
}

npyx_status npyx_tar_write_member(npyx_sink *sink, const char *name, size_t name_nbytes, const void *contents,
                                  size_t nbytes, npyx_error *error) {
    int64_t before_nbytes = sink->nbytes;
    npyx_error second;
    if ((uint64_t)nbytes >> MAX_USTAR_NBYTES_SHIFT != 0)
        return npyx_fail(error, NPYX_TOOBIG, -1, "%zu bytes are more than a member of a tar has room for",
                         nbytes);
    npyx_status status = tar_append_member(sink, name, name_nbytes, contents, nbytes, error);
    if (status != NPYX_OK)
        npyx_sink_cut(sink, before_nbytes, &second);
    return status;
}

npyx_status npyx_tar_write_end(npyx_sink *sink, npyx_error *error) {
    static const uint8_t zeros[2 * NPYX_TAR_BLOCK_NBYTES];
    NPYX_TRY(npyx_sink_append(sink, zeros, sizeof zeros, error));
    while (sink->nbytes % RECORD_NBYTES != 0)
        NPYX_TRY(npyx_sink_append(sink, zeros, NPYX_TAR_BLOCK_NBYTES, error));
    return NPYX_OK;
}

/* Whether any part of a path is `..`. */
static bool tar_has_parent(const char *path, size_t nbytes) {
    for (size_t i = 0, begin = 0; i <= nbytes; i++) {
        if (i < nbytes && path[i] != '/')
            continue;
        if (i - begin == 2 && memcmp(path + begin, "..", 2) == 0)
            return true;
        begin = i + 1;
    }
    return false;
}

npyx_status npyx_tar_check_key(const char *key, size_t nbytes, npyx_error *error) {
    char short_name[1024 + 3];
    npyx_sample_key found;
    if (nbytes == 0)
        return npyx_refuse(error, "__key__ is empty");
    if (nbytes > sizeof short_name - 3)
        return npyx_refuse(error, "__key__ has %zu bytes; at most %zu make the name of a file", nbytes,
                           sizeof short_name - 3);
    if (!npyx_utf8_is_valid(key, nbytes) || memchr(key, '\0', nbytes) != NULL)
        return npyx_refuse(error, "__key__ is not UTF-8 text, or has a NUL in it");
    if (key[0] == '/' || tar_has_parent(key, nbytes))
        return npyx_refuse(error, "__key__ '%.*s' leads out of the folder in which a shard is unpacked",
                           NPYX_SHOWN(key, nbytes, 100));
    memcpy(short_name, key, nbytes);
    memcpy(short_name + nbytes, ".x", 3);
    if (npyx_begins_zip(short_name, nbytes + 2) || npyx_begins_ten(short_name, nbytes + 2))
        return npyx_refuse(error, "__key__ '%.*s' begins as a %s does, which a shard would be taken for",
                           NPYX_SHOWN(key, nbytes, 100), npyx_begins_zip(key, nbytes) ? "zip" : ".ten");
    if (!npyx_sample_key_of(short_name, nbytes + 2, &found) || found.key_nbytes != nbytes)
        return npyx_refuse(error,
                           "__key__ '%.*s' would be read differently: a key has no dot after its last slash",
                           NPYX_SHOWN(key, nbytes, 100));
    if (found.is_skipped)
        return npyx_refuse(error, "__key__ '%.*s' would be passed over: names between two underscores are",
                           NPYX_SHOWN(key, nbytes, 100));
    return NPYX_OK;
}
