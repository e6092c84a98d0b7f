/*
 * Data types: the table of what an item can be, and the tree that a structured one forms.
 *
 * A dtype lives in the arena it was parsed into, and never changes. Sizes are in bytes, offsets from the
 * start of the item.
 */
#ifndef NPYX_DTYPE_H
#define NPYX_DTYPE_H

#include "base/host.h"
#include "text/datetime.h"
#include "text/literal.h"
#include "text/narrow_float.h"

typedef enum npyx_type {
    NPYX_BOOL,
    NPYX_I1,
    NPYX_I2,
    NPYX_I4,
    NPYX_I8,
    NPYX_U1,
    NPYX_U2,
    NPYX_U4,
    NPYX_U8,
    NPYX_F4,
    NPYX_F8,
    NPYX_F12, /* x87 extended precision in 12 bytes (i386) */
    NPYX_F16, /* the same in 16 (x86-64); aarch64's binary128 has the same name, and is not told apart */
    NPYX_F2,  /* the rows of narrow_float.h, from here to the last of the reals */
    NPYX_BFLOAT16,
    NPYX_E4M3FN,
    NPYX_E5M2,
    NPYX_E3M4,
    NPYX_E4M3,
    NPYX_E4M3B11FNUZ,
    NPYX_E4M3FNUZ,
    NPYX_E5M2FNUZ,
    NPYX_E8M0FNU,
    NPYX_LAST_REAL = NPYX_E8M0FNU,
    NPYX_C8, /* two F4, and so on in the same order */
    NPYX_C16,
    NPYX_C24,
    NPYX_C32,
    NPYX_DATETIME,
    NPYX_TIMEDELTA,
    NPYX_BYTES,
    NPYX_TEXT,
    NPYX_VOID,
    NPYX_STRUCT,
    NPYX_OBJECT,      /* as in a file: the data are a pickle, and there are no items */
    NPYX_HELD_OBJECT, /* in memory: an item is the address of a node (item/object.h) */
    NPYX_NTYPES
} npyx_type;

/* What all dtypes of a type have in common. */
typedef struct npyx_type_info {
    const char *name;       /* NumPy's dtype.name without size or unit */
    char kind;              /* NumPy's dtype.kind */
    uint8_t itemsize;       /* 0: depends on the dtype */
    uint8_t swap_nbytes;    /* the unit in which bytes are swapped between byte orders; 1: never */
    bool is_sized_name;     /* dtype.name ends with the size in bits */
    const char *descr_code; /* a header's spelling, without byte order; NULL: kind and size */
    /* NumPy's names and single characters, as on 64-bit Linux (`l` and `p` are 8 bytes), separated by blanks;
     * name is one more when it is not sized. */
    const char *spellings;
} npyx_type_info;

extern const npyx_type_info npyx_types[NPYX_NTYPES];

/* Floats that ml_dtypes has and NumPy has not. */
static inline bool npyx_type_is_of_ml_dtypes(npyx_type type) {
    return type >= NPYX_BFLOAT16 && type <= NPYX_LAST_REAL;
}

/* Counts of a unit; one count stands for NaT. */
static inline bool npyx_type_is_date(npyx_type type) {
    return type == NPYX_DATETIME || type == NPYX_TIMEDELTA;
}

/* NULL for any other type. */
static inline const npyx_narrow *npyx_narrow_of(npyx_type type) {
    return type >= NPYX_F2 && type <= NPYX_LAST_REAL ? &npyx_narrows[type - NPYX_F2] : NULL;
}

/* The range, ends included, of bool's values, and of those of an integer type that fit an int64_t. */
typedef struct npyx_integer_limits {
    int64_t low, high;
} npyx_integer_limits;

static inline npyx_integer_limits npyx_type_limits(npyx_type type) {
    if (type == NPYX_BOOL)
        return (npyx_integer_limits){0, 1};
    int nbits = 8 * npyx_types[type].itemsize;
    if (npyx_types[type].kind == 'i')
        return (npyx_integer_limits){INT64_MIN >> (64 - nbits), INT64_MAX >> (64 - nbits)};
    return (npyx_integer_limits){0, nbits == 64 ? INT64_MAX : ((int64_t)1 << nbits) - 1};
}

/* The real type of a complex one's parts; any other type itself. */
static inline npyx_type npyx_type_part(npyx_type type) {
    return type >= NPYX_C8 && type <= NPYX_C32 ? (npyx_type)(type - NPYX_C8 + NPYX_F4) : type;
}

typedef struct npyx_dtype npyx_dtype;

typedef struct npyx_field {
    const char *name; /* UTF-8 */
    size_t name_nbytes;
    const char *title; /* NULL: none */
    size_t title_nbytes;
    bool is_title_number;    /* the title is the digits of an int: headers show it without quotes */
    const npyx_dtype *dtype; /* of one item of the subarray */
    int64_t off;
    int ndim; /* of the subarray; 0: none */
    const int64_t *shape;
    /* How many axes each subarray has when one is nested in another, outermost first: (2, 5) may be a
     * subarray of (2,) items that are subarrays of (5,). Only headers show the difference. */
    const uint8_t *level_ndims;
    int nlevels;
    int64_t nelem;   /* the product of shape; 1 without a subarray */
    bool is_padding; /* a nameless void between fields: not shown */
} npyx_field;

struct npyx_dtype {
    npyx_type type;
    bool is_big_endian;
    bool has_objects; /* an object type, at any depth */
    npyx_unit unit;   /* of dates */
    int32_t multiple; /* of the unit */
    int64_t itemsize;
    int nfields;
    const npyx_field *fields;
    uint64_t text_nbytes; /* of held objects: the most text that may be made of one (npyx_budget) */
};

/* Item sizes are C ints in NumPy. */
#define NPYX_MAX_ITEMSIZE INT32_MAX

/* Reads the value of a header's `descr`. Offsets in errors are the literal's. NPYX_CORRUPT or NPYX_NOMEM. */
npyx_status npyx_dtype_from_literal(npyx_arena *arena, const npyx_literal *literal, const npyx_dtype **dtype,
                                    npyx_error *error);

/* Reads a dtype as a user spells it: `float32`, `f4`, `<f4`, `bfloat16`, a header's own literal or JSON.
 * NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyx_dtype_from_text(npyx_arena *arena, const char *text, size_t nbytes, const npyx_dtype **dtype,
                                 npyx_error *error);

/* The same, with the literal that was read (a string for a bare spelling), and the offset of an error in
 * text. */
npyx_status npyx_dtype_from_spelling(npyx_arena *arena, const char *text, size_t nbytes,
                                     const npyx_literal **literal, const npyx_dtype **dtype,
                                     npyx_error *error);

/* The same for a dtype to write: NPYX_UNSUPPORTED for objects, which only a pickle can hold. */
npyx_status npyx_dtype_for_writing(npyx_arena *arena, const char *text, size_t nbytes,
                                   const npyx_dtype **dtype, npyx_error *error);

/* A copy in another arena; NULL when out of memory. */
const npyx_dtype *npyx_dtype_copy(npyx_arena *arena, const npyx_dtype *dtype);

/* Appends NumPy's dtype.name: `float64`, `str96`, `datetime64[ns]`, `void128`. */
void npyx_dtype_append_name(const npyx_dtype *dtype, npyx_buffer *buffer);

/* Writes the same to name, of capacity_nbytes, NUL-terminated; cut where it does not fit. */
void npyx_dtype_write_name(const npyx_dtype *dtype, char *name, size_t capacity_nbytes);

/* The same for a message. */
typedef struct npyx_dtype_text {
    char name[64];
} npyx_dtype_text;
npyx_dtype_text npyx_dtype_shown(const npyx_dtype *dtype);

/* Appends the result of numpy.lib.format.dtype_to_descr, a string without its quotes: `<f8`, `[('x',
 * '<f4')]`. */
void npyx_dtype_append_descr(const npyx_dtype *dtype, npyx_buffer *buffer);

/* Whether items are in this host's byte order, or have none. */
static inline bool npyx_dtype_is_native(const npyx_dtype *dtype) {
    return dtype->is_big_endian == NPYX_HOST_IS_BIG_ENDIAN || npyx_types[dtype->type].swap_nbytes == 1;
}

/* '<' or '>' for types of several bytes with an order, '|' for all others. */
static inline char npyx_dtype_byteorder(const npyx_dtype *dtype) {
    return npyx_types[dtype->type].swap_nbytes == 1 ? '|' : dtype->is_big_endian ? '>' : '<';
}

/* Whether items are numbers but not complex: bool, integers and floats of every width, including bfloat16 and
 * float8. */
static inline bool npyx_dtype_is_real(const npyx_dtype *dtype) {
    return dtype->type <= NPYX_LAST_REAL;
}

/* Whether two are equal except for byte order: names, titles, offsets and padding of fields are compared,
 * too. */
bool npyx_dtype_is_same(const npyx_dtype *a, const npyx_dtype *b);

/* Whether the subarrays of two fields have the same shape. */
static inline bool npyx_field_has_same_shape(const npyx_field *a, const npyx_field *b) {
    return npyx_is_same(a->shape, sizeof a->shape[0] * (size_t)a->ndim, b->shape,
                        sizeof b->shape[0] * (size_t)b->ndim);
}

/* Whether found, as in a header, is all that a header can say about dtype: V2 for bfloat16. */
bool npyx_dtype_is_spelled_by(const npyx_dtype *dtype, const npyx_dtype *found);

/* The dtype of one part of a complex item; any other dtype itself. */
static inline npyx_dtype npyx_dtype_part(const npyx_dtype *dtype) {
    npyx_dtype part = *dtype;
    part.type = npyx_type_part(dtype->type);
    part.itemsize = part.type == dtype->type ? dtype->itemsize : dtype->itemsize / 2;
    return part;
}

/* The next field after one, or the first for NULL, that is not padding; NULL when there is none. */
static inline const npyx_field *npyx_field_after(const npyx_dtype *dtype, const npyx_field *field) {
    ptrdiff_t i = field == NULL ? 0 : field - dtype->fields + 1;
    while (i < dtype->nfields && dtype->fields[i].is_padding)
        i++;
    return i < dtype->nfields ? &dtype->fields[i] : NULL;
}

/* The number of the field with that name, or if with_titles that title; -1 when there is none. Callers that
 * ask for one after another pass as first the field expected next, where the search begins. */
int npyx_dtype_find_field(const npyx_dtype *dtype, int first, const char *name, size_t name_nbytes,
                          bool with_titles);

/* Bytes of an entry along the first axis, for items in that shape. */
int64_t npyx_dtype_entry_nbytes(const npyx_dtype *dtype, int ndim, const int64_t *shape);

static inline char npyx_dtype_kind(const npyx_dtype *dtype) {
    return npyx_types[dtype->type].kind;
}

#endif
