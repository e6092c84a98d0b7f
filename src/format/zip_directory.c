#include "zip_directory.h"

#include "text/span.h"

enum { COMMENT_MAX_NBYTES = 0xffff, NRECORDS_PER_POLL = 1 << 10 };

static int64_t smaller_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- the end record ---- */

/* What the end records say. */
typedef struct end {
    int64_t off;            /* of the first of them: the directory ends here */
    int64_t tail_nbytes;    /* after the last of them and its comment */
    uint64_t directory_off; /* from the start of the zip */
    uint64_t directory_nbytes;
} end;

#define fail_directory(error, off, ...)                                                                      \
    npyx_fail((error), NPYX_CORRUPT, (off), "the zip directory is damaged (" __VA_ARGS__)

/* The last end record in the window, which reaches to the end of the file: one followed only by its comment,
 * or, with_tail, by more. */
static bool find_end_record(const npyx_window *w, bool with_tail, end *found) {
    for (size_t at = w->nbytes < NPYX_ZIP_END_NBYTES ? 0 : w->nbytes - NPYX_ZIP_END_NBYTES + 1; at-- > 0;) {
        const uint8_t *bytes = w->bytes + at;
        if (memcmp(bytes, "PK\5\6", 4) != 0)
            continue;
        int64_t tail_nbytes =
            (int64_t)(w->nbytes - at) - NPYX_ZIP_END_NBYTES - npyx_load_u16(bytes + 20, false);
        if (tail_nbytes < 0 || (tail_nbytes > 0 && !with_tail))
            continue;
        *found = (end){.off = w->off + (int64_t)at,
                       .tail_nbytes = tail_nbytes,
                       .directory_nbytes = npyx_load_u32(bytes + 12, false),
                       .directory_off = npyx_load_u32(bytes + 16, false)};
        return true;
    }
    return false;
}

/* NPYX_DONE when there is none. */
static npyx_status read_end_record(npyx_window *w, bool with_tail, end *found, npyx_error *error) {
    const int64_t tails_nbytes[] = {NPYX_ZIP_TAIL_NBYTES, NPYX_ZIP_END_NBYTES + COMMENT_MAX_NBYTES};
    for (int i = 0; i < 2; i++) {
        int64_t nbytes = smaller_of(tails_nbytes[i], w->source->nbytes);
        NPYX_TRY(npyx_window_load(w, w->source->nbytes - nbytes, (size_t)nbytes, error));
        if (find_end_record(w, false, found))
            return NPYX_OK;
    }
    return with_tail && find_end_record(w, true, found) ? NPYX_OK : NPYX_DONE;
}

/* Finds the zip64 end record that a locator leads to: where it says or, if something precedes the zip, right
 * before the locator. */
static npyx_status find_end64(npyx_window *w, int64_t locator_off, uint64_t said_off, int64_t *off,
                              const uint8_t **bytes, npyx_error *error) {
    int64_t last_off = locator_off - NPYX_ZIP_END64_NBYTES;
    if (last_off < 0 || said_off > (uint64_t)last_off)
        return fail_directory(error, locator_off, "its zip64 locator at byte %" PRId64 " leads nowhere)",
                              locator_off);
    for (int i = 0; i < 2; i++) {
        *off = i == 0 ? (int64_t)said_off : last_off;
        npyx_status status = npyx_window_at(w, *off, NPYX_ZIP_END64_NBYTES, NPYX_DIRECTORY_WINDOW_NBYTES,
                                            locator_off, bytes, error);
        if (status != NPYX_OK || memcmp(*bytes, "PK\6\6", 4) == 0)
            return status;
    }
    return fail_directory(error, locator_off,
                          "the zip64 locator at byte %" PRId64 " leads to no zip64 end record)", locator_off);
}

/* Replaces the end record's values by those of zip64's, if there is one: its locator is right before the end
 * record or nowhere (APPNOTE 4.3.15). */
static npyx_status read_end64(npyx_window *w, end *found, npyx_error *error) {
    const uint8_t *bytes = NULL;
    int64_t locator_off = found->off - NPYX_ZIP_LOCATOR_NBYTES, off = 0;
    if (locator_off < 0)
        return NPYX_OK;
    npyx_status status = npyx_window_at(w, locator_off, NPYX_ZIP_LOCATOR_NBYTES, NPYX_DIRECTORY_WINDOW_NBYTES,
                                        found->off, &bytes, error);
    if (status != NPYX_OK || memcmp(bytes, "PK\6\7", 4) != 0)
        return status;
    uint64_t said_off = npyx_load_u64(bytes + 8, false);
    if (npyx_load_u32(bytes + 4, false) != 0 || npyx_load_u32(bytes + 16, false) > 1)
        return npyx_fail(error, NPYX_UNSUPPORTED, locator_off, "is one of several parts of a split zip");
    NPYX_TRY(find_end64(w, locator_off, said_off, &off, &bytes, error));
    found->off = off;
    found->directory_nbytes = npyx_load_u64(bytes + 40, false);
    found->directory_off = npyx_load_u64(bytes + 48, false);
    bool is_whole = npyx_load_u64(bytes + 4, false) == (uint64_t)(locator_off - off) - 12;
    if (!is_whole || found->directory_nbytes > said_off ||
        found->directory_off != said_off - found->directory_nbytes)
        return fail_directory(error, off, "its zip64 end record at byte %" PRId64 " contradicts itself)",
                              off);
    return NPYX_OK;
}

/* ---- names ---- */

/* The upper half of code page 437, the encoding of names without the UTF-8 flag. */
static const uint16_t cp437[128] = {
    0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7, 0x00ea, 0x00eb, 0x00e8, 0x00ef, 0x00ee,
    0x00ec, 0x00c4, 0x00c5, 0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2, 0x00fb, 0x00f9, 0x00ff, 0x00d6,
    0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192, 0x00e1, 0x00ed, 0x00f3, 0x00fa, 0x00f1, 0x00d1, 0x00aa,
    0x00ba, 0x00bf, 0x2310, 0x00ac, 0x00bd, 0x00bc, 0x00a1, 0x00ab, 0x00bb, 0x2591, 0x2592, 0x2593, 0x2502,
    0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255d, 0x255c, 0x255b, 0x2510, 0x2514,
    0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f, 0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550,
    0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256b, 0x256a, 0x2518, 0x250c,
    0x2588, 0x2584, 0x258c, 0x2590, 0x2580, 0x03b1, 0x00df, 0x0393, 0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4,
    0x03a6, 0x0398, 0x03a9, 0x03b4, 0x221e, 0x03c6, 0x03b5, 0x2229, 0x2261, 0x00b1, 0x2265, 0x2264, 0x2320,
    0x2321, 0x00f7, 0x2248, 0x00b0, 0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0};

/* Writes the character at *name in UTF-8 to out, which has room for 4, and moves *name past it; returns its
 * bytes. */
static size_t decode_character(const char **name, const char *end, bool is_utf8, char *out) {
    unsigned char c = (unsigned char)**name;
    size_t nbytes = is_utf8 ? npyx_utf8_character(*name, (size_t)(end - *name)) : 0;
    if (nbytes > 0) {
        memcpy(out, *name, nbytes);
        *name += nbytes;
        return nbytes;
    }
    ++*name;
    return npyx_utf8_encode(is_utf8 ? 0xfffd : c < 0x80 ? c : cp437[c - 0x80], out);
}

/* The name as UTF-8; it is shown up to a NUL, as in Python's zipfile. */
static npyx_status decode_name(npyx_arena *arena, const char *name, size_t nbytes, npyx_zip_record *record,
                               npyx_error *error) {
    const char *end = name + nbytes;
    char *out = npyx_arena_alloc(arena, nbytes * 3 + 1); /* no character of either encoding takes more */
    NPYX_TRY(npyx_check_memory(out, error));
    record->filename = out;
    while (name < end)
        out += decode_character(&name, end, (record->flags & NPYX_ZIP_UTF8) != 0, out);
    *out = '\0';
    record->whole_name_nbytes = (uint32_t)(out - record->filename);
    record->filename_nbytes = strlen(record->filename);
    return NPYX_OK;
}

bool npyx_zip_name_is(const npyx_zip_record *record, const char *name, size_t nbytes, bool is_utf8) {
    const char *end = name + nbytes, *known = record->filename;
    const char *known_end = known + record->whole_name_nbytes;
    while (name < end) {
        char character[4];
        size_t character_nbytes = decode_character(&name, end, is_utf8, character);
        if ((size_t)(known_end - known) < character_nbytes || memcmp(known, character, character_nbytes) != 0)
            return false;
        known += character_nbytes;
    }
    return known == known_end;
}

/* ---- records ---- */

/* Replaces the values that a record leaves to its zip64 extra fields (APPNOTE 4.5.3), in the order of that
 * section. False when a field is too short. */
static bool resolve_zip64(const uint8_t *extra, size_t nbytes, uint64_t *size, uint64_t *compressed_size,
                          uint64_t *header_off) {
    uint64_t *wanted[] = {size, compressed_size, header_off};
    for (size_t off = 0; nbytes - off >= 4;) {
        uint16_t id = npyx_load_u16(extra + off, false);
        size_t field_nbytes = npyx_load_u16(extra + off + 2, false);
        off += 4;
        if (field_nbytes > nbytes - off)
            field_nbytes = nbytes - off;
        size_t next_off = off + field_nbytes;
        for (size_t i = 0; id == 1 && i < sizeof wanted / sizeof wanted[0]; i++) {
            if (*wanted[i] != UINT32_MAX)
                continue;
            if (next_off - off < 8)
                return false;
            *wanted[i] = npyx_load_u64(extra + off, false);
            off += 8;
        }
        off = next_off;
    }
    return true;
}

/* Adds the record at bytes, which its name and extra field follow. */
static npyx_status take_record(npyx_zip_directory *directory, const uint8_t *bytes, npyx_error *error) {
    size_t name_nbytes = npyx_load_u16(bytes + 28, false), extra_nbytes = npyx_load_u16(bytes + 30, false);
    const uint8_t *name = bytes + NPYX_ZIP_RECORD_NBYTES;
    uint64_t compressed_size = npyx_load_u32(bytes + 20, false), size = npyx_load_u32(bytes + 24, false);
    uint64_t header_off = npyx_load_u32(bytes + 42, false);
    bool is_sound = resolve_zip64(name + name_nbytes, extra_nbytes, &size, &compressed_size, &header_off) &&
                    size <= INT64_MAX && compressed_size <= INT64_MAX && header_off <= INT64_MAX / 2;
    NPYX_TRY(npyx_grow(directory->names.host, &directory->records, directory->nrecords,
                       &directory->capacity_nrecords, sizeof directory->records[0], error));
    npyx_zip_record *record = &directory->records[directory->nrecords];
    *record = (npyx_zip_record){
        .flags = npyx_load_u16(bytes + 8, false),
        .method = npyx_load_u16(bytes + 10, false),
        .dos_time = npyx_load_u32(bytes + 12, false),
        .crc32 = npyx_load_u32(bytes + 16, false),
        .status = is_sound ? NPYX_OK : NPYX_CORRUPT,
        .stored_name_nbytes = (uint16_t)name_nbytes,
        .compressed_nbytes = is_sound ? (int64_t)compressed_size : 0,
        .nbytes = is_sound ? (int64_t)size : 0,
        .header_off =
            header_off <= INT64_MAX / 2 ? (int64_t)header_off + directory->prefix_nbytes : INT64_MAX,
    };
    NPYX_TRY(decode_name(&directory->names, (const char *)name, name_nbytes, record, error));
    directory->nrecords++;
    return NPYX_OK;
}

/* Adds the record at off; *next_off is after it. The directory ends at end_off. */
static npyx_status read_record(npyx_window *w, npyx_zip_directory *directory, int64_t off, int64_t end_off,
                               int64_t *next_off, npyx_error *error) {
    const uint8_t *bytes = NULL;
    if (end_off - off < NPYX_ZIP_RECORD_NBYTES)
        return fail_directory(error, off, "a record ends early at byte %" PRId64 ")", off);
    NPYX_TRY(
        npyx_window_at(w, off, NPYX_ZIP_RECORD_NBYTES, NPYX_DIRECTORY_WINDOW_NBYTES, end_off, &bytes, error));
    if (memcmp(bytes, "PK\1\2", 4) != 0)
        return fail_directory(error, off, "no record at byte %" PRId64 ")", off);
    size_t nbytes =
        (size_t)NPYX_ZIP_RECORD_NBYTES + npyx_load_u16(bytes + 28, false) + npyx_load_u16(bytes + 30, false);
    *next_off = off + (int64_t)nbytes + npyx_load_u16(bytes + 32, false);
    if (*next_off > end_off)
        return fail_directory(error, off, "a record ends early at byte %" PRId64 ")", off);
    if (directory->nrecords == NPYX_ZIP_MAX_NRECORDS)
        return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, off, "the zip has more than %d entries",
                            NPYX_ZIP_MAX_NRECORDS);
    NPYX_TRY(npyx_window_at(w, off, nbytes, NPYX_DIRECTORY_WINDOW_NBYTES, end_off, &bytes, error));
    NPYX_TRY(directory->nrecords % NRECORDS_PER_POLL == 0 ? npyx_poll(w->source->host, error) : NPYX_OK);
    return take_record(directory, bytes, error);
}

/* ---- where each entry's room ends ---- */

static int compare_places(const void *a, const void *b, const void *ctx) {
    const npyx_zip_record *records = ctx;
    int64_t a_off = records[*(const int64_t *)a].header_off, b_off = records[*(const int64_t *)b].header_off;
    return (a_off > b_off) - (a_off < b_off);
}

/* Sets each record's end_off, from the last one in the file to the first. order starts out backwards: of
 * several at one place, which keep their order, the first of the directory comes last. */
static npyx_status bound_unordered(npyx_zip_directory *directory, npyx_error *error) {
    npyx_host *host = directory->names.host;
    npyx_zip_record *records = directory->records;
    int64_t n = directory->nrecords, end_off = directory->start_off;
    int64_t *order = npyx_alloc_array(host, n, sizeof *order);
    NPYX_TRY(npyx_check_memory(order, error));
    for (int64_t i = 0; i < n; i++)
        order[i] = n - 1 - i;
    npyx_status status = npyx_sort(host, order, (size_t)n, sizeof *order, compare_places, records, error);
    for (int64_t i = n; status == NPYX_OK && i-- > 0;) {
        npyx_zip_record *last = &records[order[i]];
        last->end_off = end_off;
        end_off = smaller_of(end_off, last->header_off);
    }
    npyx_free(host, order);
    return status;
}

/* The data of an entry end before the next one begins, as in Python's zipfile: of several at one place the
 * first has the room, and the others none. */
static npyx_status bound_entries(npyx_zip_directory *directory, npyx_error *error) {
    npyx_zip_record *records = directory->records;
    int64_t n = directory->nrecords;
    for (int64_t i = 0; i < n; i++) {
        int64_t next_off = i + 1 < n ? records[i + 1].header_off : INT64_MAX;
        records[i].end_off = smaller_of(next_off, directory->start_off);
        if (i + 1 < n && next_off <= records[i].header_off)
            return bound_unordered(directory, error);
    }
    return NPYX_OK;
}

/* ---- the whole ---- */

/* Whether the offsets of a zip that follows something else agree with where it begins: they count from the
 * start of the file, or from that of the zip, which then begins with an entry. */
static bool prefix_agrees(const npyx_zip_directory *directory) {
    int64_t first_off = directory->start_off;
    for (int64_t i = 0; i < directory->nrecords; i++)
        first_off = smaller_of(first_off, directory->records[i].header_off);
    return directory->prefix_nbytes == 0 || directory->prefix_nbytes == first_off;
}

/* Sets where the directory is, by the end records. */
static npyx_status place_directory(const end *found, bool is_prefixed, npyx_zip_directory *directory,
                                   npyx_error *error) {
    if (found->directory_nbytes > (uint64_t)found->off ||
        found->directory_off > (uint64_t)found->off - found->directory_nbytes)
        return fail_directory(error, found->off,
                              "its end record, at byte %" PRId64 ", places it where it cannot be)",
                              found->off);
    directory->start_off = found->off - (int64_t)found->directory_nbytes;
    directory->prefix_nbytes = directory->start_off - (int64_t)found->directory_off;
    directory->tail_nbytes = found->tail_nbytes;
    if (directory->prefix_nbytes > 0 && !is_prefixed)
        return fail_directory(error, directory->start_off,
                              "it is at byte %" PRId64 ", and byte %" PRIu64
                              " by its end record: several zips one after the other, or a damaged one)",
                              directory->start_off, found->directory_off);
    return NPYX_OK;
}

static npyx_status directory_read_directory(npyx_window *w, bool is_prefixed, npyx_zip_directory *directory,
                                            npyx_error *error) {
    end found = {0};
    npyx_status status = read_end_record(w, !is_prefixed, &found, error);
    if (status == NPYX_DONE && !is_prefixed)
        return npyx_fail_short(w->source, error, w->source->nbytes,
                               "the zip is truncated (no end record; the file ends at byte %" PRId64 ")",
                               w->source->nbytes);
    if (status == NPYX_OK)
        status = read_end64(w, &found, error);
    if (status == NPYX_OK)
        status = place_directory(&found, is_prefixed, directory, error);
    for (int64_t off = directory->start_off; status == NPYX_OK && off < found.off;)
        status = read_record(w, directory, off, found.off, &off, error);
    npyx_status bounded =
        status == NPYX_OK || status == NPYX_CORRUPT ? bound_entries(directory, error) : NPYX_OK;
    if (bounded != NPYX_OK)
        return bounded;
    return status == NPYX_OK && !prefix_agrees(directory) ? NPYX_DONE : status;
}

npyx_status npyx_zip_directory_read(npyx_source *source, bool is_prefixed, npyx_zip_directory *directory,
                                    npyx_error *error) {
    npyx_window w = {.source = source};
    npyx_status status = directory_read_directory(&w, is_prefixed, directory, error);
    npyx_window_clear(&w);
    bool is_none =
        is_prefixed && directory->nrecords == 0 && (status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED);
    return is_none ? NPYX_DONE : status;
}

void npyx_zip_directory_clear(npyx_zip_directory *directory) {
    npyx_free(directory->names.host, directory->records);
    npyx_arena_clear(&directory->names);
    *directory = (npyx_zip_directory){.names = {.host = directory->names.host}};
}

size_t npyx_zip_array_name_nbytes(const npyx_zip_record *record) {
    const npyx_span filename = {record->filename, record->filename_nbytes};
    return filename.nbytes - (npyx_span_ends(filename, ".npy") ? 4 : 0);
}
