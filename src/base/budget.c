#include "budget.h"

uint64_t npyx_budget_allowance(uint64_t nbytes) {
    bool is_huge = nbytes > (INT64_MAX - NPYX_BUDGET_FREE_NBYTES) / NPYX_BUDGET_NBYTES_PER_BYTE;
    return is_huge ? INT64_MAX : NPYX_BUDGET_FREE_NBYTES + NPYX_BUDGET_NBYTES_PER_BYTE * nbytes;
}

npyx_status npyx_budget_fail(const npyx_budget *budget, npyx_error *error) {
    return npyx_fail(error, NPYX_TOOBIG, -1, "so short a value may not grow beyond %" PRIu64 " bytes",
                     budget->allowed_nbytes);
}

npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error) {
    bool is_worked_off = budget->work_nbytes / NPYX_BUDGET_WORK_PER_BYTE > budget->allowed_nbytes;
    if (budget->spent_nbytes > budget->allowed_nbytes || is_worked_off)
        return npyx_budget_fail(budget, error);
    budget->poll_at_nbytes = budget->work_nbytes + NPYX_BUDGET_POLL_NBYTES;
    return npyx_poll(budget->host, error);
}
