/*
 * Python objects as data: what an array of objects has for items.
 *
 * They are nodes in an arena, made of a pickle (format/pickle.h) and never changed behind that. A node may
 * stand in several places; none contains itself, and none is deeper than NPYX_OBJECT_MAX_HEIGHT, which
 * npyx_object_measure sees to.
 *
 * An item of the type NPYX_HELD_OBJECT is the address of a node. Only memory of this process has such items:
 * what a file says of its dtype is NPYX_OBJECT, whose items are never looked at.
 */
#ifndef NPYX_OBJECT_H
#define NPYX_OBJECT_H

#include "element.h"

typedef enum npyx_object_kind {
    NPYX_OBJECT_NONE,
    NPYX_OBJECT_BOOL,    /* integer */
    NPYX_OBJECT_INTEGER, /* integer */
    NPYX_OBJECT_WIDE,    /* text: the digits of an integer beyond 64 bits, and its sign */
    NPYX_OBJECT_REAL,    /* real */
    NPYX_OBJECT_TEXT,    /* text, UTF-8 */
    NPYX_OBJECT_BYTES,   /* text */
    NPYX_OBJECT_GLOBAL,  /* text: `module.name` of a class or a function, UTF-8 */
    NPYX_OBJECT_COMPLEX, /* parts */
    NPYX_OBJECT_LIST,    /* list, as the next three */
    NPYX_OBJECT_TUPLE,
    NPYX_OBJECT_SET,
    NPYX_OBJECT_DICT, /* keys and values in turn */
    NPYX_OBJECT_ARRAY,
    NPYX_OBJECT_INSTANCE
} npyx_object_kind;

typedef struct npyx_object npyx_object;

/* An array in an array, or with no axes a NumPy scalar. Items lie in C order. */
typedef struct npyx_object_array {
    const npyx_dtype *dtype;
    int ndim;
    const int64_t *shape;
    const uint8_t *items;
    int64_t nobjects;         /* of its items, counted where they are held objects; else 0 */
    const npyx_object *state; /* what its pickle gave it as its state; NULL for one without */
} npyx_object_array;

/* What a class or a function would have been called with. Each may be NULL. */
typedef struct npyx_object_instance {
    npyx_object *callable;
    npyx_object *args;   /* TUPLE */
    npyx_object *kwargs; /* DICT */
    npyx_object *state;
    npyx_object *items;      /* LIST: what was appended */
    npyx_object *entries;    /* DICT: what was set */
    const npyx_dtype *dtype; /* what a numpy.dtype turned out to be, once that was asked for */
} npyx_object_instance;

struct npyx_object {
    uint8_t kind;
    uint8_t progress;   /* of npyx_object_measure; 0: none */
    uint16_t height;    /* how many frames it takes to write it, once measured */
    double json_nbytes; /* the least that its JSON has, once measured */
    union {
        int64_t integer;
        double real;
        double parts[2];
        struct {
            const char *bytes;
            size_t nbytes;
        } text;
        struct {
            npyx_object **items;
            uint32_t count, capacity;
        } list;
        const npyx_object_array *array;
        npyx_object_instance *instance;
    };
};

/* Frames of the stack that writing a value may take, some 300 bytes each: 64 KiB at most, where a thread of
 * musl has 128. */
enum { NPYX_OBJECT_MAX_HEIGHT = 200 };

/* Python refuses to print integers of more digits, as that takes the square of them
 * (sys.set_int_max_str_digits). */
enum { NPYX_OBJECT_MAX_NDIGITS = 4300 };

/* The node that an item of NPYX_HELD_OBJECT is. */
static inline npyx_object *npyx_object_of_item(const uint8_t *item) {
    npyx_object *object;
    memcpy(&object, item, sizeof(void *));
    return object;
}

static inline void npyx_object_store(npyx_object *object, uint8_t *item) {
    memset(item, 0, 8);
    memcpy(item, &object, sizeof(void *));
}

/* Sees to it that a node can be written, and what that takes at least, shared parts counted as often as they
 * are printed. NPYX_CORRUPT for one that contains itself, NPYX_UNSUPPORTED for one that is too deep. */
npyx_status npyx_object_measure(npyx_object *object, npyx_host *host, npyx_error *error);

/* Whether SQL has NULL for it: None, and a NaN. */
bool npyx_object_is_null(const npyx_object *object);

/* As npyx_element_value, of a measured node, from which no more than text_nbytes may be made. */
npyx_status npyx_object_value(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *scratch,
                              npyx_value *value, npyx_error *error);

/* Appends it as JSON. Look at out->status afterwards. All that is made on the way, keys among it, is charged
 * to out->budget, or where out has none, to an account of text_nbytes: NPYX_TOOBIG beyond it. Polls the host.
 */
npyx_status npyx_object_append_json(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *out,
                                    npyx_error *error);

/* Makes a dtype with held objects in the place of objects, from each of which no more than text_nbytes may be
 * made; itself where it has none. NPYX_UNSUPPORTED where npyx_dtype_check_objects says so. */
npyx_status npyx_dtype_hold(npyx_arena *arena, const npyx_dtype *dtype, uint64_t text_nbytes,
                            const npyx_dtype **held, npyx_error *error);

/* An object's bytes are an address, so no other field may lie over them: NPYX_UNSUPPORTED, as NumPy refuses
 * such a dtype, too (descriptor.c, validate_object_field_overlap). Of a structured dtype's own fields alone.
 */
npyx_status npyx_dtype_check_objects(npyx_host *host, const npyx_dtype *dtype, npyx_error *error);

#endif
