/* The commonest of gather.c for processors with AVX2: eight members an instruction.
 *
 * They read the same bytes as those do and no others.  The address sanitizer does not see
 * these loads, so it gets those of gather.c alone. */
#include "decode/gather.h"
#include "decode/wide.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE __attribute__((target("avx2"), always_inline))

AVX2_INLINE static inline __m256i eight(const struct gather *g, unsigned i)
{
	__m256i at = _mm256_load_si256((const __m256i *)(const void *)(g->at + i));

	return _mm256_i32gather_epi32((const int *)(const void *)(g->base + g->offset), at, 1);
}

AVX2_INLINE static inline __m256i four(const struct gather *g, unsigned i)
{
	__m128i at = _mm_load_si128((const __m128i *)(const void *)(g->at + i));

	return _mm256_i32gather_epi64((const long long *)(const void *)(g->base + g->offset), at, 1);
}

AVX2_INLINE static inline uint64_t gather_eights(const struct gather *g, __m256i *out,
						 bool has_null)
{
	const __m256i mask = _mm256_set1_epi32((int)mask_of(g->column));
	const __m256i null = _mm256_set1_epi32((int)g->column->null);
	uint64_t nulls = 0;

	for (unsigned i = 0; i < BLOCK; i += 8) {
		__m256i found = _mm256_and_si256(eight(g, i), mask);

		_mm256_store_si256(out + i / 8, found);
		if (has_null) {
			__m256i same = _mm256_cmpeq_epi32(found, null);
			int bits = _mm256_movemask_ps(_mm256_castsi256_ps(same));

			nulls |= (uint64_t)(unsigned)bits << i;
		}
	}
	return ~nulls;
}

AVX2_INLINE static inline uint64_t gather_fours(const struct gather *g, __m256i *out, bool has_null)
{
	const __m256i mask = _mm256_set1_epi64x((long long)mask_of(g->column));
	const __m256i null = _mm256_set1_epi64x((long long)g->column->null);
	uint64_t nulls = 0;

	for (unsigned i = 0; i < BLOCK; i += 4) {
		__m256i found = _mm256_and_si256(four(g, i), mask);

		_mm256_store_si256(out + i / 4, found);
		if (has_null) {
			__m256i same = _mm256_cmpeq_epi64(found, null);
			int bits = _mm256_movemask_pd(_mm256_castsi256_pd(same));

			nulls |= (uint64_t)(unsigned)bits << i;
		}
	}
	return ~nulls;
}

AVX2 static uint64_t wide_32(const struct gather *g, void *values)
{
	return g->column->has_null ? gather_eights(g, values, true) :
				     gather_eights(g, values, false);
}

AVX2 static uint64_t wide_64(const struct gather *g, void *values)
{
	return g->column->has_null ? gather_fours(g, values, true) :
				     gather_fours(g, values, false);
}

/* See gather_timestamp(). */
AVX2 static uint64_t wide_timestamp(const struct gather *g, void *values)
{
	const __m256i earliest = _mm256_set1_epi64x(g->process->earliest_ns);
	const __m256i unknown = _mm256_setzero_si256();
	uint64_t nulls = 0, early = 0;
	__m256i *out = values;

	for (unsigned i = 0; i < BLOCK; i += 4) {
		__m256i found = four(g, i);
		__m256i is_null = _mm256_cmpeq_epi64(found, unknown);
		__m256i is_early = _mm256_cmpgt_epi64(earliest, found);

		_mm256_store_si256(out + i / 4, found);
		nulls |= (uint64_t)(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is_null)) << i;
		early |= (uint64_t)(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(is_early)) << i;
	}
	g->process->other_clock |= early & ~nulls;
	return ~(nulls | early);
}

AVX2 static uint64_t wide_correlation(const struct gather *g, void *values)
{
	const uint64_t last = g->process->last_correlation;
	const __m256i high = _mm256_set1_epi64x((long long)(last & ~(uint64_t)UINT32_MAX));
	__m256i least = _mm256_set1_epi32((int)(uint32_t)last), most = least;
	__m256i *out = values;
	uint32_t lows[8], highs[8];
	const int64_t *wide = values;

	for (unsigned i = 0; i < BLOCK; i += 8) {
		__m256i ids = eight(g, i);
		__m128i below = _mm256_castsi256_si128(ids);
		__m128i above = _mm256_extracti128_si256(ids, 1);

		least = _mm256_min_epu32(least, ids);
		most = _mm256_max_epu32(most, ids);
		_mm256_store_si256(out + i / 4, _mm256_or_si256(_mm256_cvtepu32_epi64(below), high));
		_mm256_store_si256(out + i / 4 + 1,
				   _mm256_or_si256(_mm256_cvtepu32_epi64(above), high));
	}
	_mm256_storeu_si256((__m256i *)(void *)lows, least);
	_mm256_storeu_si256((__m256i *)(void *)highs, most);
	for (unsigned lane = 1; lane < 8; lane++) {
		lows[0] = lows[lane] < lows[0] ? lows[lane] : lows[0];
		highs[0] = highs[lane] > highs[0] ? highs[lane] : highs[0];
	}
	if (lows[0] == 0 || highs[0] - lows[0] > UINT32_MAX / 2)
		return gather_correlation_4(g, values); /* some are unknown, or they wrap */
	g->process->last_correlation = (uint64_t)wide[BLOCK - 1];
	return ~UINT64_C(0);
}

gather_fn *wide_for(const struct etl_column *column, uint8_t width)
{
	size_t each = column_value_bytes(column);

	if (!__builtin_cpu_supports("avx2"))
		return NULL;
	switch ((enum etl_type)column->type) {
	case ETL_INT32:
	case ETL_INT64:
	case ETL_DOUBLE:
		return each != width ? NULL : width == 4 ? wide_32 : wide_64;
	case ETL_TIMESTAMP:
		return width == 8 ? wide_timestamp : NULL;
	case ETL_CORRELATION:
		return width == 4 ? wide_correlation : NULL;
	default:
		return NULL;
	}
}

#else

gather_fn *wide_for(const struct etl_column *column, uint8_t width)
{
	(void)column;
	(void)width;
	return NULL;
}

#endif
