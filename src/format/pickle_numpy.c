/*
 * NumPy's arrays, scalars and dtypes, from what their pickles say (numpy/_core/src/multiarray: methods.c,
 * array_reduce_ex and array_setstate; descriptor.c, arraydescr_reduce and arraydescr_setstate):
 *
 *     _reconstruct(ndarray, (0,), b'b')   state (1, shape, dtype, is_fortran, data)
 *     scalar(dtype, data)
 *     _frombuffer(data, dtype, shape, order)
 *     dtype('f8', False, True)            state (3, '<', subarray, names, fields, itemsize, alignment, flags)
 *
 * data are the items' bytes, or for a dtype with objects a list of the items in C order.
 */

#include <math.h>
#include <stdio.h>

#include "array/view.h"
#include "item/encode.h"
#include "pickle.h"

/* ---- dtypes ---- */

enum { NUMPY_MAX_DEPTH = 16, NUMPY_MAX_FIELDS = 4096, NUMPY_FEW_FIELDS = 64 };

static npyx_status numpy_dtype(npyx_pickle *p, const npyx_object *object, int depth,
                               const npyx_dtype **dtype);

/* Stands for a numpy.dtype of unknown form, which is not examined again. */
static const npyx_dtype numpy_unknown;

/* The text from which a dtype is made: `f4`, or the name of a scalar type. */
static bool numpy_code(const npyx_object *code, const char **text, size_t *nbytes) {
    static const char *const modules[] = {"numpy.", "ml_dtypes._ml_dtypes_ext.", "ml_dtypes."};
    if (code == NULL || (code->kind != NPYX_OBJECT_TEXT && code->kind != NPYX_OBJECT_GLOBAL))
        return false;
    *text = code->text.bytes;
    *nbytes = code->text.nbytes;
    for (size_t i = 0; code->kind == NPYX_OBJECT_GLOBAL && i < sizeof modules / sizeof modules[0]; i++) {
        size_t n = strlen(modules[i]);
        if (*nbytes > n && memcmp(*text, modules[i], n) == 0) {
            *text += n;
            *nbytes -= n;
            return true;
        }
    }
    return code->kind == NPYX_OBJECT_TEXT;
}

/* A date's unit in brackets, from the metadata ({}, (b'ns', 1, 1, 1)): name, multiple, divisor and one that
 * means nothing any more. False for metadata of another form. */
static bool numpy_unit(const npyx_object *metadata, char *text, size_t capacity_nbytes) {
    const npyx_object *unit = npyx_pickle_part(metadata, 1);
    const uint8_t *name;
    size_t nbytes;
    int64_t multiple, divisor;
    bool is_unit = npyx_pickle_bytes_of(npyx_pickle_part(unit, 0), &name, &nbytes) && nbytes < 8 &&
                   npyx_pickle_integer_of(npyx_pickle_part(unit, 1), &multiple) &&
                   npyx_pickle_integer_of(npyx_pickle_part(unit, 2), &divisor);
    if (is_unit && !npyx_pickle_is_text(npyx_pickle_part(unit, 0), "generic"))
        snprintf(text, capacity_nbytes, "[%" PRId64 "%.*s/%" PRId64 "]", multiple, (int)nbytes,
                 (const char *)name, divisor);
    return is_unit;
}

static npyx_status numpy_plain_dtype(npyx_pickle *p, const npyx_object *code, const npyx_object *state,
                                     const npyx_dtype **dtype) {
    const char *text;
    size_t nbytes;
    const uint8_t *order = NULL;
    size_t order_nbytes = 0;
    char spelled[140], unit[60] = "";
    npyx_error unseen;
    if (!numpy_code(code, &text, &nbytes) || nbytes > 40)
        return NPYX_DONE;
    if (nbytes > 0 && *text == 'O') { /* 4 bytes on other machines */
        *dtype = p->objects;
        return NPYX_OK;
    }
    bool has_order = npyx_pickle_bytes_of(npyx_pickle_part(state, 1), &order, &order_nbytes) &&
                     order_nbytes == 1 && (*order == '<' || *order == '>') && code->kind == NPYX_OBJECT_TEXT;
    const npyx_object *metadata = npyx_pickle_part(state, 8);
    if (metadata != NULL && nbytes > 0 && (*text == 'M' || *text == 'm') &&
        !numpy_unit(metadata, unit, sizeof unit))
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_spend(p, sizeof **dtype + sizeof spelled)); /* the most it takes of the arena */
    snprintf(spelled, sizeof spelled, "%.*s%.*s%s", has_order ? 1 : 0, has_order ? (const char *)order : "",
             (int)nbytes, text, unit);
    npyx_status status = npyx_dtype_from_text(p->arena, spelled, strlen(spelled), dtype, &unseen);
    if (status == NPYX_NOMEM)
        return npyx_fail_nomem(p->error);
    return status == NPYX_OK && (*dtype)->type != NPYX_STRUCT && !(*dtype)->has_objects ? NPYX_OK : NPYX_DONE;
}

/* A shape from a tuple; NPYX_DONE for anything else. */
static npyx_status numpy_shape(npyx_pickle *p, const npyx_object *object, int *ndim, const int64_t **shape,
                               int64_t *nelem) {
    int64_t one;
    bool is_integer = npyx_pickle_integer_of(object, &one); /* (3,), as subarrays of one axis may spell it */
    uint32_t n = is_integer                                            ? 1
                 : object == NULL || object->kind != NPYX_OBJECT_TUPLE ? UINT32_MAX
                                                                       : object->list.count;
    if (n > NPYX_MAX_NDIM)
        return NPYX_DONE;
    int64_t *made = npyx_pickle_array(p, n + 1, sizeof *made);
    NPYX_TRY(npyx_pickle_check(p, made));
    *nelem = 1;
    for (uint32_t i = 0; i < n; i++) {
        bool is_length =
            npyx_pickle_integer_of(is_integer ? object : object->list.items[i], &made[i]) && made[i] >= 0;
        if (!is_length || !npyx_multiply_i64(*nelem, made[i], nelem))
            return NPYX_DONE;
    }
    *ndim = (int)n;
    *shape = made;
    return NPYX_OK;
}

/* The axes of a subarray, all of one level. */
static npyx_status numpy_subarray(npyx_pickle *p, const npyx_object *shape, npyx_field *field) {
    uint8_t *level = npyx_pickle_alloc(p, sizeof *level);
    NPYX_TRY(npyx_pickle_check(p, level));
    NPYX_TRY(numpy_shape(p, shape, &field->ndim, &field->shape, &field->nelem));
    *level = (uint8_t)field->ndim;
    field->level_ndims = level;
    field->nlevels = field->ndim > 0;
    return NPYX_OK;
}

/* A field from (dtype, offset [, title]); the dtype's state may say that it is a subarray of another. */
static npyx_status numpy_field(npyx_pickle *p, const npyx_object *name, const npyx_object *value, int depth,
                               int64_t itemsize, npyx_field *field) {
    const npyx_object *of = npyx_pickle_part(value, 0);
    const npyx_object *state = of != NULL && of->kind == NPYX_OBJECT_INSTANCE ? of->instance->state : NULL;
    const npyx_object *subarray = npyx_pickle_part(state, 2), *title = npyx_pickle_part(value, 2);
    bool is_subarray = subarray != NULL && subarray->kind == NPYX_OBJECT_TUPLE;
    int64_t nbytes;
    *field = (npyx_field){.nelem = 1};
    if (name->kind != NPYX_OBJECT_TEXT || !npyx_pickle_integer_of(npyx_pickle_part(value, 1), &field->off))
        return NPYX_DONE;
    field->name = name->text.bytes;
    field->name_nbytes = name->text.nbytes;
    if (title != NULL && title->kind == NPYX_OBJECT_TEXT) {
        field->title = title->text.bytes;
        field->title_nbytes = title->text.nbytes;
    }
    if (is_subarray)
        NPYX_TRY(numpy_subarray(p, npyx_pickle_part(subarray, 1), field));
    NPYX_TRY(numpy_dtype(p, is_subarray ? npyx_pickle_part(subarray, 0) : of, depth + 1, &field->dtype));
    bool is_inside = npyx_multiply_i64(field->nelem, field->dtype->itemsize, &nbytes) && field->off >= 0 &&
                     field->off <= itemsize && nbytes <= itemsize - field->off;
    return is_inside ? NPYX_OK : NPYX_DONE;
}

/* Fields are in the order of their names, with titles among them; Python 2's dicts had no order. NPYX_DONE
 * when there is none. */
static npyx_status numpy_find_field(npyx_pickle *p, const npyx_object *fields, const npyx_object *name,
                                    uint32_t *next, const npyx_object **field) {
    uint32_t npairs = fields->list.count / 2, nlooked = npairs < NUMPY_FEW_FIELDS ? npairs : 2;
    if (name->kind != NPYX_OBJECT_TEXT)
        return NPYX_DONE;
    for (uint32_t i = 0; i < nlooked; i++) {
        NPYX_TRY(npyx_pickle_work(p, sizeof(npyx_object) + name->text.nbytes));
        uint32_t at = (*next + i) % npairs;
        const npyx_object *key = fields->list.items[2 * at];
        if (key->kind == NPYX_OBJECT_TEXT &&
            npyx_is_same(key->text.bytes, key->text.nbytes, name->text.bytes, name->text.nbytes)) {
            *next = at + 1;
            *field = fields->list.items[2 * at + 1];
            return NPYX_OK;
        }
    }
    return NPYX_DONE;
}

/* Counts all fields, at any depth; beyond `most` it stops early. */
static int64_t numpy_count_fields(const npyx_dtype *dtype, int64_t most) {
    int64_t count = dtype->nfields;
    for (int i = 0; i < dtype->nfields && count <= most; i++)
        count += numpy_count_fields(dtype->fields[i].dtype, most - count);
    return count;
}

/* A dtype may be that of many fields and be in the pickle once. So its total is bounded, and charged. */
static npyx_status numpy_check_fields(npyx_pickle *p, const npyx_dtype *dtype) {
    int64_t count = numpy_count_fields(dtype, NUMPY_MAX_FIELDS);
    npyx_error unseen;
    npyx_status status = npyx_dtype_check_objects(p->arena->host, dtype, &unseen);
    if (status != NPYX_OK)
        return status == NPYX_UNSUPPORTED ? NPYX_DONE : npyx_fail_again(p->error, &unseen);
    NPYX_TRY(npyx_pickle_work(p, (uint64_t)count * sizeof(npyx_field)));
    return count <= NUMPY_MAX_FIELDS ? NPYX_OK : NPYX_DONE;
}

/* Bytes between fields, as a field. */
static npyx_status numpy_add_padding(npyx_pickle *p, npyx_dtype *dtype, npyx_field *fields, int64_t off,
                                     int64_t end) {
    npyx_dtype *padding = npyx_pickle_alloc(p, sizeof *padding);
    NPYX_TRY(npyx_pickle_check(p, padding));
    *padding = (npyx_dtype){.type = NPYX_VOID, .multiple = 1, .itemsize = end - off};
    fields[dtype->nfields++] =
        (npyx_field){.name = "", .dtype = padding, .off = off, .nelem = 1, .is_padding = true};
    return NPYX_OK;
}

/* A header says of fields only what comes after what, so bytes between them are fields there
 * (numpy.lib.format.dtype_to_descr). Of fields that overlap, or are in another order, it can say nothing. */
static npyx_status numpy_pad(npyx_pickle *p, npyx_dtype *dtype) {
    const npyx_field *named = dtype->fields;
    int nnamed = dtype->nfields;
    int64_t off = 0;
    npyx_field *fields = npyx_pickle_array(p, 2 * nnamed + 1, sizeof *fields);
    NPYX_TRY(npyx_pickle_check(p, fields));
    dtype->nfields = 0;
    for (int i = 0; i < nnamed; i++) {
        if (named[i].off > off)
            NPYX_TRY(numpy_add_padding(p, dtype, fields, off, named[i].off));
        fields[dtype->nfields++] = named[i];
        off = named[i].off + named[i].nelem * named[i].dtype->itemsize;
    }
    if (dtype->itemsize > off)
        NPYX_TRY(numpy_add_padding(p, dtype, fields, off, dtype->itemsize));
    dtype->fields = fields;
    return NPYX_OK;
}

static npyx_status numpy_struct_dtype(npyx_pickle *p, const npyx_object *state, int depth,
                                      const npyx_dtype **dtype) {
    const npyx_object *names = npyx_pickle_part(state, 3), *fields = npyx_pickle_part(state, 4);
    int64_t itemsize;
    bool is_known = names->kind == NPYX_OBJECT_TUPLE && fields != NULL && fields->kind == NPYX_OBJECT_DICT &&
                    npyx_pickle_integer_of(npyx_pickle_part(state, 5), &itemsize) && itemsize >= 0 &&
                    itemsize <= NPYX_MAX_ITEMSIZE && names->list.count <= NUMPY_MAX_FIELDS &&
                    (names->list.count == 0) == (fields->list.count == 0);
    if (!is_known)
        return NPYX_DONE;
    uint32_t n = names->list.count, next = 0;
    npyx_field *made = npyx_pickle_array(p, n + 1, sizeof *made);
    NPYX_TRY(npyx_pickle_check(p, made));
    npyx_dtype *whole = npyx_pickle_alloc(p, sizeof *whole);
    NPYX_TRY(npyx_pickle_check(p, whole));
    *whole = (npyx_dtype){
        .type = NPYX_STRUCT, .multiple = 1, .itemsize = itemsize, .nfields = (int)n, .fields = made};
    for (uint32_t i = 0; i < n; i++) {
        const npyx_object *name = names->list.items[i], *value;
        NPYX_TRY(numpy_find_field(p, fields, name, &next, &value));
        NPYX_TRY(numpy_field(p, name, value, depth, itemsize, &made[i]));
        whole->has_objects = whole->has_objects || made[i].dtype->has_objects;
    }
    if (p->options.is_file)
        NPYX_TRY(numpy_pad(p, whole));
    *dtype = whole;
    return numpy_check_fields(p, whole);
}

static bool numpy_is_string_dtype(const npyx_object *callable) {
    return npyx_pickle_is_global(callable, "numpy._core._internal._convert_to_stringdtype_kwargs") ||
           npyx_pickle_is_global(callable, "numpy.core._internal._convert_to_stringdtype_kwargs") ||
           npyx_pickle_is_global(callable, "numpy.dtypes.StringDType");
}

static const char numpy_dtype_name[] = "numpy.dtype";

static npyx_status numpy_make_dtype(npyx_pickle *p, const npyx_object_instance *instance, int depth,
                                    const npyx_dtype **dtype) {
    const npyx_object *state = instance->state, *names = npyx_pickle_part(state, 3);
    if (numpy_is_string_dtype(instance->callable)) {
        *dtype = p->objects;
        return NPYX_OK;
    }
    if (!npyx_pickle_is_global(instance->callable, numpy_dtype_name) || depth > NUMPY_MAX_DEPTH)
        return NPYX_DONE;
    if (names != NULL && names->kind == NPYX_OBJECT_TUPLE)
        return numpy_struct_dtype(p, state, depth, dtype);
    const npyx_object *subarray = npyx_pickle_part(state, 2);
    if (subarray != NULL && subarray->kind != NPYX_OBJECT_NONE)
        return NPYX_DONE;
    return numpy_plain_dtype(p, npyx_pickle_part(instance->args, 0), state, dtype);
}

/* A dtype's class, or a scalar's: `numpy.float64` is a dtype's name, `numpy.load` is none. */
npyx_status npyx_pickle_know_numpy(npyx_pickle *p, const npyx_object *global, bool *is_known) {
    const npyx_dtype *dtype;
    *is_known = numpy_is_string_dtype(global) || npyx_pickle_is_global(global, numpy_dtype_name);
    if (*is_known)
        return NPYX_OK;
    npyx_status status = numpy_plain_dtype(p, global, NULL, &dtype);
    *is_known = status == NPYX_OK && dtype != p->objects; /* which anything with an O is */
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status numpy_dtype(npyx_pickle *p, const npyx_object *object, int depth,
                               const npyx_dtype **dtype) {
    if (object == NULL || object->kind != NPYX_OBJECT_INSTANCE)
        return NPYX_DONE;
    npyx_object_instance *instance = object->instance;
    if (instance->dtype == NULL) {
        npyx_status status = numpy_make_dtype(p, instance, depth, &instance->dtype);
        if (status != NPYX_OK && status != NPYX_DONE)
            return status;
        instance->dtype = status == NPYX_DONE ? &numpy_unknown : instance->dtype;
    }
    *dtype = instance->dtype;
    return instance->dtype == &numpy_unknown ? NPYX_DONE : NPYX_OK;
}

/* ---- items ---- */

static npyx_status numpy_store(npyx_pickle *p, const npyx_dtype *dtype, npyx_object *object, uint8_t *item);

/* A timedelta64 from a timedelta, which is in seconds here. */
static npyx_status numpy_store_timedelta(const npyx_dtype *dtype, double seconds, npyx_value *value) {
    static const double unit_seconds[] = {
        [NPYX_UNIT_W] = 604800, [NPYX_UNIT_D] = 86400, [NPYX_UNIT_h] = 3600, [NPYX_UNIT_m] = 60,
        [NPYX_UNIT_s] = 1,      [NPYX_UNIT_ms] = 1e-3, [NPYX_UNIT_us] = 1e-6};
    bool is_known = dtype->unit >= NPYX_UNIT_W && dtype->unit <= NPYX_UNIT_us;
    double count = is_known ? round(seconds / (unit_seconds[dtype->unit] * dtype->multiple)) : INFINITY;
    if (!(fabs(count) < 0x1p62))
        return NPYX_DONE;
    *value = (npyx_value){.kind = NPYX_VALUE_INTEGER, .integer = (int64_t)count};
    return NPYX_OK;
}

static npyx_status numpy_store_value(npyx_pickle *p, const npyx_dtype *dtype, const npyx_object *object,
                                     uint8_t *item) {
    npyx_buffer scratch = {.host = p->arena->host};
    npyx_value value;
    npyx_error unseen;
    if (object->kind > NPYX_OBJECT_COMPLEX || object->kind == NPYX_OBJECT_GLOBAL)
        return NPYX_DONE;
    bool has_text = object->kind == NPYX_OBJECT_TEXT || object->kind == NPYX_OBJECT_BYTES;
    NPYX_TRY(npyx_pickle_work(p, sizeof *object + (has_text ? object->text.nbytes : 0)));
    npyx_status status = npyx_object_value(object, p->budget->allowed_nbytes, &scratch, &value, &unseen);
    if (status == NPYX_OK && dtype->type == NPYX_TIMEDELTA && value.kind == NPYX_VALUE_REAL)
        status = numpy_store_timedelta(dtype, value.real, &value);
    if (status == NPYX_OK)
        status = npyx_encode_value(p->arena->host, dtype, &value, item, &unseen);
    npyx_buffer_clear(&scratch);
    if (status == NPYX_NOMEM)
        return npyx_fail_nomem(p->error);
    return status == NPYX_OK ? NPYX_OK : NPYX_DONE;
}

/* Stores the items of an array that stands for a subarray, or for a scalar. */
static npyx_status numpy_store_array(npyx_pickle *p, const npyx_object_array *array, const npyx_dtype *dtype,
                                     int64_t nelem, uint8_t *items) {
    int64_t found = 1;
    for (int axis = 0; axis < array->ndim; axis++)
        found *= array->shape[axis];
    bool is_same = array->items != NULL && !array->is_fortran && array->dtype->type == dtype->type &&
                   array->dtype->itemsize == dtype->itemsize &&
                   array->dtype->is_big_endian == dtype->is_big_endian && array->dtype->unit == dtype->unit &&
                   array->dtype->multiple == dtype->multiple && dtype->type != NPYX_STRUCT;
    if (!is_same || found != nelem)
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_work(p, (uint64_t)(nelem * dtype->itemsize)));
    memcpy(items, array->items, (size_t)(nelem * dtype->itemsize));
    return NPYX_OK;
}

static npyx_status numpy_store_fields(npyx_pickle *p, const npyx_dtype *dtype, const npyx_object *object,
                                      uint8_t *item) {
    uint32_t i = 0;
    NPYX_TRY(npyx_pickle_work(p, (uint64_t)dtype->itemsize + (uint64_t)dtype->nfields * sizeof(npyx_field)));
    memset(item, 0, (size_t)dtype->itemsize);
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL; i++) {
        npyx_object *part = npyx_pickle_part(object, i);
        if (part == NULL)
            return NPYX_DONE;
        if (field->ndim == 0)
            NPYX_TRY(numpy_store(p, field->dtype, part, item + field->off));
        else if (part->kind == NPYX_OBJECT_ARRAY)
            NPYX_TRY(numpy_store_array(p, part->array, field->dtype, field->nelem, item + field->off));
        else
            return NPYX_DONE;
    }
    return i == object->list.count ? NPYX_OK : NPYX_DONE;
}

/* Stores an object as an item, as NumPy's own reading of the pickle would have. NPYX_DONE for one that does
 * not fit. */
static npyx_status numpy_store(npyx_pickle *p, const npyx_dtype *dtype, npyx_object *object, uint8_t *item) {
    if (dtype->type == NPYX_HELD_OBJECT || dtype->type == NPYX_OBJECT) {
        npyx_object_store(object, item);
        return NPYX_OK;
    }
    if (dtype->type == NPYX_STRUCT)
        return object->kind == NPYX_OBJECT_TUPLE ? numpy_store_fields(p, dtype, object, item) : NPYX_DONE;
    if (object->kind == NPYX_OBJECT_ARRAY)
        return numpy_store_array(p, object->array, dtype, 1, item);
    return numpy_store_value(p, dtype, object, item);
}

npyx_status npyx_pickle_store_list(npyx_pickle *p, const npyx_dtype *dtype, const npyx_object *list,
                                   uint8_t **items) {
    uint32_t n = list->list.count;
    uint64_t nbytes = (uint64_t)n * (uint64_t)dtype->itemsize; /* claimed by the dtype, not present */
    *items = npyx_pickle_alloc(p, nbytes + 1);
    NPYX_TRY(npyx_pickle_check(p, *items));
    if (dtype->type == NPYX_HELD_OBJECT && sizeof(void *) == 8 && n > 0) {
        memcpy(*items, list->list.items, (size_t)nbytes);
        return NPYX_OK;
    }
    for (uint32_t i = 0; i < n; i++) {
        NPYX_TRY(npyx_pickle_work(p, sizeof(npyx_object)));
        NPYX_TRY(numpy_store(p, dtype, list->list.items[i], *items + (int64_t)i * dtype->itemsize));
    }
    return NPYX_OK;
}

/* Copies items in Fortran order to C order. */
static npyx_status numpy_to_c_order(npyx_pickle *p, const npyx_object_array *array, int64_t nelem,
                                    const uint8_t **items) {
    npyx_object_array from = *array;
    uint8_t *made = npyx_pickle_array(p, nelem, (size_t)array->dtype->itemsize);
    NPYX_TRY(npyx_pickle_check(p, made));
    from.items = *items;
    *items = made;
    npyx_status status = npyx_object_array_to_c_order(&from, nelem, made, p->budget, p->error);
    return status == NPYX_OK ? NPYX_OK : npyx_pickle_overspent(p, status);
}

/* Sets the items of an array: bytes, or a list of objects. */
static npyx_status numpy_take_items(npyx_pickle *p, npyx_object_array *array, int64_t nelem, bool is_fortran,
                                    const npyx_object *data) {
    size_t data_nbytes;
    int64_t nbytes;
    uint8_t *stored;
    bool is_list = data != NULL && data->kind == NPYX_OBJECT_LIST;
    if (is_list != array->dtype->has_objects || !npyx_multiply_i64(nelem, array->dtype->itemsize, &nbytes))
        return NPYX_DONE;
    if (data != NULL && data->kind == NPYX_OBJECT_LEFT) {
        array->left_off = data->left.off;
        array->is_fortran = is_fortran && array->ndim > 1;
        return data->left.nbytes == nbytes ? NPYX_OK : NPYX_DONE;
    }
    if (is_list) {
        if (data->list.count != (uint64_t)nelem)
            return NPYX_DONE;
        NPYX_TRY(npyx_pickle_store_list(p, array->dtype, data, &stored));
        array->items = stored;
        array->nobjects = nelem;
        return NPYX_OK;
    }
    if (!npyx_pickle_bytes_of(data, &array->items, &data_nbytes) || data_nbytes != (uint64_t)nbytes)
        return NPYX_DONE;
    bool is_reordered = is_fortran && array->ndim > 1 && nbytes > 0;
    array->is_fortran = is_reordered && p->options.is_file;
    return is_reordered && !p->options.is_file ? numpy_to_c_order(p, array, nelem, &array->items) : NPYX_OK;
}

static npyx_status numpy_new_array(npyx_pickle *p, const npyx_object_array *array, npyx_object **object) {
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_ARRAY, object));
    (*object)->array = array;
    return NPYX_OK;
}

/* An array without its items. */
static npyx_status numpy_begin_array(npyx_pickle *p, const npyx_object *shape, const npyx_object *dtype,
                                     npyx_object_array **made, int64_t *nelem) {
    npyx_object_array *array = *made = npyx_pickle_alloc(p, sizeof *array);
    NPYX_TRY(npyx_pickle_check(p, array));
    *array = (npyx_object_array){0};
    *nelem = 1;
    NPYX_TRY(numpy_dtype(p, dtype, 0, &array->dtype));
    return shape == NULL ? NPYX_OK : numpy_shape(p, shape, &array->ndim, &array->shape, nelem);
}

/* An array from its parts. */
static npyx_status numpy_make_array(npyx_pickle *p, const npyx_object *shape, const npyx_object *dtype,
                                    bool is_fortran, const npyx_object *data, npyx_object_array **made) {
    int64_t nelem;
    NPYX_TRY(numpy_begin_array(p, shape, dtype, made, &nelem));
    return numpy_take_items(p, *made, nelem, is_fortran, data);
}

/* (version, shape, dtype, is_fortran, data, ...); the oldest have no version. */
static bool numpy_state(const npyx_object *state, const npyx_object *parts[4], bool *is_fortran,
                        uint32_t *next) {
    int64_t version, fortran;
    uint32_t first = npyx_pickle_integer_of(npyx_pickle_part(state, 0), &version);
    for (uint32_t i = 0; i < 4; i++)
        parts[i] = npyx_pickle_part(state, first + i);
    *next = first + 4;
    bool is_known =
        parts[3] != NULL && parts[0]->kind == NPYX_OBJECT_TUPLE && npyx_pickle_integer_of(parts[2], &fortran);
    *is_fortran = is_known && fortran != 0;
    return is_known;
}

npyx_status npyx_pickle_build_array(npyx_pickle *p, npyx_object *object, const npyx_object *state) {
    const npyx_object *parts[4];
    npyx_object_array *array;
    bool is_fortran;
    uint32_t next;
    if (!numpy_state(state, parts, &is_fortran, &next))
        return NPYX_DONE;
    NPYX_TRY(numpy_make_array(p, parts[0], parts[1], is_fortran, parts[3], &array));
    array->state = state;
    object->kind = NPYX_OBJECT_ARRAY;
    object->array = array;
    return NPYX_OK;
}

npyx_status npyx_pickle_call_frombuffer(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    bool is_fortran = npyx_pickle_is_text(npyx_pickle_part(args, 3), "F");
    npyx_object_array *array;
    if (args->list.count != 4)
        return NPYX_DONE;
    NPYX_TRY(numpy_make_array(p, args->list.items[2], args->list.items[1], is_fortran, args->list.items[0],
                              &array));
    return numpy_new_array(p, array, object);
}

npyx_status npyx_pickle_call_scalar(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    npyx_object_array *array;
    if (args->list.count != 2)
        return NPYX_DONE;
    NPYX_TRY(numpy_make_array(p, NULL, args->list.items[0], false, args->list.items[1], &array));
    return numpy_new_array(p, array, object);
}

/* ---- joblib's ---- */

/* Before the items is the number of bytes that align them, and these; files of joblib up to 1.1 have no such
 * thing. */
static npyx_status numpy_take_joblib_items(npyx_pickle *p, npyx_object_array *array, int64_t nelem,
                                           const npyx_object *order, const npyx_object *alignment) {
    npyx_object *items;
    const uint8_t *padding_nbytes;
    int64_t nbytes, alignment_nbytes;
    if (!npyx_multiply_i64(nelem, array->dtype->itemsize, &nbytes))
        return NPYX_DONE;
    if (npyx_pickle_integer_of(alignment, &alignment_nbytes)) {
        NPYX_TRY(npyx_pickle_take(p, 1, &padding_nbytes));
        NPYX_TRY(npyx_pickle_take(p, *padding_nbytes, &padding_nbytes));
    }
    NPYX_TRY(npyx_pickle_take_bytes(p, (uint64_t)nbytes, &items));
    return numpy_take_items(p, array, nelem, npyx_pickle_is_text(order, "F"), items);
}

/* joblib/numpy_pickle.py, NumpyArrayWrapper: shape, order and dtype are its attributes. An array of objects
 * is a pickle of its own. */
npyx_status npyx_pickle_build_joblib(npyx_pickle *p, npyx_object *object, const npyx_object *state) {
    const npyx_object *shape, *dtype, *order, *alignment = NULL;
    npyx_object_array *array;
    npyx_object *read;
    int64_t nelem;
    if (!p->options.is_joblib || p->is_nested)
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_entry(p, state, "shape", &shape));
    NPYX_TRY(npyx_pickle_entry(p, state, "dtype", &dtype));
    NPYX_TRY(npyx_pickle_entry(p, state, "order", &order));
    npyx_status status = npyx_pickle_entry(p, state, "numpy_array_alignment_bytes", &alignment);
    if (status != NPYX_OK && status != NPYX_DONE)
        return status;
    NPYX_TRY(numpy_begin_array(p, shape, dtype, &array, &nelem));
    if (array->dtype->has_objects) {
        NPYX_TRY(p->read_nested(p, &read));
        *object = *read;
        return NPYX_OK;
    }
    NPYX_TRY(numpy_take_joblib_items(p, array, nelem, order, alignment));
    object->kind = NPYX_OBJECT_ARRAY;
    object->array = array;
    return NPYX_OK;
}

/* ---- masked arrays ---- */

static const npyx_dtype numpy_bool = {.type = NPYX_BOOL, .multiple = 1, .itemsize = 1};

/* Nested lists of an array's items from *at on, with None for masked ones. */
static npyx_status numpy_list_masked(npyx_pickle *p, const npyx_object_array *array, int axis,
                                     const uint8_t *mask, int64_t *at, npyx_object **object) {
    if (axis == array->ndim && mask[*at] != 0) {
        *object = p->none;
        ++*at;
        return NPYX_OK;
    }
    if (axis == array->ndim) {
        npyx_object_array *item = npyx_pickle_alloc(p, sizeof *item);
        NPYX_TRY(npyx_pickle_check(p, item));
        *item = (npyx_object_array){.dtype = array->dtype,
                                    .items = array->items + *at * array->dtype->itemsize,
                                    .nobjects = array->nobjects > 0};
        ++*at;
        return numpy_new_array(p, item, object);
    }
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_LIST, object));
    for (int64_t i = 0; i < array->shape[axis]; i++) {
        npyx_object *part;
        NPYX_TRY(numpy_list_masked(p, array, axis + 1, mask, at, &part));
        NPYX_TRY(npyx_pickle_add(p, *object, part));
    }
    return NPYX_OK;
}

/* The state is the array's, followed by the mask's bytes, in the array's order, and the fill value. Of a file
 * it stays a call. */
npyx_status npyx_pickle_build_masked(npyx_pickle *p, npyx_object *object, const npyx_object *state) {
    const npyx_object *parts[4];
    const uint8_t *mask;
    bool is_fortran;
    uint32_t next;
    size_t nbytes;
    npyx_object *listed;
    int64_t nelem = 1, at = 0;
    if (p->options.is_file || !numpy_state(state, parts, &is_fortran, &next) ||
        !npyx_pickle_bytes_of(npyx_pickle_part(state, next), &mask, &nbytes))
        return NPYX_DONE;
    npyx_object_array *array;
    NPYX_TRY(numpy_make_array(p, parts[0], parts[1], is_fortran, parts[3], &array));
    const npyx_object_array as_mask = {.dtype = &numpy_bool, .ndim = array->ndim, .shape = array->shape};
    for (int axis = 0; axis < array->ndim; axis++)
        nelem *= array->shape[axis];
    if (nbytes != (uint64_t)nelem || nelem == 0)
        return NPYX_DONE;
    if (is_fortran && array->ndim > 1)
        NPYX_TRY(numpy_to_c_order(p, &as_mask, nelem, &mask));
    NPYX_TRY(numpy_list_masked(p, array, 0, mask, &at, &listed));
    *object = *listed;
    return NPYX_OK;
}
