#include "object_arrays.h"

#include <math.h>

#include "array/view.h"
#include "text/number_text.h"
#include "text/span.h"

/* The work of a visit. */
enum { TREE_VISIT_NBYTES = 256, TREE_MAX_KEY_NBYTES = 1 << 16, TREE_MAX_NUMBER = (1 << 28) - 1 };

/* A byte of a repr, which is written piece by piece, is as much work as so many that are copied. */
enum { TREE_REPR_WORK = 64 };

typedef struct tree_walk {
    npyx_arena *arena;
    npyx_budget *budget;
    npyx_error *error;
    npyx_found_arrays *found;
    npyx_buffer name; /* of the current object */
    npyx_object *ancestors[NPYX_OBJECT_MAX_DEPTH];
    int depth;
    int64_t npassed; /* objects that contain themselves */
} tree_walk;

static npyx_status tree_visit(tree_walk *w, npyx_object *object);

/* ---- memory ---- */

static npyx_status tree_explain_toobig(tree_walk *w, npyx_status status) {
    if (status != NPYX_TOOBIG)
        return status;
    return npyx_fail(
        w->error, NPYX_UNSUPPORTED, -1,
        "the arrays in its pickle are in so many places that listing them takes more than %" PRIu64 " bytes",
        w->budget->allowed_nbytes);
}

static npyx_status tree_alloc(tree_walk *w, size_t nbytes, void **block) {
    NPYX_TRY(tree_explain_toobig(w, npyx_budget_spend(w->budget, nbytes, w->error)));
    *block = npyx_arena_alloc(w->arena, nbytes);
    return npyx_check_memory(*block, w->error);
}

/* ---- names ---- */

/* Python's repr, of what may be a key. A tuple may be in itself many times, so its end is that of the name's
 * room. */
static void tree_put_repr(npyx_buffer *name, const npyx_object *key, int depth) {
    char number[NPYX_NUMBER_TEXT_NBYTES];
    switch ((npyx_object_kind)key->kind) {
    case NPYX_OBJECT_NONE: npyx_buffer_append(name, "None", 4); return;
    case NPYX_OBJECT_BOOL: npyx_buffer_append_text(name, key->integer ? "True" : "False"); return;
    case NPYX_OBJECT_INTEGER: npyx_buffer_append(name, number, npyx_text_i64(key->integer, number)); return;
    case NPYX_OBJECT_WIDE:
    case NPYX_OBJECT_GLOBAL: npyx_buffer_append(name, key->text.bytes, key->text.nbytes); return;
    case NPYX_OBJECT_REAL:
        if (isfinite(key->real))
            npyx_buffer_append(name, number, npyx_text_f64(key->real, number));
        else
            npyx_buffer_append_text(name, isnan(key->real) ? "nan" : key->real > 0 ? "inf" : "-inf");
        return;
    case NPYX_OBJECT_BYTES: npyx_buffer_append_char(name, 'b'); /* fall through */
    case NPYX_OBJECT_TEXT:
        npyx_buffer_append_bytes_repr(name, key->text.bytes, key->text.nbytes, key->kind == NPYX_OBJECT_TEXT);
        return;
    case NPYX_OBJECT_TUPLE: break;
    default: npyx_buffer_append_char(name, '?'); return;
    }
    npyx_buffer_append_char(name, '(');
    for (uint32_t i = 0; i < key->list.count && depth < 8 && name->status == NPYX_OK; i++) {
        npyx_buffer_append_text(name, i > 0 ? ", " : "");
        tree_put_repr(name, key->list.items[i], depth + 1);
    }
    npyx_buffer_append_text(name, key->list.count == 1 ? ",)" : ")");
}

/* Adds a key to the name; `...` if it is too long. Returns its work in bytes, that of what was taken back
 * too. */
static size_t tree_put_key(npyx_buffer *name, const npyx_object *key) {
    size_t nbytes = name->nbytes, byte_work = key->kind == NPYX_OBJECT_TEXT ? 1 : TREE_REPR_WORK;
    name->limit_nbytes = nbytes + TREE_MAX_KEY_NBYTES;
    if (key->kind == NPYX_OBJECT_TEXT)
        npyx_buffer_append(name, key->text.bytes, key->text.nbytes);
    else
        tree_put_repr(name, key, 0);
    name->limit_nbytes = 0;
    if (name->status != NPYX_TOOBIG)
        return (name->nbytes - nbytes) * byte_work;
    name->status = NPYX_OK;
    name->nbytes = nbytes;
    npyx_buffer_append_text(name, "...");
    return TREE_MAX_KEY_NBYTES * byte_work;
}

/* Goes to a part of the current object: `.KEY` or `.NUMBER` is added to the name. */
static npyx_status tree_enter(tree_walk *w, const npyx_object *key, uint32_t number, npyx_object *part) {
    size_t nbytes = w->name.nbytes, work_nbytes = 0;
    char digits[NPYX_NUMBER_TEXT_NBYTES];
    if (nbytes > 0)
        npyx_buffer_append_char(&w->name, '.');
    if (key == NULL)
        npyx_buffer_append(&w->name, digits, npyx_text_i64(number, digits));
    else
        work_nbytes = tree_put_key(&w->name, key);
    NPYX_TRY(npyx_buffer_check(&w->name, w->error));
    NPYX_TRY(tree_explain_toobig(w, npyx_budget_work(w->budget, work_nbytes, w->error)));
    npyx_status status = tree_visit(w, part);
    w->name.nbytes = nbytes;
    return status;
}

/* ---- arrays ---- */

static npyx_status tree_add(tree_walk *w, npyx_found_array array) {
    /* its place in this list and in the archive's, which are copied while they grow */
    enum { LISTED_NBYTES = 5 * sizeof array };
    npyx_found_arrays *found = w->found;
    void *name = NULL;
    NPYX_TRY(tree_explain_toobig(w, npyx_budget_spend(w->budget, LISTED_NBYTES, w->error)));
    NPYX_TRY(tree_alloc(w, w->name.nbytes, &name));
    if (w->name.nbytes > 0)
        memcpy(name, w->name.bytes, w->name.nbytes);
    NPYX_TRY(npyx_grow(w->arena->host, &found->arrays, found->count, &found->capacity,
                       sizeof found->arrays[0], w->error));
    array.name = name;
    array.name_nbytes = w->name.nbytes;
    found->arrays[found->count++] = array;
    npyx_object *object = w->depth > 0 ? w->ancestors[w->depth - 1] : NULL;
    if (object != NULL && object->array_number == 0) /* its first name */
        object->array_number = (uint32_t)found->count & TREE_MAX_NUMBER;
    return NPYX_OK;
}

/* Whether fields follow each other, as in the header of a .npy. */
static bool tree_has_descr(const npyx_dtype *dtype) {
    int64_t off = 0;
    bool has = true;
    for (int i = 0; i < dtype->nfields && has; i++) {
        const npyx_field *field = &dtype->fields[i];
        has = field->off == off && tree_has_descr(field->dtype);
        off += field->nelem * field->dtype->itemsize;
    }
    return has && (dtype->type != NPYX_STRUCT || off == dtype->itemsize);
}

/* NumPy's scalars, which have no axes, are no arrays. */
static npyx_status tree_add_array(tree_walk *w, const npyx_object_array *array) {
    if (array->ndim == 0)
        return NPYX_OK;
    const npyx_dtype *dtype = array->dtype;
    const char *foreign = dtype->has_objects && dtype->type == NPYX_STRUCT ? "objects in fields"
                          : !tree_has_descr(dtype)                         ? "fields out of order"
                                                                           : NULL;
    return tree_add(w, (npyx_found_array){.array = array,
                                          .type = array->dtype->type,
                                          .foreign = foreign,
                                          .ndim = array->ndim,
                                          .shape = array->shape});
}

/* Arrays may be in the items of an array of objects, too: those are numbered in C order. */
static npyx_status tree_add_numpy(tree_walk *w, const npyx_object_array *array) {
    NPYX_TRY(tree_add_array(w, array));
    if (array->dtype->type != NPYX_HELD_OBJECT)
        return NPYX_OK;
    for (int64_t i = 0; i < array->nobjects; i++)
        NPYX_TRY(tree_enter(w, NULL, (uint32_t)i, npyx_object_of_item(array->items + 8 * i)));
    return NPYX_OK;
}

static const char tree_size_name[] = "torch.Size"; /* a tuple */

/* A tuple of lengths or strides, none of which is negative; NULL: it is none. */
static npyx_status tree_lengths(tree_walk *w, const npyx_object *tuple, const int64_t **lengths, int *n) {
    void *block = NULL;
    *lengths = NULL;
    if (tuple != NULL && tuple->kind == NPYX_OBJECT_INSTANCE &&
        npyx_pickle_is_global(tuple->instance->callable, tree_size_name))
        tuple = npyx_pickle_part(tuple->instance->args, 0);
    bool is_tuple = tuple != NULL && (tuple->kind == NPYX_OBJECT_TUPLE || tuple->kind == NPYX_OBJECT_LIST) &&
                    tuple->list.count <= NPYX_MAX_NDIM;
    if (!is_tuple)
        return NPYX_OK;
    NPYX_TRY(tree_alloc(w, (tuple->list.count + 1) * sizeof(int64_t), &block));
    int64_t *numbers = block;
    for (uint32_t i = 0; i < tuple->list.count; i++) {
        if (!npyx_pickle_integer_of(tuple->list.items[i], &numbers[i]) || numbers[i] < 0)
            return NPYX_OK;
    }
    *n = (int)tuple->list.count;
    *lengths = numbers;
    return NPYX_OK;
}

/* The names of dtypes and of the classes of storages, after `torch.` or `torch.cuda.`. */
static const struct {
    const char *dtype, *storage; /* dtype: NULL if it is not read; storage: NULL if it is always untyped */
    npyx_type type;
} torch_types[] = {{"float32", "FloatStorage", NPYX_F4},
                   {"float64", "DoubleStorage", NPYX_F8},
                   {"float16", "HalfStorage", NPYX_F2},
                   {"bfloat16", "BFloat16Storage", NPYX_BFLOAT16},
                   {"int64", "LongStorage", NPYX_I8},
                   {"int32", "IntStorage", NPYX_I4},
                   {"int16", "ShortStorage", NPYX_I2},
                   {"int8", "CharStorage", NPYX_I1},
                   {"uint8", "ByteStorage", NPYX_U1},
                   {"bool", "BoolStorage", NPYX_BOOL},
                   {"complex64", "ComplexFloatStorage", NPYX_C8},
                   {"complex128", "ComplexDoubleStorage", NPYX_C16},
                   {"uint8", "UntypedStorage", NPYX_U1},
                   {NULL, "QInt8Storage", NPYX_I1}, /* the storages of quantized tensors */
                   {NULL, "QUInt8Storage", NPYX_U1},
                   {NULL, "QInt32Storage", NPYX_I4},
                   {NULL, "QUInt4x2Storage", NPYX_U1},
                   {NULL, "QUInt2x4Storage", NPYX_U1},
                   {"uint16", NULL, NPYX_U2},
                   {"uint32", NULL, NPYX_U4},
                   {"uint64", NULL, NPYX_U8},
                   {"float8_e4m3fn", NULL, NPYX_E4M3FN},
                   {"float8_e5m2", NULL, NPYX_E5M2},
                   {"float8_e4m3fnuz", NULL, NPYX_E4M3FNUZ},
                   {"float8_e5m2fnuz", NULL, NPYX_E5M2FNUZ},
                   {"float8_e8m0fnu", NULL, NPYX_E8M0FNU}};
enum { NTORCH_TYPES = sizeof torch_types / sizeof torch_types[0] };

/* What comes after the last point of a global of torch's. */
static npyx_span torch_name_of(const npyx_object *global) {
    npyx_span name = {NULL, 0};
    if (global == NULL || global->kind != NPYX_OBJECT_GLOBAL)
        return name;
    name = (npyx_span){global->text.bytes, global->text.nbytes};
    if (!npyx_span_begins(name, "torch."))
        return (npyx_span){NULL, 0};
    for (size_t i = name.nbytes; i > 0; i--) {
        if (name.text[i - 1] == '.')
            return npyx_span_after(name, i);
    }
    return name;
}

/* The number of a dtype, or of the class of a storage; NTORCH_TYPES: unknown. */
static size_t torch_type_number(const npyx_object *global, bool is_storage) {
    npyx_span name = torch_name_of(global);
    size_t i = 0;
    for (; i < NTORCH_TYPES; i++) {
        const char *known = is_storage ? torch_types[i].storage : torch_types[i].dtype;
        if (known != NULL && name.text != NULL && npyx_span_is(name, known))
            break;
    }
    return i;
}

/* A copy of a global's last name in lower case, without `Storage`: the dtype of what is not read. */
static npyx_status torch_shown_type(tree_walk *w, const npyx_object *global, const char **shown) {
    npyx_span name = torch_name_of(global);
    void *block = NULL;
    if (npyx_span_ends(name, "Storage"))
        name.nbytes -= strlen("Storage");
    name.nbytes = name.nbytes < 40 ? name.nbytes : 40;
    NPYX_TRY(tree_alloc(w, name.nbytes + 1, &block));
    char *text = block;
    for (size_t i = 0; i < name.nbytes; i++) {
        char c = name.text[i];
        bool is_lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        text[i] = is_lower ? c : c >= 'A' && c <= 'Z' ? (char)(c + 32) : '_';
    }
    text[name.nbytes] = '\0';
    *shown = name.nbytes > 0 ? text : "unknown";
    return NPYX_OK;
}

static npyx_status tree_add_fault(tree_walk *w, const char *fault) {
    return tree_add(w, (npyx_found_array){.fault = fault, .type = NPYX_U1});
}

/* A view of a storage: (key, first item, number of items), in files from before PyTorch 1.12. */
static bool torch_add_view(const npyx_object *id, int64_t *first) {
    const npyx_object *view = npyx_pickle_part(id, 5);
    int64_t off = 0;
    if (view == NULL || view->kind == NPYX_OBJECT_NONE)
        return true;
    return npyx_pickle_integer_of(npyx_pickle_part(view, 1), &off) && off >= 0 &&
           npyx_add_i64(*first, off, first);
}

/* torch/serialization.py, persistent_id: ('storage', class, key, location, number of items [, view]). Adds an
 * array of its items. */
static npyx_status tree_add_stored(tree_walk *w, const npyx_object *storage, const npyx_object *dtype,
                                   npyx_found_array array) {
    const npyx_object *id = npyx_pickle_persistent_id(storage);
    const npyx_object *class = npyx_pickle_part(id, 1);
    array.key = npyx_pickle_part(id, 2);
    bool is_storage = npyx_pickle_is_text(npyx_pickle_part(id, 0), "storage") && array.key != NULL &&
                      array.key->kind == NPYX_OBJECT_TEXT &&
                      npyx_pickle_integer_of(npyx_pickle_part(id, 4), &array.storage_nelem) &&
                      array.storage_nelem >= 0 && torch_add_view(id, &array.first);
    if (!is_storage)
        return tree_add_fault(w, "its storage is not one of torch.save's");
    size_t stored = torch_type_number(class, true);
    size_t number = dtype != NULL ? torch_type_number(dtype, false) : stored;
    bool is_read = number < NTORCH_TYPES && torch_types[number].dtype != NULL;
    if (stored < NTORCH_TYPES)
        array.storage_itemsize = npyx_types[torch_types[stored].type].itemsize;
    if (is_read)
        array.type = torch_types[number].type;
    else if (array.foreign == NULL)
        NPYX_TRY(torch_shown_type(w, dtype != NULL ? dtype : class, &array.foreign));
    if (dtype != NULL && is_read) /* the storage is untyped, and counts bytes */
        array.storage_nelem /= npyx_types[array.type].itemsize;
    return tree_add(w, array);
}

/* Storages may be saved by themselves. */
static npyx_status tree_add_storage(tree_walk *w, const npyx_object *storage) {
    const npyx_object *id = npyx_pickle_persistent_id(storage);
    void *block = NULL;
    NPYX_TRY(tree_alloc(w, 2 * sizeof(int64_t), &block));
    int64_t *numbers = block;
    numbers[1] = 1;
    if (!npyx_pickle_integer_of(npyx_pickle_part(id, 4), &numbers[0]))
        numbers[0] = -1;
    if (numbers[0] < 0)
        return tree_add_fault(w, "its storage is not one of torch.save's");
    return tree_add_stored(w, storage, NULL,
                           (npyx_found_array){.ndim = 1, .shape = numbers, .strides = numbers + 1});
}

/* (storage, first item, shape, strides, requires_grad, hooks [, metadata]); version 3 has a dtype before the
 * metadata. */
static npyx_status tree_add_tensor(tree_walk *w, const npyx_object *args, uint32_t dtype_at) {
    npyx_found_array array = {0};
    int nstrides = 0;
    const npyx_object *storage = npyx_pickle_part(args, 0);
    const npyx_object *dtype = dtype_at == 0 ? NULL : npyx_pickle_part(args, dtype_at);
    const npyx_object *metadata = npyx_pickle_part(args, dtype_at == 0 ? 6 : dtype_at + 1);
    NPYX_TRY(tree_lengths(w, npyx_pickle_part(args, 2), &array.shape, &array.ndim));
    NPYX_TRY(tree_lengths(w, npyx_pickle_part(args, 3), &array.strides, &nstrides));
    bool is_sound = storage != NULL && npyx_pickle_persistent_id(storage) != NULL && array.shape != NULL &&
                    array.strides != NULL && array.ndim == nstrides && (dtype_at == 0 || dtype != NULL) &&
                    npyx_pickle_integer_of(npyx_pickle_part(args, 1), &array.first) && array.first >= 0;
    if (!is_sound)
        return tree_add_fault(w, "its pickle does not say a storage, an offset, a shape and strides");
    if (metadata != NULL && metadata->kind == NPYX_OBJECT_DICT &&
        metadata->list.count > 0) /* its "math bits" */
        array.foreign = "conjugate or negative view";
    return tree_add_stored(w, storage, dtype, array);
}

/* A tensor that is not read. Its shape is argument number `at`, of the tuple that is argument `within` if
 * that is not -1. */
static npyx_status tree_add_foreign(tree_walk *w, const npyx_object *args, int within, uint32_t at,
                                    const char *foreign) {
    npyx_found_array array = {.foreign = foreign, .type = NPYX_NTYPES};
    if (within >= 0)
        args = npyx_pickle_part(args, (uint32_t)within);
    NPYX_TRY(tree_lengths(w, npyx_pickle_part(args, at), &array.shape, &array.ndim));
    return tree_add(w, array);
}

/* ---- calls ---- */

typedef enum torch_call {
    TORCH_TENSOR,  /* whose dtype is argument `at`, or if that is 0 its storage's */
    TORCH_WRAPPED, /* what argument `at` is */
    TORCH_OF_TYPE, /* a call of argument 0 with those of argument 2 */
    TORCH_FOREIGN
} torch_call;

static const struct torch_function {
    const char *name;
    torch_call call;
    int within;
    uint32_t at;
    const char *foreign;
} torch_functions[] = {
    {"torch._utils._rebuild_tensor", TORCH_TENSOR, 0, 0, NULL},
    {"torch._utils._rebuild_tensor_v2", TORCH_TENSOR, 0, 0, NULL},
    {"torch._utils._rebuild_tensor_v3", TORCH_TENSOR, 0, 6, NULL},
    {"torch._utils._rebuild_parameter", TORCH_WRAPPED, 0, 0, NULL},
    {"torch._utils._rebuild_parameter_with_state", TORCH_WRAPPED, 0, 0, NULL},
    {"torch._utils._rebuild_xla_tensor", TORCH_WRAPPED, 0, 0, NULL},
    {"torch._utils._rebuild_device_tensor_from_numpy", TORCH_WRAPPED, 0, 0, NULL},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", TORCH_WRAPPED, 0, 0, NULL},
    {"torch._tensor._rebuild_from_type", TORCH_OF_TYPE, 0, 0, NULL},
    {"torch._tensor._rebuild_from_type_v2", TORCH_OF_TYPE, 0, 0, NULL},
    {"torch.tensor._rebuild_from_type", TORCH_OF_TYPE, 0, 0, NULL},
    {"torch._utils._rebuild_qtensor", TORCH_TENSOR, 0, 0, NULL}, /* its storage's type is foreign */
    {"torch._utils._rebuild_sparse_tensor", TORCH_FOREIGN, 1, 2, "sparse"},
    {"torch._utils._rebuild_sparse_csr_tensor", TORCH_FOREIGN, 1, 3, "sparse"},
    {"torch._utils._rebuild_nested_tensor", TORCH_FOREIGN, -1, 99, "nested"},
    {"torch._utils._rebuild_meta_tensor_no_storage", TORCH_FOREIGN, -1, 1, "meta"},
    {"torch._utils._rebuild_wrapper_subclass", TORCH_FOREIGN, -1, 2, "wrapper"},
};
enum { NTORCH_FUNCTIONS = sizeof torch_functions / sizeof torch_functions[0] };

/* NULL: it is another function. */
static const struct torch_function *torch_function_of(const npyx_object *callable) {
    const bool is_global = callable != NULL && callable->kind == NPYX_OBJECT_GLOBAL;
    if (!is_global || !npyx_span_begins((npyx_span){callable->text.bytes, callable->text.nbytes}, "torch."))
        return NULL; /* most instances, at one look */
    for (size_t i = 0; i < NTORCH_FUNCTIONS; i++) {
        if (npyx_pickle_is_global(callable, torch_functions[i].name))
            return &torch_functions[i];
    }
    return NULL;
}

bool npyx_object_arrays_know(const npyx_object *global) {
    static const char *const modules[] = {"torch.", "torch.cuda.", "torch.storage."};
    const npyx_span all = {global->text.bytes, global->text.nbytes}, name = torch_name_of(global);
    bool is_type =
        torch_type_number(global, false) < NTORCH_TYPES || torch_type_number(global, true) < NTORCH_TYPES;
    for (size_t i = 0; is_type && i < sizeof modules / sizeof modules[0]; i++) {
        if (npyx_span_begins(all, modules[i]) && all.nbytes - name.nbytes == strlen(modules[i]))
            return true;
    }
    return torch_function_of(global) != NULL || npyx_pickle_is_global(global, tree_size_name);
}

/* NPYX_DONE: it is a call of something else. */
static npyx_status tree_add_call(tree_walk *w, const npyx_object *callable, const npyx_object *args) {
    const struct torch_function *function = torch_function_of(callable);
    if (function != NULL && function->call == TORCH_OF_TYPE) { /* which never calls one of its kind */
        function = torch_function_of(npyx_pickle_part(args, 0));
        args = npyx_pickle_part(args, 2);
    }
    if (function == NULL || function->call == TORCH_OF_TYPE || args == NULL)
        return NPYX_DONE;
    if (function->call == TORCH_FOREIGN)
        return tree_add_foreign(w, args, function->within, function->at, function->foreign);
    if (function->call != TORCH_WRAPPED)
        return tree_add_tensor(w, args, function->at);
    npyx_object *wrapped = npyx_pickle_part(args, function->at);
    if (wrapped == NULL)
        return NPYX_DONE;
    NPYX_TRY(tree_visit(w, wrapped));
    w->ancestors[w->depth - 1]->array_number = wrapped->array_number;
    return NPYX_OK;
}

/* ---- containers ---- */

static npyx_status tree_parts(tree_walk *w, const npyx_object *list) {
    for (uint32_t i = 0; i < list->list.count; i++)
        NPYX_TRY(tree_enter(w, NULL, i, list->list.items[i]));
    return NPYX_OK;
}

/* is_state: of a module's attributes, these three are not part of names. */
static npyx_status tree_pairs(tree_walk *w, const npyx_object *dict, bool is_state) {
    static const char *const passed[] = {"_parameters", "_buffers", "_modules"};
    for (uint32_t i = 0; i + 1 < dict->list.count; i += 2) {
        const npyx_object *key = dict->list.items[i];
        npyx_object *value = dict->list.items[i + 1];
        bool is_passed = false;
        for (size_t j = 0; j < sizeof passed / sizeof passed[0] && is_state; j++)
            is_passed |= npyx_pickle_is_text(key, passed[j]);
        NPYX_TRY(is_passed ? tree_visit(w, value) : tree_enter(w, key, 0, value));
    }
    return NPYX_OK;
}

/* A dict, or a pair of the object's own and that of its slots (pickle's "Pickling Class Instances"). */
static npyx_status tree_state(tree_walk *w, npyx_object *state) {
    if (state->kind == NPYX_OBJECT_DICT)
        return tree_pairs(w, state, true);
    if (state->kind != NPYX_OBJECT_TUPLE)
        return tree_visit(w, state);
    for (uint32_t i = 0; i < state->list.count; i++) {
        npyx_object *part = state->list.items[i];
        NPYX_TRY(part->kind == NPYX_OBJECT_DICT ? tree_pairs(w, part, true) : tree_enter(w, NULL, i, part));
    }
    return NPYX_OK;
}

static npyx_status tree_instance(tree_walk *w, const npyx_object *object) {
    const npyx_object_instance *instance = object->instance;
    if (npyx_pickle_persistent_id(object) != NULL)
        return tree_add_storage(w, object);
    if (npyx_pickle_is_global(instance->callable, "numpy.ma.core._mareconstruct") && instance->state != NULL)
        return tree_add_foreign(w, instance->state, -1, 1, "masked");
    npyx_status status = tree_add_call(w, instance->callable, instance->args);
    if (status != NPYX_DONE)
        return status;
    if (instance->args != NULL)
        NPYX_TRY(tree_parts(w, instance->args));
    if (instance->kwargs != NULL)
        NPYX_TRY(tree_pairs(w, instance->kwargs, false));
    if (instance->items != NULL)
        NPYX_TRY(tree_parts(w, instance->items));
    if (instance->entries != NULL)
        NPYX_TRY(tree_pairs(w, instance->entries, false));
    return instance->state == NULL ? NPYX_OK : tree_state(w, instance->state);
}

static npyx_status tree_contents(tree_walk *w, const npyx_object *object) {
    switch ((npyx_object_kind)object->kind) {
    case NPYX_OBJECT_ARRAY: return tree_add_numpy(w, object->array);
    case NPYX_OBJECT_LIST:
    case NPYX_OBJECT_TUPLE:
    case NPYX_OBJECT_SET: return tree_parts(w, object);
    case NPYX_OBJECT_DICT: return tree_pairs(w, object, false);
    case NPYX_OBJECT_INSTANCE: return tree_instance(w, object);
    default: return NPYX_OK;
    }
}

/* What is in many places is gone through in each, if arrays are in it: their names differ. */
static npyx_status tree_visit(tree_walk *w, npyx_object *object) {
    NPYX_TRY(tree_explain_toobig(w, npyx_budget_work(w->budget, TREE_VISIT_NBYTES, w->error)));
    if (object->kind < NPYX_OBJECT_LIST || object->is_barren)
        return NPYX_OK;
    if (object->is_entered) { /* a module may know the one that it is in */
        w->npassed++;
        return NPYX_OK;
    }
    if (w->depth == NPYX_OBJECT_MAX_DEPTH)
        return npyx_fail(w->error, NPYX_UNSUPPORTED, -1, "its pickle nests more than %d levels deep",
                         (int)NPYX_OBJECT_MAX_DEPTH);
    int64_t count = w->found->count, npassed = w->npassed;
    w->ancestors[w->depth++] = object;
    object->is_entered = true;
    npyx_status status = tree_contents(w, object);
    object->is_entered = false;
    w->depth--;
    object->is_barren = status == NPYX_OK && w->found->count == count && w->npassed == npassed;
    return status;
}

npyx_status npyx_object_arrays_find(npyx_arena *arena, npyx_budget *budget, npyx_object *root,
                                    const char *prefix, npyx_found_arrays *found, npyx_error *error) {
    tree_walk *w = npyx_alloc_zeroed(arena->host, sizeof *w);
    NPYX_TRY(npyx_check_memory(w, error));
    w->arena = arena;
    w->budget = budget;
    w->error = error;
    w->found = found;
    w->name.host = arena->host;
    npyx_buffer_append(&w->name, prefix, strlen(prefix));
    npyx_status status = npyx_buffer_check(&w->name, error);
    if (status == NPYX_OK)
        status = tree_visit(w, root);
    npyx_buffer_clear(&w->name);
    npyx_free(arena->host, w);
    return status;
}
