/*
 * GGUF (ggml, docs/gguf.md, "File Structure"), versions 2 and 3, in either byte order:
 *
 *     GGUF, version, number of tensors, number of pairs          4, 4, 8 and 8 bytes
 *     pairs            key, type of the value, value
 *     tensors          name, number of dimensions, dimensions with the fastest first, type, offset
 *     data             from the next multiple of general.alignment; offsets count from here
 *
 * A text is its length in 8 bytes, and UTF-8; an array a type, a length and as many values.
 *
 * The header is read once, in pieces; a value is passed over, and becomes JSON when that is asked for. What
 * is wrong with one tensor is told of that tensor.
 */
#include "archive.h"
#include "gguf_blocks.h"
#include "item/element.h"
#include "text/span.h"

enum {
    GGUF_MAX_HEADER_NBYTES = 256 << 20,
    GGUF_MAX_NAME_NBYTES = 65535, /* of a key, "ggufs"; of a tensor it says 64 */
    GGUF_MAX_DEPTH = 16,          /* of arrays in arrays */
    GGUF_SHOWN_NELEM = 64,        /* of longer arrays, JSON has type and length */
    GGUF_ALIGNMENT = 32,
    GGUF_PAIRS_OFF = 24
};

/* ---- values ---- */

enum { GGUF_U32 = 4, GGUF_STRING = 8, GGUF_ARRAY = 9, GGUF_NTYPES = 13 };

/* enum gguf_metadata_value_type. */
static const struct {
    const char *name;
    npyx_type type;
} gguf_value_types[GGUF_NTYPES] = {{"uint8", NPYX_U1},     {"int8", NPYX_I1},   {"uint16", NPYX_U2},
                                   {"int16", NPYX_I2},     {"uint32", NPYX_U4}, {"int32", NPYX_I4},
                                   {"float32", NPYX_F4},   {"bool", NPYX_BOOL}, {"string", NPYX_NTYPES},
                                   {"array", NPYX_NTYPES}, {"uint64", NPYX_U8}, {"int64", NPYX_I8},
                                   {"float64", NPYX_F8}};

typedef struct gguf_parser {
    npyx_window window;
    int64_t off; /* of what comes next */
    bool is_big_endian;
    npyx_name_set keys;
    npyx_buffer name; /* of a tensor */
    uint32_t alignment;
    npyx_buffer *json; /* takes the values; NULL: they are passed over */
    npyx_error *error;
} gguf_parser;

#define gguf_fail(p, ...)                                                                                    \
    npyx_fail_as((p)->error, NPYX_KIND_HEADER, NPYX_CORRUPT, (p)->off, "bad GGUF header: " __VA_ARGS__)

/* Checks that the file has room for n parts of at least part_nbytes each. */
static npyx_status gguf_expect(const gguf_parser *p, uint64_t n, uint64_t part_nbytes, const char *what) {
    const npyx_source *source = p->window.source;
    uint64_t left_nbytes = (uint64_t)(source->nbytes - p->off);
    if (n > left_nbytes / part_nbytes)
        return npyx_fail_short(source, p->error, p->off,
                               "the header is truncated (it says %" PRIu64 " %s from byte %" PRId64
                               ", there are %" PRIu64 " bytes)",
                               n, what, p->off, left_nbytes);
    if ((uint64_t)p->off + n * part_nbytes <= GGUF_MAX_HEADER_NBYTES)
        return NPYX_OK;
    return npyx_fail_as(p->error, NPYX_KIND_LIMIT, NPYX_CORRUPT, p->off,
                        "bad GGUF header: it has more than %d bytes", GGUF_MAX_HEADER_NBYTES);
}

/* Moves past n parts. */
static npyx_status gguf_pass(gguf_parser *p, uint64_t n, uint64_t part_nbytes, const char *what) {
    NPYX_TRY(gguf_expect(p, n, part_nbytes, what));
    p->off += (int64_t)(n * part_nbytes);
    return NPYX_OK;
}

/* The next bytes. As many again are read with them as lie before them, within bounds; that polls the host. */
static npyx_status gguf_take(gguf_parser *p, uint64_t nbytes, const uint8_t **bytes) {
    enum { LEAST_NBYTES = 1 << 14, MOST_NBYTES = 1 << 18 };
    int64_t off = p->off;
    size_t ahead_nbytes = off < LEAST_NBYTES ? LEAST_NBYTES : off > MOST_NBYTES ? MOST_NBYTES : (size_t)off;
    NPYX_TRY(gguf_pass(p, nbytes, 1, "bytes"));
    return npyx_window_at(&p->window, off, (size_t)nbytes, ahead_nbytes, p->window.source->nbytes, bytes,
                          p->error);
}

static npyx_status gguf_u64(gguf_parser *p, uint64_t *number) {
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_take(p, sizeof *number, &bytes));
    *number = npyx_load_u64(bytes, p->is_big_endian);
    return NPYX_OK;
}

static npyx_status gguf_u32(gguf_parser *p, uint32_t *number) {
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_take(p, sizeof *number, &bytes));
    *number = npyx_load_u32(bytes, p->is_big_endian);
    return NPYX_OK;
}

/* A key, or the name of a tensor; valid until the next bytes are taken. */
static npyx_status gguf_name(gguf_parser *p, const char *what, npyx_span *name) {
    uint64_t nbytes = 0;
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_u64(p, &nbytes));
    NPYX_TRY(gguf_expect(p, nbytes, 1, "bytes"));
    if (nbytes > GGUF_MAX_NAME_NBYTES)
        return gguf_fail(p, "%s of %" PRIu64 " bytes, and there may be %d", what, nbytes,
                         GGUF_MAX_NAME_NBYTES);
    NPYX_TRY(gguf_take(p, nbytes, &bytes));
    *name = (npyx_span){(const char *)bytes, (size_t)nbytes};
    return NPYX_OK;
}

static npyx_status gguf_value_type(gguf_parser *p, uint32_t *type) {
    NPYX_TRY(gguf_u32(p, type));
    return *type < GGUF_NTYPES ? NPYX_OK : gguf_fail(p, "%" PRIu32 " is not the type of a value", *type);
}

static npyx_status gguf_string(gguf_parser *p) {
    uint64_t nbytes = 0;
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_u64(p, &nbytes));
    if (p->json == NULL)
        return gguf_pass(p, nbytes, 1, "bytes");
    NPYX_TRY(gguf_take(p, nbytes, &bytes));
    npyx_buffer_append_json(p->json, (const char *)bytes, (size_t)nbytes);
    return npyx_buffer_check(p->json, p->error);
}

/* n numbers or truths: as JSON, one, or some with commas between them. */
static npyx_status gguf_scalars(gguf_parser *p, uint32_t type, uint64_t n) {
    const npyx_dtype dtype = {.type = gguf_value_types[type].type,
                              .itemsize = npyx_types[gguf_value_types[type].type].itemsize,
                              .is_big_endian = p->is_big_endian};
    if (p->json == NULL)
        return gguf_pass(p, n, (uint64_t)dtype.itemsize, "values");
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_take(p, n * (uint64_t)dtype.itemsize, &bytes));
    for (uint64_t i = 0; i < n; i++, bytes += dtype.itemsize) {
        if (i > 0)
            npyx_buffer_append_char(p->json, ',');
        NPYX_TRY(npyx_element_append_json(&dtype, 0, NULL, bytes, p->json, p->error));
    }
    return npyx_buffer_check(p->json, p->error);
}

static npyx_status gguf_array(gguf_parser *p, int depth);

static npyx_status gguf_value(gguf_parser *p, uint32_t type, int depth) {
    return type == GGUF_STRING  ? gguf_string(p)
           : type == GGUF_ARRAY ? gguf_array(p, depth)
                                : gguf_scalars(p, type, 1);
}

static npyx_status gguf_items(gguf_parser *p, uint32_t type, uint64_t n, int depth) {
    if (type != GGUF_STRING && type != GGUF_ARRAY)
        return gguf_scalars(p, type, n);
    NPYX_TRY(gguf_expect(p, n, type == GGUF_STRING ? 8 : 12, "values"));
    for (uint64_t i = 0; i < n; i++) {
        if (p->json != NULL && i > 0)
            npyx_buffer_append_char(p->json, ',');
        NPYX_TRY(gguf_value(p, type, depth));
    }
    return NPYX_OK;
}

static npyx_status gguf_array(gguf_parser *p, int depth) {
    npyx_buffer *json = p->json, *shown = json;
    uint32_t type = 0;
    uint64_t n = 0;
    if (depth == GGUF_MAX_DEPTH)
        return gguf_fail(p, "arrays are nested more than %d deep", GGUF_MAX_DEPTH);
    NPYX_TRY(gguf_value_type(p, &type));
    NPYX_TRY(gguf_u64(p, &n));
    if (json != NULL && n > GGUF_SHOWN_NELEM) {
        npyx_buffer_printf(json, "{\"type\":\"%s\",\"length\":%" PRIu64 "}", gguf_value_types[type].name, n);
        shown = NULL;
    }
    if (shown != NULL)
        npyx_buffer_append_char(shown, '[');
    p->json = shown;
    NPYX_TRY(gguf_items(p, type, n, depth + 1));
    if (shown != NULL)
        npyx_buffer_append_char(shown, ']');
    p->json = json;
    return NPYX_OK;
}

static npyx_status gguf_alignment(gguf_parser *p, uint32_t type) {
    if (type != GGUF_U32)
        return gguf_fail(p, "general.alignment is not a uint32");
    NPYX_TRY(gguf_u32(p, &p->alignment));
    bool is_power = p->alignment != 0 && (p->alignment & (p->alignment - 1)) == 0;
    return is_power ? NPYX_OK : gguf_fail(p, "general.alignment is not a power of 2");
}

static npyx_status gguf_pair(gguf_parser *p) {
    npyx_span key;
    uint32_t type = 0;
    NPYX_TRY(gguf_name(p, "a key", &key));
    bool is_alignment = npyx_span_is(key, "general.alignment");
    if (p->json != NULL) {
        npyx_buffer_append_json(p->json, key.text, key.nbytes);
        npyx_buffer_append_char(p->json, ':');
    } else {
        if (npyx_name_set_has(&p->keys, key.text, key.nbytes))
            return gguf_fail(p, "the key '%.*s' is there twice", NPYX_SHOWN(key.text, key.nbytes, 100));
        NPYX_TRY(npyx_name_set_add(&p->keys, key.text, key.nbytes, p->error));
    }
    NPYX_TRY(gguf_value_type(p, &type));
    return is_alignment && p->json == NULL ? gguf_alignment(p, type) : gguf_value(p, type, 0);
}

/* ---- tensors ---- */

typedef struct gguf_tensor {
    const char *name; /* UTF-8, in the arena */
    size_t name_nbytes;
    const npyx_gguf_type *type;
    uint32_t type_number;
    uint32_t ndim;
    int64_t *shape; /* in NumPy's order; NULL: more dimensions than there may be */
    int64_t off;    /* in the data; an absurd one is cut to 2^62 */
    int64_t header_off;
} gguf_tensor;

typedef struct gguf_archive {
    npyx_archive base;
    npyx_arena arena;
    gguf_tensor *tensors;
    int64_t ntensors, capacity_ntensors;
    uint64_t npairs;
    bool is_big_endian;
    uint32_t alignment;
    int64_t header_nbytes;
    int64_t data_off;
    npyx_buffer metadata; /* JSON, once asked for */
} gguf_archive;

static npyx_status gguf_tensor_name(gguf_parser *p, gguf_archive *archive, gguf_tensor *tensor) {
    npyx_span name;
    NPYX_TRY(gguf_name(p, "a tensor's name", &name));
    npyx_buffer_reset(&p->name);
    npyx_buffer_append_utf8(&p->name, name.text, name.nbytes);
    NPYX_TRY(npyx_buffer_check(&p->name, p->error));
    tensor->name_nbytes = p->name.nbytes;
    tensor->name = npyx_arena_copy(&archive->arena, p->name.nbytes == 0 ? "" : p->name.bytes, p->name.nbytes);
    return npyx_check_memory(tensor->name, p->error);
}

static npyx_status gguf_tensor_shape(gguf_parser *p, gguf_archive *archive, gguf_tensor *tensor) {
    const uint8_t *bytes = NULL;
    NPYX_TRY(gguf_u32(p, &tensor->ndim));
    if (tensor->ndim > NPYX_MAX_NDIM)
        return gguf_pass(p, tensor->ndim, 8, "dimensions");
    NPYX_TRY(gguf_take(p, tensor->ndim * (uint64_t)8, &bytes));
    tensor->shape = npyx_arena_array(&archive->arena, (int64_t)tensor->ndim + 1, sizeof tensor->shape[0]);
    NPYX_TRY(npyx_check_memory(tensor->shape, p->error));
    for (uint32_t i = 0; i < tensor->ndim; i++)
        tensor->shape[tensor->ndim - 1 - i] = (int64_t)npyx_load_u64(bytes + 8 * (size_t)i, p->is_big_endian);
    return NPYX_OK;
}

static npyx_status gguf_read_tensor(gguf_parser *p, gguf_archive *archive) {
    const uint64_t most_off = (uint64_t)1 << 62;
    uint64_t off = 0;
    NPYX_TRY(npyx_grow(archive->arena.host, &archive->tensors, archive->ntensors, &archive->capacity_ntensors,
                       sizeof archive->tensors[0], p->error));
    gguf_tensor *tensor = &archive->tensors[archive->ntensors];
    *tensor = (gguf_tensor){.header_off = p->off};
    NPYX_TRY(gguf_tensor_name(p, archive, tensor));
    NPYX_TRY(gguf_tensor_shape(p, archive, tensor));
    NPYX_TRY(gguf_u32(p, &tensor->type_number));
    NPYX_TRY(gguf_u64(p, &off));
    tensor->type = npyx_gguf_type_of(tensor->type_number);
    tensor->off = (int64_t)(off < most_off ? off : most_off);
    archive->ntensors++;
    return NPYX_OK;
}

#define gguf_fail_tensor(tensor, error, ...)                                                                 \
    npyx_fail_as((error), NPYX_KIND_HEADER, NPYX_CORRUPT, (tensor)->header_off,                              \
                 "bad GGUF tensor: " __VA_ARGS__)

/* What can be wrong with a tensor before its size is known. */
static npyx_status gguf_check_tensor(const gguf_archive *archive, const gguf_tensor *tensor,
                                     npyx_error *error) {
    if (tensor->shape == NULL)
        return gguf_fail_tensor(tensor, error, "it has %" PRIu32 " dimensions, and there may be %d",
                                tensor->ndim, NPYX_MAX_NDIM);
    for (uint32_t axis = 0; axis < tensor->ndim; axis++) {
        if (tensor->shape[axis] < 0)
            return gguf_fail_tensor(tensor, error, "a dimension exceeds 2^63 - 1");
    }
    int64_t row_nelem = tensor->ndim == 0 ? 1 : tensor->shape[tensor->ndim - 1];
    int block_nelem = tensor->type->block_nelem;
    if (block_nelem > 0 && row_nelem % block_nelem != 0)
        return gguf_fail_tensor(tensor, error,
                                "its rows of %" PRId64 " items are not whole blocks of %d (%s)", row_nelem,
                                block_nelem, tensor->type->name);
    if (tensor->off % archive->alignment != 0)
        return gguf_fail_tensor(tensor, error,
                                "its offset %" PRId64 " is not a multiple of the alignment %" PRIu32,
                                tensor->off, archive->alignment);
    return NPYX_OK;
}

/* Its bytes in the file, of an unknown type 0; INT64_MAX when they are too many. */
static int64_t gguf_stored_nbytes(const gguf_tensor *tensor, int64_t nelem) {
    int64_t nbytes = 0;
    if (tensor->type->block_nelem == 0)
        return 0;
    bool fits = npyx_multiply_i64(nelem / tensor->type->block_nelem, tensor->type->block_nbytes, &nbytes);
    return fits ? nbytes : INT64_MAX;
}

static npyx_status gguf_check_present(const gguf_archive *archive, const gguf_tensor *tensor,
                                      int64_t stored_nbytes, npyx_error *error) {
    npyx_source *source = archive->base.source;
    int64_t off = archive->data_off + tensor->off, present_nbytes = source->nbytes - off;
    if (stored_nbytes == 0 || stored_nbytes <= present_nbytes)
        return NPYX_OK;
    return npyx_source_blame_writer(
        source, npyx_array_fail_truncated(off, stored_nbytes, present_nbytes, error), error);
}

/* ---- as an archive ---- */

/* What is no longer in blocks has no place in the file. */
static npyx_status gguf_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    const gguf_archive *archive = (const gguf_archive *)base;
    (void)error;
    if (index >= archive->ntensors)
        return NPYX_DONE;
    const gguf_tensor *tensor = &archive->tensors[index];
    *entry = (npyx_entry){.name = tensor->name,
                          .name_nbytes = tensor->name_nbytes,
                          .member_nbytes = tensor->name_nbytes,
                          .header_off = tensor->header_off,
                          .is_unpacked = tensor->type->unpack != NULL,
                          .zip_method = -1};
    return NPYX_OK;
}

/* descr is ggml's name of the type, or `type 99`. */
static npyx_status gguf_describe_type(const gguf_archive *archive, const gguf_tensor *tensor,
                                      npyx_array *array, npyx_error *error) {
    enum { NAME_NBYTES = 24 };
    const npyx_gguf_type *type = tensor->type;
    char *name = npyx_arena_alloc(&array->arena, NAME_NBYTES);
    npyx_dtype *dtype = npyx_arena_alloc(&array->arena, sizeof *dtype);
    NPYX_TRY(npyx_check_memory(name, error));
    NPYX_TRY(npyx_check_memory(dtype, error));
    npyx_buffer descr = npyx_buffer_over(name, NAME_NBYTES);
    npyx_buffer_append_text(&descr, type->name);
    if (type->block_nelem == 0)
        npyx_buffer_printf(&descr, " %" PRIu32, tensor->type_number);
    *dtype = (npyx_dtype){.type = type->type,
                          .multiple = 1,
                          .itemsize = type->is_read ? npyx_types[type->type].itemsize : 1,
                          .is_big_endian =
                              type->unpack != NULL ? NPYX_HOST_IS_BIG_ENDIAN : archive->is_big_endian};
    array->is_foreign = !type->is_read;
    array->dtype = dtype;
    array->descr = npyx_buffer_text(&descr);
    array->descr_nbytes = descr.nbytes;
    return NPYX_OK;
}

static npyx_status gguf_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    const gguf_archive *archive = (const gguf_archive *)base;
    if (index >= archive->ntensors)
        return NPYX_DONE;
    const gguf_tensor *tensor = &archive->tensors[index];
    array->is_array = true;
    NPYX_TRY(gguf_check_tensor(archive, tensor, error));
    NPYX_TRY(gguf_describe_type(archive, tensor, array, error));
    array->ndim = (int)tensor->ndim;
    memcpy(array->shape, tensor->shape, tensor->ndim * sizeof array->shape[0]);
    NPYX_TRY(npyx_array_measure(array, error));
    int64_t stored_nbytes = gguf_stored_nbytes(tensor, array->nelem);
    if (array->is_foreign)
        array->nbytes = stored_nbytes;
    return gguf_check_present(archive, tensor, stored_nbytes, error);
}

static npyx_status gguf_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    const gguf_archive *archive = (const gguf_archive *)base;
    (void)error;
    *payload_off = archive->data_off + archive->tensors[index].off;
    return NPYX_OK;
}

static npyx_status gguf_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    const gguf_archive *archive = (const gguf_archive *)base;
    const gguf_tensor *tensor = &archive->tensors[index];
    npyx_array array;
    npyx_array_init(&array, archive->arena.host);
    npyx_status status = gguf_describe(base, index, &array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_values(&array, error);
    int64_t nbytes = gguf_stored_nbytes(tensor, array.nelem);
    npyx_array_clear(&array);
    NPYX_TRY(status);
    int64_t off = nbytes == 0 ? 0 : archive->data_off + tensor->off;
    npyx_source *stored = NULL;
    NPYX_TRY(npyx_source_open_range(base->source, off, nbytes, false, 0, &stored, error));
    if (tensor->type->unpack != NULL)
        return npyx_gguf_blocks_open(stored, tensor->type, archive->is_big_endian, payload, error);
    *payload = stored;
    return NPYX_OK;
}

static npyx_status gguf_read_pairs(gguf_parser *p, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (p->json != NULL && i > 0)
            npyx_buffer_append_char(p->json, ',');
        NPYX_TRY(gguf_pair(p));
    }
    return NPYX_OK;
}

/* The pairs are read once more: they were sound, unless the file has changed. */
static npyx_status gguf_make_metadata(gguf_archive *archive, npyx_buffer *json, npyx_error *error) {
    uint64_t allowed_nbytes = npyx_budget_allowance((uint64_t)archive->header_nbytes);
    gguf_parser p = {.window.source = archive->base.source,
                     .off = GGUF_PAIRS_OFF,
                     .is_big_endian = archive->is_big_endian,
                     .json = json,
                     .error = error};
    json->limit_nbytes = allowed_nbytes < SIZE_MAX ? (size_t)allowed_nbytes : SIZE_MAX;
    npyx_buffer_append_char(json, '{');
    npyx_status status = gguf_read_pairs(&p, archive->npairs);
    npyx_buffer_append_char(json, '}');
    npyx_window_clear(&p.window);
    return status == NPYX_OK ? npyx_buffer_check(json, error) : status;
}

static npyx_status gguf_metadata(npyx_archive *base, const char **text, size_t *nbytes, npyx_error *error) {
    gguf_archive *archive = (gguf_archive *)base;
    npyx_buffer *json = &archive->metadata;
    npyx_status status = json->nbytes > 0 ? NPYX_OK : gguf_make_metadata(archive, json, error);
    if (status != NPYX_OK)
        npyx_buffer_clear(json);
    *text = json->bytes;
    *nbytes = json->nbytes;
    return status;
}

static void gguf_free(gguf_archive *archive, npyx_host *host) {
    npyx_free(host, archive->tensors);
    npyx_buffer_clear(&archive->metadata);
    npyx_arena_clear(&archive->arena);
    npyx_free(host, archive);
}

static void gguf_close(npyx_archive *base) {
    npyx_source *source = base->source;
    gguf_free((gguf_archive *)base, source->host);
    npyx_source_close(source);
}

static const npyx_archive_ops gguf_ops = {.entry = gguf_entry,
                                          .describe = gguf_describe,
                                          .locate = gguf_locate,
                                          .open = gguf_open,
                                          .metadata = gguf_metadata,
                                          .close = gguf_close};

/* The version tells the byte order, too: its low half is not 0 ("File Structure"; gguf_reader.py). */
static npyx_status gguf_version(gguf_parser *p) {
    uint32_t version = 0;
    NPYX_TRY(gguf_pass(p, 1, 4, "magic numbers"));
    NPYX_TRY(gguf_u32(p, &version));
    p->is_big_endian = (version & 0xffff) == 0;
    version = p->is_big_endian ? __builtin_bswap32(version) : version;
    if (version == 2 || version == 3)
        return NPYX_OK;
    return npyx_fail(p->error, NPYX_UNSUPPORTED, 4, "is GGUF of version %" PRIu32 "; 2 and 3 are read",
                     version);
}

static npyx_status gguf_read(gguf_parser *p, gguf_archive *archive) {
    enum { PAIR_NBYTES = 13, TENSOR_NBYTES = 24 }; /* at least */
    uint64_t ntensors = 0;
    NPYX_TRY(gguf_version(p));
    NPYX_TRY(gguf_u64(p, &ntensors));
    NPYX_TRY(gguf_u64(p, &archive->npairs));
    NPYX_TRY(gguf_expect(p, ntensors, TENSOR_NBYTES, "tensors"));
    NPYX_TRY(gguf_expect(p, archive->npairs, PAIR_NBYTES, "keys"));
    NPYX_TRY(gguf_read_pairs(p, archive->npairs));
    for (uint64_t i = 0; i < ntensors; i++)
        NPYX_TRY(gguf_read_tensor(p, archive));
    archive->is_big_endian = p->is_big_endian;
    archive->alignment = p->alignment;
    archive->header_nbytes = p->off;
    archive->data_off = (p->off + p->alignment - 1) / p->alignment * p->alignment;
    return NPYX_OK;
}

npyx_status npyx_archive_gguf_open(npyx_source *source, npyx_archive **archive, npyx_error *error) {
    npyx_host *host = source->host;
    gguf_archive *made = npyx_alloc_zeroed(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->base = (npyx_archive){.ops = &gguf_ops, .format = NPYX_FORMAT_GGUF, .source = source};
    made->arena.host = made->metadata.host = host;
    gguf_parser p = {.window.source = source,
                     .keys.bytes.host = host,
                     .name.host = host,
                     .alignment = GGUF_ALIGNMENT,
                     .error = error};
    npyx_status status = gguf_read(&p, made);
    npyx_window_clear(&p.window);
    npyx_name_set_clear(&p.keys);
    npyx_buffer_clear(&p.name);
    if (status == NPYX_OK)
        *archive = &made->base;
    else
        gguf_free(made, host);
    return status;
}
