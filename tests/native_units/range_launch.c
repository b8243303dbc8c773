/* Which calls are launches of kernels, and that no more is read of the parameters of others than
 * there is. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "inject/range_launch.h"
#include "inject/range_session.h"

struct etl_range_asked etl_range_asked;

static void calls_are_known_by_their_names(void)
{
	static const struct {
		const char *function;
		enum etl_launch_call call;
	} cases[] = {
		{ "cuLaunchKernel", ETL_LAUNCH_KERNEL },
		{ "cuLaunchKernel_ptsz", ETL_LAUNCH_KERNEL },
		{ "cuLaunchKernelEx_ptsz", ETL_LAUNCH_KERNEL_EX },
		{ "cuLaunchCooperativeKernel_ptsz", ETL_LAUNCH_COOPERATIVE },
		{ "cuLaunchCooperativeKernelMultiDevice", ETL_LAUNCH_OTHER },
		{ "cuGraphLaunch", ETL_LAUNCH_GRAPH },
		{ "cuLaunchGrid", ETL_LAUNCH_OTHER },
		{ "cuLaunch", ETL_LAUNCH_OTHER },
		{ "cuLaunchHostFunc", ETL_NO_LAUNCH },
		{ "cuMemcpyHtoD_v2", ETL_NO_LAUNCH },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		CHECK(etl_launch_call(cases[i].function) == cases[i].call);
}

/* Two pointers, and behind them nothing that can be read. */
static void short_parameters_are_not_read_beyond_their_end(void)
{
	static const char *const functions[] = {
		"cuGraphLaunch", "cuLaunchGrid", "cuLaunchCooperativeKernelMultiDevice",
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const void *parameters = pages + page - 2 * sizeof(void *);

	CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
	etl_range_asked.run = 1;
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		const enum etl_launch_call call = etl_launch_call(functions[i]);
		enum etl_left_out reason;

		CHECK(etl_launch_hash(call, parameters, "mul") == etl_launch_hash(call, NULL, "mul"));
		CHECK(etl_launch_choose(call, parameters, "mul", &reason) == ETL_LAUNCH_LEFT_OUT);
		CHECK(reason == (call == ETL_LAUNCH_GRAPH ? ETL_LEFT_OUT_GRAPH : ETL_LEFT_OUT_OTHER));
	}
	munmap(pages, 2 * page);
}

int main(void)
{
	calls_are_known_by_their_names();
	short_parameters_are_not_read_beyond_their_end();
	return 0;
}
