#include <errno.h>
#include <regex.h>
#include <string.h>

#include "etl/hash.h"
#include "inject/environment.h"
#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/range_launch.h"
#include "inject/range_session.h"

/* Members as documented in NVIDIA's reference of the driver API. */
struct shape {
	uint32_t grid[3], block[3], shared;
};

struct launch_kernel { /* cuLaunchKernel */
	void *function;
	struct shape shape;
	void *stream;
};

struct launch_attribute { /* CUlaunchAttribute */
	uint32_t id, pad;
	union {
		uint8_t bytes[64];
		int32_t number;
	} value;
};

struct launch_config { /* CUlaunchConfig */
	struct shape shape;
	void *stream;
	const struct launch_attribute *attributes;
	uint32_t count;
};

struct launch_kernel_ex {
	const struct launch_config *config;
};

enum { ATTRIBUTE_COOPERATIVE = 2 };

/* Kernels of NCCL and NVSHMEM wait for other GPUs, which do not replay with this one. */
static const char *const communicating[] = { "ncclDevKernel", "ncclKernel", "nvshmem" };

enum etl_launch_call etl_launch_call(const char *function)
{
	static const struct {
		const char *beginning;
		enum etl_launch_call call;
	} known[] = {
		{ "cuLaunchHostFunc", ETL_NO_LAUNCH },
		{ "cuLaunchKernelEx", ETL_LAUNCH_KERNEL_EX },
		{ "cuLaunchKernel", ETL_LAUNCH_KERNEL },
		{ "cuLaunchCooperativeKernelMultiDevice", ETL_LAUNCH_OTHER },
		{ "cuLaunchCooperative", ETL_LAUNCH_COOPERATIVE },
		{ "cuGraphLaunch", ETL_LAUNCH_GRAPH },
		{ "cuLaunch", ETL_LAUNCH_OTHER },
	};

	for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(function, known[i].beginning, strlen(known[i].beginning)) == 0)
			return known[i].call;
	return ETL_NO_LAUNCH;
}

/* ---- what was seen before: one caller at a time */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static regex_t filter;
static bool has_filter;
static struct etl_keys passing, failing; /* names, by whether the filter takes them */

#define MOST_SHAPES 4096u

static struct {
	uint64_t key;
	uint32_t launches;
} shapes[MOST_SHAPES];

/* An expression is tried once for each name. */
static bool passes_filter(const char *kernel)
{
	const uint64_t key = etl_hash(kernel, strlen(kernel)) | 1;
	struct etl_keys *set;

	if (!has_filter || etl_keys_have(&passing, key))
		return true;
	if (etl_keys_have(&failing, key))
		return false;
	set = regexec(&filter, kernel, 0, NULL, 0) == 0 ? &passing : &failing;
	if (etl_keys_reserve(set))
		etl_keys_add(set, key);
	return set == &passing;
}

static bool is_under_limit(const char *kernel, const struct shape *shape)
{
	const uint64_t key = (etl_hash(kernel, strlen(kernel)) ^
			      (etl_hash(shape, sizeof *shape) << 1)) | 1;

	for (uint32_t i = 0; i < MOST_SHAPES; i++) {
		uint32_t at = (uint32_t)((key >> 1) + i) % MOST_SHAPES;

		if (shapes[at].key && shapes[at].key != key)
			continue;
		shapes[at].key = key;
		return shapes[at].launches++ < etl_range_asked.limit;
	}
	return false; /* of so many shapes, no more are measured */
}

/* Without a shape, all that the filter takes. */
static bool is_wanted(const char *kernel, const struct shape *shape)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = passes_filter(kernel) &&
	     (!shape || !etl_range_asked.limit || is_under_limit(kernel, shape));
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- */

/* Into a graph: nothing runs now. */
static bool is_captured(void *stream)
{
	static int (*is_capturing)(void *stream, int *status);
	static _Atomic bool is_known;
	int status = 0;

	if (!etl_load(&is_known)) {
		void *found = etl_driver_function("cuStreamIsCapturing");

		memcpy(&is_capturing, &found, sizeof found);
		etl_store(&is_known, true);
	}
	return is_capturing && is_capturing(stream, &status) == 0 && status != 0;
}

static bool is_cooperative(const struct launch_config *config)
{
	for (uint32_t i = 0; config->attributes && i < config->count; i++)
		if (config->attributes[i].id == ATTRIBUTE_COOPERATIVE &&
		    config->attributes[i].value.number)
			return true;
	return false;
}

static bool communicates(const char *kernel)
{
	for (unsigned i = 0; i < sizeof communicating / sizeof *communicating; i++)
		if (strstr(kernel, communicating[i]))
			return true;
	return false;
}

/* With the stream; NULL if they are not known. */
static const struct shape *shape_of(enum etl_launch_call call, const void *parameters, void **stream)
{
	const struct launch_kernel *plain = parameters;
	const struct launch_kernel_ex *ex = parameters;

	if (!parameters || (call == ETL_LAUNCH_KERNEL_EX && !ex->config))
		return NULL;
	if (call == ETL_LAUNCH_KERNEL_EX) {
		*stream = ex->config->stream;
		return &ex->config->shape;
	}
	/* The parameters of others are shorter. */
	if (call != ETL_LAUNCH_KERNEL && call != ETL_LAUNCH_COOPERATIVE)
		return NULL;
	*stream = plain->stream;
	return &plain->shape;
}

uint64_t etl_launch_hash(enum etl_launch_call call, const void *parameters, const char *kernel)
{
	void *stream = NULL;
	const struct shape *shape = shape_of(call, parameters, &stream);
	uint64_t hash = kernel ? etl_hash(kernel, strlen(kernel)) : (uint64_t)call;

	return shape ? etl_fold(hash, etl_hash(shape, sizeof *shape)) : hash;
}

enum etl_launch_choice etl_launch_choose(enum etl_launch_call call, const void *parameters,
					 const char *kernel, enum etl_left_out *reason)
{
	/* What is executed once needs nothing of its blocks but that they run. */
	const bool runs_once = etl_range_asked.run && call == ETL_LAUNCH_COOPERATIVE;
	const struct launch_kernel_ex *ex = parameters;
	void *stream = NULL;
	const struct shape *shape = shape_of(call, parameters, &stream);

	*reason = call == ETL_LAUNCH_GRAPH ? ETL_LEFT_OUT_GRAPH :
		  call == ETL_LAUNCH_COOPERATIVE ? ETL_LEFT_OUT_COOPERATIVE : ETL_LEFT_OUT_OTHER;
	if (!shape || !kernel || (call == ETL_LAUNCH_COOPERATIVE && !runs_once)) {
		if (call != ETL_LAUNCH_GRAPH && kernel && !is_wanted(kernel, NULL))
			return ETL_LAUNCH_NOT_ASKED_FOR;
		return ETL_LAUNCH_LEFT_OUT;
	}
	if (is_captured(stream))
		return ETL_LAUNCH_IN_CAPTURE;
	if (!is_wanted(kernel, shape))
		return ETL_LAUNCH_NOT_ASKED_FOR;
	*reason = communicates(kernel) ? ETL_LEFT_OUT_COMMUNICATION : ETL_LEFT_OUT_COOPERATIVE;
	if (communicates(kernel) || (call == ETL_LAUNCH_KERNEL_EX && !etl_range_asked.run &&
				     is_cooperative(ex->config)))
		return ETL_LAUNCH_LEFT_OUT;
	return ETL_LAUNCH_MEASURED;
}

int etl_launch_choice_begin(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	etl_keys_clear(&passing);
	etl_keys_clear(&failing);
	memset(shapes, 0, sizeof shapes);
	if (has_filter)
		regfree(&filter);
	has_filter = false;
	if (!etl_range_asked.has_filter)
		return 0;
	if (regcomp(&filter, etl_range_asked.filter, REG_EXTENDED | REG_NOSUB) != 0)
		return -EINVAL;
	has_filter = true;
	return 0;
}
