/* Expressions over any operands: a plan, or an error with a place in the text; and items that are the same
 * however they are read. */
#include "fuzz.h"

/* Items of more than one block; but the longer the text, the fewer: hundreds of operations on halves, each of
 * which is converted for each of them, would take a second under sanitizers. */
enum {
    MAX_NOPERANDS = 4,
    MAX_NELEM = 12500,
    MAX_WORK = MAX_NELEM * 100 /* times the text's bytes */,
    NREADS = 4
};

typedef struct operand_file {
    npyx_dtype dtype;
    npyx_array array;
    uint8_t *bytes;
    npyx_source *source;
} operand_file;

static npyx_dtype take_dtype(fuzz_input *input) {
    uint8_t byte = fuzz_take_byte(input);
    npyx_type type = (npyx_type)(byte % NPYX_NTYPES);
    npyx_dtype dtype = {.type = type, .itemsize = npyx_types[type].itemsize, .is_big_endian = byte & 128};
    if (dtype.itemsize == 0)
        dtype.itemsize = 4 * (byte % 5);
    if (npyx_type_is_date(type)) {
        dtype.unit = NPYX_UNIT_s;
        dtype.multiple = 1 + (byte >> 7);
    }
    return dtype;
}

/* Items that are often alike, small or extreme, from a few bytes. */
static void fill(uint8_t *bytes, int64_t nbytes, uint64_t seed) {
    for (int64_t i = 0; i < nbytes; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint8_t byte = (uint8_t)(seed >> 56);
        bytes[i] = byte < 90 ? 0 : byte < 120 ? 255 : byte < 150 ? 128 : byte < 170 ? 127 : byte;
    }
}

static void take_array(fuzz_input *input, fuzz_host *fuzz, operand_file *file) {
    static const int64_t lengths[] = {0, 1, 1, 2, 3, 7, 70, 4100};
    uint8_t flags = fuzz_take_byte(input);
    npyx_error error = {0};
    file->array = (npyx_array){.dtype = &file->dtype, .fortran_order = flags & 1, .ndim = (flags >> 1) % 4};
    int64_t nelem = 1;
    for (int axis = 0; axis < file->array.ndim; axis++) {
        int64_t length = lengths[fuzz_take_byte(input) % 8];
        length = nelem * length > MAX_NELEM ? 1 : length;
        nelem *= length;
        file->array.shape[axis] = length;
    }
    fuzz_require_ok(npyx_array_measure(&file->array, &error), &error);
    file->bytes = malloc((size_t)file->array.nbytes + 1);
    fill(file->bytes, file->array.nbytes, fuzz_take_byte(input));
    fuzz_require_ok(
        npyx_source_open_memory(&fuzz->host, file->bytes, (size_t)file->array.nbytes, &file->source, &error),
        &error);
}

static void take_operand(fuzz_input *input, fuzz_host *fuzz, npyx_calc_operand *operand, operand_file *file) {
    uint8_t kind = fuzz_take_byte(input);
    if (kind < 40) {
        int64_t integer = kind < 30 ? (int8_t)fuzz_take_byte(input) : (int64_t)fuzz_take_u64(input);
        operand->is_number = true;
        operand->number =
            (npyx_plain_number){kind & 1, kind & 1 ? integer : 0, (double)integer / (kind & 1 ? 1 : 4)};
        return;
    }
    file->dtype = take_dtype(input);
    take_array(input, fuzz, file);
    npyx_view_of_array(&file->array, &operand->view);
}

/* Pieces that begin and end within items, in any order, have the bytes of the whole. */
static void check_pieces(npyx_source *source, const uint8_t *whole, fuzz_input *input) {
    npyx_error error = {0};
    for (int i = 0; i < NREADS && source->nbytes > 0; i++) {
        int64_t off = (int64_t)(fuzz_take_u64(input) % (uint64_t)source->nbytes);
        int64_t nbytes = 1 + (int64_t)(fuzz_take_byte(input) * 37u) % (source->nbytes - off);
        uint8_t *piece = malloc((size_t)nbytes);
        fuzz_require_ok(npyx_source_read_exactly(source, off, piece, (size_t)nbytes, &error), &error);
        fuzz_require(memcmp(piece, whole + off, (size_t)nbytes) == 0);
        free(piece);
    }
}

/* The operands' sources go to what is made of them. */
static void check_items(const npyx_calc *calc, operand_file *files, int nfiles, size_t text_nbytes,
                        fuzz_input *input) {
    const int64_t *shape;
    int64_t nelem = 1;
    npyx_error error = {0};
    npyx_source *source = NULL;
    int ndim = npyx_calc_shape(calc, &shape);
    const npyx_dtype dtype = *npyx_calc_dtype(calc);
    fuzz_require(ndim >= 0 && ndim <= NPYX_MAX_NDIM && dtype.itemsize > 0 && npyx_dtype_is_native(&dtype));
    for (int axis = 0; axis < ndim; axis++)
        nelem *= shape[axis];
    if (nelem > MAX_NELEM || nelem * (int64_t)text_nbytes > MAX_WORK)
        return;
    npyx_source *sources[MAX_NOPERANDS] = {NULL};
    for (int i = 0; i < nfiles; i++) {
        sources[i] = files[i].source;
        files[i].source = NULL;
    }
    npyx_status status = npyx_calc_open(calc, sources, &source, &error);
    if (status == NPYX_OK) {
        fuzz_require(source->nbytes == nelem * dtype.itemsize);
        uint8_t *whole = malloc((size_t)source->nbytes + 1);
        status = npyx_source_read_exactly(source, 0, whole, (size_t)source->nbytes, &error);
        if (status == NPYX_OK)
            check_pieces(source, whole, input);
        free(whole);
        npyx_source_close(source);
    }
    /* an item that has no result */
    fuzz_require(status == NPYX_OK || (status == NPYX_INVALID && error.message[0] != '\0'));
    fuzz_require(status == NPYX_OK || (error.off >= -1 && error.off <= (int64_t)text_nbytes));
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_input input = {data, size};
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_calc_operand operands[MAX_NOPERANDS] = {0};
    operand_file files[MAX_NOPERANDS] = {0};
    npyx_error error = {0};
    npyx_calc *calc = NULL;
    int noperands = 1 + fuzz_take_byte(&input) % MAX_NOPERANDS;
    for (int i = 0; i < noperands; i++)
        take_operand(&input, &fuzz, &operands[i], &files[i]);
    char *text = fuzz_copy(input.bytes, input.nbytes);
    npyx_status status = npyx_calc_plan(&fuzz.host, text, input.nbytes, operands, noperands, &calc, &error);
    if (status == NPYX_OK)
        check_items(calc, files, noperands, input.nbytes, &input);
    else
        fuzz_require(error.message[0] != '\0' && error.off >= -1 && error.off <= (int64_t)input.nbytes);
    npyx_calc_free(calc);
    free(text);
    for (int i = 0; i < noperands; i++) {
        npyx_source_close(files[i].source);
        free(files[i].bytes);
    }
    fuzz_require(fuzz.nbytes == 0);
}
