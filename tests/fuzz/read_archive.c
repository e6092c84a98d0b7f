/* Everything that a file of arrays has to say, within bounds. */
#include "fuzz.h"

enum {
    MAX_NENTRIES = 64,
    MAX_PAYLOAD_NBYTES = 1 << 20, /* read of one entry */
    MAX_ITEM_NBYTES = 1 << 16,    /* shown as JSON */
    MAX_NELEM = 32,               /* of one entry, looked at as values */
    PIECE_NBYTES = 3000
};

/* Reads a payload forward in pieces; then pieces of it again in no order: they are the same. */
static void read_payload(npyx_source *payload, uint32_t seed) {
    int64_t wanted_nbytes = payload->nbytes < MAX_PAYLOAD_NBYTES ? payload->nbytes : MAX_PAYLOAD_NBYTES;
    uint8_t piece[PIECE_NBYTES];
    npyx_buffer whole = {.host = payload->host};
    npyx_error error = {0};
    fuzz_require(payload->nbytes >= 0);
    while ((int64_t)whole.nbytes < wanted_nbytes) {
        size_t read_nbytes = 0;
        npyx_status status =
            npyx_source_read(payload, (int64_t)whole.nbytes, piece, sizeof piece, &read_nbytes, &error);
        if (status != NPYX_OK || read_nbytes == 0)
            break;
        fuzz_require(read_nbytes <= sizeof piece);
        npyx_buffer_append(&whole, piece, read_nbytes);
    }
    fuzz_require((int64_t)whole.nbytes <= payload->nbytes);
    for (int i = 0; i < 8 && whole.nbytes > 0; i++) {
        seed = seed * 1664525 + 1013904223;
        size_t off = seed % whole.nbytes;
        size_t nbytes = 1 + (seed >> 8) % sizeof piece;
        if (nbytes > whole.nbytes - off)
            nbytes = whole.nbytes - off;
        const uint8_t *bytes = NULL;
        if (npyx_source_window(payload, (int64_t)off, nbytes, piece, &bytes, &error) == NPYX_OK)
            fuzz_require(memcmp(bytes, whole.bytes + off, nbytes) == 0);
    }
    if (payload->nbytes <= MAX_PAYLOAD_NBYTES) {
        npyx_status status = npyx_source_drain(payload, &error);
        fuzz_require(status != NPYX_OK || (int64_t)whole.nbytes == payload->nbytes);
    }
    npyx_buffer_clear(&whole);
}

/* The first items as values and as JSON, the ends of the array through the reader. There may be a thousand
 * arrays of a million items without bytes: from one to the next less is printed, so that all together are not
 * much. */
static void read_items(npyx_source *payload, const npyx_array *array, int64_t index) {
    npyx_view view;
    npyx_reader reader;
    npyx_buffer scratch = {.host = payload->host, .limit_nbytes = (1 << 20) >> (index < 12 ? index : 12)};
    npyx_error error = {0};
    npyx_value value;
    npyx_view_of_array(array, &view);
    fuzz_require(npyx_view_nelem(&view) == array->nelem && npyx_view_is_whole(&view));
    npyx_reader_init(&reader, payload, &view, MAX_ITEM_NBYTES);
    int64_t nrows = npyx_view_nrows(&view);
    npyx_status status = NPYX_OK;
    for (int64_t row = 0; row < nrows && row < MAX_NELEM && status == NPYX_OK; row += reader.nrows_read) {
        status = npyx_poll(payload->host, &error);
        if (status == NPYX_OK)
            status = npyx_reader_fill(&reader, row, MAX_NELEM, &error);
        if (status != NPYX_OK)
            break;
        fuzz_require(reader.first_row == row && reader.nrows_read > 0 && reader.nrows_read <= nrows - row);
        const int64_t *shape = view.ndim == 0 ? NULL : view.shape + 1;
        npyx_buffer_reset(&scratch);
        npyx_element_append_json(view.dtype, view.ndim == 0 ? 0 : view.ndim - 1, shape, reader.rows, &scratch,
                                 &error);
        if (reader.row_nelem > 0 && view.dtype->itemsize > 0)
            npyx_element_value(view.dtype, reader.rows, &scratch, &value, &error);
    }
    if (nrows > 0 && npyx_reader_fill(&reader, nrows - 1, 1, &error) == NPYX_OK)
        fuzz_require(reader.nrows_read == 1);
    npyx_reader_clear(&reader);
    npyx_buffer_clear(&scratch);
}

/* The values of an array of objects, twice: what was read is kept for the second time. */
static void read_objects(npyx_archive *archive, int64_t index, npyx_array *array) {
    npyx_source *items = NULL, *again = NULL;
    npyx_error error = {0};
    npyx_array other;
    npyx_array_init(&other, array->arena.host);
    npyx_status status = npyx_archive_describe(archive, index, &other, &error);
    if (npyx_archive_open_values(archive, index, array, &items, &error) == NPYX_OK) {
        fuzz_require(array->is_held && array->nbytes <= items->nbytes);
        read_items(items, array, index);
        fuzz_require_ok(status, &error);
        fuzz_require_ok(npyx_archive_open_values(archive, index, &other, &again, &error), &error);
        fuzz_require(again->nbytes == items->nbytes);
    } else {
        fuzz_require(error.message[0] != '\0' && !array->is_held);
    }
    npyx_source_close(items);
    npyx_source_close(again);
    npyx_array_clear(&other);
}

static void read_entry(fuzz_host *fuzz, npyx_archive *archive, int64_t index, const npyx_entry *entry) {
    npyx_array array;
    npyx_source *payload = NULL;
    npyx_error error = {0};
    int64_t off = -1, found = -1;
    fuzz_require(entry->name != NULL && npyx_utf8_is_valid(entry->name, entry->name_nbytes));
    fuzz_require(entry->header_off >= 0 && (entry->zip != NULL) == (archive->format == NPYX_FORMAT_NPZ));
    if (entry->zip != NULL)
        fuzz_require(entry->zip->nbytes >= 0 && entry->zip->compressed_nbytes >= 0 &&
                     entry->name_nbytes <= entry->zip->filename_nbytes);
    char *name = fuzz_copy(entry->name, entry->name_nbytes);
    size_t name_nbytes = entry->name_nbytes;
    npyx_array_init(&array, &fuzz->host);
    npyx_status status = npyx_archive_describe(archive, index, &array, &error);
    fuzz_require(status != NPYX_OK || array.is_known == array.is_array);
    if (npyx_archive_locate(archive, index, &off, &error) == NPYX_OK)
        fuzz_require(off >= 0);
    if (npyx_archive_open_payload(archive, index, &payload, &error) == NPYX_OK) {
        if (status == NPYX_OK && array.is_array && !array.dtype->has_objects) {
            fuzz_require(array.data_off >= 0 && array.nbytes <= payload->nbytes - array.data_off);
            read_items(payload, &array, index);
        }
        if (status == NPYX_OK && array.is_array)
            fuzz_require((npyx_array_check_values(&array, &error) == NPYX_OK) == !array.dtype->has_objects);
        if (status == NPYX_OK && array.is_array && array.dtype->has_objects)
            read_objects(archive, index, &array);
        read_payload(payload, (uint32_t)index * 2654435761u + 1);
        npyx_source_close(payload);
    } else {
        fuzz_require(status != NPYX_OK || archive->format != NPYX_FORMAT_NPY);
    }
    npyx_array_clear(&array);
    if (npyx_archive_find(archive, name, name_nbytes, &found, &error) == NPYX_OK)
        fuzz_require(found >= 0);
    free(name);
}

void fuzz_read_archive(fuzz_host *fuzz, const uint8_t *data, size_t size) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_entry entry;
    npyx_error error = {0};
    uint8_t *copy = (uint8_t *)fuzz_copy(data, size);
    npyx_status status = npyx_source_open_memory(&fuzz->host, copy, size, &source, &error);
    if (status == NPYX_OK)
        status = npyx_archive_open(source, NPYX_NO_HINT, &archive, &error);
    fuzz_require(status == NPYX_OK || error.message[0] != '\0');
    int64_t nentries = 0;
    while (status == NPYX_OK && nentries < MAX_NENTRIES) {
        status = npyx_archive_entry(archive, nentries, &entry, &error);
        if (status == NPYX_OK)
            read_entry(fuzz, archive, nentries++, &entry);
    }
    if (archive != NULL) {
        int64_t index = -1;
        fuzz_require(npyx_archive_find(archive, "\1 no such name", 14, &index, &error) != NPYX_OK ||
                     index >= 0);
        /* backwards, which a .ten must find again from its start */
        for (int64_t i = nentries; i-- > 0 && nentries < MAX_NENTRIES;)
            fuzz_require(npyx_archive_entry(archive, i, &entry, &error) == NPYX_OK);
    }
    npyx_archive_close(archive);
    free(copy);
}
