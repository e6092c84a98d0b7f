#include "dtype.h"

const npyx_type_info npyx_types[NPYX_NTYPES] = {
    /* name, kind, itemsize, swap_nbytes, is_sized_name, descr_code, spellings */
    [NPYX_BOOL] = {"bool", 'b', 1, 1, false, NULL, "? bool_ bool8"},
    [NPYX_I1] = {"int", 'i', 1, 1, true, NULL, "b byte int8"},
    [NPYX_I2] = {"int", 'i', 2, 2, true, NULL, "h short int16"},
    [NPYX_I4] = {"int", 'i', 4, 4, true, NULL, "i intc int32"},
    [NPYX_I8] = {"int", 'i', 8, 8, true, NULL, "l q p int int_ int0 int64 intp long longlong"},
    [NPYX_U1] = {"uint", 'u', 1, 1, true, NULL, "B ubyte uint8"},
    [NPYX_U2] = {"uint", 'u', 2, 2, true, NULL, "H ushort uint16"},
    [NPYX_U4] = {"uint", 'u', 4, 4, true, NULL, "I uintc uint32"},
    [NPYX_U8] = {"uint", 'u', 8, 8, true, NULL, "L Q P uint uint64 uint0 uintp ulong ulonglong"},
    [NPYX_F4] = {"float", 'f', 4, 4, true, NULL, "f single float32"},
    [NPYX_F8] = {"float", 'f', 8, 8, true, NULL, "d double float float_ float64"},
    [NPYX_F12] = {"float", 'f', 12, 12, true, NULL, "float96"},
    [NPYX_F16] = {"float", 'f', 16, 16, true, NULL, "g longdouble longfloat float128"},
    [NPYX_F2] = {"float", 'f', 2, 2, true, NULL, "e half float16"},
    /* ml_dtypes saves the following under codes that do not identify them */
    [NPYX_BFLOAT16] = {"bfloat16", 'V', 2, 2, false, "V2", ""},
    [NPYX_E4M3FN] = {"float8_e4m3fn", 'V', 1, 1, false, "V1", ""},
    [NPYX_E5M2] = {"float8_e5m2", 'f', 1, 1, false, "f1", ""},
    [NPYX_E3M4] = {"float8_e3m4", 'V', 1, 1, false, "V1", ""},
    [NPYX_E4M3] = {"float8_e4m3", 'V', 1, 1, false, "V1", ""},
    [NPYX_E4M3B11FNUZ] = {"float8_e4m3b11fnuz", 'V', 1, 1, false, "V1", ""},
    [NPYX_E4M3FNUZ] = {"float8_e4m3fnuz", 'V', 1, 1, false, "V1", ""},
    [NPYX_E5M2FNUZ] = {"float8_e5m2fnuz", 'V', 1, 1, false, "V1", ""},
    [NPYX_E8M0FNU] = {"float8_e8m0fnu", 'V', 1, 1, false, "V1", ""},
    [NPYX_C8] = {"complex", 'c', 8, 4, true, NULL, "F csingle singlecomplex complex64"},
    [NPYX_C16] = {"complex", 'c', 16, 8, true, NULL, "D cdouble cfloat complex complex_ complex128"},
    [NPYX_C24] = {"complex", 'c', 24, 12, true, NULL, "complex192"},
    [NPYX_C32] = {"complex", 'c', 32, 16, true, NULL, "G clongdouble clongfloat longcomplex complex256"},
    [NPYX_DATETIME] = {"datetime64", 'M', 8, 8, false, NULL, "M"},
    [NPYX_TIMEDELTA] = {"timedelta64", 'm', 8, 8, false, NULL, "m"},
    [NPYX_BYTES] = {"bytes", 'S', 0, 1, true, NULL, "S a bytes bytes0 string_ bytes_"},
    [NPYX_TEXT] = {"str", 'U', 0, 4, true, NULL, "U str str0 unicode_ str_ unicode"},
    [NPYX_VOID] = {"void", 'V', 0, 1, true, NULL, "V void void0"},
    [NPYX_STRUCT] = {"void", 'V', 0, 1, true, NULL, ""},
    [NPYX_OBJECT] = {"object", 'O', 8, 1, false, "O", "O object0 object_"},
    [NPYX_HELD_OBJECT] = {"object", 'O', 8, 1, false, "O", ""},
};

static void append_unit(const npyx_dtype *dtype, npyx_buffer *buffer) {
    if (dtype->unit == NPYX_UNIT_GENERIC)
        return;
    npyx_buffer_append_char(buffer, '[');
    if (dtype->multiple != 1)
        npyx_buffer_printf(buffer, "%" PRId32, dtype->multiple);
    npyx_buffer_append_text(buffer, npyx_unit_name(dtype->unit));
    npyx_buffer_append_char(buffer, ']');
}

void npyx_dtype_append_name(const npyx_dtype *dtype, npyx_buffer *buffer) {
    const npyx_type_info *info = &npyx_types[dtype->type];
    npyx_buffer_append_text(buffer, info->name);
    if (info->is_sized_name && dtype->itemsize > 0)
        npyx_buffer_printf(buffer, "%" PRId64, dtype->itemsize * 8);
    append_unit(dtype, buffer);
}

void npyx_dtype_write_name(const npyx_dtype *dtype, char *name, size_t capacity_nbytes) {
    npyx_buffer buffer = npyx_buffer_over(name, capacity_nbytes);
    npyx_dtype_append_name(dtype, &buffer);
    npyx_buffer_text(&buffer);
}

npyx_dtype_text npyx_dtype_shown(const npyx_dtype *dtype) {
    npyx_dtype_text text;
    npyx_dtype_write_name(dtype, text.name, sizeof text.name);
    return text;
}

int npyx_dtype_find_field(const npyx_dtype *dtype, int first, const char *name, size_t name_nbytes,
                          bool with_titles) {
    for (int n = 0; n < dtype->nfields; n++) {
        int i = (first + n) % dtype->nfields;
        const npyx_field *field = &dtype->fields[i];
        bool is_titled = with_titles && field->title != NULL;
        if (!field->is_padding &&
            (npyx_is_same(field->name, field->name_nbytes, name, name_nbytes) ||
             (is_titled && npyx_is_same(field->title, field->title_nbytes, name, name_nbytes))))
            return i;
    }
    return -1;
}

int64_t npyx_dtype_entry_nbytes(const npyx_dtype *dtype, int ndim, const int64_t *shape) {
    int64_t nbytes = dtype->itemsize;
    for (int axis = 1; axis < ndim && nbytes > 0; axis++)
        nbytes *= shape[axis];
    return nbytes;
}

static bool is_same_field(const npyx_field *a, const npyx_field *b) {
    return npyx_is_same(a->name, a->name_nbytes, b->name, b->name_nbytes) &&
           npyx_is_same(a->title, a->title_nbytes, b->title, b->title_nbytes) && a->off == b->off &&
           a->is_padding == b->is_padding && npyx_field_has_same_shape(a, b) &&
           npyx_dtype_is_same(a->dtype, b->dtype);
}

bool npyx_dtype_is_same(const npyx_dtype *a, const npyx_dtype *b) {
    if (a->type != b->type || a->itemsize != b->itemsize || a->nfields != b->nfields)
        return false;
    if (npyx_type_is_date(a->type) && (a->unit != b->unit || a->multiple != b->multiple))
        return false;
    for (int k = 0; k < a->nfields; k++) {
        if (!is_same_field(&a->fields[k], &b->fields[k]))
            return false;
    }
    return true;
}

bool npyx_dtype_is_spelled_by(const npyx_dtype *dtype, const npyx_dtype *found) {
    return npyx_type_is_of_ml_dtypes(dtype->type) && found->type == NPYX_VOID &&
           found->itemsize == dtype->itemsize;
}

static void append_code(const npyx_dtype *dtype, npyx_buffer *buffer) {
    const npyx_type_info *info = &npyx_types[dtype->type];
    /* ml_dtypes gives even one byte an order */
    bool is_float8 = dtype->type >= NPYX_E4M3FN && dtype->type <= NPYX_LAST_REAL;
    npyx_buffer_append_char(buffer, is_float8 ? '<' : npyx_dtype_byteorder(dtype));
    if (info->descr_code != NULL) {
        npyx_buffer_append_text(buffer, info->descr_code);
    } else {
        int64_t size = dtype->type == NPYX_TEXT ? dtype->itemsize / 4 : dtype->itemsize;
        npyx_buffer_printf(buffer, "%c%" PRId64, info->kind, size);
        append_unit(dtype, buffer);
    }
}

/* The dtype of a field with its subarrays: the outermost shape is beside the dtype, and each nested one in a
 * pair with its base, as in `('<f8', (5,)), (2,)`. */
static void append_format(const npyx_field *field, npyx_buffer *buffer) {
    const char *quote = field->dtype->type == NPYX_STRUCT ? "" : "'";
    npyx_buffer_append_chars(buffer, '(', field->nlevels - 1);
    npyx_buffer_append_text(buffer, quote);
    npyx_dtype_append_descr(field->dtype, buffer);
    npyx_buffer_append_text(buffer, quote);
    int end = field->ndim;
    for (int level = field->nlevels - 1; level >= 0; level--) {
        int ndim = field->level_ndims[level];
        end -= ndim;
        npyx_buffer_append_text(buffer, ", (");
        npyx_buffer_append_integers(buffer, field->shape + end, ndim);
        npyx_buffer_append_text(buffer, ndim == 1 ? ",)" : ")");
        if (level > 0)
            npyx_buffer_append_char(buffer, ')');
    }
}

static void dtype_append_field(const npyx_field *field, npyx_buffer *buffer) {
    npyx_buffer_append_char(buffer, '(');
    if (field->title != NULL) {
        npyx_buffer_append_char(buffer, '(');
        if (field->is_title_number)
            npyx_buffer_append(buffer, field->title, field->title_nbytes);
        else
            npyx_buffer_append_repr(buffer, field->title, field->title_nbytes);
        npyx_buffer_append_text(buffer, ", ");
    }
    npyx_buffer_append_repr(buffer, field->name, field->name_nbytes);
    npyx_buffer_append_text(buffer, field->title != NULL ? "), " : ", ");
    append_format(field, buffer);
    npyx_buffer_append_char(buffer, ')');
}

void npyx_dtype_append_descr(const npyx_dtype *dtype, npyx_buffer *buffer) {
    if (dtype->type != NPYX_STRUCT) {
        append_code(dtype, buffer);
        return;
    }
    npyx_buffer_append_char(buffer, '[');
    for (int i = 0; i < dtype->nfields; i++) {
        if (i > 0)
            npyx_buffer_append_text(buffer, ", ");
        dtype_append_field(&dtype->fields[i], buffer);
    }
    npyx_buffer_append_char(buffer, ']');
}

/* Copies bytes, which may be NULL; *has_room becomes false when out of memory. */
static const void *dtype_copy_bytes(npyx_arena *arena, const void *bytes, size_t nbytes, bool *has_room) {
    const char *copy = bytes == NULL ? NULL : npyx_arena_copy(arena, bytes, nbytes);
    *has_room = *has_room && (bytes == NULL || copy != NULL);
    return copy;
}

/* Copies what a field points to; false when out of memory. */
static bool copy_field(npyx_arena *arena, npyx_field *field) {
    bool has_room = true;
    field->name = dtype_copy_bytes(arena, field->name, field->name_nbytes, &has_room);
    field->title = dtype_copy_bytes(arena, field->title, field->title_nbytes, &has_room);
    field->shape =
        dtype_copy_bytes(arena, field->shape, sizeof field->shape[0] * (size_t)field->ndim, &has_room);
    field->level_ndims = dtype_copy_bytes(arena, field->level_ndims, (size_t)field->nlevels, &has_room);
    field->dtype = npyx_dtype_copy(arena, field->dtype);
    return has_room && field->dtype != NULL;
}

const npyx_dtype *npyx_dtype_copy(npyx_arena *arena, const npyx_dtype *dtype) {
    npyx_dtype *copy = npyx_arena_alloc(arena, sizeof *copy);
    npyx_field *fields = npyx_arena_array(arena, dtype->nfields + 1, sizeof *fields);
    if (copy == NULL || fields == NULL)
        return NULL;
    *copy = *dtype;
    copy->fields = fields;
    for (int i = 0; i < dtype->nfields; i++) {
        fields[i] = dtype->fields[i];
        if (!copy_field(arena, &fields[i]))
            return NULL;
    }
    return copy;
}
