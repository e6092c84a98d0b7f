/*
 * WebDataset's key and extension of a member's name (webdataset, tariterators.py, base_plus_ext):
 *
 *     folder.x/000017.latent.npy      ^((?:.*\/|)[^.]+)[.]([^/]*)$
 *     |---- key ----| |-- ext --|
 *
 * Adjacent members with the same key form a sample.
 */
#ifndef NPYX_SAMPLE_KEY_H
#define NPYX_SAMPLE_KEY_H

#include "base/status.h"

typedef struct npyx_sample_key {
    size_t key_nbytes; /* from the start of the name */
    size_t ext_off;    /* to its end; the caller makes it lower case */
    bool is_skipped;   /* WebDataset skips it: the whole name or the first folder is `__...__` */
} npyx_sample_key;

/* False for a name without a key. */
bool npyx_sample_key_of(const char *name, size_t nbytes, npyx_sample_key *key);

#endif
