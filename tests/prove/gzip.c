/* What follows the data of a gzip or zlib stream, in any pieces: src/io/source_gzip.c. Its header is zlib's
 * to read. */
#include "memory.h"

#include "io/source_gzip.c"

enum { PIECES_NBYTES = 10 };

static int64_t left_nbytes; /* of the input, which has not been fetched */

/* The next bytes of the input, none only at its end. They lie at the end of their room. */
npyx_status any_input(npyx_inflate_stream *stream, npyx_error *error) {
    z_stream *z = &stream->inflater->stream;
    if (z->avail_in > 0 || left_nbytes == 0)
        return NPYX_OK;
    if (nondet_bool())
        return npyx_fail(error, NPYX_IO, -1, "cannot be read");
    size_t nbytes = left_nbytes < 5 ? (size_t)left_nbytes : 5;
    uint8_t *piece = malloc(nbytes);
    __CPROVER_havoc_object(piece);
    z->next_in = piece;
    z->avail_in = (uInt)nbytes;
    left_nbytes -= (int64_t)nbytes;
    return NPYX_OK;
}

int64_t any_input_off(const npyx_inflate_stream *stream) {
    (void)stream;
    return nondet_i64_from(0, INT64_MAX / 4);
}

npyx_status cut_short(const npyx_inflate_stream *stream, int64_t inflated_nbytes, npyx_error *error) {
    (void)stream;
    (void)inflated_nbytes;
    return npyx_fail(error, NPYX_CORRUPT, -1, "is cut short");
}

/*
 * The trailer is taken from the input alone, padding up to the next member or the end, and a stream that has
 * ended has its length.
 *
 * Bound: a trailer and padding of up to 10 bytes in pieces of 5, after any data
 * Unwind: 7
 * Replaces: npyx_inflate_stream_fetch by any_input
 * Replaces: npyx_inflate_stream_input_off by any_input_off
 * Replaces: npyx_inflate_stream_fail_short by cut_short
 * Planted: src/io/source_gzip.c: while (z->avail_in > 0 && *z->next_in == 0) => while (*z->next_in == 0)
 * Took: 120 s
 */
void prove_gzip_trailer(void) {
    npyx_error error = {0};
    npyx_source compressed = {.host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX / 4)};
    gzip_source gzip = {.base = {.host = &prove_host, .nbytes = INT64_MAX, .is_open_ended = true}};
    gzip.stream =
        (npyx_inflate_stream){.compressed = &compressed, .inflater = &gzip.inflater, .what = "gzip"};
    gzip.stream.off = nondet_i64_from(0, INT64_MAX);
    gzip.stream.crc_off = nondet_i64_from(0, gzip.stream.off);
    gzip.stream.crc = nondet_u32();
    gzip.stream.has_adler = nondet_bool();
    left_nbytes = nondet_i64_from(0, PIECES_NBYTES);
    npyx_status status = gzip_pass_trailer(&gzip, &error);
    if (status != NPYX_OK)
        return;
    holds(gzip.phase == GZIP_AT_HEADER || gzip.base.nbytes == gzip.stream.off);
    holds(gzip.phase == GZIP_AT_HEADER || gzip.stream.has_adler || left_nbytes == 0);
    holds(gzip.phase != GZIP_AT_HEADER || *gzip.inflater.stream.next_in == 0x1f);
    reached(gzip.phase == GZIP_AT_HEADER && gzip.inflater.stream.avail_in == 1);
    reached(gzip.phase == GZIP_AT_END && !gzip.stream.has_adler);
    reached(gzip.stream.has_adler && left_nbytes > 0);
}
