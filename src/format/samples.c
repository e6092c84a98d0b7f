#include "samples.h"

#include <stdio.h>

#include "io/first_bytes.h"

/* ---- keys ---- */

/* Whether the first folder, or all of a name without folders, begins and ends with two underscores; a line
 * end after a whole name is ignored. */
static bool is_skipped_name(const char *name, size_t nbytes) {
    const char *slash = memchr(name, '/', nbytes);
    size_t first_nbytes = slash == NULL ? nbytes : (size_t)(slash - name);
    if (slash == NULL && first_nbytes > 0 && name[first_nbytes - 1] == '\n')
        first_nbytes--;
    return first_nbytes >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first_nbytes - 2, "__", 2) == 0;
}

/* The offset after the last slash of the first nbytes. */
static size_t after_slash(const char *name, size_t nbytes) {
    while (nbytes > 0 && name[nbytes - 1] != '/')
        nbytes--;
    return nbytes;
}

bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key) {
    size_t base = after_slash(name, nbytes);
    const char *dot = memchr(name + base, '.', nbytes - base);
    if (dot == NULL)
        return false;
    /* The rule's folders, which may contain dots, are on the first line, since its dot matches no line end. A
     * name that begins with its dot takes the folder before it as a part of the name. */
    const char *line_end = memchr(name, '\n', base);
    size_t own = line_end == NULL ? base : after_slash(name, (size_t)(line_end - name));
    if (own > 0 && name + own == dot)
        own = after_slash(name, own - 1);
    size_t own_nbytes = (size_t)(dot - name) - own;
    if (own_nbytes == 0 || memchr(name + own, '.', own_nbytes) != NULL)
        return false;
    *key = (npyx_sample_key){.key_nbytes = (size_t)(dot - name),
                             .ext_off = (size_t)(dot - name) + 1,
                             .is_skipped = is_skipped_name(name, nbytes)};
    return true;
}

/* ---- grouping, member by member ---- */

void npyx_sample_walk_begin(npyx_sample_walk *walk, npyx_host *host) {
    walk->ext.host = walk->sample_key.host = walk->exts.bytes.host = host;
    walk->nsamples = 0;
    walk->sample = -1;
    walk->has_key = false;
    npyx_buffer_reset(&walk->sample_key);
}

/* Adds the member's extension to those of its sample, where each may occur once. */
static npyx_status sample_note_ext(npyx_sample_walk *walk, int64_t header_off, npyx_error *error) {
    npyx_name_set *exts = &walk->exts;
    NPYX_TRY(npyx_name_set_add(exts, walk->ext.bytes, walk->ext.nbytes, error));
    if (npyx_name_set_before(exts, exts->count - 1) < 0)
        return NPYX_OK;
    return npyx_fail(error, NPYX_CORRUPT, header_off,
                     "is the second member of its sample with the extension '%.*s'",
                     NPYX_SHOWN(walk->ext.bytes, walk->ext.nbytes, 100));
}

npyx_status npyx_sample_walk_take(npyx_sample_walk *walk, const npyx_tar_member *member, npyx_error *error) {
    const npyx_buffer *name = &member->texts[NPYX_TAR_NAME];
    const char *text = name->nbytes == 0 ? "" : name->bytes;
    bool is_file = member->type == NPYX_TAR_FILE || member->type == NPYX_TAR_SPARSE;
    walk->has_key = npyx_sample_key_of(text, name->nbytes, &walk->key);
    walk->sample = -1;
    npyx_buffer_reset(&walk->ext);
    if (!walk->has_key)
        return NPYX_OK;
    npyx_buffer_append_lower(&walk->ext, text + walk->key.ext_off, name->nbytes - walk->key.ext_off);
    NPYX_TRY(npyx_buffer_check(&walk->ext, error));
    if (!is_file || walk->key.is_skipped)
        return NPYX_OK;
    bool goes_on = walk->nsamples > 0 &&
                   npyx_is_same(walk->sample_key.bytes, walk->sample_key.nbytes, text, walk->key.key_nbytes);
    if (!goes_on) {
        walk->nsamples++;
        npyx_name_set_cut(&walk->exts, 0);
        npyx_buffer_reset(&walk->sample_key);
        npyx_buffer_append(&walk->sample_key, text, walk->key.key_nbytes);
        NPYX_TRY(npyx_buffer_check(&walk->sample_key, error));
    }
    walk->sample = walk->nsamples - 1;
    return sample_note_ext(walk, member->header_off, error);
}

void npyx_sample_walk_clear(npyx_sample_walk *walk) {
    if (walk->ext.host == NULL)
        return;
    npyx_buffer_clear(&walk->ext);
    npyx_buffer_clear(&walk->sample_key);
    npyx_name_set_clear(&walk->exts);
}

/* ---- the samples of a shard, kept ---- */

/* Adds a name as UTF-8. */
static npyx_status samples_add_name(npyx_samples *samples, npyx_name_set *set, const npyx_buffer *name,
                                    npyx_error *error) {
    npyx_buffer_reset(&samples->text);
    npyx_buffer_append_utf8(&samples->text, name->bytes, name->nbytes);
    NPYX_TRY(npyx_buffer_check(&samples->text, error));
    return npyx_name_set_add(set, samples->text.nbytes == 0 ? "" : samples->text.bytes, samples->text.nbytes,
                             error);
}

/* The number of the current extension among those of the shard. */
static npyx_status samples_ext(npyx_samples *samples, const npyx_buffer *ext, int64_t *number,
                               npyx_error *error) {
    npyx_name_set *exts = &samples->exts;
    *number = npyx_name_set_find(exts, ext->nbytes == 0 ? "" : ext->bytes, ext->nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    NPYX_TRY(samples_add_name(samples, exts, ext, error));
    *number = exts->count - 1;
    int64_t before = npyx_name_set_before(exts, *number);
    if (before >= 0) { /* as UTF-8 it is already there */
        npyx_name_set_cut(exts, *number);
        *number = before;
    }
    return NPYX_OK;
}

static npyx_status samples_begin_sample(npyx_samples *samples, const npyx_buffer *key, npyx_error *error) {
    NPYX_TRY(npyx_grow(samples->host, &samples->first_parts, samples->nsamples, &samples->capacity_nsamples,
                       sizeof samples->first_parts[0], error));
    NPYX_TRY(samples_add_name(samples, &samples->keys, key, error));
    samples->first_parts[samples->nsamples++] = samples->nparts;
    return NPYX_OK;
}

static npyx_status samples_add(npyx_samples *samples, const npyx_sample_walk *walk,
                               const npyx_tar_member *member, npyx_error *error) {
    int64_t ext = 0;
    NPYX_TRY(samples_ext(samples, &walk->ext, &ext, error));
    NPYX_TRY(npyx_grow(samples->host, &samples->parts, samples->nparts, &samples->capacity_nparts,
                       sizeof samples->parts[0], error));
    if (walk->sample == samples->nsamples)
        NPYX_TRY(samples_begin_sample(samples, &walk->sample_key, error));
    samples->parts[samples->nparts++] = (npyx_sample_part){.data_off = member->data_off,
                                                           .nbytes = member->data_nbytes,
                                                           .ext = (int32_t)ext,
                                                           .is_sparse = member->type == NPYX_TAR_SPARSE};
    return NPYX_OK;
}

/* Drops the current sample, which may be incomplete. */
static void samples_drop_last(npyx_samples *samples) {
    if (samples->nsamples == 0)
        return;
    samples->nsamples--;
    samples->nparts = samples->first_parts[samples->nsamples];
    npyx_name_set_cut(&samples->keys, samples->nsamples);
}

npyx_status npyx_samples_read(npyx_source *shard, npyx_samples *samples, npyx_error *error) {
    npyx_tar_walk tar = {.window.source = shard};
    npyx_sample_walk walk = {0};
    npyx_status status = NPYX_OK;
    samples->host = samples->keys.bytes.host = samples->exts.bytes.host = samples->text.host = shard->host;
    npyx_sample_walk_begin(&walk, shard->host);
    while (status == NPYX_OK && (status = npyx_tar_next(&tar, error)) == NPYX_OK) {
        status = npyx_sample_walk_take(&walk, &tar.member, error);
        if (status == NPYX_CORRUPT) /* readers of samples know no member's name to blame */
            status = npyx_fail(error, status, tar.member.header_off,
                               "the sample '%.*s' has two members with the extension '%.*s'",
                               NPYX_SHOWN(walk.sample_key.bytes, walk.sample_key.nbytes, 100),
                               NPYX_SHOWN(walk.ext.bytes, walk.ext.nbytes, 100));
        if (status == NPYX_OK && walk.sample >= 0)
            status = samples_add(samples, &walk, &tar.member, error);
    }
    if (status != NPYX_DONE)
        samples_drop_last(samples);
    npyx_sample_walk_clear(&walk);
    npyx_tar_clear(&tar);
    return status == NPYX_DONE ? NPYX_OK : status;
}

const npyx_sample_part *npyx_samples_part(const npyx_samples *samples, int64_t sample, int64_t ext) {
    int64_t end = sample + 1 < samples->nsamples ? samples->first_parts[sample + 1] : samples->nparts;
    for (int64_t i = samples->first_parts[sample]; i < end; i++) {
        if (samples->parts[i].ext == ext)
            return &samples->parts[i];
    }
    return NULL;
}

size_t npyx_samples_nbytes(const npyx_samples *samples) {
    return npyx_name_set_nbytes(&samples->keys) + npyx_name_set_nbytes(&samples->exts) +
           samples->text.capacity_nbytes + (size_t)samples->capacity_nparts * sizeof samples->parts[0] +
           (size_t)samples->capacity_nsamples * sizeof samples->first_parts[0];
}

void npyx_samples_clear(npyx_samples *samples) {
    if (samples->host == NULL)
        return;
    npyx_name_set_clear(&samples->keys);
    npyx_name_set_clear(&samples->exts);
    npyx_buffer_clear(&samples->text);
    npyx_free(samples->host, samples->parts);
    npyx_free(samples->host, samples->first_parts);
    *samples = (npyx_samples){0};
}

/* ---- writing ---- */

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
