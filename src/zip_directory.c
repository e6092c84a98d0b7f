#include "zip_directory.h"

#include <errno.h>
#include <inttypes.h>
#include <minizip/unzip.h>
#include <string.h>

#include "bytes.h"
#include "utf8.h"

enum {
    END_NBYTES = 22,    /* the end record without its comment */
    RECORD_NBYTES = 46, /* a central directory record without name, extra field and comment */
    BLOCK_NBYTES = 1 << 14,
    SHORT_NAME_NBYTES = 256,
    SHORT_EXTRA_NBYTES = 128
};

static const char record_magic[4] = {'P', 'K', 1, 2};
static const char end_magic[4] = {'P', 'K', 5, 6};

/* What minizip takes for a file: a source read in blocks (it asks for single bytes), cut behind the end
 * record. */
typedef struct stream {
    npyx_source *source;
    npyx_error *error;
    npyx_status status; /* of the last failed read */
    int64_t nbytes;
    int64_t off;
    int64_t sought_off;    /* the last place that minizip went to from the start */
    int64_t hidden_nbytes; /* at the start of the source, served as zeros: see hide_data */
    int64_t block_off;
    size_t block_nbytes;
    uint8_t block[BLOCK_NBYTES];
} stream;

static voidpf stream_open(voidpf opaque, const void *name, int mode) {
    (void)name;
    (void)mode;
    return opaque;
}

static int stream_close(voidpf opaque, voidpf file) {
    (void)opaque;
    (void)file;
    return 0;
}

static int stream_error(voidpf opaque, voidpf file) {
    (void)opaque;
    return ((stream *)file)->status != NPYX_OK;
}

static ZPOS64_T stream_tell(voidpf opaque, voidpf file) {
    (void)opaque;
    return (ZPOS64_T)((stream *)file)->off;
}

static long stream_seek(voidpf opaque, voidpf file, ZPOS64_T off, int origin) {
    stream *s = file;
    (void)opaque;
    int64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                   : origin == ZLIB_FILEFUNC_SEEK_CUR ? s->off
                                                      : s->nbytes;
    int64_t target; /* minizip goes back from where it is by negative numbers in an unsigned type */
    if (!npyx_add_i64(base, (int64_t)off, &target) || target < 0)
        return -1;
    s->off = target;
    if (origin == ZLIB_FILEFUNC_SEEK_SET)
        s->sought_off = target;
    return 0;
}

static uLong stream_read(voidpf opaque, voidpf file, void *bytes, uLong nbytes) {
    stream *s = file;
    (void)opaque;
    uLong done_nbytes = 0;
    if (s->off < s->hidden_nbytes) {
        int64_t hidden_nbytes = s->hidden_nbytes - s->off;
        done_nbytes = hidden_nbytes < (int64_t)nbytes ? (uLong)hidden_nbytes : nbytes;
        memset(bytes, 0, done_nbytes);
        s->off += (int64_t)done_nbytes;
    }
    while (done_nbytes < nbytes && s->off < s->nbytes) {
        if (s->off < s->block_off || s->off >= s->block_off + (int64_t)s->block_nbytes) {
            s->block_off = s->off & ~(int64_t)(BLOCK_NBYTES - 1);
            npyx_status status = npyx_source_read(s->source, s->block_off, s->block, sizeof s->block,
                                                  &s->block_nbytes, s->error);
            if (status == NPYX_OK)
                status = npyx_poll(s->source->host, s->error);
            if (status != NPYX_OK) {
                s->block_nbytes = 0;
                s->status = status;
                return 0;
            }
        }
        int64_t end_off = s->block_off + (int64_t)s->block_nbytes;
        if (end_off > s->nbytes)
            end_off = s->nbytes;
        if (s->off >= end_off)
            break;
        uLong piece_nbytes = (uLong)(end_off - s->off);
        if (piece_nbytes > nbytes - done_nbytes)
            piece_nbytes = nbytes - done_nbytes;
        memcpy((char *)bytes + done_nbytes, s->block + (s->off - s->block_off), piece_nbytes);
        done_nbytes += piece_nbytes;
        s->off += (int64_t)piece_nbytes;
    }
    return done_nbytes;
}

/* True when the bytes at off, which reach to the end of the source, are an end record whose comment fits. */
static bool is_end_record(const uint8_t *bytes, size_t nbytes) {
    return nbytes >= END_NBYTES && memcmp(bytes, end_magic, sizeof end_magic) == 0 &&
           npyx_load_u16(bytes + 20, false) <= nbytes - END_NBYTES;
}

npyx_status npyx_zip_find_end(npyx_source *source, int64_t *end_off, bool *is_empty, npyx_error *error) {
    uint8_t small[END_NBYTES];
    size_t nbytes = 0;
    int64_t off = source->nbytes - END_NBYTES;
    if (off < 0)
        return NPYX_DONE;
    npyx_status status = npyx_source_read(source, off, small, sizeof small, &nbytes, error);
    if (status != NPYX_OK)
        return status;
    if (is_end_record(small, nbytes)) { /* without a comment, as nearly always */
        *end_off = off;
        *is_empty = npyx_load_u16(small + 10, false) == 0 && npyx_load_u32(small + 12, false) == 0;
        return NPYX_OK;
    }
    size_t tail_nbytes = END_NBYTES + 0xffff;
    if ((int64_t)tail_nbytes > source->nbytes)
        tail_nbytes = (size_t)source->nbytes;
    uint8_t *tail = npyx_alloc(source->host, tail_nbytes);
    if (tail == NULL)
        return npyx_fail_nomem(error);
    status =
        npyx_source_read_exactly(source, source->nbytes - (int64_t)tail_nbytes, tail, tail_nbytes, error);
    if (status == NPYX_OK) {
        status = NPYX_DONE;
        for (size_t at = tail_nbytes - END_NBYTES + 1; at-- > 0 && status == NPYX_DONE;) {
            if (!is_end_record(tail + at, tail_nbytes - at))
                continue;
            *end_off = source->nbytes - (int64_t)(tail_nbytes - at);
            *is_empty =
                npyx_load_u16(tail + at + 10, false) == 0 && npyx_load_u32(tail + at + 12, false) == 0;
            status = NPYX_OK;
        }
    }
    npyx_free(source->host, tail);
    return status;
}

/* The upper half of code page 437, in which names without the UTF-8 flag are written. */
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

/* The name as UTF-8, cut at a NUL as Python's zipfile cuts it. */
static npyx_status decode_name(npyx_arena *arena, const char *name, size_t nbytes, bool is_utf8,
                               npyx_zip_record *record, npyx_error *error) {
    const char *nul = memchr(name, '\0', nbytes);
    if (nul != NULL)
        nbytes = (size_t)(nul - name);
    char *out = npyx_arena_alloc(arena, nbytes * 3 + 1); /* no character of either takes more */
    if (out == NULL)
        return npyx_fail_nomem(error);
    record->filename = out;
    for (size_t i = 0; i < nbytes;) {
        unsigned char c = (unsigned char)name[i];
        size_t character_nbytes = is_utf8 ? npyx_utf8_character(name + i, nbytes - i) : 0;
        if (character_nbytes > 0) {
            memcpy(out, name + i, character_nbytes);
            out += character_nbytes;
            i += character_nbytes;
            continue;
        }
        out += npyx_utf8_encode(is_utf8 ? 0xfffd : c < 0x80 ? c : cp437[c - 0x80], out);
        i++;
    }
    *out = '\0';
    record->filename_nbytes = (size_t)(out - record->filename);
    return NPYX_OK;
}

/* Replaces the sizes and the offset that a record leaves to its zip64 extra field (APPNOTE 4.5.3), in the
 * order in which they stand there. False when the field is too short for them. */
static bool resolve_zip64(const uint8_t *extra, size_t nbytes, uint64_t *size, uint64_t *compressed_size,
                          uint64_t *header_off) {
    uint64_t *wanted[] = {size, compressed_size, header_off};
    size_t off = 0;
    while (nbytes - off >= 4 && npyx_load_u16(extra + off, false) != 0x0001)
        off += 4 + (size_t)npyx_load_u16(extra + off + 2, false) <= nbytes - off
                   ? 4 + (size_t)npyx_load_u16(extra + off + 2, false)
                   : nbytes - off;
    size_t field_nbytes = nbytes - off >= 4 ? npyx_load_u16(extra + off + 2, false) : 0;
    if (nbytes - off >= 4 && field_nbytes > nbytes - off - 4)
        field_nbytes = nbytes - off - 4;
    const uint8_t *at = extra + off + 4;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        if (*wanted[i] != UINT32_MAX)
            continue;
        if (field_nbytes < 8)
            return false;
        *wanted[i] = npyx_load_u64(at, false);
        at += 8;
        field_nbytes -= 8;
    }
    return true;
}

typedef struct walk {
    npyx_zip_directory *directory;
    stream *stream;
    unzFile zip;
    int64_t prefix_nbytes; /* before the zip in the source: its own offsets do not count them */
    int64_t next_off;      /* behind the record at hand, from the start of the source */
    npyx_error *error;
} walk;

static npyx_status fail_directory(const walk *w, const char *what, int64_t off) {
    if (w->stream->status != NPYX_OK) /* the source's own error came first */
        return w->stream->status;
    return npyx_fail(w->error, NPYX_CORRUPT, off, "the zip directory is damaged (%s at byte %" PRId64 ")",
                     what, off);
}

static npyx_zip_record *append_record(npyx_zip_directory *directory) {
    if (directory->nrecords == directory->capacity_nrecords) {
        int64_t capacity = directory->capacity_nrecords == 0 ? 16 : directory->capacity_nrecords * 2;
        npyx_host *host = directory->names.host;
        npyx_zip_record *records =
            host->resize(host->ctx, directory->records, (size_t)capacity * sizeof *records);
        if (records == NULL)
            return NULL;
        directory->records = records;
        directory->capacity_nrecords = capacity;
    }
    return &directory->records[directory->nrecords];
}

/* The record as it stands in the file, found by watching where minizip went to read it: minizip keeps the
 * place of the local header to itself, and newer versions of it resolve zip64 sizes where older ones do not.
 */
static npyx_status read_raw_record(walk *w, uint8_t raw[RECORD_NBYTES], int64_t *record_off) {
    *record_off = w->stream->sought_off;
    if (w->directory->nrecords == 0)
        w->prefix_nbytes = *record_off - (int64_t)unzGetOffset64(w->zip);
    npyx_status status =
        npyx_source_read_exactly(w->stream->source, *record_off, raw, RECORD_NBYTES, w->error);
    if (status == NPYX_OK && memcmp(raw, record_magic, sizeof record_magic) != 0)
        status = fail_directory(w, "no record", *record_off);
    return status;
}

static npyx_status take_record(walk *w, const unz_file_info64 *info, const char *name, const uint8_t *extra) {
    uint8_t raw[RECORD_NBYTES];
    int64_t record_off = 0;
    npyx_status status = read_raw_record(w, raw, &record_off);
    npyx_zip_record *record = append_record(w->directory);
    if (status != NPYX_OK)
        return status;
    if (record == NULL)
        return npyx_fail_nomem(w->error);
    uint64_t compressed_size = npyx_load_u32(raw + 20, false), size = npyx_load_u32(raw + 24, false);
    uint64_t header_off = npyx_load_u32(raw + 42, false);
    bool is_sound = resolve_zip64(extra, info->size_file_extra, &size, &compressed_size, &header_off) &&
                    size <= INT64_MAX && compressed_size <= INT64_MAX && header_off <= INT64_MAX / 2;
    *record = (npyx_zip_record){
        .stored_name_nbytes = (uint32_t)info->size_filename,
        .method = (uint16_t)info->compression_method,
        .flags = (uint16_t)info->flag,
        .crc32 = (uint32_t)info->crc,
        .dos_time = (uint32_t)info->dosDate,
        .status = is_sound ? NPYX_OK : NPYX_CORRUPT,
        .compressed_nbytes = is_sound ? (int64_t)compressed_size : 0,
        .nbytes = is_sound ? (int64_t)size : 0,
        .header_off = is_sound ? (int64_t)header_off + w->prefix_nbytes : 0,
    };
    status = decode_name(&w->directory->names, name, info->size_filename, (info->flag & NPYX_ZIP_UTF8) != 0,
                         record, w->error);
    if (status != NPYX_OK)
        return status;
    if (w->directory->nrecords++ == 0)
        w->directory->start_off = record_off;
    w->next_off = record_off + RECORD_NBYTES + (int64_t)info->size_filename + (int64_t)info->size_file_extra +
                  (int64_t)info->size_file_comment;
    return NPYX_OK;
}

/* Reads the record at which minizip stands. */
static npyx_status read_record(walk *w) {
    char name[SHORT_NAME_NBYTES];
    uint8_t extra[SHORT_EXTRA_NBYTES];
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(w->zip, &info, name, sizeof name, extra, sizeof extra, NULL, 0) != UNZ_OK)
        return fail_directory(w, "a record ends early", w->stream->sought_off);
    if (info.size_filename <= sizeof name && info.size_file_extra <= sizeof extra)
        return take_record(w, &info, name, extra);
    npyx_host *host = w->directory->names.host;
    size_t room_nbytes = info.size_filename + info.size_file_extra; /* two 16-bit numbers */
    char *room = npyx_alloc(host, room_nbytes);
    if (room == NULL)
        return npyx_fail_nomem(w->error);
    uint8_t *long_extra = (uint8_t *)room + info.size_filename;
    npyx_status status;
    if (unzGetCurrentFileInfo64(w->zip, &info, room, info.size_filename, long_extra, info.size_file_extra,
                                NULL, 0) != UNZ_OK)
        status = fail_directory(w, "a record ends early", w->stream->sought_off);
    else
        status = take_record(w, &info, room, long_extra);
    npyx_free(host, room);
    return status;
}

/* Goes to the next record, or answers NPYX_DONE. The end is where records end: the end record's count may
 * lie. */
static npyx_status next_record(walk *w) {
    char magic[4] = {0};
    size_t nbytes = 0;
    npyx_status status =
        npyx_source_read(w->stream->source, w->next_off, magic, sizeof magic, &nbytes, w->error);
    if (status != NPYX_OK)
        return status;
    if (magic[0] != 'P' || magic[1] != 'K')
        return fail_directory(w, "no record", w->next_off);
    if (memcmp(magic, record_magic, sizeof record_magic) != 0)
        return NPYX_DONE; /* the end record, zip64's, or a digital signature */
    if (w->directory->nrecords == NPYX_ZIP_MAX_NRECORDS)
        return npyx_fail(w->error, NPYX_UNSUPPORTED, w->next_off, "the zip has more than %d entries",
                         NPYX_ZIP_MAX_NRECORDS);
    int code = unzGoToNextFile(w->zip);
    if (code == UNZ_END_OF_LIST_OF_FILE)
        code = unzSetOffset64(w->zip, (ZPOS64_T)(w->next_off - w->prefix_nbytes));
    return code == UNZ_OK ? NPYX_OK : fail_directory(w, "a record ends early", w->next_off);
}

/* minizip looks for zip64's locator in all of the last 64 KiB, which are data, and would take any bytes like
 * it. It stands right before the end record or nowhere (APPNOTE 4.3.15): when it is not there, what lies
 * before is neither read nor shown while minizip searches. */
static npyx_status hide_data(stream *s, int64_t end_off) {
    enum { LOCATOR_NBYTES = 20 };
    char magic[4] = {0};
    size_t nbytes = 0;
    npyx_status status =
        npyx_source_read(s->source, end_off - LOCATOR_NBYTES, magic, sizeof magic, &nbytes, s->error);
    if (memcmp(magic, "PK\6\7", sizeof magic) != 0)
        s->hidden_nbytes = end_off;
    return status;
}

npyx_status npyx_zip_directory_read(npyx_source *source, npyx_zip_directory *directory, npyx_error *error) {
    int64_t end_off = 0;
    bool is_empty = false;
    npyx_status status = npyx_zip_find_end(source, &end_off, &is_empty, error);
    if (status == NPYX_DONE)
        return npyx_fail(error, NPYX_CORRUPT, source->nbytes,
                         "the zip is truncated (no end record; the file ends at byte %" PRId64 ")",
                         source->nbytes);
    if (status != NPYX_OK || is_empty)
        return status;
    stream *s = npyx_alloc_zeroed(source->host, sizeof *s);
    if (s == NULL)
        return npyx_fail_nomem(error);
    s->source = source;
    s->error = error;
    s->nbytes = end_off + END_NBYTES;
    zlib_filefunc64_def functions = {.zopen64_file = stream_open,
                                     .zread_file = stream_read,
                                     .ztell64_file = stream_tell,
                                     .zseek64_file = stream_seek,
                                     .zclose_file = stream_close,
                                     .zerror_file = stream_error,
                                     .opaque = s};
    walk w = {.directory = directory, .stream = s, .error = error};
    status = hide_data(s, end_off);
    errno = 0;
    if (status == NPYX_OK)
        w.zip = unzOpen2_64("", &functions);
    s->hidden_nbytes = 0;
    if (status == NPYX_OK && w.zip == NULL &&
        errno == ENOMEM) /* malloc's word: minizip's NULL says nothing */
        status = npyx_fail_nomem(error);
    if (status == NPYX_OK && (w.zip == NULL || unzGoToFirstFile(w.zip) != UNZ_OK))
        status = fail_directory(&w, "minizip finds no first record; the end record is", end_off);
    while (status == NPYX_OK) {
        status = read_record(&w);
        if (status == NPYX_OK)
            status = next_record(&w);
    }
    if (w.zip != NULL)
        unzClose(w.zip);
    npyx_free(source->host, s);
    return status == NPYX_DONE ? NPYX_OK : status;
}

void npyx_zip_directory_clear(npyx_zip_directory *directory) {
    npyx_free(directory->names.host, directory->records);
    npyx_arena_clear(&directory->names);
    *directory = (npyx_zip_directory){.names = {.host = directory->names.host}};
}

size_t npyx_zip_array_name_nbytes(const npyx_zip_record *record) {
    size_t nbytes = record->filename_nbytes;
    bool is_npy = nbytes >= 4 && memcmp(record->filename + nbytes - 4, ".npy", 4) == 0;
    return is_npy ? nbytes - 4 : nbytes;
}
