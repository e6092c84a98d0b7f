#include "order_bounds.h"

#include "base/simd.h"

#ifdef NPYX_WITH_AVX512

enum { BOUNDS_NVECTORS = 4 /* compared with a bound before the next one is loaded */ };

#define BOUNDS(word) NPYX_JOIN(f64, bounds, word)
#define BOUNDS_ITEM  double
#define BOUNDS_NBITS 64
#define BOUNDS_FROM(mask, x, y)                                                                              \
    _mm512_mask_cmp_pd_mask(mask, _mm512_castsi512_pd(x), _mm512_set1_pd(y), _CMP_GE_OQ)
#define BOUNDS_TO(mask, x, y)                                                                                \
    _mm512_mask_cmp_pd_mask(mask, _mm512_castsi512_pd(x), _mm512_set1_pd(y), _CMP_LE_OQ)
#define BOUNDS_NAN(x, y) _mm512_cmp_pd_mask(_mm512_castsi512_pd(x), _mm512_castsi512_pd(y), _CMP_UNORD_Q)
#include "order_bounds_template.h"

#define BOUNDS(word) NPYX_JOIN(f32, bounds, word)
#define BOUNDS_ITEM  float
#define BOUNDS_NBITS 32
#define BOUNDS_FROM(mask, x, y)                                                                              \
    _mm512_mask_cmp_ps_mask(mask, _mm512_castsi512_ps(x), _mm512_set1_ps(y), _CMP_GE_OQ)
#define BOUNDS_TO(mask, x, y)                                                                                \
    _mm512_mask_cmp_ps_mask(mask, _mm512_castsi512_ps(x), _mm512_set1_ps(y), _CMP_LE_OQ)
#define BOUNDS_NAN(x, y) _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), _CMP_UNORD_Q)
#include "order_bounds_template.h"

#define BOUNDS(word)            NPYX_JOIN(i64, bounds, word)
#define BOUNDS_ITEM             int64_t
#define BOUNDS_NBITS            64
#define BOUNDS_FROM(mask, x, y) _mm512_mask_cmpge_epi64_mask(mask, x, _mm512_set1_epi64(y))
#define BOUNDS_TO(mask, x, y)   _mm512_mask_cmple_epi64_mask(mask, x, _mm512_set1_epi64(y))
#define BOUNDS_NAN(x, y)        0
#include "order_bounds_template.h"

#define BOUNDS(word)            NPYX_JOIN(i32, bounds, word)
#define BOUNDS_ITEM             int32_t
#define BOUNDS_NBITS            32
#define BOUNDS_FROM(mask, x, y) _mm512_mask_cmpge_epi32_mask(mask, x, _mm512_set1_epi32(y))
#define BOUNDS_TO(mask, x, y)   _mm512_mask_cmple_epi32_mask(mask, x, _mm512_set1_epi32(y))
#define BOUNDS_NAN(x, y)        0
#include "order_bounds_template.h"

#define BOUNDS(word)            NPYX_JOIN(u64, bounds, word)
#define BOUNDS_ITEM             uint64_t
#define BOUNDS_NBITS            64
#define BOUNDS_FROM(mask, x, y) _mm512_mask_cmpge_epu64_mask(mask, x, _mm512_set1_epi64((int64_t)(y)))
#define BOUNDS_TO(mask, x, y)   _mm512_mask_cmple_epu64_mask(mask, x, _mm512_set1_epi64((int64_t)(y)))
#define BOUNDS_NAN(x, y)        0
#include "order_bounds_template.h"

#define BOUNDS(word)            NPYX_JOIN(u32, bounds, word)
#define BOUNDS_ITEM             uint32_t
#define BOUNDS_NBITS            32
#define BOUNDS_FROM(mask, x, y) _mm512_mask_cmpge_epu32_mask(mask, x, _mm512_set1_epi32((int32_t)(y)))
#define BOUNDS_TO(mask, x, y)   _mm512_mask_cmple_epu32_mask(mask, x, _mm512_set1_epi32((int32_t)(y)))
#define BOUNDS_NAN(x, y)        0
#include "order_bounds_template.h"

npyx_order_bounds_kernel *npyx_order_bounds_kernel_of(npyx_type type) {
    if (npyx_simd_here() < NPYX_SIMD_AVX512)
        return NULL;
    switch (type) {
    case NPYX_F8: return f64_bounds_kernel;
    case NPYX_F4: return f32_bounds_kernel;
    case NPYX_I8: return i64_bounds_kernel;
    case NPYX_I4: return i32_bounds_kernel;
    case NPYX_U8: return u64_bounds_kernel;
    case NPYX_U4: return u32_bounds_kernel;
    default: return NULL;
    }
}

#else

npyx_order_bounds_kernel *npyx_order_bounds_kernel_of(npyx_type type) {
    (void)type;
    return NULL;
}

#endif
