/* Numbers as pairs of doubles, their differences, and the tally of those. */
#include "difference.h"

#include "item/convert.h"

/* Squares of differences between these are added unscaled: neither they nor sums of 2^62 of them leave a
 * double's range. */
static const double SMALL = 0x1p-480, LARGE = 0x1p480;

enum { SMALL_SQUARES, USUAL_SQUARES, LARGE_SQUARES };

static const double SCALES[] = {[SMALL_SQUARES] = 0x1p600, [USUAL_SQUARES] = 1, [LARGE_SQUARES] = 0x1p-600};

/* ---- loading ---- */

/* lo is what rounding x to hi left out. Arithmetic is modulo 2^64: hi may be 2^63 or 2^64, but the rest is
 * below 2^11. */
static double rest_of_i64(int64_t x, double hi) {
    uint64_t rounded = hi == 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)(int64_t)hi;
    return (double)(int64_t)((uint64_t)x - rounded);
}

static double rest_of_u64(uint64_t x, double hi) {
    uint64_t rounded = hi == 0x1p64 ? 0 : (uint64_t)hi;
    return (double)(int64_t)(x - rounded);
}

/* 2^exponent for the exponents of normal doubles. */
static double power_of_two(int exponent) {
    return npyx_f64_of_bits((uint64_t)(exponent + 1023) << 52);
}

/* 0 if a double cannot hold it: the number is then taken as its rounded double. */
static double rest_of_x87(npyx_x87 x, double hi) {
    int exponent = (x.sign_exponent & 0x7fff) - 16383;
    if (exponent < -900 || exponent > 1023 || isnan(hi) || isinf(hi))
        return 0;
    double power = power_of_two(exponent - 52);
    double kept = (double)(x.significand >> 11) * power;
    double cut = (double)(x.significand & 0x7ff) * (power * 0x1p-11);
    double rest = (kept - fabs(hi)) + cut;
    return x.sign_exponent >> 15 != 0 ? -rest : rest;
}

/* Splits a block's items, in the host's byte order and of a type that doubles do not hold; true if some lo is
 * not 0. */
static bool split_block(npyx_type type, bool is_date, const uint8_t *items, double *hi, double *lo) {
    npyx_block block;
    npyx_form form = npyx_block_form(type);
    bool has_lo = false;
    npyx_block_loader(type, form)(items, &block);
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        if (form == NPYX_FORM_I64) {
            hi[i] = (double)block.i64[i];
            lo[i] = rest_of_i64(block.i64[i], hi[i]);
            if (is_date && block.i64[i] == NPYX_NAT)
                hi[i] = (double)NAN;
        } else if (form == NPYX_FORM_U64) {
            hi[i] = (double)block.u64[i];
            lo[i] = rest_of_u64(block.u64[i], hi[i]);
        } else {
            hi[i] = npyx_x87_to_f64(block.x87[i]);
            lo[i] = rest_of_x87(block.x87[i], hi[i]);
        }
        has_lo |= lo[i] != 0;
    }
    return has_lo;
}

void npyx_chunk_load(npyx_chunk *chunk, const npyx_dtype *dtype, const uint8_t *items, int64_t nelem) {
    bool is_date = npyx_type_is_date(dtype->type), is_complex = npyx_dtype_kind(dtype) == 'c';
    npyx_type type = is_date ? NPYX_I8 : npyx_type_part(dtype->type);
    npyx_form form = npyx_block_form(type);
    bool is_double = form == NPYX_FORM_F64 || npyx_types[type].itemsize <= 4;
    size_t step_nbytes = (size_t)dtype->itemsize;
    if (chunk->has_lo || chunk->is_complex != is_complex)
        memset(chunk, 0, sizeof *chunk);
    chunk->is_complex = is_complex;
    for (size_t part = 0; part < (is_complex ? 2 : 1); part++, items += npyx_types[type].itemsize) {
        npyx_chunk_part *out = &chunk->parts[part];
        if (is_double)
            npyx_block_reals(type, dtype->is_big_endian, items, step_nbytes, (size_t)nelem, out->hi);
        for (size_t first = 0; !is_double && first < (size_t)nelem; first += NPYX_BLOCK_NELEM) {
            npyx_block_room room;
            size_t left = (size_t)nelem - first, count = left < NPYX_BLOCK_NELEM ? left : NPYX_BLOCK_NELEM;
            const uint8_t *in = npyx_block_stage(&room, type, dtype->is_big_endian,
                                                 items + first * step_nbytes, step_nbytes, count);
            chunk->has_lo |= split_block(type, is_date, in, out->hi + first, out->lo + first);
        }
        size_t rest_nbytes = (size_t)-nelem % NPYX_BLOCK_NELEM * sizeof out->hi[0]; /* equal on both sides */
        memset(out->hi + nelem, 0, rest_nbytes);
        memset(out->lo + nelem, 0, rest_nbytes);
    }
}

/* ---- comparing ---- */

static bool is_nan(const npyx_chunk *chunk, int64_t i) {
    return isnan(chunk->parts[0].hi[i]) || isnan(chunk->parts[1].hi[i]);
}

static bool is_infinite(const npyx_chunk *chunk, int64_t i) {
    return isinf(chunk->parts[0].hi[i]) || isinf(chunk->parts[1].hi[i]);
}

bool npyx_chunk_differs(const npyx_chunk *a, const npyx_chunk *b, int64_t i) {
    if (is_nan(a, i) || is_nan(b, i))
        return is_nan(a, i) != is_nan(b, i);
    const npyx_chunk_part *x = a->parts, *y = b->parts;
    return x[0].hi[i] != y[0].hi[i] || x[0].lo[i] != y[0].lo[i] || x[1].hi[i] != y[1].hi[i] ||
           x[1].lo[i] != y[1].lo[i];
}

static double modulus(double x, double y) {
    double x_abs = fabs(x), y_abs = fabs(y);
    double larger = x_abs > y_abs ? x_abs : y_abs, smaller = x_abs > y_abs ? y_abs : x_abs;
    if (smaller == 0 || isinf(larger))
        return larger;
    double ratio = smaller / larger;
    return larger * sqrt(1 + ratio * ratio);
}

/* The distance of item i in two chunks, both finite, and the greater modulus, both times scale. */
static double distance(const npyx_chunk *a, const npyx_chunk *b, int64_t i, double scale,
                       double *modulus_max) {
    double d[2], x[2], y[2];
    for (int part = 0; part < 2; part++) {
        const npyx_chunk_part *p = &a->parts[part], *q = &b->parts[part];
        x[part] = p->hi[i] * scale;
        y[part] = q->hi[i] * scale;
        d[part] = (x[part] - y[part]) + (p->lo[i] * scale - q->lo[i] * scale);
    }
    double x_modulus = modulus(x[0], x[1]), y_modulus = modulus(y[0], y[1]);
    *modulus_max = x_modulus > y_modulus ? x_modulus : y_modulus;
    return modulus(d[0], d[1]);
}

/* Adds the square of a distance to the sum in which it neither vanishes nor overflows. */
static void add_square(npyx_difference_tally *tally, const npyx_chunk *a, const npyx_chunk *b, int64_t i,
                       double d) {
    double modulus_max;
    int size = d < SMALL ? SMALL_SQUARES : d > LARGE ? LARGE_SQUARES : USUAL_SQUARES;
    double scaled = size == LARGE_SQUARES ? distance(a, b, i, SCALES[size], &modulus_max) : d * SCALES[size];
    npyx_sum_add(&tally->squares[size], scaled * scaled);
}

void npyx_tally_chunks(npyx_difference_tally *tally, const npyx_chunk *a, const npyx_chunk *b,
                       int64_t nelem) {
    for (int64_t i = 0; i < nelem; i++) {
        bool differs = npyx_chunk_differs(a, b, i);
        tally->ndiffering += differs;
        bool has_nan = is_nan(a, i) || is_nan(b, i);
        if (has_nan || is_infinite(a, i) || is_infinite(b, i)) {
            tally->is_unbounded |= differs && !has_nan;
            continue;
        }
        tally->nfinite++;
        if (!differs)
            continue;
        double modulus_max;
        double d = distance(a, b, i, 1, &modulus_max);
        tally->max_abs = d > tally->max_abs ? d : tally->max_abs;
        add_square(tally, a, b, i, d);
        if (isinf(d) || isinf(modulus_max))
            d = distance(a, b, i, 0x1p-3, &modulus_max);
        double rel = d / modulus_max;
        tally->max_rel = rel > tally->max_rel ? rel : tally->max_rel;
    }
}

void npyx_tally_nan(npyx_difference_tally *tally, const npyx_chunk chunks[2], int64_t nelem) {
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < nelem; i++)
            tally->nnan[k] += is_nan(&chunks[k], i);
    }
}

void npyx_tally_merge(npyx_difference_tally *tally, const npyx_difference_tally *next) {
    tally->ndiffering += next->ndiffering;
    tally->nfinite += next->nfinite;
    tally->nnan[0] += next->nnan[0];
    tally->nnan[1] += next->nnan[1];
    tally->is_unbounded |= next->is_unbounded;
    tally->max_abs = next->max_abs > tally->max_abs ? next->max_abs : tally->max_abs;
    tally->max_rel = next->max_rel > tally->max_rel ? next->max_rel : tally->max_rel;
    for (int i = SMALL_SQUARES; i <= LARGE_SQUARES; i++)
        npyx_sum_merge(&tally->squares[i], next->squares[i]);
}

bool npyx_tally_add_part(npyx_difference_tally *tally, const npyx_difference_part *part) {
    if (part->is_far || part->max_abs > LARGE || (part->max_abs < SMALL && part->max_abs > 0))
        return false;
    tally->ndiffering += part->ndiffering;
    tally->nfinite += part->nfinite;
    tally->max_abs = part->max_abs > tally->max_abs ? part->max_abs : tally->max_abs;
    tally->max_rel = part->max_rel > tally->max_rel ? part->max_rel : tally->max_rel;
    npyx_sum_add(&tally->squares[USUAL_SQUARES], part->sum_squares);
    return true;
}

double npyx_tally_rms(const npyx_difference_tally *tally) {
    if (tally->nfinite == 0)
        return (double)NAN;
    double sums[3];
    for (int size = 0; size < 3; size++)
        sums[size] = npyx_sum_value(tally->squares[size]);
    /* sums that are 2^1200 times smaller than the others vanish beside them */
    double n = (double)tally->nfinite, step = SCALES[LARGE_SQUARES];
    if (sums[LARGE_SQUARES] > 0)
        return sqrt((sums[LARGE_SQUARES] + sums[USUAL_SQUARES] * step * step) / n) / step;
    if (sums[USUAL_SQUARES] > 0)
        return sqrt((sums[USUAL_SQUARES] + sums[SMALL_SQUARES] * step * step) / n);
    return sqrt(sums[SMALL_SQUARES] / n) * step;
}

/* ---- the kernels ---- */

#define KERNELS         difference
#define KERNEL_TEMPLATE "stat/difference_kernels_template.h"
#define KERNELS_HAVE_I32
#define KERNELS_END_AT_AVX2
#include "base/simd_kernels_template.h"

#define DIFFERENCE_KERNEL(simd, kind)                                                                        \
    NPYX_BY_SIMD(simd, difference_##kind##_portable_kernel, difference_##kind##_avx2_kernel,                 \
                 difference_##kind##_avx2_kernel)

npyx_difference_kernel *npyx_difference_kernel_of(npyx_type type, npyx_simd simd) {
    switch (type) {
    case NPYX_I4: return DIFFERENCE_KERNEL(simd, i32);
    case NPYX_F4: return DIFFERENCE_KERNEL(simd, f32);
    case NPYX_F8: return DIFFERENCE_KERNEL(simd, f64);
    default: return NULL;
    }
}

/* Looks at up to eight words at once, as one of 64 bits: in a word that has all of the mask, the bits it
 * lacks are 0, and some word is 0 if subtracting 1 from each sets a highest bit that was not set. */
bool npyx_difference_has_bits(const uint8_t *bytes, size_t nbytes, int word_nbytes, uint64_t mask) {
    typedef uint64_t words __attribute__((vector_size(16)));
    const uint64_t ones = UINT64_MAX / (UINT64_MAX >> (64 - 8 * word_nbytes));
    const words wanted = (words){0} + mask * ones;
    words found = {0};
    for (size_t off = 0; off < nbytes; off += 16) {
        words x;
        memcpy(&x, bytes + off, sizeof x);
        x = ~x & wanted;
        found |= (x - ones) & ~x;
    }
    return ((found[0] | found[1]) & ones << (8 * word_nbytes - 1)) != 0;
}
