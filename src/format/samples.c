#include "samples.h"

#include "io/first_bytes.h"

/* ---- keys ---- */

/* Whether the first folder, or all of a name without folders, begins and ends with two underscores; a line
 * end after a whole name is ignored. */
static bool is_skipped_name(const char *name, size_t nbytes) {
    const char *slash = memchr(name, '/', nbytes);
    size_t first_nbytes = slash == NULL ? nbytes : (size_t)(slash - name);
    if (slash == NULL && first_nbytes > 0 && name[first_nbytes - 1] == '\n')
        first_nbytes--;
    return first_nbytes >= 4 && memcmp(name, "__", 2) == 0 && memcmp(name + first_nbytes - 2, "__", 2) == 0;
}

/* The offset after the last slash of the first nbytes. */
static size_t after_slash(const char *name, size_t nbytes) {
    while (nbytes > 0 && name[nbytes - 1] != '/')
        nbytes--;
    return nbytes;
}

bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key) {
    size_t base = after_slash(name, nbytes);
    const char *dot = memchr(name + base, '.', nbytes - base);
    if (dot == NULL)
        return false;
    /* The rule's folders, which may contain dots, are on the first line, since its dot matches no line end. A
     * name that begins with its dot takes the folder before it as a part of the name. */
    const char *line_end = memchr(name, '\n', base);
    size_t own = line_end == NULL ? base : after_slash(name, (size_t)(line_end - name));
    if (own > 0 && name + own == dot)
        own = after_slash(name, own - 1);
    size_t own_nbytes = (size_t)(dot - name) - own;
    if (own_nbytes == 0 || memchr(name + own, '.', own_nbytes) != NULL)
        return false;
    *key = (npyx_sample_key){.key_nbytes = (size_t)(dot - name),
                             .ext_off = (size_t)(dot - name) + 1,
                             .is_skipped = is_skipped_name(name, nbytes)};
    return true;
}

/* ---- grouping, member by member ---- */

void npyx_sample_walk_begin(npyx_sample_walk *walk, npyx_host *host) {
    walk->ext.host = walk->sample_key.host = walk->exts.bytes.host = host;
    walk->nsamples = 0;
    walk->sample = -1;
    walk->has_key = false;
    npyx_buffer_reset(&walk->sample_key);
}

/* Adds the member's extension to those of its sample, where each may occur once. */
static npyx_status sample_note_ext(npyx_sample_walk *walk, int64_t header_off, npyx_error *error) {
    npyx_name_set *exts = &walk->exts;
    NPYX_TRY(npyx_name_set_add(exts, walk->ext.bytes, walk->ext.nbytes, error));
    if (npyx_name_set_before(exts, exts->count - 1) < 0)
        return NPYX_OK;
    return npyx_fail(error, NPYX_CORRUPT, header_off,
                     "is the second member of its sample with the extension '%.*s'",
                     NPYX_SHOWN(walk->ext.bytes, walk->ext.nbytes, 100));
}

npyx_status npyx_sample_walk_take(npyx_sample_walk *walk, const npyx_tar_member *member, npyx_error *error) {
    const npyx_buffer *name = &member->texts[NPYX_TAR_NAME];
    const char *text = name->nbytes == 0 ? "" : name->bytes;
    bool is_file = member->type == NPYX_TAR_FILE || member->type == NPYX_TAR_SPARSE;
    walk->has_key = npyx_sample_key_of(text, name->nbytes, &walk->key);
    walk->sample = -1;
    npyx_buffer_reset(&walk->ext);
    if (!walk->has_key)
        return NPYX_OK;
    npyx_buffer_append_lower(&walk->ext, text + walk->key.ext_off, name->nbytes - walk->key.ext_off);
    NPYX_TRY(npyx_buffer_check(&walk->ext, error));
    if (!is_file || walk->key.is_skipped)
        return NPYX_OK;
    bool goes_on = walk->nsamples > 0 &&
                   npyx_is_same(walk->sample_key.bytes, walk->sample_key.nbytes, text, walk->key.key_nbytes);
    if (!goes_on) {
        walk->nsamples++;
        npyx_name_set_cut(&walk->exts, 0);
        npyx_buffer_reset(&walk->sample_key);
        npyx_buffer_append(&walk->sample_key, text, walk->key.key_nbytes);
        NPYX_TRY(npyx_buffer_check(&walk->sample_key, error));
    }
    walk->sample = walk->nsamples - 1;
    return sample_note_ext(walk, member->header_off, error);
}

void npyx_sample_walk_clear(npyx_sample_walk *walk) {
    if (walk->ext.host == NULL)
        return;
    npyx_buffer_clear(&walk->ext);
    npyx_buffer_clear(&walk->sample_key);
    npyx_name_set_clear(&walk->exts);
}

/* ---- the samples of a shard, kept ---- */

/* Adds a name as UTF-8. */
static npyx_status samples_add_name(npyx_samples *samples, npyx_name_set *set, const npyx_buffer *name,
                                    npyx_error *error) {
    npyx_buffer_reset(&samples->text);
    npyx_buffer_append_utf8(&samples->text, name->bytes, name->nbytes);
    NPYX_TRY(npyx_buffer_check(&samples->text, error));
    return npyx_name_set_add(set, samples->text.nbytes == 0 ? "" : samples->text.bytes, samples->text.nbytes,
                             error);
}

/* The number of the current extension among those of the shard. */
static npyx_status samples_ext(npyx_samples *samples, const npyx_buffer *ext, int64_t *number,
                               npyx_error *error) {
    npyx_name_set *exts = &samples->exts;
    *number = npyx_name_set_find(exts, ext->nbytes == 0 ? "" : ext->bytes, ext->nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    NPYX_TRY(samples_add_name(samples, exts, ext, error));
    *number = exts->count - 1;
    int64_t before = npyx_name_set_before(exts, *number);
    if (before >= 0) { /* as UTF-8 it is already there */
        npyx_name_set_cut(exts, *number);
        *number = before;
    }
    return NPYX_OK;
}

static npyx_status samples_begin_sample(npyx_samples *samples, const npyx_buffer *key, npyx_error *error) {
    NPYX_TRY(npyx_grow(samples->host, &samples->first_parts, samples->nsamples, &samples->capacity_nsamples,
                       sizeof samples->first_parts[0], error));
    NPYX_TRY(samples_add_name(samples, &samples->keys, key, error));
    samples->first_parts[samples->nsamples++] = samples->nparts;
    return NPYX_OK;
}

static npyx_status samples_add(npyx_samples *samples, const npyx_sample_walk *walk,
                               const npyx_tar_member *member, npyx_error *error) {
    int64_t ext = 0;
    NPYX_TRY(samples_ext(samples, &walk->ext, &ext, error));
    NPYX_TRY(npyx_grow(samples->host, &samples->parts, samples->nparts, &samples->capacity_nparts,
                       sizeof samples->parts[0], error));
    if (walk->sample == samples->nsamples)
        NPYX_TRY(samples_begin_sample(samples, &walk->sample_key, error));
    samples->parts[samples->nparts++] = (npyx_sample_part){.data_off = member->data_off,
                                                           .nbytes = member->data_nbytes,
                                                           .ext = (int32_t)ext,
                                                           .is_sparse = member->type == NPYX_TAR_SPARSE};
    return NPYX_OK;
}

/* Drops the current sample, which may be incomplete. */
static void samples_drop_last(npyx_samples *samples) {
    if (samples->nsamples == 0)
        return;
    samples->nsamples--;
    samples->nparts = samples->first_parts[samples->nsamples];
    npyx_name_set_cut(&samples->keys, samples->nsamples);
}

npyx_status npyx_samples_read(npyx_source *shard, npyx_samples *samples, npyx_error *error) {
    npyx_tar_walk tar = {.window.source = shard};
    npyx_sample_walk walk = {0};
    npyx_status status = NPYX_OK;
    samples->host = samples->keys.bytes.host = samples->exts.bytes.host = samples->text.host = shard->host;
    npyx_sample_walk_begin(&walk, shard->host);
    while (status == NPYX_OK && (status = npyx_tar_next(&tar, error)) == NPYX_OK) {
        status = npyx_sample_walk_take(&walk, &tar.member, error);
        if (status == NPYX_CORRUPT) /* readers of samples know no member's name to blame */
            status = npyx_fail(error, status, tar.member.header_off,
                               "the sample '%.*s' has two members with the extension '%.*s'",
                               NPYX_SHOWN(walk.sample_key.bytes, walk.sample_key.nbytes, 100),
                               NPYX_SHOWN(walk.ext.bytes, walk.ext.nbytes, 100));
        if (status == NPYX_OK && walk.sample >= 0)
            status = samples_add(samples, &walk, &tar.member, error);
    }
    if (status != NPYX_DONE)
        samples_drop_last(samples);
    npyx_sample_walk_clear(&walk);
    npyx_tar_clear(&tar);
    return status == NPYX_DONE ? NPYX_OK : status;
}

const npyx_sample_part *npyx_samples_part(const npyx_samples *samples, int64_t sample, int64_t ext) {
    int64_t end = sample + 1 < samples->nsamples ? samples->first_parts[sample + 1] : samples->nparts;
    for (int64_t i = samples->first_parts[sample]; i < end; i++) {
        if (samples->parts[i].ext == ext)
            return &samples->parts[i];
    }
    return NULL;
}

size_t npyx_samples_nbytes(const npyx_samples *samples) {
    return npyx_name_set_nbytes(&samples->keys) + npyx_name_set_nbytes(&samples->exts) +
           samples->text.capacity_nbytes + (size_t)samples->capacity_nparts * sizeof samples->parts[0] +
           (size_t)samples->capacity_nsamples * sizeof samples->first_parts[0];
}

void npyx_samples_clear(npyx_samples *samples) {
    if (samples->host == NULL)
        return;
    npyx_name_set_clear(&samples->keys);
    npyx_name_set_clear(&samples->exts);
    npyx_buffer_clear(&samples->text);
    npyx_free(samples->host, samples->parts);
    npyx_free(samples->host, samples->first_parts);
    *samples = (npyx_samples){0};
}
