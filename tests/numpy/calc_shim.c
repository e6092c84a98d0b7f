#include "lazy/calc.h"
#include "array/view.h"
#include <stdlib.h>
#include <stdio.h>
static void *resize(void *ctx, void *block, size_t n) { (void)ctx; if (n == 0) { free(block); return NULL; } return realloc(block, n); }
static npyx_host host = {.resize = resize, .nthreads = 2};
/* returns 0 ok, else error; out malloc'ed */
int shim_calc(const char *text, int n, const char **dtypes, const int *ndims, const int64_t *const *shapes, const int *fortran, const void *const *data, const int64_t *nbytes, const double *numbers, const int *kinds,
   char *descr, int *ndim, int64_t *shape, void *out, int64_t out_nbytes, int chunk, char *message, int64_t *off) {
    npyx_calc_operand ops[26]; memset(ops, 0, sizeof ops);
    npyx_array arrays[26]; npyx_error error = {0}; npyx_calc *calc = NULL; npyx_status status = NPYX_OK;
    for (int i = 0; i < n; i++) {
        npyx_array_init(&arrays[i], &host);
        if (kinds[i]) { ops[i].is_number = true; ops[i].number.is_integer = kinds[i] == 1; ops[i].number.integer = kinds[i]==1 ? (int64_t)numbers[i] : 0; ops[i].number.real = numbers[i]; continue; }
        status = npyx_dtype_from_text(&arrays[i].arena, dtypes[i], strlen(dtypes[i]), &arrays[i].dtype, &error);
        if (status) goto end;
        arrays[i].ndim = ndims[i]; memcpy(arrays[i].shape, shapes[i], 8 * (size_t)ndims[i]); arrays[i].fortran_order = fortran[i]; arrays[i].data_off = 0;
        npyx_array_measure(&arrays[i], &error);
        npyx_view_of_array(&arrays[i], &ops[i].view);
        status = npyx_source_open_memory(&host, data[i], (size_t)nbytes[i], &ops[i].source, &error);
        if (status) goto end;
    }
    status = npyx_calc_plan(&host, text, strlen(text), ops, n, &calc, &error);
    if (status) goto end;
    const int64_t *s; *ndim = npyx_calc_shape(calc, &s); memcpy(shape, s, 8 * (size_t)*ndim);
    npyx_buffer b = {.host = &host}; npyx_dtype_append_descr(npyx_calc_dtype(calc), &b); snprintf(descr, 64, "%.*s", (int)b.nbytes, b.bytes); npyx_buffer_clear(&b);
    npyx_source *src = NULL;
    status = npyx_calc_open(calc, &src, &error); calc = NULL;
    if (status) goto end;
    if (src->nbytes > out_nbytes) { snprintf(message, 400, "room"); npyx_source_close(src); return 99; }
    for (int64_t at = 0; at < src->nbytes && !status; at += chunk) {
        size_t want = (size_t)(src->nbytes - at < chunk ? src->nbytes - at : chunk), got = 0;
        status = npyx_source_read(src, at, (char *)out + at, want, &got, &error);
    }
    npyx_source_close(src);
end:
    for (int i = 0; i < n; i++) { npyx_source_close(ops[i].source); npyx_array_clear(&arrays[i]); }
    if (status) { snprintf(message, 400, "%s", error.message); *off = error.off; npyx_calc_free(calc); }
    return (int)status;
}
