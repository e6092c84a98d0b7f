/*
 * An account of what is made from one value: a BLOB, a file, a pickle.
 *
 * Few bytes can stand for many: a part stored once counts each time it is referred to, and a size can be
 * claimed without any bytes. So everything made from a value is charged to one account: memory allocated for
 * it, and parts that are processed again. The allowance grows with the bytes that are actually there. The
 * account also tracks the work done since the host was last asked whether to stop, so a loop that charges its
 * work need not poll.
 */
#ifndef NPYX_BUDGET_H
#define NPYX_BUDGET_H

#include "host.h"

enum {
    NPYX_BUDGET_FREE_NBYTES = 8 << 20, /* allowed even for the smallest value */
    NPYX_BUDGET_NBYTES_PER_BYTE = 512, /* lists of empty lists take about 60, padded texts about 200 */
    NPYX_BUDGET_WORK_PER_BYTE = 16,    /* how often the allowed bytes may be gone over */
    NPYX_BUDGET_POLL_NBYTES = 1 << 16  /* of work: about 100 microseconds */
};

typedef struct npyx_budget {
    npyx_host *host;
    uint64_t allowed_nbytes;
    uint64_t spent_nbytes;
    uint64_t work_nbytes;
    uint64_t poll_at_nbytes; /* of work */
} npyx_budget;

/* The allowance for a value of nbytes. */
uint64_t npyx_budget_allowance(uint64_t nbytes);

/* An account with this allowance; UINT64_MAX for one that only polls. */
static inline npyx_budget npyx_budget_of(npyx_host *host, uint64_t allowed_nbytes) {
    return (npyx_budget){
        .host = host, .allowed_nbytes = allowed_nbytes, .poll_at_nbytes = NPYX_BUDGET_POLL_NBYTES};
}

/* Used by the two below. */
npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error);

/* Charges work on nbytes that are not kept: they are only looked at, or copied into memory already charged.
 * Fails as npyx_budget_spend does. */
static inline npyx_status npyx_budget_work(npyx_budget *budget, uint64_t nbytes, npyx_error *error) {
    budget->work_nbytes += nbytes;
    return budget->work_nbytes < budget->poll_at_nbytes ? NPYX_OK : npyx_budget_check(budget, error);
}

/* Charges nbytes before they are allocated. NPYX_TOOBIG when that exceeds the allowance; NPYX_INTERRUPTED. */
static inline npyx_status npyx_budget_spend(npyx_budget *budget, uint64_t nbytes, npyx_error *error) {
    budget->spent_nbytes += nbytes;
    if (budget->spent_nbytes > budget->allowed_nbytes)
        return npyx_budget_check(budget, error);
    return npyx_budget_work(budget, nbytes, error);
}

/* What may still be spent. */
static inline uint64_t npyx_budget_left(const npyx_budget *budget) {
    return budget->spent_nbytes < budget->allowed_nbytes ? budget->allowed_nbytes - budget->spent_nbytes : 0;
}

/* The error for exceeding the allowance. */
npyx_status npyx_budget_fail(const npyx_budget *budget, npyx_error *error);

#endif
