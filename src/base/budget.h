/*
 * An account of what is made of one value: a BLOB, a file, a pickle.
 *
 * Few bytes can stand for many: a part that is there once counts as often as it is named, and a size may be
 * claimed without any bytes. So whatever is made of a value is charged to one account: memory that is
 * allocated for it, and parts that are gone over once more. The allowance grows with the bytes that are
 * there. The same account sees how much work was done since the host was last asked whether to stop, so a
 * loop that charges what it does need not poll.
 */
#ifndef NPYX_BUDGET_H
#define NPYX_BUDGET_H

#include "host.h"

enum {
    NPYX_BUDGET_FREE_NBYTES = 8 << 20, /* that may be made of the smallest value */
    NPYX_BUDGET_NBYTES_PER_BYTE = 512, /* lists of empty lists take some 60, padded texts some 200 */
    NPYX_BUDGET_WORK_PER_BYTE = 16,    /* how often what may be made may be gone over */
    NPYX_BUDGET_POLL_NBYTES = 1 << 16  /* of work: some 100 microseconds */
};

typedef struct npyx_budget {
    npyx_host *host;
    uint64_t allowed_nbytes;
    uint64_t spent_nbytes;
    uint64_t work_nbytes;
    uint64_t poll_at_nbytes; /* of work */
} npyx_budget;

/* What may be made of a value of nbytes. */
uint64_t npyx_budget_allowance(uint64_t nbytes);

/* An account of so much; UINT64_MAX for one that only polls. */
static inline npyx_budget npyx_budget_of(npyx_host *host, uint64_t allowed_nbytes) {
    return (npyx_budget){
        .host = host, .allowed_nbytes = allowed_nbytes, .poll_at_nbytes = NPYX_BUDGET_POLL_NBYTES};
}

/* For the two below. */
npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error);

/* Charges work on nbytes that are not kept: they are looked at, or copied into what was charged before. As
 * npyx_budget_spend. */
static inline npyx_status npyx_budget_work(npyx_budget *budget, uint64_t nbytes, npyx_error *error) {
    budget->work_nbytes += nbytes;
    return budget->work_nbytes < budget->poll_at_nbytes ? NPYX_OK : npyx_budget_check(budget, error);
}

/* Charges nbytes before they are made. NPYX_TOOBIG when that is more than allowed, and NPYX_INTERRUPTED. */
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

/* The failure of what would be more than allowed. */
npyx_status npyx_budget_fail(const npyx_budget *budget, npyx_error *error);

#endif
