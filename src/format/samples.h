/*
 * The samples of a shard, read and written: adjacent files of a tar with the same key, as WebDataset groups
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
#include "io/sink.h"
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

/* ---- writing ----
 *
 * Members of a tar, byte for byte as WebDataset's ShardWriter writes them with mtime=0: ustar, and a pax
 * header before a member whose name is not ASCII or has more than 100 bytes.
 *
 *     [ pax header 512 | `LENGTH path=NAME\n`, padded ] header 512 | contents, padded to 512 | ... | zeros
 *
 * Sources: webdataset, writer.py, TarWriter.write; CPython, Lib/tarfile.py, create_pax_header; POSIX.1-2017,
 * pax, "ustar Interchange Format" and "pax Extended Header". */

/* Appends a member: a regular file of mode 0444, owned by bigdata, with a UTF-8 name. On failure the sink is
 * as long as before, unless cutting it fails, too. Errors are the sink's; NPYX_TOOBIG for contents beyond 8
 * GiB, for which ustar has no number. */
npyx_status npyx_tar_write_member(npyx_sink *sink, const char *name, size_t name_nbytes, const void *contents,
                                  size_t nbytes, npyx_error *error);

/* Appends the end: two blocks of zeros, and more to fill a record of 10,240 bytes. */
npyx_status npyx_tar_write_end(npyx_sink *sink, npyx_error *error);

/* Whether WebDataset would read a sample of that key back as one of that key, with any extensions that have
 * no part changing it: NPYX_INVALID for a key that is empty, absolute, leads out of the tar (`..`), has a dot
 * after its last slash, or is skipped; or that would make the tar begin like another archive. */
npyx_status npyx_tar_check_key(const char *key, size_t nbytes, npyx_error *error);

#endif
