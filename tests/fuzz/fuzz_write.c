/*
 * Archives written by any sequence of members, marks, returns and interruptions: what is there at the end is
 * what was written and not taken back, as our reader has it.
 */
#include "fuzz.h"

enum { MAX_NMEMBERS = 24, MAX_NMARKS = 4, MAX_NBYTES = 1 << 12 };

typedef struct member {
    char *name;
    size_t name_nbytes;
    const npyx_dtype *dtype;
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    bool fortran_order;
    int64_t nelem;
    uint8_t *items;
} member;

typedef struct mark {
    npyx_archive_mark mark;
    int nmembers;
} mark;

typedef struct work {
    fuzz_host *fuzz;
    fuzz_input input;
    npyx_arena arena;
    npyx_format format;
    npyx_buffer out;
    npyx_sink *sink;
    npyx_archive_writer *writer;
    int nmembers, nmarks;
    member members[MAX_NMEMBERS];
    mark marks[MAX_NMARKS];
    npyx_error error;
} work;

static const char *const dtypes[] = {"<f8", "|u1",    ">i4", "<f4",
                                     ">f2", "<i8",    "<U3", "|S5",
                                     "|b1", "<M8[D]", "|S0", "[('x', '<f4'), ('y', '>i2', (2,))]",
                                     "|V3", "<c8",    ">u8", "i2"};

static npyx_zip_method take_method(work *w) {
    uint8_t byte = fuzz_take_byte(&w->input);
    return (npyx_zip_method){.is_deflated = byte & 1, .level = (byte >> 1) % 11 - 1};
}

/* A member of the input's choice; its items are numbers of no order. */
static void take_member(work *w, member *m) {
    uint8_t choice = fuzz_take_byte(&w->input);
    *m = (member){.fortran_order = choice >> 7};
    const char *spelling = dtypes[choice % (sizeof dtypes / sizeof dtypes[0])];
    fuzz_require_ok(npyx_dtype_from_text(&w->arena, spelling, strlen(spelling), &m->dtype, &w->error),
                    &w->error);
    m->ndim = fuzz_take_byte(&w->input) % 11;
    m->nelem = 1;
    for (int axis = 0; axis < m->ndim; axis++) {
        int64_t length = fuzz_take_byte(&w->input) % 40;
        if (m->nelem * (length + 1) * (m->dtype->itemsize + 1) > MAX_NBYTES)
            length = 1;
        m->shape[axis] = length;
        m->nelem *= length;
    }
    fuzz_input name = fuzz_take_text(&w->input);
    m->name = fuzz_copy(name.bytes, name.nbytes);
    m->name_nbytes = name.nbytes;
    size_t nbytes = (size_t)(m->nelem * m->dtype->itemsize);
    m->items = malloc(nbytes + 1);
    fuzz_require(m->items != NULL);
    uint32_t seed = fuzz_take_byte(&w->input);
    for (size_t i = 0; i < nbytes; i++, seed = seed * 1664525u + 1013904223u)
        m->items[i] = (uint8_t)(seed >> 24);
}

static void free_member(member *m) {
    free(m->name);
    free(m->items);
}

/* Back to a mark, which stays, as a savepoint does; those made after it go. */
static void go_back(work *w, int index) {
    const mark *to = &w->marks[index];
    fuzz_require_ok(npyx_archive_writer_return(w->writer, &to->mark, &w->error), &w->error);
    while (w->nmarks > index + 1)
        w->nmarks--;
    while (w->nmembers > to->nmembers)
        free_member(&w->members[--w->nmembers]);
}

static void set_mark(work *w) {
    mark *made = &w->marks[w->nmarks];
    if (w->nmarks == MAX_NMARKS)
        return;
    npyx_status status = npyx_archive_writer_mark(w->writer, &made->mark, &w->error);
    made->nmembers = w->nmembers;
    w->nmarks++;
    if (status != NPYX_OK) { /* the sink is full */
        w->nmarks--;
        fuzz_require(status == NPYX_TOOBIG);
        go_back(w, w->nmarks - 1);
    }
}

/* Gives the items in pieces; not all of them when the input says so. */
static npyx_status append_items(work *w, const member *m, bool *is_cut) {
    int64_t piece = 1 + fuzz_take_byte(&w->input);
    npyx_status status = NPYX_OK;
    *is_cut = false;
    for (int64_t done = 0; done < m->nelem && status == NPYX_OK && m->dtype->itemsize > 0; done += piece) {
        int64_t left = m->nelem - done;
        *is_cut = fuzz_take_byte(&w->input) == 0xfe;
        if (*is_cut)
            return NPYX_OK;
        status = npyx_archive_writer_append(w->writer, m->items + done * m->dtype->itemsize,
                                            left < piece ? left : piece, &w->error);
    }
    if (status == NPYX_OK) /* one too many */
        fuzz_require(npyx_archive_writer_append(w->writer, "", m->nelem + 1, &w->error) == NPYX_INVALID);
    return status;
}

static void add_member(work *w) {
    member *m = &w->members[w->nmembers];
    bool is_cut = false;
    if (w->nmembers == MAX_NMEMBERS)
        return;
    take_member(w, m);
    npyx_member given = {m->name, m->name_nbytes, m->dtype, m->ndim, m->shape, m->fortran_order};
    npyx_status status = npyx_archive_writer_begin(w->writer, &given, take_method(w), &w->error);
    if (status == NPYX_INVALID) {
        free_member(m);
        return;
    }
    w->nmembers++;
    if (status == NPYX_OK)
        status = append_items(w, m, &is_cut);
    if (status == NPYX_OK)
        status = npyx_archive_writer_end(w->writer, &w->error);
    fuzz_require(status == NPYX_OK || status == NPYX_TOOBIG || (status == NPYX_INVALID && is_cut));
    if (status != NPYX_OK)
        go_back(w, w->nmarks - 1);
}

static void open_writer(work *w) {
    fuzz_require_ok(npyx_archive_writer_open(w->sink, w->format, &w->writer, &w->error), &w->error);
}

/* What was finished can be added to by another writer, to which the old one's marks mean nothing. */
static void reopen(work *w) {
    if (npyx_archive_writer_finish(w->writer, &w->error) != NPYX_OK) {
        go_back(w, w->nmarks - 1);
        return;
    }
    npyx_archive_writer_close(w->writer);
    while (w->nmarks > 0)
        w->nmarks--;
    open_writer(w);
    set_mark(w);
    fuzz_require(w->nmarks == 1);
}

static void check_member(work *w, npyx_archive *archive, int index) {
    member *m = &w->members[index];
    npyx_entry entry;
    npyx_array array;
    npyx_source *payload = NULL;
    fuzz_require_ok(npyx_archive_entry(archive, index, &entry, &w->error), &w->error);
    fuzz_require(entry.name_nbytes == m->name_nbytes && memcmp(entry.name, m->name, m->name_nbytes) == 0);
    npyx_array_init(&array, &w->fuzz->host);
    fuzz_require_ok(npyx_archive_describe(archive, index, &array, &w->error), &w->error);
    fuzz_require(array.is_array && array.ndim == m->ndim && array.nelem == m->nelem);
    fuzz_require(m->ndim == 0 || memcmp(array.shape, m->shape, sizeof m->shape[0] * (size_t)m->ndim) == 0);
    fuzz_require(npyx_dtype_is_same(array.dtype, m->dtype));
    if (w->format == NPYX_FORMAT_TEN)
        npyx_element_swap(m->dtype, m->items, m->nelem);
    else
        fuzz_require(array.fortran_order == npyx_header_npy_is_fortran(m->ndim, m->shape, m->fortran_order));
    fuzz_require_ok(npyx_archive_open_payload(archive, index, &payload, &w->error), &w->error);
    size_t nbytes = (size_t)array.nbytes;
    uint8_t *items = malloc(nbytes + 1);
    fuzz_require(items != NULL);
    fuzz_require_ok(npyx_source_read_exactly(payload, array.data_off, items, nbytes, &w->error), &w->error);
    fuzz_require(memcmp(items, m->items, nbytes) == 0);
    fuzz_require_ok(npyx_source_drain(payload, &w->error), &w->error);
    npyx_source_close(payload);
    npyx_array_clear(&array);
    free(items);
}

static void check_all(work *w) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_entry entry;
    char *copy = fuzz_copy(w->out.bytes, w->out.nbytes);
    fuzz_require_ok(npyx_source_open_memory(&w->fuzz->host, copy, w->out.nbytes, &source, &w->error),
                    &w->error);
    fuzz_require_ok(npyx_archive_open(source, NPYX_HINT_TEN, &archive, &w->error), &w->error);
    for (int i = 0; i < w->nmembers; i++)
        check_member(w, archive, i);
    fuzz_require(npyx_archive_entry(archive, w->nmembers, &entry, &w->error) == NPYX_DONE);
    npyx_archive_close(archive);
    free(copy);
}

static void run_operations(work *w) {
    for (int i = 0; i < 200 && w->input.nbytes > 0; i++) {
        uint8_t operation = fuzz_take_byte(&w->input);
        switch (operation % 8) {
        case 4: set_mark(w); break;
        case 5: go_back(w, (operation >> 3) % w->nmarks); break;
        case 6:
            if (npyx_archive_writer_finish(w->writer, &w->error) != NPYX_OK)
                go_back(w, w->nmarks - 1);
            break;
        case 7: reopen(w); break;
        default: add_member(w);
        }
    }
    if (npyx_archive_writer_finish(w->writer, &w->error) != NPYX_OK) {
        go_back(w, w->nmarks - 1);
        fuzz_require_ok(npyx_archive_writer_finish(w->writer, &w->error), &w->error);
    }
}

void fuzz_target(const uint8_t *data, size_t size) {
    static work w;
    fuzz_host fuzz;
    fuzz_host_init(&fuzz);
    w = (work){.fuzz = &fuzz, .input = {data, size}, .arena.host = &fuzz.host, .out.host = &fuzz.host};
    uint8_t flags = fuzz_take_byte(&w.input);
    w.format = flags & 1 ? NPYX_FORMAT_TEN : NPYX_FORMAT_NPZ;
    if (flags & 2) /* a sink that fills up */
        w.out.limit_nbytes = 64 + 16 * (size_t)fuzz_take_byte(&w.input);
    fuzz_require_ok(npyx_sink_open_memory(&w.out, &w.sink, &w.error), &w.error);
    open_writer(&w);
    set_mark(&w);
    fuzz_require(w.nmarks == 1);
    run_operations(&w);
    check_all(&w);
    npyx_archive_writer_close(w.writer);
    while (w.nmarks > 0)
        w.nmarks--;
    while (w.nmembers > 0)
        free_member(&w.members[--w.nmembers]);
    npyx_sink_close(w.sink);
    npyx_buffer_clear(&w.out);
    npyx_arena_clear(&w.arena);
    fuzz_host_check(&fuzz, size, 1 << 14);
}
