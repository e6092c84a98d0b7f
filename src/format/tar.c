#include "tar.h"

#include "io/first_bytes.h"

enum {
    /* no real name, and no real header of many records, is longer */
    MAX_EXTENDED_NBYTES = 1 << 22
};

/* ---- blocks ---- */

static npyx_source *source_of(const npyx_tar_walk *walk) {
    return walk->window.source;
}

static int64_t blocks_of(int64_t nbytes) {
    return (nbytes + NPYX_TAR_BLOCK_NBYTES - 1) / NPYX_TAR_BLOCK_NBYTES * NPYX_TAR_BLOCK_NBYTES;
}

/* nbytes at off, or all up to the end. Adjacent small members share a window; between large ones most of it
 * would be read for nothing. */
static npyx_status tar_window(npyx_tar_walk *walk, int64_t off, size_t nbytes, const uint8_t **bytes,
                              size_t *some_nbytes, npyx_error *error) {
    bool is_large = walk->member.data_nbytes > NPYX_TAR_SMALL_NBYTES;
    return npyx_window_some(&walk->window, off, nbytes,
                            is_large ? 2 * NPYX_TAR_BLOCK_NBYTES : NPYX_TAR_SMALL_NBYTES, bytes, some_nbytes,
                            error);
}

/* The block at off, which may be cut short. NPYX_DONE at the end of the file. */
static npyx_status tar_block(npyx_tar_walk *walk, int64_t off, const uint8_t **block, npyx_error *error) {
    size_t nbytes = 0;
    NPYX_TRY(tar_window(walk, off, NPYX_TAR_BLOCK_NBYTES, block, &nbytes, error));
    if (nbytes == NPYX_TAR_BLOCK_NBYTES)
        return NPYX_OK;
    if (nbytes == 0 || npyx_is_zeros(*block, nbytes))
        return NPYX_DONE;
    return npyx_fail_short(source_of(walk), error, off,
                           "the tar ends in the middle of a header, at byte %" PRId64, off);
}

/* The end is a block of zeros, followed by more of them, or nothing. */
static npyx_status tar_check_end(npyx_tar_walk *walk, npyx_error *error) {
    size_t nbytes = 1;
    for (int64_t off = walk->off; nbytes > 0; off += (int64_t)nbytes) {
        const uint8_t *bytes = NULL;
        NPYX_TRY(tar_window(walk, off, NPYX_TAR_SMALL_NBYTES, &bytes, &nbytes, error));
        size_t i = 0;
        while (i < nbytes && bytes[i] == 0)
            i++;
        if (i < nbytes)
            return npyx_fail(error, NPYX_CORRUPT, off + (int64_t)i,
                             "there are bytes other than zeros after the end of the tar, from byte %" PRId64,
                             off + (int64_t)i);
    }
    walk->is_at_end = true;
    walk->off = source_of(walk)->nbytes;
    return NPYX_DONE;
}

/* ---- extended headers ---- */

static npyx_status fail_negative(npyx_error *error, int64_t off) {
    return npyx_fail(error, NPYX_CORRUPT, off, "the tar header at byte %" PRId64 " has a negative size", off);
}

static npyx_status read_extended(npyx_tar_walk *walk, const uint8_t *block, int64_t off, const char **bytes,
                                 int64_t *nbytes, npyx_error *error) {
    int64_t data_off = off + NPYX_TAR_BLOCK_NBYTES, left_nbytes = source_of(walk)->nbytes - data_off;
    const uint8_t *data = (const uint8_t *)"";
    size_t some_nbytes = 0;
    bool is_number = npyx_tar_size_of(block, nbytes);
    if (is_number && *nbytes < 0)
        return fail_negative(error, off);
    if (is_number && *nbytes > MAX_EXTENDED_NBYTES && *nbytes <= left_nbytes)
        return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, off,
                            "the tar header at byte %" PRId64 " has %" PRId64 " bytes; at most %d are read",
                            off, *nbytes, (int)MAX_EXTENDED_NBYTES);
    if (is_number && *nbytes > 0 && *nbytes <= left_nbytes)
        NPYX_TRY(tar_window(walk, data_off, (size_t)*nbytes, &data, &some_nbytes, error));
    if (!is_number || (int64_t)some_nbytes != *nbytes)
        return npyx_fail_short(source_of(walk), error, off,
                               "the tar header at byte %" PRId64 " claims more bytes than the file has", off);
    *bytes = (const char *)data;
    return NPYX_OK;
}

/* GNU's long names: the text is the data, up to a NUL. */
static npyx_status take_long_name(npyx_tar_overrides *own, char type, const char *bytes, int64_t nbytes,
                                  npyx_error *error) {
    npyx_tar_text text = type == 'L' ? NPYX_TAR_NAME : NPYX_TAR_LINKNAME;
    size_t length = strnlen(bytes, (size_t)nbytes);
    own->has_text[text] = true;
    npyx_buffer_append(&own->texts[text], bytes, length);
    return npyx_buffer_check(&own->texts[text], error);
}

/* Reads a header that describes the next member. */
static npyx_status take_extended(npyx_tar_walk *walk, const uint8_t *block, int64_t off,
                                 npyx_tar_overrides *said, npyx_error *error) {
    char type = npyx_tar_flag_of(block);
    npyx_tar_overrides own;
    const char *bytes = "";
    int64_t nbytes = 0;
    NPYX_TRY(read_extended(walk, block, off, &bytes, &nbytes, error));
    int64_t data_off = off + NPYX_TAR_BLOCK_NBYTES;
    walk->off = data_off + blocks_of(nbytes);
    if (type == 'g')
        return npyx_tar_read_records(walk->global, bytes, (size_t)nbytes, data_off, error);
    npyx_tar_overrides_init(&own, source_of(walk)->host);
    npyx_status status = type == 'L' || type == 'K'
                             ? take_long_name(&own, type, bytes, nbytes, error)
                             : npyx_tar_read_records(&own, bytes, (size_t)nbytes, data_off, error);
    if (status == NPYX_OK)
        status = npyx_tar_add_overrides(said, &own, error);
    npyx_tar_overrides_clear(&own);
    return status;
}

/* ---- a member ---- */

/* An old GNU sparse member: its map may continue in blocks after the header. */
static npyx_status pass_map(npyx_tar_walk *walk, const uint8_t *block, int64_t *real_nbytes,
                            npyx_error *error) {
    bool goes_on = npyx_tar_map_goes_on(block, true);
    *real_nbytes = npyx_tar_real_size_of(block);
    while (goes_on) {
        npyx_status status = tar_block(walk, walk->member.data_off, &block, error);
        if (status == NPYX_DONE)
            return npyx_fail_short(source_of(walk), error, walk->member.data_off,
                                   "the tar ends in the middle of a sparse map");
        NPYX_TRY(status);
        walk->member.data_off += NPYX_TAR_BLOCK_NBYTES;
        goes_on = npyx_tar_map_goes_on(block, false);
    }
    return NPYX_OK;
}

static npyx_status fail_data(const npyx_tar_walk *walk, npyx_error *error) {
    const npyx_tar_member *member = &walk->member;
    if (source_of(walk)->is_open_ended)
        return npyx_fail_short(source_of(walk), error, member->data_off,
                               "the tar claims more bytes of %.*s than the file can inflate to (%" PRId64
                               " at byte %" PRId64 ")",
                               NPYX_SHOWN(member->texts[0].bytes, member->texts[0].nbytes, 100),
                               member->data_nbytes, member->data_off);
    return npyx_fail_short(source_of(walk), error, member->data_off,
                           "the tar ends in the middle of %.*s (%" PRId64 " bytes wanted at byte %" PRId64
                           " of %" PRId64 ")",
                           NPYX_SHOWN(member->texts[0].bytes, member->texts[0].nbytes, 100),
                           member->data_nbytes, member->data_off, source_of(walk)->nbytes);
}

/* Checks that the data of the current member, which fit in a window, are complete. The next header usually is
 * in it, too. */
static npyx_status tar_check_small(npyx_tar_walk *walk, npyx_error *error) {
    const uint8_t *bytes = NULL;
    size_t nbytes = 0;
    walk->is_unchecked = false;
    NPYX_TRY(
        tar_window(walk, walk->member.data_off, (size_t)walk->member.data_nbytes, &bytes, &nbytes, error));
    return (int64_t)nbytes == walk->member.data_nbytes ? NPYX_OK : fail_data(walk, error);
}

/* Whether compressed data may be that long: a deflate stream makes at most 1032 bytes of one. Memory for data
 * is requested before all of them are inflated. */
static bool may_inflate_to(const npyx_source *source, int64_t nbytes) {
    return !source->is_open_ended || nbytes / 1032 <= source->parent->nbytes;
}

/* Sets where the data are, and where the next header is. */
static npyx_status place_data(npyx_tar_walk *walk, int64_t off, const npyx_tar_overrides *said,
                              bool is_old_sparse, int64_t real_nbytes, npyx_error *error) {
    npyx_tar_member *member = &walk->member;
    int64_t left_nbytes = source_of(walk)->nbytes - member->data_off, size = member->numbers[NPYX_TAR_SIZE];
    /* the size of such a member is the number of bytes after its header */
    bool has_data =
        member->type == NPYX_TAR_FILE || member->type == NPYX_TAR_SPARSE || member->type == NPYX_TAR_OTHER;
    member->data_nbytes = has_data ? size : 0;
    if (said->has_real_nbytes)
        member->numbers[NPYX_TAR_SIZE] = said->real_nbytes;
    if (is_old_sparse)
        member->numbers[NPYX_TAR_SIZE] = real_nbytes;
    walk->off = member->data_off;
    if (size < 0 || member->numbers[NPYX_TAR_SIZE] < 0)
        return fail_negative(error, off);
    if (member->data_nbytes > left_nbytes - (source_of(walk)->is_open_ended ? NPYX_TAR_BLOCK_NBYTES : 0) ||
        !may_inflate_to(source_of(walk), member->data_off + member->data_nbytes))
        return fail_data(walk, error);
    int64_t filled_nbytes = blocks_of(member->data_nbytes);
    walk->off += filled_nbytes < left_nbytes ? filled_nbytes : left_nbytes;
    walk->is_unchecked = source_of(walk)->is_open_ended && member->data_nbytes > 0;
    return walk->is_unchecked && member->data_nbytes <= NPYX_TAR_SMALL_NBYTES ? tar_check_small(walk, error)
                                                                              : NPYX_OK;
}

static npyx_status tar_read_member(npyx_tar_walk *walk, const uint8_t *block, int64_t off,
                                   const npyx_tar_overrides *said, npyx_error *error) {
    bool is_old_sparse = npyx_tar_flag_of(block) == 'S';
    int64_t real_nbytes = 0;
    walk->member.data_off = off + NPYX_TAR_BLOCK_NBYTES;
    NPYX_TRY(npyx_tar_read_header(&walk->member, block, off, said, error));
    if (is_old_sparse)
        NPYX_TRY(pass_map(walk, block, &real_nbytes, error));
    return place_data(walk, off, said, is_old_sparse, real_nbytes, error);
}

/* ---- the walk ---- */

/* Reads headers up to a member's own. The host is polled where they are read. */
static npyx_status tar_step(npyx_tar_walk *walk, npyx_tar_overrides *said, npyx_error *error) {
    bool has_header = false; /* one that describes the member */
    for (;;) {
        const uint8_t *block = NULL;
        int64_t off = walk->off;
        npyx_status status = tar_block(walk, off, &block, error);
        if (status == NPYX_OK && npyx_is_zeros(block, NPYX_TAR_BLOCK_NBYTES))
            status = tar_check_end(walk, error);
        if (status == NPYX_DONE && has_header && off < source_of(walk)->nbytes)
            return npyx_fail(error, NPYX_CORRUPT, off,
                             "the tar ends after a header that describes a member, at byte %" PRId64, off);
        if (status == NPYX_DONE && has_header)
            return npyx_fail_short(source_of(walk), error, off,
                                   "the tar ends after a header that describes a member, at byte %" PRId64,
                                   off);
        NPYX_TRY(status);
        if (!npyx_is_tar_header(block))
            return npyx_fail(
                error, NPYX_CORRUPT, off,
                "no tar header at byte %" PRId64 ", where one is expected (its checksum is wrong)", off);
        char flag = npyx_tar_flag_of(block);
        if (!has_header && flag != 'g') {
            has_header = true;
            walk->member.header_off = off;
        }
        if (flag == '\0' || strchr("LKxgX", flag) == NULL) {
            NPYX_TRY(npyx_tar_add_overrides(said, walk->global, error));
            return tar_read_member(walk, block, off, said, error);
        }
        NPYX_TRY(take_extended(walk, block, off, said, error));
    }
}

static npyx_status tar_prepare(npyx_tar_walk *walk, npyx_error *error) {
    npyx_host *host = source_of(walk)->host;
    if (walk->global != NULL)
        return NPYX_OK;
    walk->global = npyx_alloc(host, sizeof *walk->global);
    NPYX_TRY(npyx_check_memory(walk->global, error));
    npyx_tar_overrides_init(walk->global, host);
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        walk->member.texts[i].host = host;
    return NPYX_OK;
}

/* Large ones are not checked before callers had a chance to read them: what is inflated on the way to their
 * last byte would be inflated twice. */
npyx_status npyx_tar_check_data(npyx_tar_walk *walk, npyx_error *error) {
    int64_t last_off = walk->member.data_off + walk->member.data_nbytes - 1;
    size_t nbytes = 0;
    uint8_t last;
    if (!walk->is_unchecked)
        return NPYX_OK;
    NPYX_TRY(npyx_source_read(source_of(walk), last_off, &last, 1, &nbytes, error));
    walk->is_unchecked = false;
    return nbytes == 1 ? NPYX_OK : fail_data(walk, error);
}

npyx_status npyx_tar_next(npyx_tar_walk *walk, npyx_error *error) {
    npyx_tar_overrides said;
    if (walk->is_at_end)
        return NPYX_DONE;
    NPYX_TRY(tar_prepare(walk, error));
    NPYX_TRY(npyx_tar_check_data(walk, error));
    npyx_tar_overrides_init(&said, source_of(walk)->host);
    int64_t off = walk->off;
    npyx_status status = tar_step(walk, &said, error);
    npyx_tar_overrides_clear(&said);
    if (status != NPYX_OK && status != NPYX_DONE)
        walk->off = off;
    return status;
}

npyx_status npyx_tar_head(npyx_tar_walk *walk, size_t nbytes, const uint8_t **bytes, size_t *head_nbytes,
                          npyx_error *error) {
    int64_t data_nbytes = walk->member.data_nbytes;
    size_t wanted_nbytes = data_nbytes < (int64_t)nbytes ? (size_t)data_nbytes : nbytes;
    NPYX_TRY(tar_window(walk, walk->member.data_off, wanted_nbytes, bytes, head_nbytes, error));
    return *head_nbytes == wanted_nbytes ? NPYX_OK : fail_data(walk, error);
}

npyx_status npyx_tar_read_data(npyx_source *source, int64_t off, int64_t nbytes, npyx_buffer *data,
                               npyx_error *error) {
    enum { FIRST_NBYTES = 1 << 20 };
    size_t left_nbytes = (size_t)nbytes;
    bool is_claim = source->is_open_ended && left_nbytes <= data->limit_nbytes;
    size_t step_nbytes = is_claim ? FIRST_NBYTES : left_nbytes;
    for (npyx_buffer_reset(data); left_nbytes > 0; left_nbytes -= step_nbytes, step_nbytes = data->nbytes) {
        step_nbytes = step_nbytes < left_nbytes ? step_nbytes : left_nbytes;
        if (!npyx_buffer_reserve(data, step_nbytes))
            return npyx_buffer_check(data, error);
        NPYX_TRY(npyx_source_read_exactly(source, off + (int64_t)data->nbytes, data->bytes + data->nbytes,
                                          step_nbytes, error));
        data->nbytes += step_nbytes;
    }
    return NPYX_OK;
}

void npyx_tar_seek(npyx_tar_walk *walk, int64_t header_off) {
    walk->off = header_off;
    walk->is_at_end = walk->is_unchecked = false;
}

void npyx_tar_catch_up(npyx_tar_walk *walk, const npyx_tar_walk *other) {
    walk->off = other->off;
    walk->is_unchecked = other->is_unchecked;
    walk->member.data_off = other->member.data_off;
    walk->member.data_nbytes = other->member.data_nbytes;
}

void npyx_tar_clear(npyx_tar_walk *walk) {
    npyx_source *source = source_of(walk);
    if (source == NULL)
        return;
    if (walk->global != NULL)
        npyx_tar_overrides_clear(walk->global);
    npyx_free(source->host, walk->global);
    for (int i = 0; i < NPYX_TAR_NTEXTS && walk->member.texts[i].host != NULL; i++)
        npyx_buffer_clear(&walk->member.texts[i]);
    npyx_window_clear(&walk->window);
    *walk = (npyx_tar_walk){.window.source = source};
}
