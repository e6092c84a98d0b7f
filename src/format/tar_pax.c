/*
 * Records of a pax header: `LENGTH KEYWORD=VALUE\n`, where LENGTH is decimal and counts all of it.
 */
#include "tar.h"

#include <math.h>

#include "text/number_text.h"
#include "text/span.h"

void npyx_tar_overrides_init(npyx_tar_overrides *overrides, npyx_host *host) {
    *overrides = (npyx_tar_overrides){0};
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        overrides->texts[i].host = host;
}

void npyx_tar_overrides_clear(npyx_tar_overrides *overrides) {
    for (int i = 0; i < NPYX_TAR_NTEXTS; i++)
        npyx_buffer_clear(&overrides->texts[i]);
}

static npyx_status say_text(npyx_tar_overrides *overrides, npyx_tar_text text, const char *bytes,
                            size_t nbytes, npyx_error *error) {
    npyx_buffer *buffer = &overrides->texts[text];
    npyx_buffer_reset(buffer);
    npyx_buffer_append(buffer, bytes, nbytes);
    overrides->has_text[text] = true;
    return npyx_buffer_check(buffer, error);
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
        return say_text(overrides, NPYX_TAR_NAME, value.text, value.nbytes, error);
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
        npyx_tar_text text;
    } texts[] = {{"path", NPYX_TAR_NAME},
                 {"linkpath", NPYX_TAR_LINKNAME},
                 {"uname", NPYX_TAR_UNAME},
                 {"gname", NPYX_TAR_GNAME}};
    static const struct {
        const char *keyword;
        npyx_tar_number number;
    } numbers[] = {
        {"size", NPYX_TAR_SIZE}, {"uid", NPYX_TAR_UID}, {"gid", NPYX_TAR_GID}, {"mtime", NPYX_TAR_MTIME}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        while (texts[i].text == NPYX_TAR_NAME && npyx_span_is(keyword, "path") && npyx_span_ends(value, "/"))
            value.nbytes--; /* as in tarfile, whatever the member is */
        if (npyx_span_is(keyword, texts[i].keyword))
            return say_text(overrides, texts[i].text, value.text, value.nbytes, error);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (npyx_span_is(keyword, numbers[i].keyword))
            say_number(overrides, numbers[i].number, value);
    }
    bool is_sparse = keyword.nbytes > 11 && memcmp(keyword.text, "GNU.sparse.", 11) == 0;
    return is_sparse ? say_sparse(overrides, keyword, value, error) : NPYX_OK;
}

/* Reads one record at the start of left; returns its length, or 0 when there is none. */
static size_t record_at(npyx_span left, npyx_span *keyword, npyx_span *value) {
    size_t i = 0, length = 0;
    for (; i < left.nbytes && left.text[i] >= '0' && left.text[i] <= '9' && length < left.nbytes; i++)
        length = length * 10 + (size_t)(left.text[i] - '0');
    if (i == 0 || i == left.nbytes || left.text[i] != ' ' || length > left.nbytes || length < i + 3 ||
        left.text[length - 1] != '\n')
        return 0;
    const char *begin = left.text + i + 1, *end = left.text + length - 1;
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    if (equals == NULL || equals == begin)
        return 0;
    *keyword = (npyx_span){begin, (size_t)(equals - begin)};
    *value = (npyx_span){equals + 1, (size_t)(end - equals - 1)};
    return length;
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
            NPYX_TRY(
                say_text(overrides, (npyx_tar_text)i, more->texts[i].bytes, more->texts[i].nbytes, error));
    }
    overrides->is_sparse |= more->is_sparse;
    if (more->has_real_nbytes && !overrides->has_real_nbytes) {
        overrides->has_real_nbytes = true;
        overrides->real_nbytes = more->real_nbytes;
    }
    return NPYX_OK;
}
