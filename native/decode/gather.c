#include <string.h>

#include "decode/gather.h"

/* Loops over values run to BLOCK, which the compiler knows; behind the last record of a
 * smaller block its pointer is repeated.  Those that must see each record once run to `n`.
 *
 * Values are stored 16 bytes at a time, and column_append() loads them so: a load wider
 * than the stores before it would wait until these, and all others, have left the core. */
typedef int16_t int16_lanes __attribute__((vector_size(16)));
typedef int32_t int32_lanes __attribute__((vector_size(16)));
typedef int64_t int64_lanes __attribute__((vector_size(16)));

#define VALUES_8(READ, i)                                                                     \
	READ(i), READ(i + 1), READ(i + 2), READ(i + 3), READ(i + 4), READ(i + 5), READ(i + 6), \
		READ(i + 7)
#define VALUES_4(READ, i) READ(i), READ(i + 1), READ(i + 2), READ(i + 3)
#define VALUES_2(READ, i) READ(i), READ(i + 1)

/* A function that reads each record's member as IN and stores it as OUT, LANES at a time.
 * Mostly none of the values is null or all are, which needs no bit for each. */
#define NUMBER(IN, OUT, LANES)                                                                \
	static inline OUT##_t read_##IN##_##OUT(const uint8_t *member)                        \
	{                                                                                     \
		IN##_t value;                                                                 \
                                                                                              \
		memcpy(&value, member, sizeof value);                                         \
		return (OUT##_t)value;                                                        \
	}                                                                                     \
                                                                                              \
	static uint64_t gather_##IN##_##OUT(const struct gather *g, void *values)             \
	{                                                                                     \
		const uint8_t *const base = g->base + g->offset;                              \
		const uint32_t *const at = g->at;                                             \
		const OUT##_t mask = (OUT##_t)mask_of(g->column);                             \
		const OUT##_t null = (OUT##_t)(IN##_t)g->column->null;                        \
		OUT##_lanes *out = values, nulls = { 0 };                                     \
		uint64_t valid = 0;                                                           \
		unsigned count = 0;                                                           \
                                                                                              \
		for (unsigned i = 0; i < BLOCK; i += LANES) {                                 \
			OUT##_lanes lanes = { VALUES_##LANES(READ_##IN##_##OUT, i) };         \
                                                                                              \
			lanes &= mask;                                                        \
			out[i / LANES] = lanes;                                               \
			nulls -= (OUT##_lanes)(lanes == null);                                \
		}                                                                             \
		for (unsigned lane = 0; lane < LANES; lane++)                                 \
			count += (unsigned)nulls[lane];                                       \
		if (!g->column->has_null || count == 0)                                       \
			return ~UINT64_C(0);                                                  \
		if (count == BLOCK)                                                           \
			return 0;                                                             \
		for (unsigned i = 0; i < BLOCK; i++)                                          \
			valid |= (uint64_t)((READ_##IN##_##OUT(i) & mask) != null) << i;      \
		return valid;                                                                 \
	}

#define READ_uint8_int16(i) read_uint8_int16(base + at[i])
#define READ_uint16_int16(i) read_uint16_int16(base + at[i])
#define READ_uint8_int32(i) read_uint8_int32(base + at[i])
#define READ_uint16_int32(i) read_uint16_int32(base + at[i])
#define READ_uint32_int32(i) read_uint32_int32(base + at[i])
#define READ_uint8_int64(i) read_uint8_int64(base + at[i])
#define READ_uint16_int64(i) read_uint16_int64(base + at[i])
#define READ_uint32_int64(i) read_uint32_int64(base + at[i])
#define READ_uint64_int64(i) read_uint64_int64(base + at[i])

NUMBER(uint8, int16, 8)
NUMBER(uint16, int16, 8)
NUMBER(uint8, int32, 4)
NUMBER(uint16, int32, 4)
NUMBER(uint32, int32, 4)
NUMBER(uint8, int64, 2)
NUMBER(uint16, int64, 2)
NUMBER(uint32, int64, 2)
NUMBER(uint64, int64, 2)

static inline uint64_t gather_bits(const struct gather *g, uint64_t *out, size_t width)
{
	const uint64_t mask = mask_of(g->column);
	uint64_t bits = 0;

	for (unsigned i = 0; i < BLOCK; i++)
		bits |= (uint64_t)((member(g, i, width) & mask) != 0) << i;
	*out = bits;
	return ~UINT64_C(0);
}

/* CUPTI counts API calls with 32 bits, which wrap within hours.  Records come out of
 * order, but never by half of the range: the nearest of the possible values is it. */
static inline uint64_t widen(const struct gather *g, int64_t *out, size_t width)
{
	uint64_t last = g->process->last_correlation, valid = 0;
	const uint64_t wrap = UINT64_C(1) << 32;

	for (unsigned i = 0; i < BLOCK; i++) {
		uint64_t id = member(g, i, width), wide;

		if (id >= wrap) {
			out[i] = (int64_t)id; /* of a user-defined record */
			valid |= UINT64_C(1) << i;
			continue;
		}
		wide = nearest_id(last, id);
		out[i] = id ? (int64_t)wide : 0;
		valid |= (uint64_t)(id != 0) << i;
		if (id)
			last = wide;
	}
	g->process->last_correlation = last;
	return valid;
}

static uint64_t gather_correlation_8(const struct gather *g, void *values)
{
	return widen(g, values, 8);
}

uint64_t gather_correlation_4(const struct gather *g, void *values)
{
	int64_lanes *out = values;
	const uint64_t last = g->process->last_correlation, wrap = UINT64_C(1) << 32;
	const uint8_t *const base = g->base + g->offset;
	const uint32_t *const at = g->at;
	int64_t least = (uint32_t)last, most = (uint32_t)last;

	for (unsigned i = 0; i < BLOCK; i++) {
		int64_t id = READ_uint32_int64(i);

		least = id < least ? id : least;
		most = id > most ? id : most;
	}
	/* Mostly all are near the last one: no wrap to look for. */
	if (least > 0 && most - least <= (int64_t)wrap / 2) {
		const int64_t high = (int64_t)(last & ~(wrap - 1));

		for (unsigned i = 0; i < BLOCK; i += 2)
			out[i / 2] = (int64_lanes){ VALUES_2(READ_uint32_int64, i) } | high;
		g->process->last_correlation =
			(uint64_t)(READ_uint32_int64(BLOCK - 1) | high);
		return ~UINT64_C(0);
	}
	return widen(g, values, 4);
}

uint64_t applicable(const struct gather *g)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < g->n; i++) {
		uint32_t found;
		bool is_one = false;

		memcpy(&found, g->base + g->only_at + g->at[i], sizeof found);
		for (uint16_t value = 0; value < g->column->n_only; value++)
			is_one |= found == g->column->only[value];
		bits |= (uint64_t)is_one << i;
	}
	return bits;
}

/* The thread ids of user-defined records. */
static uint64_t gather_uint64_int32(const struct gather *g, void *values)
{
	const uint64_t mask = mask_of(g->column), null = g->column->null;
	int32_t *out = values;
	uint64_t valid = 0;

	for (unsigned i = 0; i < BLOCK; i++) {
		uint64_t value = member(g, i, 8) & mask;

		out[i] = (int32_t)value;
		valid |= (uint64_t)(!g->column->has_null || value != null) << i;
	}
	return valid;
}

/* A time that is far too early is none of this clock: another CUPTI client may have given CUPTI
 * its own.  Zero is "not known". */
static uint64_t gather_timestamp(const struct gather *g, void *values)
{
	const int64_t earliest = g->process->earliest_ns;
	int64_t *out = values;
	uint64_t known = 0, early = 0;

	for (unsigned i = 0; i < BLOCK; i++) {
		out[i] = (int64_t)member(g, i, 8);
		known |= (uint64_t)(out[i] != 0) << i;
		early |= (uint64_t)(out[i] < earliest) << i;
	}
	g->process->other_clock |= known & early;
	return known & ~early;
}

uint64_t gather_nothing(const struct gather *g, void *values)
{
	(void)g;
	(void)values; /* nothing is known, so nothing is read from there */
	return 0;
}

static uint64_t gather_process(const struct gather *g, void *values)
{
	const int64_t process_id = (int64_t)g->process->process_id;
	int64_lanes *out = values;

	for (unsigned i = 0; i < BLOCK; i += 2)
		out[i / 2] = (int64_lanes){ process_id, process_id };
	return ~UINT64_C(0);
}

/* ---- which of them */

#define BITS(WIDTH)                                                                           \
	static uint64_t gather_bits_##WIDTH(const struct gather *g, void *values)             \
	{                                                                                     \
		return gather_bits(g, values, WIDTH);                                         \
	}
BITS(1)
BITS(2)
BITS(4)
BITS(8)

gather_fn *narrow_for(const struct etl_column *column, uint8_t width)
{
	unsigned log = (unsigned)__builtin_ctz(width | 8u); /* 1, 2, 4, 8 are 0 to 3 */
	gather_fn *const bits[] = { gather_bits_1, gather_bits_2, gather_bits_4, gather_bits_8 };
	gather_fn *const int16s[] = { gather_uint8_int16, gather_uint16_int16, NULL, NULL };
	gather_fn *const int32s[] = { gather_uint8_int32, gather_uint16_int32,
				      gather_uint32_int32, gather_uint64_int32 };
	gather_fn *const int64s[] = { gather_uint8_int64, gather_uint16_int64,
				      gather_uint32_int64, gather_uint64_int64 };
	gather_fn *found = NULL;

	switch ((enum etl_type)column->type) {
	case ETL_PROCESS:
		return gather_process;
	case ETL_INT16:
		found = int16s[log];
		break;
	case ETL_INT32:
		found = int32s[log];
		break;
	case ETL_INT64:
	case ETL_DOUBLE:
		found = int64s[log];
		break;
	case ETL_BOOL:
		found = bits[log];
		break;
	case ETL_ENUM:
	case ETL_STRING:
	case ETL_API_NAME:
	case ETL_UUID:
	case ETL_BINARY:
		break;
	case ETL_TIMESTAMP:
		found = width == 8 ? gather_timestamp : NULL;
		break;
	case ETL_CORRELATION:
		found = width == 4 ? gather_correlation_4 :
			width == 8 ? gather_correlation_8 : NULL;
		break;
	}
	return found && width == 1u << log ? found : gather_nothing;
}
