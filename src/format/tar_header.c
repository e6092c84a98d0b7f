/*
 * What a header block says about its member.
 *
 * ustar begins like the first tars and adds its fields after theirs; GNU's tar has different ones at the end.
 */
#include "tar.h"

#include "text/span.h"

/* Offsets and lengths of the fields of a header block. */
enum {
    NAME_OFF = 0,
    NAME_NBYTES = 100,
    MODE_OFF = 100,
    UID_OFF = 108,
    GID_OFF = 116,
    ID_NBYTES = 8,
    SIZE_OFF = 124,
    MTIME_OFF = 136,
    LONG_NBYTES = 12,
    TYPE_OFF = 156,
    LINKNAME_OFF = 157,
    MAGIC_OFF = 257,
    UNAME_OFF = 265,
    GNAME_OFF = 297,
    OWNER_NBYTES = 32,
    PREFIX_OFF = 345,
    PREFIX_NBYTES = 155,
    /* of an old GNU sparse member */
    MAP_GOES_ON_OFF = 482,
    REAL_SIZE_OFF = 483,
    NEXT_MAP_GOES_ON_OFF = 504
};

const char *npyx_tar_type_name(npyx_tar_type type) {
    static const char *const names[] = {"file",  "directory", "symlink", "hardlink", "char",
                                        "block", "fifo",      "sparse",  "other"};
    return names[type];
}

/* ---- fields ---- */

/* A field's text, up to its first NUL. */
static npyx_span tar_text(const uint8_t *block, size_t off, size_t nbytes) {
    const uint8_t *end = memchr(block + off, '\0', nbytes);
    return (npyx_span){(const char *)block + off, end == NULL ? nbytes : (size_t)(end - (block + off))};
}

/* Base 256: a first byte of 0x80, or 0xff for two's complement, and the number in the bytes after it. */
static bool tar_binary(const uint8_t *field, size_t nbytes, int64_t *number) {
    uint64_t bits = field[0] == 0xff ? UINT64_MAX : 0, sign = bits;
    for (size_t i = 1; i < nbytes; i++) {
        if (nbytes - i > 8 && field[i] != (uint8_t)sign)
            return false; /* beyond 64 bits */
        bits = bits << 8 | field[i];
    }
    *number = (int64_t)bits;
    return ((int64_t)bits < 0) == (sign != 0);
}

/* A number that does not fit in tar_binary's: only times are stored like this. */
static double tar_binary_f64(const uint8_t *field, size_t nbytes) {
    double number = field[0] == 0xff ? -1 : 0;
    for (size_t i = 1; i < nbytes; i++)
        number = number * 256 + field[i];
    return number;
}

/* An octal number between blanks, up to a NUL; 0 if there is none. */
static bool tar_number_at(const uint8_t *block, size_t off, size_t nbytes, int64_t *number) {
    *number = 0;
    if (block[off] == 0x80 || block[off] == 0xff)
        return tar_binary(block + off, nbytes, number);
    size_t i = 0; /* usually digits up to the NUL */
    for (; i < nbytes && block[off + i] >= '0' && block[off + i] <= '7'; i++)
        *number = *number * 8 + (block[off + i] - '0');
    if (i == nbytes || block[off + i] == '\0')
        return true;
    *number = 0;
    npyx_span digits = npyx_span_trim(tar_text(block, off, nbytes));
    bool is_negative = npyx_span_begins(digits, "-");
    if (is_negative)
        digits = npyx_span_after(digits, 1);
    for (; digits.nbytes > 0; digits = npyx_span_after(digits, 1)) {
        if (digits.text[0] < '0' || digits.text[0] > '7')
            return false;
        *number = *number * 8 + (digits.text[0] - '0');
    }
    *number = is_negative ? -*number : *number;
    return true;
}

bool npyx_tar_size_of(const uint8_t *block, int64_t *nbytes) {
    return tar_number_at(block, SIZE_OFF, LONG_NBYTES, nbytes);
}

char npyx_tar_flag_of(const uint8_t *block) {
    return (char)block[TYPE_OFF];
}

int64_t npyx_tar_real_size_of(const uint8_t *block) {
    int64_t nbytes = 0;
    return tar_number_at(block, REAL_SIZE_OFF, LONG_NBYTES, &nbytes) ? nbytes : 0;
}

bool npyx_tar_map_goes_on(const uint8_t *block, bool is_header) {
    return block[is_header ? MAP_GOES_ON_OFF : NEXT_MAP_GOES_ON_OFF] != 0;
}

/* ---- all of it ---- */

static npyx_tar_type type_of(uint8_t flag) {
    switch (flag) {
    case '\0':
    case '0':
    case '7': return NPYX_TAR_FILE;
    case '1': return NPYX_TAR_HARDLINK;
    case '2': return NPYX_TAR_SYMLINK;
    case '3': return NPYX_TAR_CHAR;
    case '4': return NPYX_TAR_BLOCK;
    case '5': return NPYX_TAR_DIRECTORY;
    case '6': return NPYX_TAR_FIFO;
    case 'S': return NPYX_TAR_SPARSE;
    default: return NPYX_TAR_OTHER;
    }
}

static npyx_status read_numbers(npyx_tar_member *member, const uint8_t *block, int64_t off,
                                npyx_error *error) {
    static const struct {
        size_t off, nbytes;
    } fields[] = {[NPYX_TAR_SIZE] = {SIZE_OFF, LONG_NBYTES},
                  [NPYX_TAR_MODE] = {MODE_OFF, ID_NBYTES},
                  [NPYX_TAR_UID] = {UID_OFF, ID_NBYTES},
                  [NPYX_TAR_GID] = {GID_OFF, ID_NBYTES},
                  [NPYX_TAR_MTIME] = {MTIME_OFF, LONG_NBYTES}};
    const uint8_t *mtime = block + MTIME_OFF;
    member->has_fraction = false;
    for (int i = 0; i < NPYX_TAR_NNUMBERS; i++) {
        bool is_number = tar_number_at(block, fields[i].off, fields[i].nbytes, &member->numbers[i]);
        if (i == NPYX_TAR_MTIME)
            member->mtime = (double)member->numbers[i];
        if (!is_number && i == NPYX_TAR_MTIME && (*mtime == 0x80 || *mtime == 0xff)) {
            member->has_fraction = true;
            member->mtime = tar_binary_f64(mtime, LONG_NBYTES);
        } else if (!is_number) {
            return npyx_fail(error, NPYX_CORRUPT, off + (int64_t)fields[i].off,
                             "the tar header at byte %" PRId64 " has no number at byte %" PRId64, off,
                             off + (int64_t)fields[i].off);
        }
    }
    return NPYX_OK;
}

static npyx_status read_texts(npyx_tar_member *member, const uint8_t *block, npyx_error *error) {
    /* GNU's magic is different (`ustar `), and it keeps times there */
    bool has_prefix = memcmp(block + MAGIC_OFF, "ustar", 6) == 0;
    npyx_span prefix = {"", 0};
    if (has_prefix)
        prefix = tar_text(block, PREFIX_OFF, PREFIX_NBYTES);
    npyx_span texts[] = {[NPYX_TAR_NAME] = tar_text(block, NAME_OFF, NAME_NBYTES),
                         [NPYX_TAR_LINKNAME] = tar_text(block, LINKNAME_OFF, NAME_NBYTES),
                         [NPYX_TAR_UNAME] = tar_text(block, UNAME_OFF, OWNER_NBYTES),
                         [NPYX_TAR_GNAME] = tar_text(block, GNAME_OFF, OWNER_NBYTES)};
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++) {
        npyx_buffer *text = &member->texts[i];
        npyx_buffer_reset(text);
        if (i == NPYX_TAR_NAME && prefix.nbytes > 0 && member->type != NPYX_TAR_SPARSE) {
            npyx_buffer_append(text, prefix.text, prefix.nbytes);
            npyx_buffer_append_char(text, '/');
        }
        npyx_buffer_append(text, texts[i].text, texts[i].nbytes);
        NPYX_TRY(npyx_buffer_check(text, error));
    }
    return NPYX_OK;
}

/* Replaces what the header says by what was said. */
static npyx_status apply_overrides(npyx_tar_member *member, const npyx_tar_overrides *said,
                                   npyx_error *error) {
    for (int i = 0; i < NPYX_TAR_NNUMBERS; i++) {
        if (said->has_number[i])
            member->numbers[i] = said->numbers[i];
    }
    if (said->has_number[NPYX_TAR_MTIME]) {
        member->mtime = said->mtime;
        member->has_fraction = said->has_fraction;
    }
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++) {
        if (!said->has_text[i])
            continue;
        npyx_buffer_reset(&member->texts[i]);
        npyx_buffer_append(&member->texts[i], said->texts[i].bytes, said->texts[i].nbytes);
        NPYX_TRY(npyx_buffer_check(&member->texts[i], error));
    }
    if (said->is_sparse && member->type == NPYX_TAR_FILE)
        member->type = NPYX_TAR_SPARSE;
    return NPYX_OK;
}

/* A folder's name has no slash at its end. In the first tars only that slash marked a folder. */
static void settle_folder(npyx_tar_member *member, uint8_t flag) {
    npyx_buffer *name = &member->texts[NPYX_TAR_NAME];
    if (flag == '\0' && name->nbytes > 0 && name->bytes[name->nbytes - 1] == '/')
        member->type = NPYX_TAR_DIRECTORY;
    while (member->type == NPYX_TAR_DIRECTORY && name->nbytes > 0 && name->bytes[name->nbytes - 1] == '/')
        name->nbytes--;
}

npyx_status npyx_tar_read_header(npyx_tar_member *member, const uint8_t *block, int64_t off,
                                 const npyx_tar_overrides *said, npyx_error *error) {
    uint8_t flag = block[TYPE_OFF];
    member->type = type_of(flag);
    NPYX_TRY(read_numbers(member, block, off, error));
    NPYX_TRY(read_texts(member, block, error));
    settle_folder(member, flag);
    NPYX_TRY(apply_overrides(member, said, error));
    settle_folder(member, '0');
    return NPYX_OK;
}
