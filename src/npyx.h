/*
 * npyx: arrays in files (.npy, .npz, .ten and all else that npyext reads), read and written without SQLite.
 * This is the whole public interface of libnpyx.a, and stable: structs are opaque, and nothing else of the
 * library is to be called.
 *
 * Functions that can fail return false, and say why in npyx_input_error or npyx_output_error. Texts are UTF-8
 * and NUL-terminated. Shapes count items, sizes and offsets bytes. One handle must not be used by two threads
 * at once; different handles may.
 */
#ifndef NPYX_H
#define NPYX_H

#include <stdbool.h>
#include <stdint.h>

/* ---- reading ---- */

typedef struct npyx_input npyx_input;

/* Opens a file, whose format its first bytes tell. NULL only without memory: any other failure is in
 * npyx_input_error. Close it in any case. */
npyx_input *npyx_input_open(const char *path);
void npyx_input_close(npyx_input *input); /* accepts NULL */

/* Why the last call failed; NULL if it did not. Valid until the next call. */
const char *npyx_input_error(const npyx_input *input);

/* `npy`, `npz`, `ten`, `tar`, `safetensors`, `gguf`, `torch` or `pickle`; NULL if the file was not opened. */
const char *npyx_input_format(const npyx_input *input);

/* Moves to the next array; at first, to the first. What is no array is passed over. False with an error for
 * an array that cannot be read, after which there may be others; without one at the end. */
bool npyx_input_next(npyx_input *input);

/* Moves to the array of that name: in an .npz with or without `.npy`, the last of equal ones. */
bool npyx_input_find(npyx_input *input, const char *name);

/* The current array. Valid until the next call of npyx_input_next, find, slice, astype or close. */
const char *npyx_input_name(const npyx_input *input);  /* '' in a .npy */
const char *npyx_input_dtype(const npyx_input *input); /* NumPy's dtype.name: `float32`, `str96` */
const char *npyx_input_descr(const npyx_input *input); /* as in its header: `<f4`, `[('x', '<f4')]` */
int64_t npyx_input_itemsize(const npyx_input *input);
int npyx_input_ndim(const npyx_input *input); /* at most 64 */
const int64_t *npyx_input_shape(const npyx_input *input);
int64_t npyx_input_nelem(const npyx_input *input);

/* Narrows the current array as NumPy's indexing does, as in `-1` or `:, 0:10:2`: its shape is the part's. */
bool npyx_input_slice(npyx_input *input, const char *slice);

/* Has the current array's items read as another dtype: of another byte order, or among numbers any one that
 * can hold their values. `float64` means this machine's byte order. */
bool npyx_input_astype(npyx_input *input, const char *dtype);

/* Reads nelem items from number first on, in C order whatever the file's is. items has room for nelem times
 * itemsize bytes, in the byte order of descr unless astype has chosen one. Only what is needed of the file is
 * read. */
bool npyx_input_read(npyx_input *input, int64_t first, int64_t nelem, void *items);

/* ---- writing ---- */

typedef struct npyx_output npyx_output;

/* Begins a new file, in the format of its ending: .npy, .npz (stored) or .ten. The path keeps what it has
 * until npyx_output_commit. NULL only without memory. Close it in any case. */
npyx_output *npyx_output_open(const char *path);
void npyx_output_close(npyx_output *output); /* without a commit, nothing has happened; accepts NULL */

/* As npyx_input_error. */
const char *npyx_output_error(const npyx_output *output);

/* Begins an array (in a .npy the only one, whose name is ''). dtype in any of NumPy's spellings, as `<f4`,
 * `float32` or a descr. */
bool npyx_output_begin(npyx_output *output, const char *name, const char *dtype, int ndim,
                       const int64_t *shape);

/* Appends nelem items in C order and the dtype's byte order; as many calls as it takes. */
bool npyx_output_append(npyx_output *output, const void *items, int64_t nelem);

/* Publishes the new file at the path, complete and on disk; an array file that is there is replaced. False,
 * with the path as it was, if an array lacks items, or if the file there is not one of arrays. Nothing may be
 * written after it. */
bool npyx_output_commit(npyx_output *output);

#endif
