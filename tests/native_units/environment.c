/* What the injector reads of its surroundings. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "generated/env.h"
#include "inject/environment.h"

static void lists_hold_whole_words(void)
{
	CHECK(etl_list_has("kernel,memcpy", "kernel"));
	CHECK(etl_list_has("kernel,memcpy", "memcpy"));
	CHECK(etl_list_has(",,kernel,", "kernel"));
	CHECK(!etl_list_has("kernel_name", "kernel"));
	CHECK(!etl_list_has("akernel", "kernel"));
	CHECK(!etl_list_has("kern", "kernel"));
	CHECK(!etl_list_has("", "kernel"));
	CHECK(!etl_list_has(NULL, "kernel"));
}

static void numbers_are_numbers_within_bounds(void)
{
	static const struct {
		const char *text;
		long expected;
	} cases[] = {
		{ "5", 5 }, { "1", 1 }, { "100", 100 }, { "0", 7 }, { "101", 7 }, { "-3", 7 },
		{ "", 7 }, { "x", 7 }, { "5x", 7 }, { "99999999999999999999", 7 },
		{ "-9223372036854775808", 7 }, { " 5", 5 },
	};

	unsetenv("ETL_TEST");
	CHECK(etl_env_number("ETL_TEST", 7, 1, 100) == 7);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		setenv("ETL_TEST", cases[i].text, 1);
		CHECK(etl_env_number("ETL_TEST", 7, 1, 100) == cases[i].expected);
	}
	setenv("ETL_TEST", "", 1);
	CHECK(etl_env("ETL_TEST") == NULL);
}

static struct etl_segment segment;

static void a_process_says_who_it_is(void)
{
	memset(&segment, 0x55, sizeof segment);
	memset(segment.argv, 0, sizeof segment.argv);
	memset(segment.host, 0, sizeof segment.host);
	setenv("RANK", "3", 1);
	setenv("LOCAL_RANK", "many", 1);
	setenv("WORLD_SIZE", "", 1);
	unsetenv("SLURM_JOB_ID");
	setenv("SLURM_PROCID", "0", 1);
	etl_describe_process(&segment);
	CHECK(segment.process_id > 0 && segment.process_id <= INT64_MAX);
	CHECK(segment.pid == getpid() && segment.parent_pid == getppid());
	CHECK(segment.rank == 3 && segment.slurm_proc_id == 0);
	CHECK(segment.local_rank == ETL_NO_NUMBER && segment.world_size == ETL_NO_NUMBER);
	CHECK(segment.slurm_job_id == ETL_NO_NUMBER);
	CHECK(segment.host[0] && memchr(segment.host, 0, sizeof segment.host));
	/* The words of our own command line, separated by spaces. */
	CHECK(strstr(segment.argv, " first second"));
}

static void command_lines_can_be_kept_back(void)
{
	memset(&segment, 0, sizeof segment);
	setenv(ETL_ENV_NO_ARGV, "1", 1);
	etl_describe_process(&segment);
	CHECK(segment.argv[0] == '\0');
}

/* Longer than its place: cut, and ended by a zero byte. */
static void check_long_argv(void)
{
	memset(&segment, 0, sizeof segment);
	etl_describe_process(&segment);
	CHECK(memchr(segment.argv, 0, sizeof segment.argv) == segment.argv + sizeof segment.argv - 1);
}

int main(int argc, char **argv)
{
	static char longest[2 * sizeof segment.argv];

	if (argc == 2) {
		check_long_argv();
		return 0;
	}
	if (argc == 1) {
		execl("/proc/self/exe", argv[0], "first", "second", (char *)NULL);
		return 1;
	}
	lists_hold_whole_words();
	numbers_are_numbers_within_bounds();
	a_process_says_who_it_is();
	command_lines_can_be_kept_back();
	memset(longest, 'a', sizeof longest - 1);
	unsetenv(ETL_ENV_NO_ARGV);
	execl("/proc/self/exe", argv[0], longest, (char *)NULL);
	return 1;
}
