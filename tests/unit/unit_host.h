/* A host for unit tests: libc's memory, and a count of what is still allocated. */
#ifndef UNIT_HOST_H
#define UNIT_HOST_H

#include <stdlib.h>

#include "base/host.h"

typedef struct unit_host {
    npyx_host host;
    long nblocks;         /* allocated and not yet freed */
    long fail_after;      /* allocations that succeed before all fail; -1: never */
    bool wants_interrupt; /* what the host answers to a poll */
} unit_host;

static void *unit_resize(void *ctx, void *block, size_t nbytes) {
    unit_host *unit = ctx;
    if (nbytes == 0) {
        unit->nblocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (unit->fail_after == 0)
        return NULL;
    unit->fail_after -= unit->fail_after > 0;
    void *resized = realloc(block, nbytes);
    unit->nblocks += block == NULL && resized != NULL;
    return resized;
}

static bool unit_interrupted(void *ctx) {
    return ((unit_host *)ctx)->wants_interrupt;
}

static void unit_host_init(unit_host *unit) {
    *unit = (unit_host){.fail_after = -1};
    unit->host = (npyx_host){.ctx = unit, .resize = unit_resize, .interrupted = unit_interrupted};
}

#endif
