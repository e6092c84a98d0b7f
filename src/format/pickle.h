/*
 * Pickles, read by a machine that builds values and calls nothing.
 *
 * A pickle is a program for a stack of values (Python's Lib/pickletools.py describes it opcode by opcode).
 * Most opcodes push a value or put some into a container. Three would make Python import and call things:
 * REDUCE and NEWOBJ call, BUILD sets the state of what was made. Here they create nodes that say what would
 * have been called, and with what; those of a few well-known classes (a datetime, an array, ...) become their
 * value. There is no way from a name to code, so nothing in a pickle can run.
 *
 * Memory and time are bounded by the bytes present: everything made from them is charged to one account
 * (base/host.h), which grows as they are read, and memo numbers beyond the bytes already read are refused.
 * Opcodes for the extension registry and out-of-band buffers refer to things outside the file, and are
 * errors. So are persistent ids, unless the caller knows what they stand for, as in a file of PyTorch's.
 *
 * The bytes are read in pieces, which stay where they are because nodes point into them. Long byte strings
 * may be left in the file.
 */
#ifndef NPYX_PICKLE_H
#define NPYX_PICKLE_H

#include "io/source.h"
#include "item/object.h"

/* Called with each global that the pickle names, `module.name`; module_nbytes is the length of `module`. */
struct npyx_pickle;
typedef npyx_status npyx_pickle_take_global(struct npyx_pickle *p, void *ctx, const npyx_object *global,
                                            size_t module_nbytes);

/* What was read of the source after a pickle, for the next one in a row. Zero-initialise. */
typedef struct npyx_pickle_rest {
    const uint8_t *next, *end; /* in the arena; NULL: nothing */
} npyx_pickle_rest;

typedef struct npyx_pickle_options {
    bool takes_ids; /* persistent ids are no errors */
    /* It is that of a file whose arrays are read in place: byte strings of NPYX_PICKLE_LEFT_NBYTES or more
     * stay in it (NPYX_OBJECT_LEFT). */
    bool is_file;
    bool is_joblib;                       /* there may be arrays between opcodes */
    npyx_pickle_take_global *take_global; /* NULL: nobody wants them */
    void *take_ctx;
    npyx_pickle_rest *rest; /* of pickles in a row; NULL: there is one */
} npyx_pickle_options;

/* Reads the pickle at off into the arena, where its bytes are kept, too. *object is its result, not measured;
 * *end_off, which may be NULL, is where it stops. The budget is one without any bytes (npyx_budget_of_none),
 * or that of the pickles before it. NPYX_CORRUPT for bytes that break the rules, NPYX_UNSUPPORTED for things
 * that are not in the file, have no known form or exceed the account; the error names the opcode and where it
 * is in the source. Polls the host. */
npyx_status npyx_pickle_read(npyx_arena *arena, npyx_budget *budget, npyx_source *source, int64_t off,
                             npyx_pickle_options options, npyx_object **object, int64_t *end_off,
                             npyx_error *error);

/* The id of what a persistent id stands for; NULL for any other object. */
const npyx_object *npyx_pickle_persistent_id(const npyx_object *object);

/* ---- for pickle*.c: the machine, and what opcodes and well-known classes need from it ---- */

typedef struct npyx_pickle {
    npyx_arena *arena;
    npyx_budget *budget; /* charged for everything allocated, and for all work on parts that are elsewhere */
    npyx_source *source;
    npyx_pickle_options options;
    const uint8_t *next, *end; /* what is left of the piece */
    int64_t end_off;           /* of its end, in the source */
    size_t piece_nbytes;       /* of the last one; 0: the next one is small */
    int64_t begin_off;         /* of the pickle, in the source */
    int64_t op_off;            /* of the current opcode */
    const char *op_name;       /* NULL: it is none, or not known yet */
    npyx_object **stack;
    int64_t nstack, capacity_nstack;
    int64_t *marks; /* the heights of the stack */
    int64_t nmarks, capacity_nmarks;
    npyx_object **memo; /* NULL: not set */
    int64_t nmemo, capacity_nmemo;
    int64_t nmemoized; /* the count for MEMOIZE */
    npyx_object *none, *truth[2];
    npyx_object *spare; /* nspare unused nodes */
    uint32_t nspare, nspare_next;
    npyx_dtype *objects;     /* the dtype of arrays of objects */
    npyx_object *persistent; /* the callable of instances that are persistent ids */
    bool has_stopped;
    bool is_nested;     /* a pickle in another one */
    npyx_status failed; /* why an allocation returned NULL */
    /* The result of a pickle that begins with the next byte and has a stack and a memo of its own. */
    npyx_status (*read_nested)(struct npyx_pickle *p, npyx_object **object);
    npyx_error *error;
} npyx_pickle;

/* The failure of the current opcode; compilers see that it is not NPYX_OK. */
void npyx_pickle_set_error(const npyx_pickle *p, npyx_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define npyx_pickle_fail(p, ...) (npyx_pickle_set_error((p), NPYX_CORRUPT, __VA_ARGS__), NPYX_CORRUPT)
#define npyx_pickle_fail_unsupported(p, ...)                                                                 \
    (npyx_pickle_set_error((p), NPYX_UNSUPPORTED, __VA_ARGS__), NPYX_UNSUPPORTED)

/* Where the next byte is. */
static inline int64_t npyx_pickle_off(const npyx_pickle *p) {
    return p->end_off - (p->end - p->next);
}

/* ---- bytes: pickle_bytes.c ---- */

/* How many bytes the source still has, as far as it knows. */
uint64_t npyx_pickle_left(const npyx_pickle *p);

/* Reads on until nbytes are between next and end, or all. */
npyx_status npyx_pickle_fill(npyx_pickle *p, uint64_t nbytes);

/* The next nbytes, in place. NPYX_CORRUPT if there are fewer. */
npyx_status npyx_pickle_take(npyx_pickle *p, uint64_t nbytes, const uint8_t **bytes);

/* The same as a BYTES or, if they stay in the file, as an NPYX_OBJECT_LEFT. */
npyx_status npyx_pickle_take_bytes(npyx_pickle *p, uint64_t nbytes, npyx_object **object);

/* Whether a byte string of nbytes would be left in the file. */
bool npyx_pickle_leaves(const npyx_pickle *p, uint64_t nbytes);

/* ---- the account ---- */

/* The failure of npyx_budget_spend or npyx_budget_work, at the current opcode. */
npyx_status npyx_pickle_overspent(npyx_pickle *p, npyx_status status);

/* Like npyx_budget_spend and npyx_budget_work, but too much is NPYX_UNSUPPORTED. */
static inline npyx_status npyx_pickle_spend(npyx_pickle *p, uint64_t nbytes) {
    npyx_status status = npyx_budget_spend(p->budget, nbytes, p->error);
    return status == NPYX_OK ? NPYX_OK : npyx_pickle_overspent(p, status);
}
static inline npyx_status npyx_pickle_work(npyx_pickle *p, uint64_t nbytes) {
    npyx_status status = npyx_budget_work(p->budget, nbytes, p->error);
    return status == NPYX_OK ? NPYX_OK : npyx_pickle_overspent(p, status);
}

/* Memory of the arena, charged. For NULL, npyx_pickle_check returns the failure. */
void *npyx_pickle_alloc(npyx_pickle *p, uint64_t nbytes);
void *npyx_pickle_array(npyx_pickle *p, int64_t n, size_t item_nbytes);
static inline npyx_status npyx_pickle_check(const npyx_pickle *p, const void *block) {
    if (block != NULL)
        return NPYX_OK;
    return p->failed != NPYX_OK ? p->failed : NPYX_NOMEM; /* checkers see that it is not NPYX_OK */
}

/* ---- nodes ---- */

/* A new node of that kind. */
npyx_status npyx_pickle_new(npyx_pickle *p, npyx_object_kind kind, npyx_object **object);
/* A text, checked, with U+FFFD for lone surrogates; bytes stay the caller's. NPYX_CORRUPT unless it is
 * UTF-8. */
npyx_status npyx_pickle_new_text(npyx_pickle *p, const uint8_t *bytes, size_t nbytes, npyx_object **object);
/* An ASCII TEXT in the arena. */
npyx_status npyx_pickle_new_ascii(npyx_pickle *p, const char *text, size_t nbytes, npyx_object **object);
/* Bytes, or another kind with a text. */
npyx_status npyx_pickle_new_bytes(npyx_pickle *p, npyx_object_kind kind, const void *bytes, size_t nbytes,
                                  npyx_object **object);
/* Four bits hold more than a digit. */
enum { NPYX_PICKLE_INTEGER_MOST_NBYTES = (NPYX_OBJECT_MAX_NDIGITS * 4 / 32 + 1) * 4 };
/* An integer of nbytes in two's complement, little-endian, at most NPYX_PICKLE_INTEGER_MOST_NBYTES.
 * NPYX_UNSUPPORTED beyond Python's limit of digits. */
npyx_status npyx_pickle_new_integer(npyx_pickle *p, const uint8_t *bytes, size_t nbytes,
                                    npyx_object **object);
npyx_status npyx_pickle_fail_digits(const npyx_pickle *p);
/* Adds a part to a container of any kind. */
npyx_status npyx_pickle_add(npyx_pickle *p, npyx_object *container, npyx_object *part);
npyx_status npyx_pickle_add_all(npyx_pickle *p, npyx_object *container, npyx_object *const *parts, int64_t n);

/* The bytes of a BYTES, or of a TEXT, as which Python 2 pickled them; false for other kinds. */
bool npyx_pickle_bytes_of(const npyx_object *object, const uint8_t **bytes, size_t *nbytes);
/* Whether it is a TEXT, or bytes, with these characters. */
bool npyx_pickle_is_text(const npyx_object *object, const char *text);
bool npyx_pickle_is_global(const npyx_object *object, const char *name);
/* Part number i of a tuple or a list; NULL when there is none or it is neither. */
npyx_object *npyx_pickle_part(const npyx_object *object, uint32_t i);
bool npyx_pickle_integer_of(const npyx_object *object, int64_t *integer);

/* The value of the last key of a dict that is this text; NPYX_DONE: there is none, or it is no dict. */
npyx_status npyx_pickle_entry(npyx_pickle *p, const npyx_object *dict, const char *key,
                              const npyx_object **value);

/* ---- what would have been called: pickle_classes.c ---- */

/* The node of callable(*args, **kwargs); kwargs may be NULL. args is a TUPLE. */
npyx_status npyx_pickle_call(npyx_pickle *p, npyx_object *callable, npyx_object *args, npyx_object *kwargs,
                             npyx_object **object);
/* Sets the object's state. */
npyx_status npyx_pickle_build(npyx_pickle *p, npyx_object *object, npyx_object *state);

/* Whether a global is read as data: a class or a function of the tables, or NumPy's. None of them gives a way
 * to others, as getattr does, which is therefore not known. */
bool npyx_pickle_is_known_class(const npyx_object *global); /* pickle_classes.c */
npyx_status npyx_pickle_know_numpy(npyx_pickle *p, const npyx_object *global,
                                   bool *is_known); /* pickle_numpy.c */

/* ---- NumPy's: pickle_numpy.c ----
 *
 * Each makes a value of a call (or of a state), or returns NPYX_DONE when its form is unknown: the node then
 * stays what it is, named. */

/* Of joblib's, whose items come next in the file. */
npyx_status npyx_pickle_build_joblib(npyx_pickle *p, npyx_object *object, const npyx_object *state);
npyx_status npyx_pickle_call_frombuffer(npyx_pickle *p, const npyx_object *args, npyx_object **object);
npyx_status npyx_pickle_call_scalar(npyx_pickle *p, const npyx_object *args, npyx_object **object);
npyx_status npyx_pickle_build_array(npyx_pickle *p, npyx_object *object, const npyx_object *state);
npyx_status npyx_pickle_build_masked(npyx_pickle *p, npyx_object *object, const npyx_object *state);

/* The items of a list, in the arena: addresses of nodes if dtype has held objects, otherwise as NumPy would
 * have stored the objects. NPYX_DONE when one of them does not fit. */
npyx_status npyx_pickle_store_list(npyx_pickle *p, const npyx_dtype *dtype, const npyx_object *list,
                                   uint8_t **items);

#endif
