/*
 * What a header block says about its member, and what extended headers do.
 *
 * ustar begins like the first tars and adds its fields after theirs; GNU's tar has different ones at the end.
 */
#include "tar.h"

#include <math.h>

#include "text/number_text.h"
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
    const char *text = (const char *)block + off;
    return (npyx_span){text, strnlen(text, nbytes)};
}

static npyx_span tar_span(const npyx_buffer *text) {
    return (npyx_span){text->bytes, text->nbytes};
}

static npyx_status tar_set_text(npyx_buffer *text, npyx_span value, npyx_error *error) {
    npyx_buffer_reset(text);
    npyx_buffer_append(text, value.text, value.nbytes);
    return npyx_buffer_check(text, error);
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
        if (said->has_text[i])
            NPYX_TRY(tar_set_text(&member->texts[i], tar_span(&said->texts[i]), error));
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

/* ---- what extended headers say ---- */

/*
 * Records of a pax header: `LENGTH KEYWORD=VALUE\n`, where LENGTH is decimal and counts all of it.
 */

void npyx_tar_overrides_init(npyx_tar_overrides *overrides, npyx_host *host) {
    *overrides = (npyx_tar_overrides){0};
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        overrides->texts[i].host = host;
}

void npyx_tar_overrides_clear(npyx_tar_overrides *overrides) {
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        npyx_buffer_clear(&overrides->texts[i]);
}

static npyx_status say_text(npyx_tar_overrides *overrides, int text, npyx_span value, npyx_error *error) {
    overrides->has_text[text] = true;
    return tar_set_text(&overrides->texts[text], value, error);
}

/* As Python's int() and float() read it, which ignore blanks around it, or 0 where they fail, as in tarfile.
 */
static void say_number(npyx_tar_overrides *overrides, npyx_tar_number which, npyx_span value) {
    npyx_number number = {0};
    value = npyx_span_trim(value);
    bool is_negative = npyx_span_begins(value, "-");
    if (is_negative || npyx_span_begins(value, "+"))
        value = npyx_span_after(value, 1);
    while (npyx_span_begins(value, "0") && npyx_is_digit(npyx_span_peek(value, 1)))
        value = npyx_span_after(value, 1);                      /* JSON has no leading zeros */
    bool has_digits = value.nbytes > 0 && value.text[0] != '-'; /* JSON's own sign would be a second one */
    if (!has_digits || npyx_number_read(value.text, value.nbytes, &number) != value.nbytes)
        number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true};
    double real = npyx_number_to_f64(&number) * (is_negative ? -1 : 1);
    bool fits = number.form == NPYX_NUMBER_I64 || (fabs(real) < 0x1p63);
    overrides->has_number[which] = true;
    overrides->numbers[which] = number.form == NPYX_NUMBER_I64 ? (is_negative ? -number.i64 : number.i64)
                                : fits                         ? (int64_t)floor(real)
                                                               : (real < 0 ? INT64_MIN : INT64_MAX);
    if (which != NPYX_TAR_MTIME) {
        if (number.form == NPYX_NUMBER_F64) /* not an integer: int() fails */
            overrides->numbers[which] = number.is_integer ? INT64_MAX : 0;
        return;
    }
    overrides->mtime = real;
    overrides->has_fraction = !number.is_integer && (!fits || floor(real) != real);
}

/* GNU tar's manual, "Storing Sparse Files". */
static npyx_status say_sparse(npyx_tar_overrides *overrides, npyx_span keyword, npyx_span value,
                              npyx_error *error) {
    npyx_tar_overrides number = {0};
    if (npyx_span_is(keyword, "GNU.sparse.name")) /* by itself it makes nothing sparse, as in tarfile */
        return say_text(overrides, NPYX_TAR_NAME, value, error);
    overrides->is_sparse = true;
    if (npyx_span_is(keyword, "GNU.sparse.size") || npyx_span_is(keyword, "GNU.sparse.realsize")) {
        say_number(&number, NPYX_TAR_SIZE, value);
        overrides->has_real_nbytes = true;
        overrides->real_nbytes = number.numbers[NPYX_TAR_SIZE];
    }
    return NPYX_OK;
}

static npyx_status say(npyx_tar_overrides *overrides, npyx_span keyword, npyx_span value, npyx_error *error) {
    static const struct {
        const char *keyword;
        bool is_text;
        int which; /* npyx_tar_text or npyx_tar_number */
    } keywords[] = {{"path", true, NPYX_TAR_NAME},   {"linkpath", true, NPYX_TAR_LINKNAME},
                    {"uname", true, NPYX_TAR_UNAME}, {"gname", true, NPYX_TAR_GNAME},
                    {"size", false, NPYX_TAR_SIZE},  {"uid", false, NPYX_TAR_UID},
                    {"gid", false, NPYX_TAR_GID},    {"mtime", false, NPYX_TAR_MTIME}};
    while (npyx_span_is(keyword, "path") && npyx_span_ends(value, "/"))
        value.nbytes--; /* as in tarfile, whatever the member is */
    for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
        if (!npyx_span_is(keyword, keywords[i].keyword))
            continue;
        if (keywords[i].is_text)
            return say_text(overrides, keywords[i].which, value, error);
        say_number(overrides, (npyx_tar_number)keywords[i].which, value);
    }
    bool is_sparse = keyword.nbytes > 11 && memcmp(keyword.text, "GNU.sparse.", 11) == 0;
    return is_sparse ? say_sparse(overrides, keyword, value, error) : NPYX_OK;
}

/* Reads one record at the start of left; returns its length, or 0 when there is none. */
static size_t record_at(npyx_span left, npyx_span *keyword, npyx_span *value) {
    uint64_t length;
    size_t i = npyx_span_digits(left, &length);
    if (i == 0 || i == left.nbytes || left.text[i] != ' ' || length > left.nbytes || length < i + 3 ||
        left.text[length - 1] != '\n')
        return 0;
    const char *begin = left.text + i + 1, *end = left.text + length - 1;
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (equals == NULL || equals == begin)
        return 0;
    *keyword = (npyx_span){begin, (size_t)(equals - begin)};
    *value = (npyx_span){equals + 1, (size_t)(end - equals - 1)};
    return (size_t)length;
}

npyx_status npyx_tar_read_records(npyx_tar_overrides *overrides, const char *records, size_t nbytes,
                                  int64_t off, npyx_error *error) {
    npyx_span left = {records, nbytes}, keyword, value;
    while (left.nbytes > 0 && left.text[0] != '\0') { /* some writers pad with NULs */
        size_t length = record_at(left, &keyword, &value);
        int64_t record_off = off + (int64_t)(nbytes - left.nbytes);
        if (length == 0)
            return npyx_fail(error, NPYX_CORRUPT, record_off,
                             "a pax header has no record at byte %" PRId64 ", where one is expected",
                             record_off);
        NPYX_TRY(say(overrides, keyword, value, error));
        left = npyx_span_after(left, length);
    }
    return NPYX_OK;
}

npyx_status npyx_tar_add_overrides(npyx_tar_overrides *overrides, const npyx_tar_overrides *more,
                                   npyx_error *error) {
    for (int i = 0; i < NPYX_TAR_NNUMBERS; i++) {
        if (overrides->has_number[i] || !more->has_number[i])
            continue;
        overrides->has_number[i] = true;
        overrides->numbers[i] = more->numbers[i];
        if (i == NPYX_TAR_MTIME) {
            overrides->mtime = more->mtime;
            overrides->has_fraction = more->has_fraction;
        }
    }
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++) {
        if (more->has_text[i] && !overrides->has_text[i])
            NPYX_TRY(say_text(overrides, i, tar_span(&more->texts[i]), error));
    }
    overrides->is_sparse |= more->is_sparse;
    if (more->has_real_nbytes && !overrides->has_real_nbytes) {
        overrides->has_real_nbytes = true;
        overrides->real_nbytes = more->real_nbytes;
    }
    return NPYX_OK;
}
