/*
 * Python objects as data: the items of an array of objects.
 *
 * They are nodes in an arena, built from a pickle (format/pickle.h) and never changed afterwards. A node may
 * occur in several places; npyx_object_measure refuses one that contains itself or is deeper than
 * NPYX_OBJECT_MAX_HEIGHT.
 *
 * An item of the type NPYX_HELD_OBJECT is the address of a node. Such items exist only in this process's
 * memory: the dtype in a file is NPYX_OBJECT, whose items are never looked at.
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
    NPYX_OBJECT_LEFT,    /* left: bytes that are still in the file */
    NPYX_OBJECT_LIST,    /* list, like the next three */
    NPYX_OBJECT_TUPLE,
    NPYX_OBJECT_SET,
    NPYX_OBJECT_DICT, /* keys and values in turn */
    NPYX_OBJECT_ARRAY,
    NPYX_OBJECT_INSTANCE
} npyx_object_kind;

typedef struct npyx_object npyx_object;

/* An array in an array, or without axes a NumPy scalar. */
typedef struct npyx_object_array {
    const npyx_dtype *dtype;
    int ndim;
    const int64_t *shape;
    const uint8_t *items;     /* NULL: in the file, and not read */
    int64_t left_off;         /* where they were left; 0: they were not */
    bool is_fortran;          /* only of a file (npyx_pickle_options); elsewhere items are in C order */
    int64_t nobjects;         /* the number of items, if they hold objects; else 0 */
    const npyx_object *state; /* the state that its pickle gave it; NULL for none */
} npyx_object_array;

enum { NPYX_INSTANCE_NPARTS = 6 };

/* What a class or a function would have been called with. Each may be NULL. */
typedef struct npyx_object_instance {
    union {
        struct {
            npyx_object *callable;
            npyx_object *args;   /* TUPLE */
            npyx_object *kwargs; /* DICT */
            npyx_object *state;
            npyx_object *items;   /* LIST: what was appended */
            npyx_object *entries; /* DICT: what was set */
        };
        npyx_object *parts[NPYX_INSTANCE_NPARTS];
    };
    const npyx_dtype *dtype; /* the dtype that a numpy.dtype describes, once asked for */
} npyx_object_instance;

struct npyx_object {
    uint8_t kind;
    uint8_t progress;           /* of npyx_object_measure; 0: none */
    uint16_t height;            /* how many frames writing it takes, once measured */
    uint32_t is_barren : 1;     /* no arrays are in it, as npyx_object_arrays_find has found */
    uint32_t is_entered : 1;    /* npyx_object_arrays_find is in it */
    uint32_t is_read : 1;       /* nothing in it is left in the file (npyx_object_left_read) */
    uint32_t is_str : 1;        /* of bytes left in the file: Python 2 wrote them, as a text if ASCII */
    uint32_t array_number : 28; /* which array npyx_object_arrays_find has found here, from 1; 0: none */
    double json_nbytes;         /* the least length of its JSON, once measured */
    union {
        int64_t integer;
        double real;
        double parts[2];
        struct {
            const char *bytes;
            size_t nbytes;
        } text;
        struct {
            int64_t off, nbytes;
        } left;
        struct {
            npyx_object **items;
            uint32_t count, capacity;
        } list;
        const npyx_object_array *array;
        npyx_object_instance *instance;
    };
};

/* The nodes that a container or an instance holds, *n of them, some of which may be NULL. Other kinds hold
 * none; the items of an array are elsewhere. */
static inline npyx_object *const *npyx_object_parts(const npyx_object *object, uint32_t *n) {
    bool is_list = object->kind >= NPYX_OBJECT_LIST && object->kind <= NPYX_OBJECT_DICT;
    bool is_instance = object->kind == NPYX_OBJECT_INSTANCE;
    *n = is_list ? object->list.count : is_instance ? NPYX_INSTANCE_NPARTS : 0;
    return is_instance ? object->instance->parts : object->list.items;
}

/* How many frames writing a value may take, some 300 bytes each: at most 64 KiB, half of the stack that a
 * thread of musl has. */
enum { NPYX_OBJECT_MAX_HEIGHT = 200 };

/* How deep a file's pickle is looked through for arrays, and shown without them. A level takes some 500 bytes
 * of stack, so these are less than half of what a thread of musl has. */
enum { NPYX_OBJECT_MAX_DEPTH = 100 };

/* Python refuses to print integers of more digits, as the time grows with their square
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

/* Copies the items, of which there are nelem, from Fortran to C order: work on the budget. */
npyx_status npyx_object_array_to_c_order(const npyx_object_array *array, int64_t nelem, uint8_t *items,
                                         npyx_budget *budget, npyx_error *error);

/* Checks that a node can be written, and computes the least that takes, counting shared parts as often as
 * they are printed. NPYX_UNSUPPORTED for a node that contains itself or is too deep. */
npyx_status npyx_object_measure(npyx_object *object, npyx_host *host, npyx_error *error);

/* Whether it is NULL in SQL: None, or a NaN. */
bool npyx_object_is_null(const npyx_object *object);

/* Like npyx_element_value, for a measured node; the value may be built from at most text_nbytes. */
npyx_status npyx_object_value(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *scratch,
                              npyx_value *value, npyx_error *error);

/* Appends a measured node as JSON. Check out->status afterwards. All that is built on the way, keys included,
 * is charged to out->budget, or without one to an account of text_nbytes: NPYX_TOOBIG beyond it. Polls the
 * host. */
npyx_status npyx_object_append_json(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *out,
                                    npyx_error *error);

/* Finds the name of the array whose array_number a node has. */
typedef void npyx_object_array_name(const void *ctx, uint32_t number, const char **name, size_t *nbytes);

/* Appends what is in a file's pickle without its arrays, as JSON: what else a checkpoint says, such as the
 * number of the epoch. Values are as above, and an array is {"__array__": NAME}. Check out->status
 * afterwards. Its length and all work are charged to out->budget, which is there: NPYX_TOOBIG. An object that
 * contains itself, or is more than NPYX_OBJECT_MAX_DEPTH deep, is null there. */
npyx_status npyx_object_append_named(const npyx_object *root, npyx_object_array_name *name, const void *ctx,
                                     npyx_buffer *out, npyx_error *error);

/* Builds a dtype with held objects in place of objects, from each of which at most text_nbytes may be built;
 * dtype itself if it has none. NPYX_UNSUPPORTED if npyx_dtype_check_objects fails so. */
npyx_status npyx_dtype_hold(npyx_arena *arena, const npyx_dtype *dtype, uint64_t text_nbytes,
                            const npyx_dtype **held, npyx_error *error);

/* An object's bytes are an address, so no other field may overlap them: NPYX_UNSUPPORTED, as NumPy refuses
 * such a dtype, too (descriptor.c, validate_object_field_overlap). Checks only a structured dtype's own
 * fields. */
npyx_status npyx_dtype_check_objects(npyx_host *host, const npyx_dtype *dtype, npyx_error *error);

#endif
