#include "samples.h"

void npyx_sample_walk_begin(npyx_sample_walk *walk, npyx_host *host) {
    walk->ext.host = walk->sample_key.host = walk->exts.bytes.host = host;
    walk->nsamples = 0;
    walk->sample = -1;
    walk->has_key = false;
    npyx_buffer_reset(&walk->sample_key);
}

/* Adds the member's extension to those of its sample, of which each is to be there once. */
static npyx_status sample_note_ext(npyx_sample_walk *walk, int64_t header_off, npyx_error *error) {
    if (npyx_name_set_has(&walk->exts, walk->ext.bytes, walk->ext.nbytes))
        return npyx_fail(error, NPYX_CORRUPT, header_off,
                         "is the second member of its sample with the extension '%.*s'",
                         NPYX_SHOWN(walk->ext.bytes, walk->ext.nbytes, 100));
    return npyx_name_set_add(&walk->exts, walk->ext.bytes, walk->ext.nbytes, error);
}

/* Whether the member goes on with the sample at hand. */
static bool sample_goes_on(const npyx_sample_walk *walk, const char *key, size_t nbytes) {
    return walk->nsamples > 0 && walk->sample_key.nbytes == nbytes &&
           memcmp(walk->sample_key.bytes, key, nbytes) == 0;
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
    if (!sample_goes_on(walk, text, walk->key.key_nbytes)) {
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
