/* Numbers and dates as text: what is printed reads back as the same, and what reads prints and reads again.
 */
#include <math.h>

#include "fuzz.h"

static npyx_number read_all(const char *text, size_t nbytes) {
    npyx_number number;
    char *copy = fuzz_copy(text, nbytes);
    fuzz_require(npyx_number_read(copy, nbytes, &number) == nbytes);
    free(copy);
    return number;
}

static bool is_same(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_f64(uint64_t bits) {
    char text[NPYX_NUMBER_TEXT_NBYTES + 1];
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        return;
    size_t nbytes = npyx_text_f64(value, text);
    text[nbytes] = '\0';
    npyx_number number = read_all(text, nbytes);
    fuzz_require(number.form == NPYX_NUMBER_F64 && is_same(number.f64, value) &&
                 is_same(strtod(text, NULL), value));
}

static void check_f32(uint32_t bits) {
    char text[NPYX_NUMBER_TEXT_NBYTES + 1];
    float value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        return;
    size_t nbytes = npyx_text_f32(value, text);
    text[nbytes] = '\0';
    float again = strtof(text, NULL);
    fuzz_require(memcmp(&again, &value, sizeof value) == 0);
    read_all(text, nbytes);
}

static void check_narrow(uint16_t bits) {
    char text[NPYX_NUMBER_TEXT_NBYTES];
    float half = npyx_f16_to_f32(bits), brain = npyx_bfloat16_to_f32(bits);
    float e4 = npyx_e4m3fn_to_f32((uint8_t)bits), e5 = npyx_e5m2_to_f32((uint8_t)bits);
    if (isfinite(half))
        fuzz_require(npyx_f16_from_f64(read_all(text, npyx_text_narrow(half, 11, -14, text)).f64) == bits);
    if (isfinite(brain))
        fuzz_require(npyx_bfloat16_from_f64(read_all(text, npyx_text_narrow(brain, 8, -126, text)).f64) ==
                     bits);
    if (isfinite(e4))
        fuzz_require(npyx_e4m3fn_from_f64(read_all(text, npyx_text_narrow(e4, 4, -6, text)).f64) ==
                     (uint8_t)bits);
    if (isfinite(e5))
        fuzz_require(npyx_e5m2_from_f64(read_all(text, npyx_text_narrow(e5, 3, -14, text)).f64) ==
                     (uint8_t)bits);
}

static void check_integers(uint64_t bits) {
    char text[NPYX_NUMBER_TEXT_NBYTES];
    npyx_number number = read_all(text, npyx_text_i64((int64_t)bits, text));
    fuzz_require(number.form == NPYX_NUMBER_I64 && number.is_integer && number.i64 == (int64_t)bits);
    number = read_all(text, npyx_text_u64(bits, text));
    fuzz_require(number.form == NPYX_NUMBER_U64 ? number.u64 == bits : (uint64_t)number.i64 == bits);
}

/* Any text: what it says is what strtod says, and survives printing. */
static void check_number_text(const char *text, size_t nbytes) {
    npyx_number number = {0};
    char *copy = fuzz_copy(text, nbytes);
    size_t read_nbytes = npyx_number_read(copy, nbytes, &number);
    fuzz_require(read_nbytes <= nbytes);
    if (read_nbytes > 0) {
        char printed[NPYX_NUMBER_TEXT_NBYTES], *terminated = malloc(read_nbytes + 1), *end = NULL;
        fuzz_require(terminated != NULL);
        memcpy(terminated, text, read_nbytes);
        terminated[read_nbytes] = '\0';
        double expected = strtod(terminated, &end);
        fuzz_require((size_t)(end - terminated) == read_nbytes);
        double value = npyx_number_to_f64(&number);
        /* an integer has no negative zero */
        fuzz_require(is_same(value, expected) ||
                     (value == 0 && expected == 0 && number.form == NPYX_NUMBER_I64));
        size_t printed_nbytes = npyx_number_text(&number, printed);
        fuzz_require(printed_nbytes > 0 && printed_nbytes <= sizeof printed);
        if (number.form != NPYX_NUMBER_F64 || isfinite(number.f64))
            fuzz_require(
                is_same(npyx_number_to_f64(&(npyx_number){.form = number.form,
                                                          .i64 = read_all(printed, printed_nbytes).i64,
                                                          .u64 = read_all(printed, printed_nbytes).u64,
                                                          .f64 = read_all(printed, printed_nbytes).f64}),
                        value));
        free(terminated);
    }
    free(copy);
}

static void check_date(int64_t value, npyx_unit unit, int32_t multiple) {
    char text[NPYX_DATETIME_TEXT_NBYTES];
    size_t nbytes = 0;
    int64_t again = 0;
    npyx_error error = {0};
    if (value == NPYX_NAT || unit == NPYX_UNIT_GENERIC)
        return;
    if (npyx_datetime_text(value, unit, multiple, text, &nbytes, &error) != NPYX_OK)
        return;
    fuzz_require(nbytes <= sizeof text);
    char *copy = fuzz_copy(text, nbytes);
    npyx_status status = npyx_datetime_parse(copy, nbytes, unit, multiple, &again, &error);
    fuzz_require_ok(status, &error);
    fuzz_require(again == value);
    free(copy);
}

static void check_date_text(const char *text, size_t nbytes, npyx_unit unit, int32_t multiple) {
    int64_t value = 0;
    npyx_error error = {0};
    char *copy = fuzz_copy(text, nbytes);
    npyx_status status = npyx_datetime_parse(copy, nbytes, unit, multiple, &value, &error);
    fuzz_require(status == NPYX_OK || status == NPYX_INVALID);
    if (status == NPYX_OK)
        check_date(value, unit, multiple);
    npyx_unit parsed = NPYX_UNIT_GENERIC, again = NPYX_UNIT_GENERIC;
    int32_t parsed_multiple = 0, again_multiple = 0;
    if (npyx_unit_parse(copy, nbytes, &parsed, &parsed_multiple)) {
        char printed[40];
        int printed_nbytes =
            snprintf(printed, sizeof printed, "%d%s", (int)parsed_multiple, npyx_unit_name(parsed));
        fuzz_require(parsed_multiple >= 1);
        fuzz_require(parsed == NPYX_UNIT_GENERIC ||
                     (npyx_unit_parse(printed, (size_t)printed_nbytes, &again, &again_multiple) &&
                      again == parsed && again_multiple == parsed_multiple));
    }
    free(copy);
}

/* Every token of a JSON text, and nothing beyond. */
static void check_tokens(const char *text, size_t nbytes) {
    fuzz_host fuzz;
    npyx_json_reader reader;
    npyx_error error = {0};
    fuzz_host_init(&fuzz);
    char *copy = fuzz_copy(text, nbytes);
    npyx_json_init(&reader, &fuzz.host, copy, nbytes);
    int64_t depth = 0;
    size_t ntokens = 0;
    while (npyx_json_next(&reader, &error) == NPYX_OK && reader.token != NPYX_JSON_END) {
        fuzz_require(reader.token_off < nbytes && ++ntokens <= nbytes);
        depth += reader.token == NPYX_JSON_LIST || reader.token == NPYX_JSON_OBJECT;
        depth -= reader.token == NPYX_JSON_LIST_END || reader.token == NPYX_JSON_OBJECT_END;
        fuzz_require(depth >= 0 && depth <= NPYX_JSON_DEPTH);
        if (reader.token == NPYX_JSON_STRING || reader.token == NPYX_JSON_NAME)
            fuzz_require(npyx_utf8_is_valid(reader.string, reader.string_nbytes) &&
                         reader.string_nbytes <= 2 * nbytes);
    }
    fuzz_require(error.status != NPYX_OK || depth == 0);
    npyx_json_clear(&reader);
    free(copy);
    fuzz_host_check(&fuzz, nbytes, 16);
}

static void check_shape_text(const char *text, size_t nbytes) {
    fuzz_host fuzz;
    npyx_error error = {0};
    npyx_zip_method method;
    int64_t integers[NPYX_MAX_NDIM];
    int n = 0;
    fuzz_host_init(&fuzz);
    char *copy = fuzz_copy(text, nbytes);
    if (npyx_integers_parse(&fuzz.host, "shape", copy, nbytes, integers, &n, &error) == NPYX_OK) {
        fuzz_require(n >= 0 && n <= NPYX_MAX_NDIM);
        if (npyx_shape_resolve(integers, n, 24, &error) == NPYX_OK) {
            int64_t product = 1;
            for (int i = 0; i < n; i++)
                product *= integers[i];
            fuzz_require(product == 24);
        }
    }
    npyx_zip_method_parse(copy, nbytes, &method, &error);
    free(copy);
    fuzz_host_check(&fuzz, nbytes, 400);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    uint64_t bits = fuzz_take_u64(&input);
    npyx_unit unit = (npyx_unit)(fuzz_take_byte(&input) % (NPYX_UNIT_as + 1));
    int32_t multiple = 1 + (fuzz_take_byte(&input) & 15) * fuzz_take_byte(&input);
    check_f64(bits);
    check_f32((uint32_t)bits);
    check_narrow((uint16_t)bits);
    check_integers(bits);
    check_date((int64_t)bits, unit, multiple);
    check_date((int64_t)bits >> (multiple & 63), unit, multiple);
    check_number_text((const char *)input.bytes, input.nbytes);
    check_date_text((const char *)input.bytes, input.nbytes, unit, multiple);
    check_tokens((const char *)input.bytes, input.nbytes);
    check_shape_text((const char *)input.bytes, input.nbytes);
}
