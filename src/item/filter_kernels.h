/*
 * The inner loops of filters, over items of the host's byte order: each takes the best instructions that this
 * processor has.
 */
#ifndef NPYX_FILTER_KERNELS_H
#define NPYX_FILTER_KERNELS_H

#include "filter.h"

/* Clears the bits of the items that fail in nwords words of the bitmap, of 64 items each. items may lie at
 * any alignment. */
typedef void npyx_filter_kernel(const npyx_filter *filter, const uint8_t *items, int64_t nwords,
                                uint64_t *bitmap);

/* What can be run over; of each there is one. */
typedef enum npyx_lane {
    NPYX_LANE_8,
    NPYX_LANE_16,
    NPYX_LANE_32,
    NPYX_LANE_64,
    NPYX_LANE_F4,
    NPYX_LANE_F8
} npyx_lane;
enum { NPYX_NLANES = NPYX_LANE_F8 + 1 };

/* The pattern lanes look at the filter's ranges, F4 and F8 at its bounds. */
npyx_filter_kernel *npyx_filter_kernel_of(npyx_lane lane);

/* The same without what only some processors have. */
npyx_filter_kernel *npyx_filter_kernel_portable(npyx_lane lane);

#endif
