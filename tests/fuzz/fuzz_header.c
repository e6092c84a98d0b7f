/* The header of a .npy: what is read agrees with itself, and written anew reads as the same. */
#include "fuzz.h"

enum { PREFIX_NBYTES = 12 };

static void check(const npyx_array *array, size_t header_nbytes) {
    int64_t nelem = 1;
    fuzz_require(array->is_known && array->ndim >= 0 && array->ndim <= NPYX_MAX_NDIM);
    for (int axis = 0; axis < array->ndim; axis++) {
        fuzz_require(array->shape[axis] >= 0);
        nelem = array->shape[axis] == 0 || nelem == 0 ? 0 : nelem * array->shape[axis];
    }
    fuzz_require(array->nelem == nelem && array->nbytes == nelem * array->dtype->itemsize);
    fuzz_require(array->data_off == (int64_t)header_nbytes);
}

static void check_same(const npyx_array *a, const npyx_array *b) {
    fuzz_require((npyx_dtype_is_same(a->dtype, b->dtype) || fuzz_is_disguised(a->dtype)) &&
                 a->ndim == b->ndim && a->nbytes == b->nbytes);
    fuzz_require(a->ndim == 0 || memcmp(a->shape, b->shape, sizeof a->shape[0] * (size_t)a->ndim) == 0);
    fuzz_require(b->fortran_order == npyx_header_npy_is_fortran(a->ndim, a->shape, a->fortran_order));
}

static void read_bytes(fuzz_host *fuzz, const npyx_buffer *header, npyx_array *array) {
    npyx_source *source = NULL;
    npyx_error error = {0};
    fuzz_require_ok(npyx_source_open_memory(&fuzz->host, header->bytes, header->nbytes, &source, &error),
                    &error);
    npyx_array_init(array, &fuzz->host);
    fuzz_require_ok(
        npyx_header_npy_read(source, (const uint8_t *)header->bytes, PREFIX_NBYTES, array, &error), &error);
    npyx_source_close(source);
}

/* As numpy.save writes it, and in as many bytes as it had. */
static void write_anew(fuzz_host *fuzz, const npyx_array *array, size_t header_nbytes) {
    npyx_buffer header = {.host = &fuzz->host};
    npyx_array again;
    npyx_error error = {0};
    bool is_fortran = npyx_header_npy_is_fortran(array->ndim, array->shape, array->fortran_order);
    npyx_header_npy_append(array->dtype, array->ndim, array->shape, is_fortran, &header);
    fuzz_require(header.status == NPYX_OK && header.nbytes % 64 == 0);
    if (header.nbytes <= NPYX_HEADER_NPY_MAX_NBYTES) {
        read_bytes(fuzz, &header, &again);
        check_same(array, &again);
        npyx_array_clear(&again);
    }
    npyx_buffer_reset(&header);
    npyx_status status = NPYX_INVALID; /* what is fitted is an array that grows, never one in Fortran order */
    if (!is_fortran)
        status = npyx_header_npy_append_fitted(array->dtype, array->ndim, array->shape, array->version_major,
                                               header_nbytes, &header, &error);
    if (status == NPYX_OK) {
        fuzz_require(header.nbytes == header_nbytes);
        read_bytes(fuzz, &header, &again);
        check_same(array, &again);
        npyx_array_clear(&again);
    } else {
        fuzz_require(status == NPYX_INVALID);
    }
    npyx_buffer_clear(&header);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_error error = {0};
    npyx_array array, in_parts;
    npyx_source *source = NULL;
    size_t header_nbytes = 0;
    uint8_t *copy = (uint8_t *)fuzz_copy(data, size);
    npyx_array_init(&array, &fuzz.host);
    npyx_array_init(&in_parts, &fuzz.host);
    fuzz_require_ok(npyx_source_open_memory(&fuzz.host, copy, size, &source, &error), &error);
    size_t head_nbytes = size < NPYX_HEADER_NPY_USUAL_NBYTES ? size : NPYX_HEADER_NPY_USUAL_NBYTES;
    npyx_status measured = npyx_header_npy_measure(copy, size, &header_nbytes, NULL);
    npyx_status status = npyx_header_npy_read(source, copy, head_nbytes, &array, &error);
    head_nbytes = size < PREFIX_NBYTES ? size : PREFIX_NBYTES;
    fuzz_require(npyx_header_npy_read(source, copy, head_nbytes, &in_parts, NULL) == status);
    if (status == NPYX_OK) {
        fuzz_require(measured == NPYX_OK && npyx_begins_npy(copy, size));
        check(&array, header_nbytes);
        npyx_status present = npyx_array_check_nbytes(&array, (int64_t)size, NULL);
        bool fits = array.dtype->has_objects || array.nbytes <= (int64_t)size - array.data_off;
        fuzz_require((present == NPYX_OK) == fits);
        write_anew(&fuzz, &array, header_nbytes);
    } else {
        fuzz_require(status == NPYX_CORRUPT && error.message[0] != '\0');
    }
    npyx_array_clear(&array);
    npyx_array_clear(&in_parts);
    npyx_source_close(source);
    free(copy);
    fuzz_host_check(&fuzz, size, 2000);
}
