/*
 * The kernels of one target. Included for each by filter.c, with
 *
 *     FILTER_TARGET    an attribute: the processor features they may use
 *     FILTER_SUFFIX    the end of their names
 *     FILTER_NBYTES    of a vector of GNU C, which becomes what the processor has
 *
 * which are undefined again at the end.
 */
#define FILTER(word) NPYX_JOIN(filter_##word, FILTER_KIND, FILTER_SUFFIX)

#define FILTER_KIND u8
#define FILTER_ITEM uint8_t
#define FILTER_LANE int8_t
#include "filter_pattern_template.h"

#define FILTER_KIND u16
#define FILTER_ITEM uint16_t
#define FILTER_LANE int16_t
#include "filter_pattern_template.h"

#define FILTER_KIND u32
#define FILTER_ITEM uint32_t
#define FILTER_LANE int32_t
#include "filter_pattern_template.h"

#define FILTER_KIND u64
#define FILTER_ITEM uint64_t
#define FILTER_LANE int64_t
#include "filter_pattern_template.h"

#define FILTER_KERNEL(kind) NPYX_JOIN(filter_kernel, kind, FILTER_SUFFIX)
static npyx_filter_kernel *const NPYX_JOIN(filter, kernels, FILTER_SUFFIX)[NPYX_NLANES] = {
    [NPYX_LANE_8] = FILTER_KERNEL(u8),
    [NPYX_LANE_16] = FILTER_KERNEL(u16),
    [NPYX_LANE_32] = FILTER_KERNEL(u32),
    [NPYX_LANE_64] = FILTER_KERNEL(u64)};

#undef FILTER_TARGET
#undef FILTER_SUFFIX
#undef FILTER_NBYTES
#undef FILTER
#undef FILTER_KERNEL
