/* Pickles: what is read of them is JSON no shorter than it was measured to be, and the same each time. */
#include "format/pickle.h"
#include "fuzz.h"

/* Each input is read twice, printed four times and parsed, sanitized: together within the second that fuzz.c
 * gives. */
enum { MAX_JSON_NBYTES = 1 << 18 };

static void check_json(npyx_host *host, const npyx_buffer *text) {
    npyx_json_reader reader;
    npyx_error error = {0};
    npyx_json_init(&reader, host, text->bytes, text->nbytes);
    npyx_status status = npyx_json_next(&reader, &error);
    if (status == NPYX_OK)
        status = npyx_json_skip(&reader, &error);
    if (status == NPYX_OK)
        status = npyx_json_next(&reader, &error);
    bool is_deep = status != NPYX_OK && strstr(error.message, "deep") != NULL;
    if (!is_deep)
        fuzz_require_ok(status, &error);
    npyx_json_clear(&reader);
}

static void print(npyx_object *object, npyx_host *host, size_t nbytes, npyx_buffer *text) {
    npyx_error error = {0};
    npyx_status status = npyx_object_measure(object, host, &error);
    fuzz_require(status == NPYX_OK || status == NPYX_UNSUPPORTED);
    if (status != NPYX_OK)
        return;
    text->limit_nbytes = MAX_JSON_NBYTES;
    status = npyx_object_append_json(object, npyx_budget_allowance(nbytes), text, &error);
    if (status != NPYX_OK || text->status != NPYX_OK) {
        fuzz_require(status == NPYX_OK || error.message[0] != '\0');
        npyx_buffer_reset(text);
        return;
    }
    check_json(host, text);
}

static void check_value(const npyx_object *object, npyx_host *host, size_t nbytes, const npyx_buffer *text) {
    npyx_buffer scratch = {.host = host, .limit_nbytes = MAX_JSON_NBYTES};
    npyx_value value = {0};
    npyx_error error = {0};
    if (text->nbytes > 0 &&
        npyx_object_value(object, npyx_budget_allowance(nbytes), &scratch, &value, &error) == NPYX_OK) {
        fuzz_require(value.kind != NPYX_VALUE_TEXT || npyx_utf8_is_valid(value.bytes, value.nbytes));
        fuzz_require((value.kind == NPYX_VALUE_NULL) == npyx_object_is_null(object));
        if (value.kind == NPYX_VALUE_JSON)
            fuzz_require(npyx_is_same(value.bytes, value.nbytes, text->bytes, text->nbytes));
    }
    npyx_buffer_clear(&scratch);
}

static void read_pickle(npyx_host *host, const uint8_t *bytes, size_t nbytes, npyx_buffer *text) {
    npyx_arena arena = {.host = host};
    npyx_object *object = NULL;
    npyx_source *source = NULL;
    npyx_error error = {0};
    int64_t end_off = 0;
    npyx_budget budget = npyx_budget_of_none(host);
    fuzz_require_ok(npyx_source_open_memory(host, bytes, nbytes, &source, &error), &error);
    npyx_status status =
        npyx_pickle_read(&arena, &budget, source, 0, (npyx_pickle_options){0}, &object, &end_off, &error);
    npyx_source_close(source);
    if (status == NPYX_OK) {
        fuzz_require(end_off <= (int64_t)nbytes && bytes[end_off - 1] == '.');
        print(object, host, nbytes, text);
        check_value(object, host, nbytes, text);
    } else {
        fuzz_require(status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED);
        fuzz_require(error.off >= 0 && error.off <= (int64_t)nbytes && error.message[0] != '\0');
    }
    npyx_arena_clear(&arena);
}

void fuzz_target(const uint8_t *data, size_t size) {
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    npyx_buffer text = {.host = &fuzz.host}, again = {.host = &fuzz.host};
    uint8_t *copy = (uint8_t *)fuzz_copy(data, size);
    read_pickle(&fuzz.host, copy, size, &text);
    read_pickle(&fuzz.host, copy, size, &again);
    fuzz_require(npyx_is_same(text.bytes, text.nbytes, again.bytes, again.nbytes));
    fuzz_read_archive(&fuzz, copy, size); /* its arrays, as of a file */
    npyx_buffer_clear(&text);
    npyx_buffer_clear(&again);
    free(copy);
    fuzz_require(fuzz.nbytes == 0);
    /* the account of what is read, with what growing lists leave behind, that of its text, and the texts */
    fuzz_require(fuzz.peak_nbytes <= 4 * npyx_budget_allowance(size) + 6 * MAX_JSON_NBYTES);
}
