/* The kernels of one kind of vector, for each type of items. Included by simd_kernels_template.h. */
#define KERNEL_KIND f64
#define KERNEL_ITEM double
#include "simd_items_template.h"

#define KERNEL_KIND f32
#define KERNEL_ITEM float
#ifdef KERNEL_LOAD_F32
#define KERNEL_LOAD(items) KERNEL_LOAD_F32(items)
#endif
#include "simd_items_template.h"

#ifdef KERNELS_HAVE_I32
#define KERNEL_KIND i32
#define KERNEL_ITEM int32_t
#ifdef KERNEL_LOAD_I32
#define KERNEL_LOAD(items) KERNEL_LOAD_I32(items)
#endif
#include "simd_items_template.h"
#endif

#if defined(KERNELS_HAVE_F16) && defined(KERNEL_LOAD_F16)
#define KERNEL_KIND        f16
#define KERNEL_ITEM        uint16_t
#define KERNEL_LOAD(items) KERNEL_LOAD_F16(items)
#include "simd_items_template.h"
#endif

#undef KERNEL_VECTOR
#undef KERNEL_TARGET
#undef KERNEL_NBYTES
#undef KERNEL_LESSER
#undef KERNEL_GREATER
#undef KERNEL_FUSED
#undef KERNEL_ADD_TOTALS
#undef KERNEL_ADD_ZEROS
#undef KERNEL_LOAD_F32
#undef KERNEL_LOAD_I32
#undef KERNEL_LOAD_F16
