#include "array.h"

void npyx_array_init(npyx_array *array, npyx_host *host) {
    memset(array, 0, offsetof(npyx_array, shape)); /* shape is large, and most arrays have few dimensions */
    array->arena.host = host;
}

void npyx_array_clear(npyx_array *array) {
    npyx_arena_clear(&array->arena);
    npyx_array_init(array, array->arena.host);
}

npyx_status npyx_array_measure(npyx_array *array, npyx_error *error) {
    int64_t product = 1;
    bool is_empty = false;
    for (int axis = 0; axis < array->ndim; axis++) {
        if (array->shape[axis] == 0)
            is_empty = true;
        else if (!npyx_multiply_i64(product, array->shape[axis], &product))
            return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                                "the shape has more than 2^63 - 1 items");
    }
    int64_t nbytes;
    if (!npyx_multiply_i64(product, array->dtype->itemsize, &nbytes))
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                            "the shape needs more than 2^63 - 1 bytes (%" PRId64 " items of %" PRId64 ")",
                            product, array->dtype->itemsize);
    array->nelem = is_empty ? 0 : product;
    array->nbytes = is_empty ? 0 : nbytes;
    array->is_known = true;
    return NPYX_OK;
}

npyx_status npyx_array_check_nbytes(const npyx_array *array, int64_t present_nbytes, npyx_error *error) {
    int64_t data_nbytes = present_nbytes - array->data_off;
    if (array->nbytes <= data_nbytes || array->dtype->has_objects)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, array->data_off,
                        "data is truncated (header says %" PRId64 " bytes, there are %" PRId64
                        " from byte %" PRId64 ")",
                        array->nbytes, data_nbytes < 0 ? 0 : data_nbytes, array->data_off);
}

npyx_status npyx_array_check_values(const npyx_array *array, npyx_error *error) {
    if (array->is_foreign)
        return npyx_fail(error, NPYX_UNSUPPORTED, -1, "has the dtype %.*s, which is not read",
                         NPYX_SHOWN(array->descr, array->descr_nbytes, 40));
    if (!array->dtype->has_objects)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, array->data_off,
                        "holds Python objects, whose values can only be read (dtype %.*s)",
                        NPYX_SHOWN(array->descr, array->descr_nbytes, 80));
}

npyx_status npyx_array_check_written(const npyx_array *array, npyx_error *error) {
    if (!array->dtype->has_objects)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                        "dtype %.*s holds Python objects, which are a pickle and are never written",
                        NPYX_SHOWN(array->descr, array->descr_nbytes, 80));
}
