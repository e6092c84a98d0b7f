/*
 * The samples of a shard: adjacent files of a tar with the same key, as WebDataset groups
 * them (webdataset, tariterators.py, group_by_keys).
 *
 *     000016.cls | 000016.emb.npy | __meta__ | 000017.cls | README | 000017.emb.npy
 *     sample 0: cls, emb.npy      |  none    | sample 1: cls | none | sample 1: emb.npy
 *
 * A member that has no key, is not a file, or is skipped by WebDataset belongs to no sample, and ends none.
 */
#ifndef NPYX_SAMPLES_H
#define NPYX_SAMPLES_H

#include "base/names.h"
#include "tar.h"

/* ---- keys ----
 *
 * WebDataset's key and extension of a member's name (webdataset, tariterators.py, base_plus_ext):
 *
 *     folder.x/000017.latent.npy      ^((?:.*\/|)[^.]+)[.]([^/]*)$
 *     |---- key ----| |-- ext --|
 *
 * Adjacent members with the same key form a sample.
 */
typedef struct npyx_sample_key {
    size_t key_nbytes; /* from the start of the name */
    size_t ext_off;    /* to its end; the caller makes it lower case */
    bool is_skipped;   /* WebDataset skips it: the whole name or the first folder is `__...__` */
} npyx_sample_key;

/* False for a name without a key. */
bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key);

/* ---- grouping, member by member ---- */

/* Zero-initialise, and call npyx_sample_walk_begin before each shard. */
typedef struct npyx_sample_walk {
    int64_t nsamples;
    int64_t sample; /* number of the current member's; -1: none */
    bool has_key;   /* whether the current member has one; then key and ext are set */
    npyx_sample_key key;
    npyx_buffer ext;        /* of the current member, its ASCII letters in lower case */
    npyx_buffer sample_key; /* of the current sample, */
    npyx_name_set exts;     /* and the extensions of its parts */
} npyx_sample_walk;

void npyx_sample_walk_begin(npyx_sample_walk *walk, npyx_host *host);

/* Takes the next member. NPYX_CORRUPT for a second one of its sample with the same extension; everything is
 * set all the same. */
npyx_status npyx_sample_walk_take(npyx_sample_walk *walk, const npyx_tar_member *member, npyx_error *error);

/* Accepts one that was never begun. */
void npyx_sample_walk_clear(npyx_sample_walk *walk);

/* ---- the samples of a shard, kept ---- */

/* A file of a sample. */
typedef struct npyx_sample_part {
    int64_t data_off, nbytes;
    int32_t ext; /* number of its extension among those of the shard */
    bool is_sparse;
} npyx_sample_part;

/* Zero-initialise. */
typedef struct npyx_samples {
    npyx_host *host;
    npyx_name_set keys; /* of the samples, in order, as UTF-8; a key that recurs is there twice */
    npyx_name_set exts; /* of all parts, as UTF-8, each once, in order of first occurrence */
    npyx_buffer text;   /* a name about to be added to them */
    npyx_sample_part *parts;
    int64_t nparts, capacity_nparts;
    int64_t *first_parts; /* of each sample; the last one ends at nparts */
    int64_t nsamples, capacity_nsamples;
} npyx_samples;

/* Walks through a shard, in one pass over its headers. A second part of a sample with the same extension is
 * NPYX_CORRUPT, as in WebDataset. On failure all samples before the faulty one are there. */
npyx_status npyx_samples_read(npyx_source *shard, npyx_samples *samples, npyx_error *error);

/* The part of a sample with an extension; NULL when there is none. */
const npyx_sample_part *npyx_samples_part(const npyx_samples *samples, int64_t sample, int64_t ext);

/* The memory they occupy. */
size_t npyx_samples_nbytes(const npyx_samples *samples);

/* Accepts one that was never read. */
void npyx_samples_clear(npyx_samples *samples);

#endif
