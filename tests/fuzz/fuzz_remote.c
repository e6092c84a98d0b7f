/*
 * A file elsewhere (io/remote.h), whose host claims another length, or answers one question wrongly: nothing
 * is read beyond what it gave, whatever the file is, and what fails ends.
 */
#include "fuzz.h"

#include "io/remote.h"

typedef enum wrong {
    WRONG_NOTHING,
    WRONG_ERROR,
    WRONG_LENGTH,  /* fewer bytes than were asked for */
    WRONG_TWICE,   /* the bytes, and then the bytes again */
    WRONG_CHANGED, /* another version */
    WRONG_SILENCE, /* success, and no bytes */
    NWRONGS
} wrong;

/* What claims to be long is zeros, of which the host gives so many: more take their time. */
enum { MOST_NBYTES = 8 << 20 };

typedef struct far_host {
    const uint8_t *file;
    size_t nbytes;
    int64_t claimed_nbytes, given_nbytes;
    wrong wrong;
    int nquestions, wrong_at; /* the question that is answered wrongly */
} far_host;

static bool is_wrong(far_host *far) {
    return ++far->nquestions == far->wrong_at && far->wrong != WRONG_NOTHING;
}

static npyx_status far_info(void *ctx, npyx_remote *remote, const int64_t *files, int64_t nfiles,
                            npyx_error *error) {
    far_host *far = ctx;
    bool is_here = is_wrong(far);
    if (is_here && far->wrong == WRONG_ERROR)
        return npyx_fail(error, NPYX_IO, -1, "no answer");
    for (int64_t i = 0; i < nfiles; i++) {
        fuzz_require(strncmp(npyx_remote_url(remote, files[i]), "s3://", 5) == 0);
        const char *version = is_here && far->wrong == WRONG_CHANGED ? "2" : "1";
        npyx_status status =
            is_here && far->wrong == WRONG_SILENCE
                ? npyx_remote_note_failure(remote, files[i], NULL, error)
                : npyx_remote_note(remote, files[i], far->claimed_nbytes, (npyx_span){version, 1}, error);
        if (status != NPYX_OK)
            return status;
    }
    return NPYX_OK;
}

static npyx_status far_read(void *ctx, npyx_remote *remote, const npyx_remote_range *ranges, int64_t nranges,
                            npyx_error *error) {
    far_host *far = ctx;
    bool is_here = is_wrong(far);
    size_t nbytes = 0;
    for (int64_t i = 0; i < nranges; i++) {
        fuzz_require(ranges[i].off >= 0 && ranges[i].nbytes > 0 &&
                     ranges[i].nbytes <= far->claimed_nbytes - ranges[i].off);
        nbytes += (size_t)ranges[i].nbytes;
    }
    fuzz_require(nbytes <= NPYX_REMOTE_CALL_NBYTES && nranges > 0);
    far->given_nbytes += (int64_t)nbytes;
    if ((is_here && far->wrong == WRONG_ERROR) || far->given_nbytes > MOST_NBYTES)
        return npyx_fail(error, NPYX_IO, -1, "no answer");
    if (is_here && far->wrong == WRONG_CHANGED)
        return npyx_fail_changed(error);
    if (is_here && far->wrong == WRONG_SILENCE)
        return NPYX_OK;
    uint8_t *answer = calloc(1, nbytes);
    size_t at = 0;
    for (int64_t i = 0; i < nranges; i++) {
        if ((uint64_t)ranges[i].off < far->nbytes) {
            size_t left_nbytes = far->nbytes - (size_t)ranges[i].off,
                   wanted_nbytes = (size_t)ranges[i].nbytes;
            memcpy(answer + at, far->file + ranges[i].off,
                   left_nbytes < wanted_nbytes ? left_nbytes : wanted_nbytes);
        }
        at += (size_t)ranges[i].nbytes;
    }
    npyx_status status = npyx_remote_deliver(
        remote, answer, is_here && far->wrong == WRONG_LENGTH ? nbytes - 1 : nbytes, error);
    if (status == NPYX_OK && is_here && far->wrong == WRONG_TWICE)
        status = npyx_remote_deliver(remote, answer, nbytes, error);
    free(answer);
    return status;
}

static npyx_status far_glob(void *ctx, npyx_remote *remote, const char *pattern, npyx_error *error) {
    far_host *far = ctx;
    if (is_wrong(far))
        return npyx_fail(error, NPYX_IO, -1, "no answer");
    return npyx_remote_found(remote, pattern, far->claimed_nbytes, (npyx_span){"1", 1}, error);
}

static int64_t far_max_nbytes(void *ctx) {
    (void)ctx;
    return 1 << 20;
}

static npyx_status count_found(void *ctx, const char *url, size_t nbytes, npyx_error *error) {
    (void)url, (void)nbytes, (void)error;
    ++*(int *)ctx;
    return NPYX_OK;
}

static void read_some(npyx_source *payload) {
    enum { SOME_NBYTES = 1 << 12, MOST_NREADS = 64 };
    uint8_t bytes[SOME_NBYTES];
    npyx_error error;
    size_t nbytes = 1;
    int64_t off = 0;
    for (int i = 0; i < MOST_NREADS && nbytes > 0; i++, off += SOME_NBYTES)
        if (npyx_source_read(payload, off, bytes, sizeof bytes, &nbytes, &error) != NPYX_OK)
            return;
}

static void read_all(npyx_archive *archive) {
    enum { MOST_NENTRIES = 40 };
    npyx_error error;
    npyx_entry entry;
    for (int64_t i = 0; i < MOST_NENTRIES && npyx_archive_entry(archive, i, &entry, &error) == NPYX_OK; i++) {
        npyx_array array;
        npyx_source *payload = NULL;
        npyx_array_init(&array, archive->source->host);
        (void)npyx_archive_describe(archive, i, &array, &error);
        npyx_array_clear(&array);
        if (npyx_archive_open_payload(archive, i, &payload, &error) == NPYX_OK)
            read_some(payload);
        npyx_source_close(payload);
    }
}

void fuzz_target(const uint8_t *data, size_t size) {
    static const char url[] = "s3://b/x";
    fuzz_host fuzz;
    fuzz_input input = {data, size};
    npyx_error error;
    fuzz_host_init(&fuzz);
    uint8_t kind = fuzz_take_byte(&input), at = fuzz_take_byte(&input), claim = fuzz_take_byte(&input);
    uint64_t more = fuzz_take_u64(&input);
    far_host far = {.file = input.bytes, .nbytes = input.nbytes, .wrong = kind % NWRONGS, .wrong_at = at % 8};
    int64_t claims[] = {(int64_t)input.nbytes, (int64_t)input.nbytes + (int64_t)(more % 100000),
                        (int64_t)(more % (input.nbytes + 1)), (int64_t)(more >> 2)};
    far.claimed_nbytes = claims[claim % 4];
    const npyx_remote_ops ops = {
        .info = far_info, .read = far_read, .glob = far_glob, .max_nbytes = far_max_nbytes};
    fuzz_require_ok(npyx_remote_new(&fuzz.host, &ops, &far, &fuzz.host.remote, &error), &error);
    int nfound = 0;
    if (kind & 64)
        (void)npyx_remote_glob(&fuzz.host, url, count_found, &nfound, &error);
    if (kind & 128) {
        npyx_remote_request request = {
            .url = url, .off = (int64_t)(more >> 1), .nbytes = 1 << 20, .with_end = claim & 64};
        (void)npyx_remote_expect(&fuzz.host, &request, 1, &error);
    }
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    if (npyx_source_open_file(&fuzz.host, url, &source, NULL, &error) == NPYX_OK &&
        npyx_archive_open(source, NPYX_NO_HINT, &archive, &error) == NPYX_OK)
        read_all(archive);
    npyx_archive_close(archive);
    npyx_remote_free(fuzz.host.remote);
    fuzz_require(fuzz.nbytes == 0);
}
