/*
 * The samples of a shard: the files of a tar that lie next to each other under one key, as WebDataset groups
 * them (webdataset, tariterators.py, group_by_keys).
 *
 *     000016.cls | 000016.emb.npy | __meta__ | 000017.cls | README | 000017.emb.npy
 *     sample 0: cls, emb.npy      |  none    | sample 1: cls | none | sample 1: emb.npy
 *
 * What has no key, is no file, or is skipped by WebDataset belongs to no sample, and ends none.
 */
#ifndef NPYX_SAMPLES_H
#define NPYX_SAMPLES_H

#include "base/names.h"
#include "sample_key.h"
#include "tar.h"

/* ---- grouping, member by member ---- */

/* Zero-initialise, and set by npyx_sample_walk_begin before each shard. */
typedef struct npyx_sample_walk {
    int64_t nsamples;
    int64_t sample; /* number of the one that the member at hand belongs to; -1: to none */
    bool has_key;   /* the member at hand has; then key and ext are set */
    npyx_sample_key key;
    npyx_buffer ext;        /* of the member at hand, in lower case as far as its letters are ASCII's */
    npyx_buffer sample_key; /* of the sample at hand, */
    npyx_name_set exts;     /* and the extensions of its parts */
} npyx_sample_walk;

void npyx_sample_walk_begin(npyx_sample_walk *walk, npyx_host *host);

/* Takes the next member. NPYX_CORRUPT for a second one of its sample with the same extension, of which all is
 * set all the same. */
npyx_status npyx_sample_walk_take(npyx_sample_walk *walk, const npyx_tar_member *member, npyx_error *error);

/* Takes one that was never begun, too. */
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
    npyx_name_set keys; /* of the samples, in their order, as UTF-8; one that comes again is there twice */
    npyx_name_set exts; /* of all parts, as UTF-8, each once, in the order in which they came first */
    npyx_buffer text;   /* a name on its way into them */
    npyx_sample_part *parts;
    int64_t nparts, capacity_nparts;
    int64_t *first_parts; /* of each sample; the last one's end where all parts do */
    int64_t nsamples, capacity_nsamples;
} npyx_samples;

/* Walks through a shard, in one pass over its headers. A second part of a sample with the same extension is
 * NPYX_CORRUPT, as for WebDataset. On failure all samples before the one at fault are there. */
npyx_status npyx_samples_read(npyx_source *shard, npyx_samples *samples, npyx_error *error);

/* The part of a sample with an extension; NULL when there is none. */
const npyx_sample_part *npyx_samples_part(const npyx_samples *samples, int64_t sample, int64_t ext);

/* What they take of memory. */
size_t npyx_samples_nbytes(const npyx_samples *samples);

/* Takes one that was never read, too. */
void npyx_samples_clear(npyx_samples *samples);

#endif
