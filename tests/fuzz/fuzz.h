/*
 * What the fuzz targets share. Each target is one function that takes any bytes and checks what must hold of
 * them; libFuzzer calls it for ever (`make fuzz`), replay.c for the files it is given (`make check`). An
 * input that takes more than a second of the processor or 256 MiB of memory fails.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/archive_write.h"
#include "format/header.h"
#include "format/samples.h"
#include "io/file_system.h"
#include "io/first_bytes.h"
#include "item/encode.h"
#include "lazy/calc.h"
#include "text/json_text.h"
#include "walk/reader.h"

void fuzz_target(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); /* the target, within its limits */

enum { FUZZ_MEMORY_NBYTES = 256 << 20 };

/* Begins the second of an input anew, for a target that has several things to do. After it, stop is called,
 * by a signal, and what runs must end within a fifth of a second; NULL: it fails at once. */
void fuzz_begin_clock(void (*stop)(void *ctx), void *ctx);
/* Whether stop was called since. */
bool fuzz_was_stopped(void);

/* Ends the process, saying what does not hold. */
#define fuzz_require(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition, NULL))
/* The same with the codec's own message. */
#define fuzz_require_ok(status, error)                                                                       \
    ((status) == NPYX_OK ? (void)0 : fuzz_fail(__FILE__, __LINE__, #status, (error)->message))

_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *message);

/* A host that keeps count of what it gave. */
typedef struct fuzz_host {
    npyx_host host;
    size_t nbytes, peak_nbytes; /* allocated now, and at most so far */
    size_t limit_nbytes;        /* beyond it memory is out */
} fuzz_host;

void fuzz_host_init(fuzz_host *fuzz);
/* Nothing is left, and the most there ever was is bounded by what the input holds: nothing is allocated by a
 * claim. factor is bytes of memory for one of the input. */
void fuzz_host_check(const fuzz_host *fuzz, size_t input_nbytes, size_t factor);
/* The same of a file of any format, which may be a pickle: the account of one, with what growing lists leave
 * after, and what is read. */
void fuzz_host_check_archive(const fuzz_host *fuzz, size_t input_nbytes);

/* An input that is taken from its front; beyond its end there are zeros. */
typedef struct fuzz_input {
    const uint8_t *bytes;
    size_t nbytes;
} fuzz_input;

uint8_t fuzz_take_byte(fuzz_input *input);
uint64_t fuzz_take_u64(fuzz_input *input);
/* A length byte and as many bytes, fewer at the end. */
fuzz_input fuzz_take_text(fuzz_input *input);

/* A copy of exactly that size, in whose rear AddressSanitizer sees every step too far; to be freed. */
char *fuzz_copy(const void *bytes, size_t nbytes);

/* Whether it has a type that ml_dtypes saves under the code of another, however deep. */
bool fuzz_is_disguised(const npyx_dtype *dtype);

/* Reads everything that a file of arrays has to say, and checks that it agrees with itself. */
void fuzz_read_archive(fuzz_host *fuzz, const uint8_t *data, size_t size);

/* ---- of libFuzzer builds alone: mutate.c changes the file that an input holds ---- */

/* For targets whose input has something before the file: how many bytes. */
size_t fuzz_prefix_nbytes(const uint8_t *data, size_t size);
/* Changes those, in data of size bytes with room for capacity; returns the new size. */
size_t fuzz_mutate_prefix(uint8_t *data, size_t size, size_t capacity, unsigned seed);
/* Changes a file, or makes one like it. */
size_t fuzz_mutate_file(uint8_t *data, size_t size, size_t capacity);
/* Makes another array as long as that of a .npy. */
size_t fuzz_make_alike(const uint8_t *data, size_t size, uint8_t *out, size_t capacity);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#endif
