/*
 * safetensors (safetensors/src/tensor.rs and its README, "Format"):
 *
 *     8 bytes          the header's length, little-endian; at most 100,000,000
 *     header           JSON, which may end in blanks:
 *                      {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
 *                       "__metadata__": {"TEXT": "TEXT", ...}}
 *     data             the tensors in C order, little-endian; offsets count from here
 *
 * Checked like the reference implementation: each tensor has as many bytes as its dtype and shape require,
 * the first begins at 0, each other where the one before ends, the last ends with the file. No name occurs
 * twice, nor any key of a tensor. Arrays are numbered in the order of their data. Dtypes that this codec does
 * not read, including those of less than a byte, are foreign: such a tensor has a shape but no values.
 */

#include "archive.h"
#include "text/json_text.h"

enum {
    SAFETENSORS_MAX_HEADER_NBYTES = 100000000,
    SAFETENSORS_PREFIX_NBYTES = 8,
    SAFETENSORS_NAME_NBYTES = 1 << 20 /* of a tensor: it is hashed in one go */
};

/* ---- dtypes ---- */

typedef struct safetensors_dtype {
    const char *name;
    npyx_type type;
    int nbits; /* of a foreign item; 0: the type's, or unknown */
} safetensors_dtype;

static const safetensors_dtype safetensors_dtypes[] = {{"BOOL", NPYX_BOOL, 0},
                                                       {"U8", NPYX_U1, 0},
                                                       {"I8", NPYX_I1, 0},
                                                       {"U16", NPYX_U2, 0},
                                                       {"I16", NPYX_I2, 0},
                                                       {"U32", NPYX_U4, 0},
                                                       {"I32", NPYX_I4, 0},
                                                       {"U64", NPYX_U8, 0},
                                                       {"I64", NPYX_I8, 0},
                                                       {"F16", NPYX_F2, 0},
                                                       {"BF16", NPYX_BFLOAT16, 0},
                                                       {"F32", NPYX_F4, 0},
                                                       {"F64", NPYX_F8, 0},
                                                       {"C64", NPYX_C8, 0},
                                                       {"F8_E4M3", NPYX_E4M3FN, 0},
                                                       {"F8_E5M2", NPYX_E5M2, 0},
                                                       {"F8_E8M0", NPYX_E8M0FNU, 0},
                                                       {"F8_E4M3FNUZ", NPYX_E4M3FNUZ, 0},
                                                       {"F8_E5M2FNUZ", NPYX_E5M2FNUZ, 0},
                                                       {"F4", NPYX_NTYPES, 4},
                                                       {"F6_E2M3", NPYX_NTYPES, 6},
                                                       {"F6_E3M2", NPYX_NTYPES, 6}};

/* A dtype without a type is foreign. */
static safetensors_dtype safetensors_find_dtype(const char *name, size_t name_nbytes) {
    for (size_t i = 0; i < sizeof safetensors_dtypes / sizeof safetensors_dtypes[0]; i++) {
        const char *known = safetensors_dtypes[i].name;
        if (npyx_is_same(known, strlen(known), name, name_nbytes))
            return safetensors_dtypes[i];
    }
    return (safetensors_dtype){.type = NPYX_NTYPES};
}

typedef struct safetensor {
    const char *name;
    size_t name_nbytes;
    safetensors_dtype dtype;
    const char *descr; /* the dtype as in the header */
    size_t descr_nbytes;
    int ndim;
    int64_t *shape;
    int64_t begin, end; /* in the data */
    int64_t name_off;   /* in the file, for messages */
} safetensor;

typedef struct safetensors_archive {
    npyx_archive base;
    npyx_arena arena;
    safetensor *tensors;
    int64_t ntensors, capacity_ntensors;
    int64_t data_off;
    const char *metadata; /* JSON, in the arena; NULL: none */
    size_t metadata_nbytes;
} safetensors_archive;

/* ---- the header ---- */

typedef struct safetensors_parser {
    safetensors_archive *archive;
    npyx_json_reader reader;
    npyx_name_set names;
    bool has_metadata; /* which may be null */
    npyx_error *error;
} safetensors_parser;

static int64_t safetensors_off(const safetensors_parser *p) {
    return SAFETENSORS_PREFIX_NBYTES + (int64_t)p->reader.token_off;
}

#define safetensors_fail(p, ...)                                                                             \
    npyx_fail_as((p)->error, NPYX_KIND_HEADER, NPYX_CORRUPT, safetensors_off(p),                             \
                 "bad safetensors header: " __VA_ARGS__)

/* Reports an error of the JSON reader as a bad header. */
static npyx_status safetensors_told(const safetensors_parser *p, npyx_status status, npyx_error *fault) {
    if (status == NPYX_OK)
        return NPYX_OK;
    if (status != NPYX_INVALID && status != NPYX_TOOBIG)
        return npyx_fail_again(p->error, fault);
    return npyx_fail_as(p->error, NPYX_KIND_HEADER, NPYX_CORRUPT, SAFETENSORS_PREFIX_NBYTES + fault->off,
                        "bad safetensors header: %s", fault->message);
}

static npyx_status safetensors_next(safetensors_parser *p) {
    npyx_error fault;
    npyx_status status = npyx_json_next(&p->reader, &fault);
    return safetensors_told(p, status, &fault);
}

/* Skips the next value. */
static npyx_status safetensors_skip(safetensors_parser *p) {
    npyx_error fault;
    NPYX_TRY(safetensors_next(p));
    npyx_status status = npyx_json_skip(&p->reader, &fault);
    return safetensors_told(p, status, &fault);
}

static npyx_status safetensors_expect(safetensors_parser *p, npyx_json_token token, const char *what) {
    NPYX_TRY(safetensors_next(p));
    return p->reader.token == token ? NPYX_OK : safetensors_fail(p, "%s", what);
}

static npyx_status safetensors_copy(safetensors_parser *p, const char **text, size_t *nbytes) {
    *text = npyx_arena_copy(&p->archive->arena, p->reader.string == NULL ? "" : p->reader.string,
                            p->reader.string_nbytes);
    *nbytes = p->reader.string_nbytes;
    return npyx_check_memory(*text, p->error);
}

/* A list of up to most nonnegative integers. */
static npyx_status safetensors_integers(safetensors_parser *p, const char *what, int most, int64_t *integers,
                                        int *n) {
    NPYX_TRY(safetensors_expect(p, NPYX_JSON_LIST, what));
    for (*n = 0;; ++*n) {
        NPYX_TRY(safetensors_next(p));
        if (p->reader.token == NPYX_JSON_LIST_END)
            return NPYX_OK;
        bool is_length = p->reader.token == NPYX_JSON_NUMBER && p->reader.number.form == NPYX_NUMBER_I64 &&
                         p->reader.number.is_integer && p->reader.text[p->reader.token_off] != '-';
        if (!is_length || *n == most)
            return safetensors_fail(p, "%s", what);
        integers[*n] = p->reader.number.i64;
    }
}

static npyx_status safetensors_shape(safetensors_parser *p, safetensor *tensor) {
    int64_t shape[NPYX_MAX_NDIM];
    NPYX_TRY(safetensors_integers(p, "a shape is not a list of up to 64 lengths", NPYX_MAX_NDIM, shape,
                                  &tensor->ndim));
    tensor->shape = npyx_arena_array(&p->archive->arena, tensor->ndim + 1, sizeof shape[0]);
    NPYX_TRY(npyx_check_memory(tensor->shape, p->error));
    memcpy(tensor->shape, shape, (size_t)tensor->ndim * sizeof shape[0]);
    return NPYX_OK;
}

static npyx_status safetensors_offsets(safetensors_parser *p, safetensor *tensor) {
    static const char what[] = "data_offsets is not a list of two offsets";
    int64_t offsets[2];
    int n;
    NPYX_TRY(safetensors_integers(p, what, 2, offsets, &n));
    if (n != 2)
        return safetensors_fail(p, "%s", what);
    tensor->begin = offsets[0];
    tensor->end = offsets[1];
    return NPYX_OK;
}

/* Reads a member of a tensor; other keys are skipped, as in the reference. */
static npyx_status safetensors_member(safetensors_parser *p, safetensor *tensor, bool has[3]) {
    static const char *const keys[] = {"dtype", "shape", "data_offsets"};
    int key = 0;
    while (key < 3 && !npyx_is_same(keys[key], strlen(keys[key]), p->reader.string, p->reader.string_nbytes))
        key++;
    if (key < 3 && has[key])
        return safetensors_fail(p, "'%s' is there twice", keys[key]);
    if (key < 3)
        has[key] = true;
    switch (key) {
    case 0:
        NPYX_TRY(safetensors_expect(p, NPYX_JSON_STRING, "a dtype is not a text"));
        tensor->dtype = safetensors_find_dtype(p->reader.string, p->reader.string_nbytes);
        return safetensors_copy(p, &tensor->descr, &tensor->descr_nbytes);
    case 1: return safetensors_shape(p, tensor);
    case 2: return safetensors_offsets(p, tensor);
    default: return safetensors_skip(p);
    }
}

static npyx_status safetensors_tensor(safetensors_parser *p) {
    safetensors_archive *archive = p->archive;
    bool has[3] = {false};
    NPYX_TRY(npyx_grow(archive->base.source->host, &archive->tensors, archive->ntensors,
                       &archive->capacity_ntensors, sizeof archive->tensors[0], p->error));
    safetensor *tensor = &archive->tensors[archive->ntensors++];
    *tensor = (safetensor){.name_off = safetensors_off(p)};
    if (p->reader.string_nbytes > SAFETENSORS_NAME_NBYTES)
        return npyx_fail_as(p->error, NPYX_KIND_LIMIT, NPYX_CORRUPT, safetensors_off(p),
                            "bad safetensors header: a name of %zu bytes, and there may be %d",
                            p->reader.string_nbytes, SAFETENSORS_NAME_NBYTES);
    if (npyx_name_set_has(&p->names, p->reader.string, p->reader.string_nbytes))
        return safetensors_fail(p, "two tensors have the name '%.*s'",
                                NPYX_SHOWN(p->reader.string, p->reader.string_nbytes, 100));
    NPYX_TRY(npyx_name_set_add(&p->names, p->reader.string, p->reader.string_nbytes, p->error));
    NPYX_TRY(safetensors_copy(p, &tensor->name, &tensor->name_nbytes));
    NPYX_TRY(safetensors_expect(p, NPYX_JSON_OBJECT, "a tensor is not an object"));
    for (;;) {
        NPYX_TRY(safetensors_next(p));
        if (p->reader.token == NPYX_JSON_OBJECT_END)
            break;
        NPYX_TRY(safetensors_member(p, tensor, has));
    }
    return has[0] && has[1] && has[2] ? NPYX_OK
                                      : safetensors_fail(p, "'%.*s' lacks its dtype, shape or data_offsets",
                                                         NPYX_SHOWN(tensor->name, tensor->name_nbytes, 100));
}

/* Texts by name, kept as JSON. */
static npyx_status safetensors_metadata(safetensors_parser *p) {
    static const char what[] = "__metadata__ is not an object of texts";
    if (p->has_metadata)
        return safetensors_fail(p, "'__metadata__' is there twice");
    p->has_metadata = true;
    NPYX_TRY(safetensors_next(p));
    size_t first = p->reader.token_off;
    if (p->reader.token == NPYX_JSON_NULL)
        return NPYX_OK;
    if (p->reader.token != NPYX_JSON_OBJECT)
        return safetensors_fail(p, "%s", what);
    for (;;) {
        NPYX_TRY(safetensors_next(p));
        if (p->reader.token == NPYX_JSON_OBJECT_END)
            break;
        NPYX_TRY(safetensors_expect(p, NPYX_JSON_STRING, what));
    }
    safetensors_archive *archive = p->archive;
    archive->metadata_nbytes = p->reader.token_off + 1 - first;
    archive->metadata = npyx_arena_copy(&archive->arena, p->reader.text + first, archive->metadata_nbytes);
    return npyx_check_memory(archive->metadata, p->error);
}

static npyx_status safetensors_parse(safetensors_parser *p) {
    static const char metadata[] = "__metadata__";
    NPYX_TRY(safetensors_expect(p, NPYX_JSON_OBJECT, "it is not an object"));
    for (;;) {
        NPYX_TRY(safetensors_next(p));
        if (p->reader.token == NPYX_JSON_OBJECT_END)
            break;
        bool is_metadata =
            npyx_is_same(metadata, strlen(metadata), p->reader.string, p->reader.string_nbytes);
        NPYX_TRY(is_metadata ? safetensors_metadata(p) : safetensors_tensor(p));
    }
    return safetensors_next(p); /* nothing follows */
}

/* ---- what it says ---- */

static int safetensors_compare(const void *a, const void *b, const void *ctx) {
    const safetensor *one = a, *other = b;
    (void)ctx;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return one->end == other->end ? 0 : one->end < other->end ? -1 : 1;
}

#define safetensors_fail_tensor(tensor, error, format, ...)                                                  \
    npyx_fail_as((error), NPYX_KIND_HEADER, NPYX_CORRUPT, (tensor)->name_off,                                \
                 "bad safetensors header: '%.*s' " format,                                                   \
                 NPYX_SHOWN((tensor)->name, (tensor)->name_nbytes, 100), __VA_ARGS__)

/* Checks that its bytes are as many as dtype and shape require, if the size of an item is known. Items of
 * less than a byte are packed; together they must be whole bytes. */
static npyx_status safetensors_check_nbytes(const safetensor *tensor, npyx_error *error) {
    npyx_type type = tensor->dtype.type;
    int64_t nbits = type == NPYX_NTYPES ? tensor->dtype.nbits : 8 * (int64_t)npyx_types[type].itemsize;
    bool fits = true, is_known = nbits > 0;
    for (int axis = 0; axis < tensor->ndim; axis++)
        fits = fits && npyx_multiply_i64(nbits, tensor->shape[axis], &nbits);
    if (!fits)
        return safetensors_fail_tensor(tensor, error, "has more than 2^63 - 1 bits%s", "");
    if (is_known && nbits % 8 != 0)
        return safetensors_fail_tensor(tensor, error, "has %" PRId64 " bits, which are not whole bytes",
                                       nbits);
    if (is_known && nbits / 8 != tensor->end - tensor->begin)
        return safetensors_fail_tensor(tensor, error,
                                       "has %" PRId64 " bytes by its shape, and %" PRId64 " by its offsets",
                                       nbits / 8, tensor->end - tensor->begin);
    return NPYX_OK;
}

static npyx_status safetensors_check(safetensors_archive *archive, npyx_error *error) {
    npyx_source *source = archive->base.source;
    int64_t at = 0, present_nbytes = source->nbytes - archive->data_off;
    NPYX_TRY(npyx_sort(source->host, archive->tensors, (size_t)archive->ntensors, sizeof archive->tensors[0],
                       safetensors_compare, NULL, error));
    for (int64_t i = 0; i < archive->ntensors; i++) {
        const safetensor *tensor = &archive->tensors[i];
        if (tensor->begin != at || tensor->end < tensor->begin)
            return safetensors_fail_tensor(tensor, error,
                                           "begins at byte %" PRId64 " of the data, where %" PRId64
                                           " is the next that belongs to none",
                                           tensor->begin, at);
        NPYX_TRY(safetensors_check_nbytes(tensor, error));
        at = tensor->end;
    }
    if (at > present_nbytes)
        return npyx_fail_short(source, error, archive->data_off,
                               "data is truncated (the header says %" PRId64 " bytes, there are %" PRId64
                               " from byte %" PRId64 ")",
                               at, present_nbytes, archive->data_off);
    if (at < present_nbytes)
        return npyx_fail_as(error, NPYX_KIND_FORMAT, NPYX_CORRUPT, archive->data_off + at,
                            "%" PRId64 " bytes after the last tensor belong to none", present_nbytes - at);
    return NPYX_OK;
}

/* ---- the archive ---- */

static npyx_status safetensors_entry(npyx_archive *base, int64_t index, npyx_entry *entry,
                                     npyx_error *error) {
    const safetensors_archive *archive = (const safetensors_archive *)base;
    (void)error;
    if (index >= archive->ntensors)
        return NPYX_DONE;
    const safetensor *tensor = &archive->tensors[index];
    *entry = (npyx_entry){.name = tensor->name,
                          .name_nbytes = tensor->name_nbytes,
                          .member_nbytes = tensor->name_nbytes,
                          .header_off = tensor->name_off,
                          .zip_method = -1};
    return NPYX_OK;
}

/* Foreign items count as bytes, so that whoever wants them opens the tensor, which then says that it is not
 * read. */
static npyx_status safetensors_describe(npyx_archive *base, int64_t index, npyx_array *array,
                                        npyx_error *error) {
    const safetensors_archive *archive = (const safetensors_archive *)base;
    if (index >= archive->ntensors)
        return NPYX_DONE;
    const safetensor *tensor = &archive->tensors[index];
    npyx_type type = tensor->dtype.type;
    array->is_array = true;
    array->is_foreign = type == NPYX_NTYPES;
    npyx_dtype *dtype = npyx_arena_alloc(&array->arena, sizeof *dtype);
    array->descr = npyx_arena_copy(&array->arena, tensor->descr, tensor->descr_nbytes);
    NPYX_TRY(npyx_check_memory(dtype, error));
    NPYX_TRY(npyx_check_memory(array->descr, error));
    *dtype = (npyx_dtype){.type = array->is_foreign ? NPYX_VOID : type,
                          .multiple = 1,
                          .itemsize = array->is_foreign ? 1 : npyx_types[type].itemsize};
    array->dtype = dtype;
    array->descr_nbytes = tensor->descr_nbytes;
    array->ndim = tensor->ndim;
    memcpy(array->shape, tensor->shape, (size_t)tensor->ndim * sizeof array->shape[0]);
    NPYX_TRY(npyx_array_measure(array, error));
    array->nbytes = tensor->end - tensor->begin;
    return NPYX_OK;
}

static npyx_status safetensors_locate(npyx_archive *base, int64_t index, int64_t *payload_off,
                                      npyx_error *error) {
    const safetensors_archive *archive = (const safetensors_archive *)base;
    (void)error;
    *payload_off = archive->data_off + archive->tensors[index].begin;
    return NPYX_OK;
}

static npyx_status safetensors_open(npyx_archive *base, int64_t index, npyx_source **payload,
                                    npyx_error *error) {
    const safetensors_archive *archive = (const safetensors_archive *)base;
    const safetensor *tensor = &archive->tensors[index];
    const npyx_array described = {.is_foreign = tensor->dtype.type == NPYX_NTYPES,
                                  .descr = tensor->descr,
                                  .descr_nbytes = tensor->descr_nbytes};
    if (described.is_foreign)
        return npyx_array_check_values(&described, error);
    return npyx_source_open_range(base->source, archive->data_off + tensor->begin,
                                  tensor->end - tensor->begin, false, 0, payload, error);
}

static void safetensors_free(safetensors_archive *archive, npyx_host *host) {
    npyx_free(host, archive->tensors);
    npyx_arena_clear(&archive->arena);
    npyx_free(host, archive);
}

static void safetensors_close(npyx_archive *base) {
    npyx_source *source = base->source;
    npyx_host *host = source->host;
    safetensors_free((safetensors_archive *)base, host);
    npyx_source_close(source);
}

static npyx_status safetensors_told_metadata(npyx_archive *base, const char **text, size_t *nbytes,
                                             npyx_error *error) {
    const safetensors_archive *archive = (const safetensors_archive *)base;
    (void)error;
    *text = archive->metadata;
    *nbytes = archive->metadata_nbytes;
    return archive->metadata == NULL ? NPYX_DONE : NPYX_OK;
}

static const npyx_archive_ops safetensors_ops = {.entry = safetensors_entry,
                                                 .describe = safetensors_describe,
                                                 .locate = safetensors_locate,
                                                 .open = safetensors_open,
                                                 .metadata = safetensors_told_metadata,
                                                 .close = safetensors_close};

/* Reads the header of header_nbytes and checks what it says. */
static npyx_status safetensors_read(safetensors_archive *archive, size_t header_nbytes, npyx_error *error) {
    npyx_source *source = archive->base.source;
    npyx_host *host = source->host;
    safetensors_parser p = {.archive = archive, .names.bytes.host = host, .error = error};
    char *text = npyx_alloc(host, header_nbytes);
    NPYX_TRY(npyx_check_memory(text, error));
    npyx_status status =
        npyx_source_read_exactly(source, SAFETENSORS_PREFIX_NBYTES, text, header_nbytes, error);
    npyx_json_init(&p.reader, host, text, header_nbytes);
    if (status == NPYX_OK)
        status = safetensors_parse(&p);
    npyx_json_clear(&p.reader);
    npyx_name_set_clear(&p.names);
    npyx_free(host, text);
    return status == NPYX_OK ? safetensors_check(archive, error) : status;
}

npyx_status npyx_archive_safetensors_open(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                          npyx_archive **archive, npyx_error *error) {
    uint64_t header_nbytes = head_nbytes < SAFETENSORS_PREFIX_NBYTES ? 0 : npyx_load_u64(head, false);
    int64_t present_nbytes = source->nbytes - SAFETENSORS_PREFIX_NBYTES;
    if (present_nbytes < 0)
        return npyx_fail_short(source, error, 0,
                               "is too short for a safetensors file (%" PRId64
                               " bytes, where the length of the header has 8)",
                               source->nbytes);
    if (header_nbytes > SAFETENSORS_MAX_HEADER_NBYTES)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, 0,
                            "bad safetensors header: its length says %" PRIu64 " bytes, and there may be %d",
                            header_nbytes, SAFETENSORS_MAX_HEADER_NBYTES);
    if ((int64_t)header_nbytes > present_nbytes)
        return npyx_fail_short(source, error, SAFETENSORS_PREFIX_NBYTES,
                               "the header is truncated (its length says %" PRIu64
                               " bytes, there are %" PRId64 " from byte 8)",
                               header_nbytes, present_nbytes);
    safetensors_archive *made = npyx_alloc_zeroed(source->host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->base = (npyx_archive){.ops = &safetensors_ops, .format = NPYX_FORMAT_SAFETENSORS, .source = source};
    made->arena.host = source->host;
    made->data_off = SAFETENSORS_PREFIX_NBYTES + (int64_t)header_nbytes;
    npyx_status status = safetensors_read(made, (size_t)header_nbytes, error);
    if (status == NPYX_OK)
        *archive = &made->base;
    else
        safetensors_free(made, source->host);
    return status;
}
