#include "fuzz.h"

enum { HEAD_NBYTES = 16, MEMORY_NBYTES = 256 << 20 };

void fuzz_fail(const char *file, int line, const char *condition, const char *message) {
    fprintf(stderr, "%s:%d: does not hold: %s%s%s\n", file, line, condition, message == NULL ? "" : ": ",
            message == NULL ? "" : message);
    abort();
}

/* The size of a block stands before it. */
static void *resize(void *ctx, void *block, size_t nbytes) {
    fuzz_host *fuzz = ctx;
    char *old = block == NULL ? NULL : (char *)block - HEAD_NBYTES;
    size_t old_nbytes = 0;
    if (old != NULL)
        memcpy(&old_nbytes, old, sizeof old_nbytes);
    if (nbytes == 0) {
        fuzz->nbytes -= old_nbytes;
        free(old);
        return NULL;
    }
    if (nbytes > fuzz->limit_nbytes - (fuzz->nbytes - old_nbytes))
        return NULL;
    char *made = malloc(HEAD_NBYTES + nbytes); /* always another place, so that a stale pointer shows */
    if (made == NULL)
        return NULL;
    memcpy(made, &nbytes, sizeof nbytes);
    if (old != NULL)
        memcpy(made + HEAD_NBYTES, old + HEAD_NBYTES, old_nbytes < nbytes ? old_nbytes : nbytes);
    free(old);
    fuzz->nbytes += nbytes - old_nbytes;
    if (fuzz->nbytes > fuzz->peak_nbytes)
        fuzz->peak_nbytes = fuzz->nbytes;
    return made + HEAD_NBYTES;
}

void fuzz_host_init(fuzz_host *fuzz) {
    *fuzz = (fuzz_host){.limit_nbytes = MEMORY_NBYTES};
    fuzz->host = (npyx_host){.ctx = fuzz, .resize = resize, .nthreads = 1};
}

void fuzz_host_check(const fuzz_host *fuzz, size_t input_nbytes, size_t factor) {
    enum { BASE_NBYTES = 4 << 20 }; /* windows of zlib, blocks of readers */
    fuzz_require(fuzz->nbytes == 0);
    fuzz_require(fuzz->peak_nbytes <= BASE_NBYTES + factor * input_nbytes);
}

uint8_t fuzz_take_byte(fuzz_input *input) {
    if (input->nbytes == 0)
        return 0;
    input->nbytes--;
    return *input->bytes++;
}

uint64_t fuzz_take_u64(fuzz_input *input) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)fuzz_take_byte(input) << (8 * i);
    return word;
}

fuzz_input fuzz_take_text(fuzz_input *input) {
    size_t nbytes = fuzz_take_byte(input);
    fuzz_input text = {input->bytes, nbytes < input->nbytes ? nbytes : input->nbytes};
    input->bytes += text.nbytes;
    input->nbytes -= text.nbytes;
    return text;
}

char *fuzz_copy(const void *bytes, size_t nbytes) {
    char *copy = malloc(nbytes == 0 ? 1 : nbytes);
    fuzz_require(copy != NULL);
    if (nbytes > 0)
        memcpy(copy, bytes, nbytes);
    return copy;
}

bool fuzz_is_disguised(const npyx_dtype *dtype) {
    bool is_disguised = npyx_type_is_of_ml_dtypes(dtype->type) && dtype->type != NPYX_E5M2;
    for (int i = 0; i < dtype->nfields; i++)
        is_disguised = is_disguised || fuzz_is_disguised(dtype->fields[i].dtype);
    return is_disguised;
}
