#include "remote.h"

#include "base/names.h"

#include <time.h>

enum {
    REMOTE_FRESH_SECONDS = 10, /* what was noted is taken for true */
    REMOTE_MAX_NBLOCKS = NPYX_REMOTE_KEPT_NBYTES_MOST / NPYX_REMOTE_BLOCK_NBYTES_MOST,
    REMOTE_REASON_NBYTES = 240
};

/* What is noted of a file. */
typedef struct remote_file {
    int64_t nbytes;       /* -1: nothing is known now */
    int64_t noted_nbytes; /* of the version that was noted last */
    int64_t serial;       /* of that version; 0: there was none */
    int64_t seen_at;      /* in seconds */
    char *version;
    size_t version_nbytes;
    bool is_missing;
    char *reason; /* why nothing is known, in the host's words; NULL: it said nothing of the kind */
} remote_file;

/* A block of a file that is kept. */
typedef struct remote_block {
    int64_t serial; /* of the file's version; 0: there is none */
    int64_t number; /* of the block in the file */
    int64_t used_at;
    size_t nbytes, capacity_nbytes;
    uint8_t *bytes;
} remote_block;

struct npyx_remote {
    npyx_host *host;
    const npyx_remote_ops *ops;
    void *ctx;
    npyx_name_set urls;
    remote_file *files; /* as many as URLs */
    int64_t capacity_nfiles;
    int64_t nserials;
    int64_t clock;        /* counts uses of blocks */
    remote_block *blocks; /* REMOTE_MAX_NBLOCKS; NULL: nothing was read yet */
    bool is_asking;
    /* the question that is being asked: */
    npyx_remote_range *ranges;
    int64_t nranges, capacity_nranges;
    bool is_delivered;
    npyx_status (*add)(void *ctx, const char *url, size_t nbytes, npyx_error *error);
    void *add_ctx;
};

/* ---- URLs ---- */

/* How long `scheme://` is; 0 if the text begins with none. */
static size_t scheme_nbytes(const char *text) {
    size_t nbytes = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");
    bool is_scheme = text[0] >= 'a' && text[0] <= 'z' && nbytes > 1 && strncmp(text + nbytes, "://", 3) == 0;
    return is_scheme ? nbytes + 3 : 0;
}

bool npyx_path_is_url(const char *path) {
    return scheme_nbytes(path) > 0;
}

size_t npyx_url_shown_nbytes(const char *url) {
    return strcspn(url, "?#");
}

npyx_span npyx_url_path(const char *url) {
    size_t head_nbytes = scheme_nbytes(url);
    if (url[head_nbytes] == '[') /* an IPv6 address */
        head_nbytes += strcspn(url + head_nbytes, "]/?#");
    return (npyx_span){url + head_nbytes, strcspn(url + head_nbytes, "?#")};
}

/* ---- what is noted ---- */

npyx_status npyx_remote_new(npyx_host *host, const npyx_remote_ops *ops, void *ctx, npyx_remote **remote,
                            npyx_error *error) {
    npyx_remote *made = npyx_alloc_zeroed(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->host = host;
    made->ops = ops;
    made->ctx = ctx;
    made->urls.bytes.host = host;
    *remote = made;
    return NPYX_OK;
}

static void file_forget_answer(const npyx_remote *remote, remote_file *file) {
    npyx_free(remote->host, file->reason);
    file->reason = NULL;
    file->is_missing = false;
    file->nbytes = -1;
}

void npyx_remote_free(npyx_remote *remote) {
    if (remote == NULL)
        return;
    npyx_host *host = remote->host;
    for (int64_t i = 0; i < remote->urls.count; i++) {
        npyx_free(host, remote->files[i].version);
        npyx_free(host, remote->files[i].reason);
    }
    for (int i = 0; i < REMOTE_MAX_NBLOCKS && remote->blocks != NULL; i++)
        npyx_free(host, remote->blocks[i].bytes);
    npyx_free(host, remote->blocks);
    npyx_free(host, remote->files);
    npyx_free(host, remote->ranges);
    npyx_name_set_clear(&remote->urls);
    npyx_free(host, remote);
}

static int64_t now_seconds(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? (int64_t)now.tv_sec : 0;
}

/* The number of a URL, which is noted if it is new. The names in the set include their NUL. */
static npyx_status number_of(npyx_remote *remote, const char *url, int64_t *number, npyx_error *error) {
    size_t nbytes = strlen(url) + 1;
    *number = npyx_name_set_find(&remote->urls, url, nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    NPYX_TRY(npyx_grow(remote->host, &remote->files, remote->urls.count, &remote->capacity_nfiles,
                       sizeof remote->files[0], error));
    NPYX_TRY(npyx_name_set_add(&remote->urls, url, nbytes, error));
    *number = remote->urls.count - 1;
    remote->files[*number] = (remote_file){.nbytes = -1};
    return NPYX_OK;
}

const char *npyx_remote_url(const npyx_remote *remote, int64_t file) {
    size_t nbytes;
    return npyx_name_set_text(&remote->urls, file, &nbytes);
}

npyx_span npyx_remote_version(const npyx_remote *remote, int64_t file) {
    const remote_file *noted = &remote->files[file];
    return (npyx_span){noted->version == NULL ? "" : noted->version, noted->version_nbytes};
}

npyx_status npyx_remote_note(npyx_remote *remote, int64_t file, int64_t nbytes, npyx_span version,
                             npyx_error *error) {
    remote_file *noted = &remote->files[file];
    file_forget_answer(remote, noted);
    bool is_same = noted->serial > 0 && noted->noted_nbytes == nbytes &&
                   noted->version_nbytes == version.nbytes &&
                   memcmp(noted->version, version.text, version.nbytes) == 0;
    if (!is_same) {
        char *copy = npyx_alloc(remote->host, version.nbytes);
        NPYX_TRY(npyx_check_memory(copy, error));
        memcpy(copy, version.text, version.nbytes);
        npyx_free(remote->host, noted->version);
        noted->version = copy;
        noted->version_nbytes = version.nbytes;
        noted->serial = ++remote->nserials;
    }
    noted->nbytes = noted->noted_nbytes = nbytes;
    noted->seen_at = now_seconds();
    return NPYX_OK;
}

npyx_status npyx_remote_note_failure(npyx_remote *remote, int64_t file, const char *reason,
                                     npyx_error *error) {
    remote_file *noted = &remote->files[file];
    file_forget_answer(remote, noted);
    noted->is_missing = reason == NULL;
    if (reason == NULL)
        return NPYX_OK;
    size_t nbytes = strlen(reason) + 1;
    noted->reason = npyx_alloc(remote->host, nbytes);
    NPYX_TRY(npyx_check_memory(noted->reason, error));
    memcpy(noted->reason, reason, nbytes);
    return NPYX_OK;
}

/* ---- questions ---- */

/* A question begins. While the host answers one, its functions may run statements of their own. */
static npyx_status ask_begin(npyx_remote *remote, npyx_error *error) {
    if (remote->is_asking)
        return npyx_refuse(error, "the host's functions for URLs must not read a URL through npyext");
    remote->nranges = 0;
    return NPYX_OK;
}

static void ask_host(npyx_remote *remote) {
    remote->is_asking = true;
    remote->host->counters.remote_calls++;
}

/* Whatever the host said, an interrupt that came meanwhile is noticed now. */
static npyx_status ask_end(npyx_remote *remote, npyx_status status, npyx_error *error) {
    remote->is_asking = false;
    return status == NPYX_OK ? npyx_poll(remote->host, error) : status;
}

static npyx_status ask_info(npyx_remote *remote, const int64_t *files, int64_t nfiles, npyx_error *error) {
    NPYX_TRY(ask_begin(remote, error));
    ask_host(remote);
    npyx_status status = remote->ops->info(remote->ctx, remote, files, nfiles, error);
    for (int64_t i = 0; i < nfiles && status != NPYX_OK; i++) /* nothing of a wrong answer is believed */
        file_forget_answer(remote, &remote->files[files[i]]);
    return ask_end(remote, status, error);
}

/* Whether a file is known, or why not. */
static bool is_answered(const remote_file *file) {
    return file->is_missing || file->reason != NULL ||
           (file->nbytes >= 0 && now_seconds() - file->seen_at < REMOTE_FRESH_SECONDS);
}

/* The failure that is noted of a file, which is asked about again when it is wanted again. */
static npyx_status fail_noted(npyx_remote *remote, remote_file *file, npyx_error *error) {
    npyx_status status =
        file->is_missing ? npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file")
        : file->reason == NULL
            ? npyx_fail(error, NPYX_IO, -1, "the host's function does not say what is there")
            : npyx_fail(error, NPYX_IO, -1, "cannot be looked up (%.*s)", REMOTE_REASON_NBYTES, file->reason);
    file_forget_answer(remote, file);
    return status;
}

/* Finds out about a file, by a question if need be. */
static npyx_status look_up(npyx_host *host, const char *url, int64_t *number, npyx_error *error) {
    npyx_remote *remote = host->remote;
    if (remote == NULL)
        return npyx_fail(error, NPYX_IO, -1, "a URL is not read: fetch the file first");
    NPYX_TRY(number_of(remote, url, number, error));
    if (!is_answered(&remote->files[*number]))
        NPYX_TRY(ask_info(remote, number, 1, error));
    remote_file *file = &remote->files[*number]; /* a listing in the host's function may have moved them */
    return file->nbytes >= 0 ? NPYX_OK : fail_noted(remote, file, error);
}

static npyx_file_info info_of(const remote_file *file) {
    return (npyx_file_info){.nbytes = file->nbytes, .is_remote = true, .inode = (uint64_t)file->serial};
}

npyx_status npyx_remote_info(npyx_host *host, const char *url, npyx_file_info *info, npyx_error *error) {
    int64_t number;
    NPYX_TRY(look_up(host, url, &number, error));
    *info = info_of(&host->remote->files[number]);
    return NPYX_OK;
}

npyx_status npyx_remote_found(npyx_remote *remote, const char *url, int64_t nbytes, npyx_span version,
                              npyx_error *error) {
    int64_t number;
    NPYX_TRY(number_of(remote, url, &number, error));
    if (nbytes >= 0)
        NPYX_TRY(npyx_remote_note(remote, number, nbytes, version, error));
    return remote->add(remote->add_ctx, url, strlen(url), error);
}

npyx_status npyx_remote_glob(npyx_host *host, const char *pattern,
                             npyx_status (*add)(void *ctx, const char *url, size_t nbytes, npyx_error *error),
                             void *ctx, npyx_error *error) {
    npyx_remote *remote = host->remote;
    if (remote == NULL)
        return npyx_fail(error, NPYX_IO, -1, "a URL is not read: fetch the files first");
    NPYX_TRY(ask_begin(remote, error));
    ask_host(remote);
    remote->add = add;
    remote->add_ctx = ctx;
    return ask_end(remote, remote->ops->glob(remote->ctx, remote, pattern, error), error);
}

/* ---- blocks ---- */

/* How many blocks are kept: at least two, so that one of an answer does not displace the other. */
static int kept_nblocks(void) {
    int nblocks = NPYX_REMOTE_KEPT_NBYTES / NPYX_REMOTE_BLOCK_NBYTES;
    return nblocks < 2 ? 2 : nblocks < REMOTE_MAX_NBLOCKS ? nblocks : REMOTE_MAX_NBLOCKS;
}

static remote_block *block_find(npyx_remote *remote, int64_t serial, int64_t number) {
    for (int i = 0; i < REMOTE_MAX_NBLOCKS && remote->blocks != NULL; i++) {
        remote_block *block = &remote->blocks[i];
        if (block->serial == serial && block->number == number) {
            block->used_at = ++remote->clock;
            return block;
        }
    }
    return NULL;
}

/* The block that was not used for the longest time. */
static remote_block *block_oldest(npyx_remote *remote) {
    remote_block *oldest = &remote->blocks[0];
    for (int i = 1; i < kept_nblocks(); i++) {
        if (remote->blocks[i].used_at < oldest->used_at)
            oldest = &remote->blocks[i];
    }
    return oldest;
}

static npyx_status block_keep(npyx_remote *remote, int64_t serial, int64_t number, const uint8_t *bytes,
                              size_t nbytes, npyx_error *error) {
    if (remote->blocks == NULL)
        remote->blocks = npyx_alloc_array_zeroed(remote->host, REMOTE_MAX_NBLOCKS, sizeof remote->blocks[0]);
    NPYX_TRY(npyx_check_memory(remote->blocks, error));
    remote_block *block = block_oldest(remote);
    block->serial = 0;
    NPYX_TRY(npyx_renew(remote->host, &block->bytes, &block->capacity_nbytes, nbytes, error));
    memcpy(block->bytes, bytes, nbytes);
    block->serial = serial;
    block->number = number;
    block->nbytes = nbytes;
    block->used_at = ++remote->clock;
    return NPYX_OK;
}

/* How many bytes one question may ask for: half of what is kept at most, so that no block of an answer
 * displaces another one of it. */
static int64_t question_nbytes(const npyx_remote *remote) {
    int64_t nbytes = remote->ops->max_nbytes(remote->ctx);
    int64_t half_nbytes = (int64_t)(kept_nblocks() / 2) * NPYX_REMOTE_BLOCK_NBYTES;
    if (nbytes > NPYX_REMOTE_CALL_NBYTES)
        nbytes = NPYX_REMOTE_CALL_NBYTES;
    if (nbytes > half_nbytes)
        nbytes = half_nbytes;
    return nbytes < NPYX_REMOTE_BLOCK_NBYTES ? NPYX_REMOTE_BLOCK_NBYTES : nbytes;
}

/* Adds a block to the question, to its last range if it follows that one. */
static npyx_status ask_for_block(npyx_remote *remote, int64_t file, int64_t number, npyx_error *error) {
    int64_t off = number * NPYX_REMOTE_BLOCK_NBYTES, left_nbytes = remote->files[file].nbytes - off;
    int64_t nbytes = left_nbytes < NPYX_REMOTE_BLOCK_NBYTES ? left_nbytes : NPYX_REMOTE_BLOCK_NBYTES;
    npyx_remote_range *last = remote->nranges == 0 ? NULL : &remote->ranges[remote->nranges - 1];
    if (last != NULL && last->file == file && last->off <= off && off < last->off + last->nbytes)
        return NPYX_OK; /* a file's end may be in its first block */
    if (last != NULL && last->file == file && last->off + last->nbytes == off &&
        last->nbytes + nbytes <= NPYX_REMOTE_RANGE_NBYTES) {
        last->nbytes += nbytes;
        return NPYX_OK;
    }
    NPYX_TRY(npyx_grow(remote->host, &remote->ranges, remote->nranges, &remote->capacity_nranges,
                       sizeof remote->ranges[0], error));
    remote->ranges[remote->nranges++] = (npyx_remote_range){.file = file, .off = off, .nbytes = nbytes};
    return NPYX_OK;
}

/* Adds the blocks of a range that are not kept, as far as they exist and the question has room for them. */
static npyx_status ask_for(npyx_remote *remote, int64_t file, int64_t off, int64_t nbytes,
                           int64_t *room_nbytes, npyx_error *error) {
    const remote_file *noted = &remote->files[file];
    if (off < 0 || off >= noted->nbytes)
        return NPYX_OK;
    int64_t end_off = nbytes < noted->nbytes - off ? off + nbytes : noted->nbytes;
    for (int64_t number = off / NPYX_REMOTE_BLOCK_NBYTES;
         number * NPYX_REMOTE_BLOCK_NBYTES < end_off && *room_nbytes >= NPYX_REMOTE_BLOCK_NBYTES; number++) {
        if (block_find(remote, noted->serial, number) != NULL)
            continue;
        NPYX_TRY(ask_for_block(remote, file, number, error));
        *room_nbytes -= NPYX_REMOTE_BLOCK_NBYTES;
    }
    return NPYX_OK;
}

npyx_status npyx_remote_deliver(npyx_remote *remote, const uint8_t *bytes, size_t nbytes, npyx_error *error) {
    int64_t wanted_nbytes = 0;
    for (int64_t i = 0; i < remote->nranges; i++)
        wanted_nbytes += remote->ranges[i].nbytes;
    if (remote->is_delivered || (uint64_t)wanted_nbytes != nbytes)
        return npyx_fail(error, NPYX_IO, -1,
                         "the host's function returned %zu bytes where %" PRId64 " were asked for", nbytes,
                         wanted_nbytes);
    remote->is_delivered = true;
    remote->host->counters.remote_bytes += wanted_nbytes;
    for (int64_t i = 0; i < remote->nranges; i++) {
        const npyx_remote_range range = remote->ranges[i];
        for (int64_t done_nbytes = 0; done_nbytes < range.nbytes;) {
            int64_t left_nbytes = range.nbytes - done_nbytes;
            size_t piece_nbytes =
                (size_t)(left_nbytes < NPYX_REMOTE_BLOCK_NBYTES ? left_nbytes : NPYX_REMOTE_BLOCK_NBYTES);
            NPYX_TRY(block_keep(remote, remote->files[range.file].serial,
                                (range.off + done_nbytes) / NPYX_REMOTE_BLOCK_NBYTES, bytes, piece_nbytes,
                                error));
            bytes += piece_nbytes;
            done_nbytes += (int64_t)piece_nbytes;
        }
    }
    return NPYX_OK;
}

/* Asks what was added to the question. A file that has changed is looked up again when it is opened again. */
static npyx_status ask_read(npyx_remote *remote, npyx_error *error) {
    if (remote->nranges == 0)
        return NPYX_OK;
    ask_host(remote);
    remote->is_delivered = false;
    npyx_error failure = {0};
    npyx_status status = remote->ops->read(remote->ctx, remote, remote->ranges, remote->nranges, &failure);
    if (status == NPYX_OK && !remote->is_delivered)
        status = npyx_fail(&failure, NPYX_IO, -1, "the host's function returned no bytes");
    for (int64_t i = 0; i < remote->nranges && failure.kind == NPYX_KIND_CHANGED; i++)
        file_forget_answer(remote, &remote->files[remote->ranges[i].file]);
    if (status != NPYX_OK)
        (void)npyx_fail_again(error, &failure);
    return ask_end(remote, status, error);
}

/* ---- a source ---- */

typedef struct remote_source {
    npyx_source base;
    int64_t file, serial;
    /* a run of questions, each for what follows the one before it: */
    int64_t run_off, run_end_off;
    int64_t run_nbytes; /* of the last one */
} remote_source;

/* How much to read from off on, where at least nbytes are wanted: twice as much as the last time, while that
 * goes on where the last time ended; but not beyond the part of the file that is read, if the run began in
 * it. */
static int64_t run_end(remote_source *source, int64_t off, int64_t nbytes) {
    int64_t gap_nbytes = off - source->run_end_off, end_off = off + nbytes;
    bool goes_on = source->run_nbytes > 0 && gap_nbytes >= 0 && gap_nbytes <= source->run_nbytes;
    int64_t ahead_nbytes = goes_on ? source->run_nbytes * 2 : 0;
    if (!goes_on)
        source->run_off = off;
    if (ahead_nbytes > NPYX_REMOTE_CALL_NBYTES)
        ahead_nbytes = NPYX_REMOTE_CALL_NBYTES;
    int64_t ahead_off = off + ahead_nbytes;
    if (source->run_off >= source->base.part_off && ahead_off > source->base.part_end_off)
        ahead_off = source->base.part_end_off;
    if (end_off < ahead_off)
        end_off = ahead_off;
    return end_off;
}

/* Whether what is noted of the file is still the version that was opened. */
static bool source_is_current(const remote_source *source) {
    const remote_file *file = &source->base.host->remote->files[source->file];
    return file->serial == source->serial && file->nbytes >= 0;
}

static npyx_status source_fetch(remote_source *source, int64_t off, size_t nbytes, npyx_error *error) {
    npyx_remote *remote = source->base.host->remote;
    if (!source_is_current(source))
        return npyx_fail_changed(error);
    int64_t end_off = run_end(source, off, (int64_t)nbytes), room_nbytes = question_nbytes(remote);
    off = off / NPYX_REMOTE_BLOCK_NBYTES * NPYX_REMOTE_BLOCK_NBYTES;
    if (end_off - off > room_nbytes)
        end_off = off + room_nbytes;
    NPYX_TRY(ask_begin(remote, error));
    NPYX_TRY(ask_for(remote, source->file, off, end_off - off, &room_nbytes, error));
    NPYX_TRY(ask_read(remote, error));
    source->run_nbytes = end_off - off;
    source->run_end_off =
        (end_off + NPYX_REMOTE_BLOCK_NBYTES - 1) / NPYX_REMOTE_BLOCK_NBYTES * NPYX_REMOTE_BLOCK_NBYTES;
    return NPYX_OK;
}

static npyx_status remote_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes,
                               size_t *read_nbytes, npyx_error *error) {
    remote_source *source = (remote_source *)base;
    npyx_remote *remote = base->host->remote;
    for (*read_nbytes = 0; *read_nbytes < nbytes;) {
        int64_t at_off = off + (int64_t)*read_nbytes, number = at_off / NPYX_REMOTE_BLOCK_NBYTES;
        const remote_block *block = block_find(remote, source->serial, number);
        if (block == NULL) {
            NPYX_TRY(source_fetch(source, at_off, nbytes - *read_nbytes, error));
            block = block_find(remote, source->serial, number);
            if (block == NULL) /* the file is shorter than it was */
                return npyx_fail_changed(error);
        }
        size_t skipped_nbytes = (size_t)(at_off - number * NPYX_REMOTE_BLOCK_NBYTES);
        size_t piece_nbytes = block->nbytes - skipped_nbytes;
        if (piece_nbytes > nbytes - *read_nbytes)
            piece_nbytes = nbytes - *read_nbytes;
        memcpy((uint8_t *)bytes + *read_nbytes, block->bytes + skipped_nbytes, piece_nbytes);
        *read_nbytes += piece_nbytes;
    }
    return NPYX_OK;
}

/* What fails is asked again when it is wanted. */
static npyx_status expect_end(npyx_status status) {
    return status == NPYX_NOMEM || status == NPYX_INTERRUPTED ? status : NPYX_OK;
}

static npyx_status remote_source_expect(npyx_source *base, const npyx_extent *extents, int64_t n,
                                        npyx_error *error) {
    const remote_source *source = (const remote_source *)base;
    npyx_remote *remote = base->host->remote;
    int64_t room_nbytes = question_nbytes(remote);
    if (!source_is_current(source))
        return NPYX_OK;
    NPYX_TRY(ask_begin(remote, error));
    for (int64_t i = 0; i < n; i++)
        NPYX_TRY(ask_for(remote, source->file, extents[i].off, extents[i].nbytes, &room_nbytes, error));
    return expect_end(ask_read(remote, error));
}

static const npyx_source_ops remote_source_ops = {.read = remote_read, .expect = remote_source_expect};

npyx_status npyx_source_open_remote(npyx_host *host, const char *url, npyx_source **source,
                                    npyx_file_info *info, npyx_error *error) {
    int64_t number;
    NPYX_TRY(look_up(host, url, &number, error));
    remote_source *made = npyx_alloc(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    const remote_file *file = &host->remote->files[number];
    *made = (remote_source){
        .base = {.ops = &remote_source_ops, .host = host, .nbytes = file->nbytes, .part_end_off = INT64_MAX},
        .file = number,
        .serial = file->serial};
    host->counters.files_opened++;
    if (info != NULL)
        *info = info_of(file);
    *source = &made->base;
    return NPYX_OK;
}

npyx_status npyx_remote_expect(npyx_host *host, const npyx_remote_request *requests, int64_t nrequests,
                               npyx_error *error) {
    npyx_remote *remote = host->remote;
    int64_t numbers[NPYX_REMOTE_AHEAD_NFILES_MOST], nasked = 0;
    if (remote == NULL)
        return NPYX_OK;
    for (int64_t i = 0; i < nrequests; i++) {
        NPYX_TRY(number_of(remote, requests[i].url, &numbers[nasked], error));
        nasked += !is_answered(&remote->files[numbers[nasked]]);
    }
    if (nasked > 0)
        NPYX_TRY(expect_end(ask_info(remote, numbers, nasked, error)));
    int64_t room_nbytes = question_nbytes(remote);
    NPYX_TRY(ask_begin(remote, error));
    for (int64_t i = 0; i < nrequests; i++) {
        int64_t number;
        NPYX_TRY(number_of(remote, requests[i].url, &number, error));
        int64_t nbytes = remote->files[number].nbytes, end_nbytes = NPYX_REMOTE_BLOCK_NBYTES;
        if (end_nbytes > nbytes)
            end_nbytes = nbytes;
        NPYX_TRY(ask_for(remote, number, requests[i].off, requests[i].nbytes, &room_nbytes, error));
        if (requests[i].with_end)
            NPYX_TRY(ask_for(remote, number, nbytes - end_nbytes, end_nbytes, &room_nbytes, error));
    }
    return expect_end(ask_read(remote, error));
}
