/* Single values as items, and the messages about those that do not fit. */
#include "encode.h"

#include <stdio.h>

#include "convert.h"

npyx_status npyx_encode_refuse(const npyx_dtype *dtype, const char *what, const char *why,
                               npyx_error *error) {
    return npyx_refuse(error, "%s does not fit %s%s%s", what, npyx_dtype_shown(dtype).name,
                       *why == '\0' ? "" : ": ", why);
}

static npyx_status refuse_number(const npyx_dtype *dtype, const npyx_number *number, const char *why,
                                 npyx_error *error) {
    char text[NPYX_NUMBER_TEXT_NBYTES + 1];
    text[npyx_number_text(number, text)] = '\0';
    return npyx_encode_refuse(dtype, text, why, error);
}

/* Refuses a text, the beginning of which is shown in quotes, or a BLOB. */
static npyx_status refuse_bytes(const npyx_dtype *dtype, bool is_text, const void *bytes, size_t nbytes,
                                const char *why, npyx_error *error) {
    enum { MOST_NBYTES = 48 };
    char shown[MOST_NBYTES + 8];
    if (is_text)
        snprintf(shown, sizeof shown, "'%.*s%s'", NPYX_SHOWN((const char *)bytes, nbytes, MOST_NBYTES),
                 nbytes > MOST_NBYTES ? "..." : "");
    else
        snprintf(shown, sizeof shown, "a BLOB of %zu byte%s", nbytes, nbytes == 1 ? "" : "s");
    return npyx_encode_refuse(dtype, shown, why, error);
}

/* ---- numbers ---- */

/* As an integer of 64 bits: false for fractions and what is out of range. */
static bool make_integer(const npyx_number *number, npyx_number *integer) {
    double value = number->f64;
    *integer = *number;
    if (number->form != NPYX_NUMBER_F64)
        return true;
    if (!(value >= -0x1p63 && value < 0x1p64) || value != floor(value))
        return false;
    *integer = value < 0x1p63 ? (npyx_number){.form = NPYX_NUMBER_I64, .i64 = (int64_t)value}
                              : (npyx_number){.form = NPYX_NUMBER_U64, .u64 = (uint64_t)value};
    return true;
}

/* For the types whose values an int64_t or a uint64_t holds. */
static bool store_integer(npyx_type type, bool big, const npyx_number *number, uint8_t *item) {
    const npyx_integer_limits limits = npyx_type_limits(type);
    uint64_t word = number->form == NPYX_NUMBER_U64 ? number->u64 : (uint64_t)number->i64;
    switch (npyx_types[type].itemsize) {
    case 1: *item = (uint8_t)word; break;
    case 2: npyx_store_u16(item, (uint16_t)word, big); break;
    case 4: npyx_store_u32(item, (uint32_t)word, big); break;
    default: npyx_store_u64(item, word, big);
    }
    if (number->form == NPYX_NUMBER_U64)
        return type == NPYX_U8;
    return number->i64 >= limits.low && number->i64 <= limits.high;
}

/* For floats that are not complex; false if a finite number would become infinite. */
static bool store_real(const npyx_dtype *dtype, const npyx_number *number, uint8_t *item) {
    const bool big = dtype->is_big_endian, is_signed = number->form == NPYX_NUMBER_I64;
    double value = number->f64;
    if (dtype->type == NPYX_F8) {
        npyx_store_f64(item, npyx_number_to_f64(number), big);
        return true;
    }
    if (dtype->type == NPYX_F4) {
        float narrow = is_signed                         ? (float)number->i64
                       : number->form == NPYX_NUMBER_U64 ? (float)number->u64
                                                         : (float)value;
        npyx_store_f32(item, narrow, big);
        return !isinf(narrow) || isinf(value);
    }
    if (number->form != NPYX_NUMBER_F64) {
        /* as arrays are converted, which rounds once: by way of a double it would be twice */
        const npyx_dtype from = npyx_native_dtype(is_signed ? NPYX_I8 : NPYX_U8);
        uint64_t word = is_signed ? (uint64_t)number->i64 : number->u64;
        return npyx_convert_items(&from, (const uint8_t *)&word, 1, dtype, item, 0, NULL, NULL) == NPYX_OK;
    }
    const npyx_narrow *narrow = npyx_narrow_of(dtype->type);
    if (narrow == NULL) {
        npyx_x87_store(npyx_x87_from_f64(value), item, (size_t)dtype->itemsize, big);
        return true;
    }
    uint16_t bits = narrow->from_f64(value);
    if (narrow->nbits == 8)
        *item = (uint8_t)bits;
    else
        npyx_store_u16(item, bits, big);
    return !npyx_narrow_is_lost(narrow, value, bits);
}

static npyx_status encode_date_count(const npyx_dtype *dtype, const npyx_number *number, uint8_t *item,
                                     npyx_error *error) {
    if (number->form != NPYX_NUMBER_I64)
        return refuse_number(dtype, number, "a count is an integer of 64 bits", error);
    if (number->i64 == NPYX_NAT)
        return refuse_number(dtype, number, "it stands for NaT, which NULL gives", error);
    npyx_store_u64(item, (uint64_t)number->i64, dtype->is_big_endian);
    return NPYX_OK;
}

npyx_status npyx_encode_number(const npyx_dtype *dtype, const npyx_number *number, uint8_t *item,
                               npyx_error *error) {
    bool fits = false;
    if (dtype->type <= NPYX_U8) {
        npyx_number integer;
        fits = make_integer(number, &integer) &&
               store_integer(dtype->type, dtype->is_big_endian, &integer, item);
    } else if (dtype->type <= NPYX_LAST_REAL) {
        fits = store_real(dtype, number, item);
    } else if (dtype->type <= NPYX_C32) {
        npyx_dtype part = npyx_dtype_part(dtype);
        memset(item + part.itemsize, 0, (size_t)part.itemsize);
        fits = store_real(&part, number, item);
    } else if (npyx_type_is_date(dtype->type)) {
        return encode_date_count(dtype, number, item, error);
    }
    return fits ? NPYX_OK : refuse_number(dtype, number, "", error);
}

npyx_status npyx_encode_truth(const npyx_dtype *dtype, bool truth, uint8_t *item, npyx_error *error) {
    if (dtype->type > NPYX_C32)
        return npyx_encode_refuse(dtype, truth ? "true" : "false", "", error);
    const npyx_number number = {.form = NPYX_NUMBER_I64, .i64 = truth};
    return npyx_encode_number(dtype, &number, item, error);
}

npyx_status npyx_encode_null(const npyx_dtype *dtype, const char *name, uint8_t *item, npyx_error *error) {
    const npyx_number nan = {.form = NPYX_NUMBER_F64, .f64 = (double)NAN};
    if (npyx_type_is_date(dtype->type)) {
        npyx_store_u64(item, (uint64_t)NPYX_NAT, dtype->is_big_endian);
        return NPYX_OK;
    }
    if (dtype->type <= NPYX_U8 || dtype->type > NPYX_C32)
        return npyx_encode_refuse(dtype, name, "", error);
    npyx_dtype part = npyx_dtype_part(dtype);
    store_real(&part, &nan, item);
    if (part.type != dtype->type) /* as in NumPy: both parts */
        store_real(&part, &nan, item + part.itemsize);
    return NPYX_OK;
}

/* ---- bytes ---- */

/* Checks that n characters or bytes fit an item with that much room. */
static npyx_status check_length(const npyx_dtype *dtype, bool is_text, const void *bytes, size_t nbytes,
                                size_t n, size_t room, npyx_error *error) {
    const char *unit = dtype->type == NPYX_TEXT ? "character" : "byte";
    char why[96];
    if (n > room) {
        int length =
            snprintf(why, sizeof why, "it has %zu %s%s, an item %zu", n, unit, n == 1 ? "" : "s", room);
        if (room == 0)
            snprintf(why + length, sizeof why - (size_t)length, " (name a length, as in %c16)",
                     npyx_dtype_kind(dtype));
        return refuse_bytes(dtype, is_text, bytes, nbytes, why, error);
    }
    if (nbytes > 0 && ((const uint8_t *)bytes)[nbytes - 1] == 0)
        return refuse_bytes(dtype, is_text, bytes, nbytes,
                            "it ends in a NUL, which an item cannot tell from its padding", error);
    return NPYX_OK;
}

static npyx_status encode_characters(const npyx_dtype *dtype, const char *text, size_t nbytes, uint8_t *item,
                                     npyx_error *error) {
    const size_t room = (size_t)dtype->itemsize / 4;
    size_t ncharacters = 0;
    for (size_t off = 0; off < nbytes; ncharacters++) {
        size_t length = npyx_utf8_character(text + off, nbytes - off);
        if (length == 0)
            return refuse_bytes(dtype, true, text, nbytes, "it is not UTF-8", error);
        if (ncharacters < room)
            npyx_store_u32(item + 4 * ncharacters, npyx_utf8_decode(text + off, length),
                           dtype->is_big_endian);
        off += length;
    }
    NPYX_TRY(check_length(dtype, true, text, nbytes, ncharacters, room, error));
    memset(item + 4 * ncharacters, 0, 4 * (room - ncharacters));
    return NPYX_OK;
}

/* Encodes bytes for S. */
static npyx_status encode_bytes(const npyx_dtype *dtype, bool is_text, const void *bytes, size_t nbytes,
                                uint8_t *item, npyx_error *error) {
    const size_t room = (size_t)dtype->itemsize;
    NPYX_TRY(check_length(dtype, is_text, bytes, nbytes, nbytes, room, error));
    if (nbytes > 0)
        memcpy(item, bytes, nbytes);
    memset(item + nbytes, 0, room - nbytes);
    return NPYX_OK;
}

npyx_status npyx_encode_text(const npyx_dtype *dtype, const char *text, size_t nbytes, uint8_t *item,
                             npyx_error *error) {
    npyx_number number;
    int64_t count = 0;
    switch (dtype->type) {
    case NPYX_TEXT: return encode_characters(dtype, text, nbytes, item, error);
    case NPYX_BYTES: return encode_bytes(dtype, true, text, nbytes, item, error);
    case NPYX_DATETIME:
        NPYX_TRY(npyx_datetime_parse(text, nbytes, dtype->unit, dtype->multiple, &count, error));
        npyx_store_u64(item, (uint64_t)count, dtype->is_big_endian);
        return NPYX_OK;
    case NPYX_U8: /* the only form in which SQL has integers above 2^63 - 1 */
        if (nbytes > 0 && npyx_number_read(text, nbytes, &number) == nbytes &&
            number.form != NPYX_NUMBER_F64 && store_integer(NPYX_U8, dtype->is_big_endian, &number, item))
            return NPYX_OK;
        return refuse_bytes(dtype, true, text, nbytes, "", error);
    case NPYX_VOID: return refuse_bytes(dtype, true, text, nbytes, "bytes are given as a BLOB", error);
    default: {
        bool is_complex = dtype->type >= NPYX_C8 && dtype->type <= NPYX_C32;
        return refuse_bytes(dtype, true, text, nbytes,
                            is_complex ? "write a complex number as '[re, im]'" : "it is a text", error);
    }
    }
}

npyx_status npyx_encode_blob(const npyx_dtype *dtype, const void *bytes, size_t nbytes, uint8_t *item,
                             npyx_error *error) {
    char why[48] = "";
    if (dtype->type == NPYX_BYTES)
        return encode_bytes(dtype, false, bytes, nbytes, item, error);
    if (dtype->type == NPYX_VOID && nbytes == (size_t)dtype->itemsize) {
        if (nbytes > 0)
            memcpy(item, bytes, nbytes);
        return NPYX_OK;
    }
    if (dtype->type == NPYX_VOID)
        snprintf(why, sizeof why, "an item has %" PRId64, dtype->itemsize);
    return refuse_bytes(dtype, false, bytes, nbytes, why, error);
}
