#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <fcntl.h>
#include <dlfcn.h>

#include "etl/clock.h"
#include "inject/environment.h"
#include "../generated/env.h"

const char *etl_env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int64_t number(const char *text)
{
	char *end;
	long long value;

	if (!text)
		return ETL_NO_NUMBER;
	value = strtoll(text, &end, 10);
	return end == text || *end ? ETL_NO_NUMBER : value;
}

/* The first that is a number; those of Slurm only in a step of several tasks. */
static int64_t first_number(const char *const *names, size_t count)
{
	bool is_slurm = etl_env_number("SLURM_STEP_NUM_TASKS", 1, 1, INT32_MAX) > 1;

	for (size_t i = 0; i < count; i++) {
		int64_t value = number(etl_env(names[i]));

		if (value != ETL_NO_NUMBER && (is_slurm || strncmp(names[i], "SLURM_", 6) != 0))
			return value;
	}
	return ETL_NO_NUMBER;
}

long etl_env_number(const char *name, long otherwise, long least, long most)
{
	int64_t value = number(etl_env(name));

	if (value == ETL_NO_NUMBER || value < least || value > most)
		return otherwise;
	return (long)value;
}

bool etl_list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	while (list && *list) {
		const char *end = strchrnul(list, ',');

		if ((size_t)(end - list) == length && memcmp(list, word, length) == 0)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

void *etl_driver_function(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	void *function = driver ? dlsym(driver, name) : NULL;

	if (driver)
		dlclose(driver); /* the program has it */
	return function;
}

static void read_argv(char *out, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length;

	if (fd < 0)
		return;
	length = read(fd, out, size - 1);
	close(fd);
	if (length <= 0)
		return;
	for (ssize_t i = 0; i + 1 < length; i++)
		if (out[i] == '\0')
			out[i] = ' ';
	out[length] = '\0';
}

void etl_describe_process(struct etl_segment *segment)
{
	static const char *const ranks[] = { ETL_ENV_RANK }, *const local_ranks[] = { ETL_ENV_LOCAL_RANK },
				*const sizes[] = { ETL_ENV_WORLD_SIZE };
	int (*driver_version)(int *) = NULL;
	void *symbol = dlsym(RTLD_DEFAULT, "cuDriverGetVersion");

	if (getrandom(&segment->process_id, sizeof segment->process_id, GRND_NONBLOCK) !=
	    (ssize_t)sizeof segment->process_id)
		segment->process_id = (uint64_t)etl_now_ns() * 2654435761u ^ (uint64_t)getpid();
	segment->process_id &= INT64_MAX;
	segment->start_ns = etl_now_ns();
	segment->pid = getpid();
	segment->parent_pid = getppid();
	gethostname(segment->host, sizeof segment->host - 1);
	if (!etl_env(ETL_ENV_NO_ARGV))
		read_argv(segment->argv, sizeof segment->argv);
	segment->rank = first_number(ranks, sizeof ranks / sizeof *ranks);
	segment->local_rank = first_number(local_ranks, sizeof local_ranks / sizeof *local_ranks);
	segment->world_size = first_number(sizes, sizeof sizes / sizeof *sizes);
	segment->slurm_job_id = number(etl_env("SLURM_JOB_ID"));
	segment->slurm_proc_id = number(etl_env("SLURM_PROCID"));
	segment->replay_run = (uint32_t)etl_env_number(ETL_ENV_REPLAY_RUN, 0, 0, INT32_MAX);
	/* The driver is loaded privately as a rule; it is there, or nobody would have called us. */
	if (!symbol)
		symbol = etl_driver_function("cuDriverGetVersion");
	memcpy(&driver_version, &symbol, sizeof symbol);
	if (driver_version)
		driver_version(&segment->driver_version);
}
