/* Tars: src/format/tar_header.c, tar.c. */
#include "memory.h"

#include "base/utf8.c"
#include "format/tar.c"
#include "format/tar_header.c"
#include "text/number_text.h"

/* What text/number_text.c does, as number.c says: a number of any form, in as many bytes as there are or
 * fewer. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    holds(__CPROVER_r_ok(text, nbytes));
    npyx_number any = {.form = (npyx_number_form)(nondet_u8() % 3), .is_integer = nondet_bool()};
    any.i64 = nondet_i64_from(0, INT64_MAX);
    any.u64 = nondet_u64();
    any.f64 = nondet_f64();
    assume(any.f64 >= 0 && (any.form == NPYX_NUMBER_F64 || any.is_integer));
    *number = any;
    return nondet_size_to(nbytes);
}

double npyx_number_to_f64(const npyx_number *number) {
    return number->form == NPYX_NUMBER_I64   ? (double)number->i64
           : number->form == NPYX_NUMBER_U64 ? (double)number->u64
                                             : number->f64;
}

/*
 * A field of a header is a number of 64 bits, octal or binary, or none.
 *
 * Bound: 12 bytes
 * Unwind: 14
 * Planted: src/format/tar_header.c: nbytes - i > 8 && field[i] != => nbytes - i > 9 && field[i] !=
 * Took: 3 s, quick
 */
void prove_tar_number(void) {
    uint8_t block[LONG_NBYTES];
    int64_t number;
    __CPROVER_havoc_object(block);
    bool is_number = tar_number_at(block, 0, LONG_NBYTES, &number);
    if (is_number && block[0] == 0x80)
        holds(number >= 0 && block[1] == 0 && block[2] == 0 && block[3] == 0);
    if (is_number && block[0] != 0x80 && block[0] != 0xff)
        holds(number > -((int64_t)1 << 36) && number < (int64_t)1 << 36);
    reached(is_number && number == 0755 && block[0] == ' ');
    reached(is_number && number == INT64_MIN);
    reached(is_number && number == -8);
}

/*
 * A record of a pax header lies in it, and so do its keyword and value.
 *
 * Bound: 12 bytes
 * Unwind: 14
 * Planted: src/format/tar_header.c: length > left.nbytes || => length > left.nbytes + 1 ||
 * Took: 2 s, quick
 */
void prove_tar_record(void) {
    any_bytes(char, text, 12);
    npyx_span keyword, value;
    size_t length = record_at((npyx_span){text, text_nbytes}, &keyword, &value);
    holds(length <= text_nbytes);
    if (length == 0)
        return;
    holds(keyword.nbytes > 0 && keyword.text > text && keyword.text + keyword.nbytes < text + length);
    holds(value.text == keyword.text + keyword.nbytes + 1 && value.text + value.nbytes == text + length - 1);
    reached(length == 12 && value.nbytes == 0);
    reached(length == 6 && text_nbytes == 12);
}

/*
 * What pax says of a number is one of 64 bits, and nothing overflows on the way.
 *
 * Bound: 4 bytes, of the number's text any value
 * Unwind: 8
 * Planted: src/format/tar_header.c: bool has_digits = value.nbytes > 0 && => bool has_digits =
 * Took: 2 s, quick
 */
void prove_tar_say_number(void) {
    any_bytes(char, text, 4);
    npyx_tar_overrides said = {0};
    npyx_tar_number which = nondet_bool() ? NPYX_TAR_MTIME : NPYX_TAR_SIZE;
    say_number(&said, which, (npyx_span){text, text_nbytes});
    holds(said.has_number[which]);
    reached(said.numbers[NPYX_TAR_MTIME] == -5 && said.has_fraction);
    reached(said.numbers[NPYX_TAR_SIZE] == INT64_MAX);
}

/* Whether the data are complete, is any. */
npyx_status any_small(npyx_tar_walk *walk, npyx_error *error) {
    (void)walk;
    return nondet_bool() ? NPYX_OK : npyx_fail(error, NPYX_CORRUPT, 0, "data");
}
npyx_status data_fail(const npyx_tar_walk *walk, npyx_error *error) {
    (void)walk;
    return npyx_fail(error, NPYX_CORRUPT, 0, "data");
}

/*
 * The data of a member lie in the file, and the next header is in it, too, after them.
 *
 * Bound: any sizes of 64 bits, a file of any length up to 2^62
 * Unwind: 3
 * Replaces: tar_check_small by any_small
 * Replaces: fail_data by data_fail
 * Planted: src/format/tar.c: if (size < 0 || => if (size < -512 ||
 * Took: 2 s, quick
 */
void prove_tar_place_data(void) {
    npyx_source parent = {.nbytes = nondet_i64_from(0, (int64_t)1 << 52)};
    npyx_source source = {.nbytes = nondet_i64_from(0, (int64_t)1 << 62), .parent = &parent};
    npyx_tar_walk walk = {.window.source = &source};
    npyx_tar_overrides said = {.has_real_nbytes = nondet_bool(), .real_nbytes = nondet_i64()};
    npyx_error error;
    source.is_open_ended = nondet_bool();
    if (source.is_open_ended)
        source.nbytes = INT64_MAX;
    walk.member.type = (npyx_tar_type)(nondet_u8() & 7);
    walk.member.numbers[NPYX_TAR_SIZE] = nondet_i64();
    walk.member.data_off = nondet_i64_from(0, (int64_t)1 << 61);
    assume(walk.member.data_off <= source.nbytes);
    npyx_status status = place_data(&walk, 0, &said, nondet_bool(), nondet_i64(), &error);
    if (status != NPYX_OK)
        return;
    const npyx_tar_member *member = &walk.member;
    holds(member->data_nbytes >= 0 && member->data_nbytes <= source.nbytes - member->data_off);
    holds(walk.off >= member->data_off + member->data_nbytes && walk.off <= source.nbytes);
    holds(member->numbers[NPYX_TAR_SIZE] >= 0);
    reached(member->data_nbytes == 1000 && walk.off == member->data_off + 1024);
    reached(member->data_nbytes == 0 && member->numbers[NPYX_TAR_SIZE] > 0);
}

/*
 * A folder's name loses the slashes at its end.
 *
 * Bound: names up to 4 bytes, any type and flag
 * Unwind: 7
 * Planted: src/format/tar_header.c: while (member->type == NPYX_TAR_DIRECTORY && name->nbytes > 0 &&
 *           => while (member->type == NPYX_TAR_DIRECTORY &&
 * Took: 1 s, quick
 */
void prove_tar_settle_folder(void) {
    char bytes[4];
    npyx_tar_member member = {.type = (npyx_tar_type)(nondet_u8() & 7)};
    __CPROVER_havoc_object(bytes);
    member.texts[NPYX_TAR_NAME] =
        (npyx_buffer){.bytes = bytes, .nbytes = nondet_size_to(4), .capacity_nbytes = 4};
    uint8_t flag = nondet_u8();
    settle_folder(&member, flag);
    size_t nbytes = member.texts[NPYX_TAR_NAME].nbytes;
    holds(nbytes <= 4);
    holds(member.type != NPYX_TAR_DIRECTORY || nbytes == 0 || bytes[nbytes - 1] != '/');
    reached(nbytes == 0 && bytes[0] == '/' && member.type == NPYX_TAR_DIRECTORY);
}
