#include "object_tree.h"

/* As deep as arrays are looked for (object_arrays.c). */
enum { OBJECT_TREE_MAX_DEPTH = 100 };

typedef struct object_tree {
    const npyx_object_tree_names *names;
    npyx_buffer *out;
    npyx_error *error;
    const npyx_object *way[OBJECT_TREE_MAX_DEPTH];
    int depth;
} object_tree;

static npyx_status object_tree_append(object_tree *t, const npyx_object *object);

/* ---- keys ---- */

/* A text; other keys as their JSON, as in the JSON of an array of objects. */
static npyx_status object_tree_append_key(object_tree *t, const npyx_object *key) {
    npyx_buffer *out = t->out, text = {.host = out->host, .budget = out->budget};
    if (key->kind == NPYX_OBJECT_TEXT)
        return object_tree_append(t, key);
    t->out = &text;
    npyx_status status = object_tree_append(t, key);
    t->out = out;
    if (status == NPYX_OK)
        status = npyx_buffer_check(&text, t->error);
    if (status == NPYX_OK)
        status = npyx_object_append_text(text.bytes, text.nbytes, out, t->error);
    npyx_buffer_clear(&text);
    return status;
}

/* ---- parts ---- */

static npyx_status object_tree_append_list(object_tree *t, const npyx_object *list) {
    npyx_buffer_append_char(t->out, '[');
    for (uint32_t i = 0; i < list->list.count; i++) {
        npyx_buffer_append_text(t->out, i > 0 ? "," : "");
        NPYX_TRY(object_tree_append(t, list->list.items[i]));
    }
    npyx_buffer_append_char(t->out, ']');
    return NPYX_OK;
}

static npyx_status object_tree_append_dict(object_tree *t, const npyx_object *dict) {
    npyx_buffer_append_char(t->out, '{');
    for (uint32_t i = 0; i + 1 < dict->list.count; i += 2) {
        npyx_buffer_append_text(t->out, i > 0 ? "," : "");
        NPYX_TRY(object_tree_append_key(t, dict->list.items[i]));
        npyx_buffer_append_char(t->out, ':');
        NPYX_TRY(object_tree_append(t, dict->list.items[i + 1]));
    }
    npyx_buffer_append_char(t->out, '}');
    return NPYX_OK;
}

static npyx_status object_tree_append_instance(object_tree *t, const npyx_object_instance *instance) {
    const struct {
        const char *name;
        const npyx_object *part;
    } parts[] = {{",\"args\":", instance->args},
                 {",\"kwargs\":", instance->kwargs},
                 {",\"items\":", instance->items},
                 {",\"entries\":", instance->entries},
                 {",\"state\":", instance->state}};
    const npyx_object *callable = instance->callable;
    npyx_buffer_append_text(t->out, "{\"__class__\":");
    NPYX_TRY(callable->kind == NPYX_OBJECT_GLOBAL
                 ? npyx_object_append_text(callable->text.bytes, callable->text.nbytes, t->out, t->error)
                 : object_tree_append(t, callable));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].part == NULL)
            continue;
        npyx_buffer_append_text(t->out, parts[i].name);
        NPYX_TRY(object_tree_append(t, parts[i].part));
    }
    npyx_buffer_append_char(t->out, '}');
    return NPYX_OK;
}

/* ---- nodes ---- */

static npyx_status object_tree_append_array(const object_tree *t, uint32_t number) {
    const char *name = NULL;
    size_t nbytes = 0;
    t->names->name(t->names->ctx, number, &name, &nbytes);
    npyx_buffer_append_text(t->out, "{\"__array__\":");
    NPYX_TRY(npyx_object_append_text(name, nbytes, t->out, t->error));
    npyx_buffer_append_char(t->out, '}');
    return NPYX_OK;
}

/* NumPy's scalars are arrays without axes. */
static npyx_status object_tree_append_scalar(object_tree *t, const npyx_object_array *array) {
    if (array->dtype->type == NPYX_HELD_OBJECT && array->nobjects == 1)
        return object_tree_append(t, npyx_object_of_item(array->items));
    if (array->ndim > 0 || array->items == NULL || array->dtype->has_objects) {
        npyx_buffer_append_text(t->out, "null");
        return NPYX_OK;
    }
    return npyx_element_append_json(array->dtype, 0, NULL, array->items, t->out, t->error);
}

static npyx_status object_tree_append_kind(object_tree *t, const npyx_object *object) {
    switch ((npyx_object_kind)object->kind) {
    case NPYX_OBJECT_LIST:
    case NPYX_OBJECT_TUPLE:
    case NPYX_OBJECT_SET: return object_tree_append_list(t, object);
    case NPYX_OBJECT_DICT: return object_tree_append_dict(t, object);
    case NPYX_OBJECT_ARRAY: return object_tree_append_scalar(t, object->array);
    case NPYX_OBJECT_INSTANCE: return object_tree_append_instance(t, object->instance);
    default: return npyx_object_append_json(object, 0, t->out, t->error);
    }
}

static bool object_tree_is_passed(const object_tree *t, const npyx_object *object) {
    int i = 0;
    while (i < t->depth && t->way[i] != object)
        i++;
    return i < t->depth || t->depth == OBJECT_TREE_MAX_DEPTH;
}

static npyx_status object_tree_append(object_tree *t, const npyx_object *object) {
    enum { NODE_NBYTES = 16 }; /* brackets and names */
    NPYX_TRY(npyx_budget_spend(t->out->budget, NODE_NBYTES, t->error));
    NPYX_TRY(npyx_budget_work(t->out->budget, sizeof *object * (size_t)t->depth, t->error));
    if (object->array_number > 0)
        return object_tree_append_array(t, object->array_number);
    if (object_tree_is_passed(t, object)) {
        npyx_buffer_append_text(t->out, "null");
        return NPYX_OK;
    }
    t->way[t->depth++] = object;
    npyx_status status = object_tree_append_kind(t, object);
    t->depth--;
    return status;
}

npyx_status npyx_object_tree_append_json(const npyx_object *root, const npyx_object_tree_names *names,
                                         npyx_buffer *out, npyx_error *error) {
    object_tree *t = npyx_alloc(out->host, sizeof *t);
    NPYX_TRY(npyx_check_memory(t, error));
    *t = (object_tree){.names = names, .out = out, .error = error};
    npyx_status status = object_tree_append(t, root);
    npyx_free(out->host, t);
    return status;
}
