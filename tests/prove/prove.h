/*
 * What the harnesses for CBMC share: inputs that may be anything, a host, and stand-ins for what would only
 * make formulas larger.
 *
 * A harness is a function prove_NAME. It says in its comment what it assumes, and run.py reads the lines that
 * begin with a word and a colon (see there). What it calls is included as source, so that functions private
 * to a file can be called, too; a function that is neither included nor defined here may return anything.
 */
#ifndef NPYX_PROVE_H
#define NPYX_PROVE_H

#include <stdlib.h>

#include "base/host.h"

/* Any value of a type. */
bool nondet_bool(void);
int nondet_int(void);
uint8_t nondet_u8(void);
uint16_t nondet_u16(void);
uint32_t nondet_u32(void);
int32_t nondet_i32(void);
uint64_t nondet_u64(void);
int64_t nondet_i64(void);
size_t nondet_size(void);
double nondet_f64(void);
float nondet_f32(void);

/* Only what satisfies it is looked at from here on. */
#define assume(condition) __CPROVER_assume(condition)

/* Must hold for every input. */
#ifdef PROVE_REACHED
#define holds(condition) ((void)(condition))
#else
#define holds(condition) __CPROVER_assert(condition, #condition)
#endif

/* Must be possible for some input, or what is said of it says nothing: run.py asks for one in a run of its
 * own, in which each of these must fail. */
#ifdef PROVE_REACHED
#define reached(condition) __CPROVER_assert(!(condition), "reached: " #condition)
#else
#define reached(condition) ((void)0)
#endif

/* A number up to most. */
static size_t nondet_size_to(size_t most) {
    size_t n = nondet_size();
    assume(n <= most);
    return n;
}

static int64_t nondet_i64_from(int64_t least, int64_t most) {
    int64_t n = nondet_i64();
    assume(least <= n && n <= most);
    return n;
}

/* name, of name_nbytes, is an input of any bytes up to `most`. It lies at the end of its room, so that a look
 * at the byte after it is one out of bounds. (A look at the one before is, when it has the full length.) */
#define any_bytes(type, name, most)                                                                          \
    type name##_room[most];                                                                                  \
    __CPROVER_havoc_object(name##_room);                                                                     \
    const size_t name##_nbytes = nondet_size_to(most);                                                       \
    const type *const name = name##_room + ((most)-name##_nbytes)

/* ---- the host ---- */

/* Whether an allocation may fail. */
static bool prove_memory_fails;

static void *prove_resize(void *ctx, void *block, size_t nbytes) {
    (void)ctx;
    if (nbytes == 0) {
        free(block);
        return NULL;
    }
    if (prove_memory_fails && nondet_bool())
        return NULL;
    void *made = malloc(nbytes);
    assume(made != NULL);
    if (block != NULL) {
        size_t kept = __CPROVER_OBJECT_SIZE(block) < nbytes ? __CPROVER_OBJECT_SIZE(block) : nbytes;
        memcpy(made, block, kept);
        free(block);
    }
    return made;
}

static bool prove_interrupted(void *ctx) {
    (void)ctx;
    return nondet_bool();
}

static npyx_host prove_host = {.resize = prove_resize, .interrupted = prove_interrupted};

/* ---- stand-ins ---- */

/* What CBMC does not know of the C library. */
size_t strcspn(const char *text, const char *reject) {
    size_t n = 0;
    for (; text[n] != '\0'; n++) {
        for (const char *c = reject; *c != '\0'; c++) {
            if (text[n] == *c)
                return n;
        }
    }
    return n;
}
size_t strnlen(const char *text, size_t most_nbytes) {
    size_t n = 0;
    while (n < most_nbytes && text[n] != '\0')
        n++;
    return n;
}
void *memchr(const void *bytes, int c, size_t nbytes) {
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    for (size_t i = 0; i < nbytes; i++) {
        if (((const uint8_t *)bytes)[i] == (uint8_t)c)
            return (void *)((const uint8_t *)bytes + i);
    }
    return NULL;
}

/* A message quotes only what is there. */
static int prove_shown(const char *text, size_t nbytes, size_t most_nbytes) {
    int shown = npyx_shown_nbytes(text, nbytes, most_nbytes);
    holds(shown >= 0 && (size_t)shown <= nbytes && (size_t)shown <= most_nbytes);
    holds(shown == 0 || __CPROVER_r_ok(text, (size_t)shown));
    return shown;
}
#undef NPYX_SHOWN
#define NPYX_SHOWN(text, nbytes, most_nbytes) prove_shown(text, nbytes, most_nbytes), (text)

/* base/status.c without its texts. A failure has a status. */
void npyx_error_set(npyx_error *error, npyx_status status, int64_t off, const char *format, ...) {
    holds(status != NPYX_OK && status != NPYX_DONE && format != NULL);
    if (error != NULL)
        *error = (npyx_error){.status = status, .off = off};
}
void npyx_error_set_kind(npyx_error *error, npyx_error_kind kind) {
    if (error != NULL)
        error->kind = kind;
}
void npyx_error_add(npyx_error *error, const char *advice) {
    (void)error, (void)advice;
}
npyx_status npyx_error_place(npyx_error *error, npyx_status status, const char *format, ...) {
    (void)error, (void)format;
    return status;
}

#endif
