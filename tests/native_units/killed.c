/* A program that is killed after each of its instructions, and a collector after each of its
 * steps: what was published is read, whole and in order, and nothing stands in the way of
 * those who come after.  The program is a child that is single-stepped; the exit status 77
 * says that this is not allowed here. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "decode/process.h"

#define SLOTS 2 /* that the program publishes */
#define RECORDS (SLOTS * (SLOTS + 1) / 2) /* in them */
#define STRIDE 216
#define MOST_STEPS 60000 /* of all its lives together */

static struct etl_map map;
static int fd;

static void fill(uint64_t slot, uint32_t number)
{
	uint32_t *data = (uint32_t *)(void *)etl_slot_data(&map, slot);

	for (uint32_t i = 0; i <= number; i++)
		data[i * STRIDE / 4] = 10; /* kernels: one, then two */
}

static void publish_all(void)
{
	for (uint32_t number = 0; number < SLOTS; number++) {
		int64_t slot = etl_slot_take(&map, false);

		fill((uint64_t)slot, number);
#ifdef PLANT_EARLY
		/* It says that it is full before it is. */
		map.slots[slot].sequence = number + 1;
		etl_store(&map.slots[slot].state, ETL_FULL);
		map.segment->sequence = number;
#endif
		etl_slot_publish(&map, (uint64_t)slot, ETL_RECORDS, (number + 1) * STRIDE);
	}
}

static struct etl_process *attach(struct etl_decoder *decoder)
{
	struct etl_error error;
	struct etl_process *process = etl_process_map(decoder, fd, &error);

	CHECK(process);
	return process;
}

/* Reads what there is; returns the records. */
static uint64_t drain(struct etl_process *process, uint32_t *slots)
{
	struct etl_error error;
	struct etl_slot_view view;
	struct etl_decoded decoded;

	while (etl_process_next(process, &view)) {
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, &error) == 0);
		etl_process_release(process, view.slot);
		(*slots)++;
	}
	etl_process_get_decoded(process, &decoded);
	CHECK(decoded.unreadable_bytes == 0);
	return decoded.records;
}

static void make_segment(void)
{
	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	map.segment->cupti_version = 130500;
	etl_segment_set_stride(map.segment, 10, STRIDE);
}

/* All slots but `lost` can be had again, and are zeros. */
static void check_usable(uint64_t lost)
{
	uint64_t had = 0;
	int64_t slot;

	for (int large = 0; large < 2; large++)
		for (; (slot = etl_slot_take(&map, large)) >= 0; had++)
			CHECK(*(uint32_t *)(void *)etl_slot_data(&map, (uint64_t)slot) == 0);
	CHECK(had + lost == map.geometry.slots);
	etl_segment_unmap(&map);
	close(fd);
}

/* Runs `work` in a child for so many instructions, and kills it; how many it was. */
static uint64_t live_for(uint64_t most, void (*work)(void))
{
	pid_t child = fork();
	uint64_t steps = 0;
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		work();
		raise(SIGSTOP);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (WIFEXITED(status))
		exit(77);
	for (; steps < most; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0)
			exit(77);
		CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
		if (WSTOPSIG(status) == SIGSTOP)
			break; /* it has done its work */
		CHECK(WSTOPSIG(status) == SIGTRAP);
	}
	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	return steps;
}

static uint64_t kill_the_program(uint64_t after)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_process_info info;
	struct etl_process *process;
	uint64_t steps, records;
	uint32_t slots = 0;

	make_segment();
	steps = live_for(after, publish_all);
	process = attach(decoder);
	records = drain(process, &slots);
	etl_process_get_info(process, &info);
	/* The first so many, whole; one at most was between its number and FULL. */
	CHECK(records == slots * (slots + 1) / 2);
	CHECK(info.published == slots || info.published == slots + 1);
	CHECK(info.held <= 1 && (steps < after ? slots == SLOTS : true));
	if (info.held) { /* for the sake of check_usable: what it wrote there is not read */
		for (uint64_t slot = 0; slot < map.geometry.slots; slot++)
			if (etl_load(&map.slots[slot].state) == ETL_HELD)
				memset(etl_slot_data(&map, slot), 0, 4);
	}
	etl_process_free(process);
	etl_decoder_free(decoder);
	check_usable(info.held);
	return steps;
}

/* The collector's steps: it takes a slot, decodes it, gives it back. */
static void collect(struct etl_process *process, int steps)
{
	struct etl_error error;
	struct etl_slot_view view;

	for (int step = 0; step < steps; step++)
		if (step % 3 == 0)
			CHECK(etl_process_next(process, &view));
		else if (step % 3 == 1)
			CHECK(etl_process_decode(process, view.data, view.bytes, view.content,
						 &error) == 0);
		else
			etl_process_release(process, view.slot);
}

static void kill_the_collector(int after)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_process *process;
	uint64_t by_first, by_second;
	uint32_t slots = 0;
	pid_t child;
	int status;

	make_segment();
	publish_all();
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		collect(attach(decoder), after);
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	by_first = etl_load(&map.segment->drained);
	process = attach(decoder);
	etl_process_resume(process);
	by_second = drain(process, &slots);
	/* A slot that it had taken is given back unread; nothing comes twice. */
	CHECK(slots == SLOTS - (uint32_t)(after + 2) / 3);
	CHECK(by_first + by_second == (after % 3 != 1 ? RECORDS : after == 1 ? 2 : 1));
	etl_process_free(process);
	etl_decoder_free(decoder);
	check_usable(0);
}

int main(void)
{
	uint64_t all = kill_the_program(UINT64_MAX), stride = all * all / 2 / MOST_STEPS + 1;

	for (uint64_t after = 0; after < all; after += stride)
		kill_the_program(after);
	printf("%llu instructions, killed after every %llu\n", (unsigned long long)all,
	       (unsigned long long)stride);
	for (int after = 0; after <= 3 * SLOTS; after++)
		kill_the_collector(after);
	return 0;
}
