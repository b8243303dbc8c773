/* Ranges of a program's own code, of many threads: what they write is decoded while they go on,
 * captures begin and end meanwhile, and all that was counted comes out.  Run under the sanitizers. */
#include <string.h>

#include "check.h"
#include "decode/process.h"
#include "etl/rows.h"
#include "inject/buffers.h"
#include "inject/injector.h"
#include "inject/ranges.h"
#include "inject/recording.h"
#include "inject/wakeup.h"

#define THREADS 4
#define TURNS 4000
#define CAPTURES 3
#ifdef PLANT_OPEN
#define PLANTED 1
#else
#define PLANTED 0
#endif

struct etl_injector etl_injector;
static _Atomic bool is_on;
static _Atomic int running;
static char longer[ETL_MOST_RANGE_NAME + 100];

bool etl_recording_is_on(void)
{
	return etl_load(&is_on);
}

void etl_wakeup_send(void)
{
}

static struct etl_text text(const char *bytes)
{
	return (struct etl_text){ bytes, strlen(bytes) };
}

static void one_turn(const char *owner, int turn)
{
	const struct etl_text none = { "", 0 }, attributes = text("{\"turn\": 1}");
	struct etl_range_mark operator;
	struct etl_open_range *aside;
	uint64_t mark;

	if (turn % 7 == 0)
		etl_range_step(attributes);
	if (turn % 21 == 20)
		etl_range_step_end();
	CHECK(etl_range_begin(owner, text("outer"), turn % 3 ? none : attributes));
	mark = etl_ranges_mark();
	CHECK(etl_range_begin(owner + 1, text("inner"), none));
	CHECK(etl_range_begin(owner + 1, text("inner"), none));
	/* With a row of marker_data, and without. */
	operator = etl_range_open(ETL_PYTORCH_OPERATOR, text("aten::mm"), turn % 2 ? turn : -1);
	aside = etl_ranges_suspend(mark);
	CHECK(aside && !etl_range_end(owner + 1));
	etl_ranges_resume(aside);
	etl_range_close(ETL_PYTORCH_OPERATOR, operator);
	CHECK(etl_range_end(owner + 1) && etl_range_end(owner + 1));
	if (turn % 50 == 0) {
		/* Longer than is kept. */
		CHECK(etl_range_begin(owner + 2, (struct etl_text){ longer, sizeof longer }, none));
		CHECK(etl_range_end(owner + 2));
	}
	CHECK(etl_range_end(owner) && !etl_range_end(owner));
}

static void *work(void *owner)
{
	for (int turn = 0; turn < TURNS; turn++)
		one_turn(owner, turn);
	etl_add(&running, -1);
	return NULL;
}

static void drain(struct etl_process *process)
{
	struct etl_slot_view view;
	struct etl_error error;

	while (etl_process_next(process, &view)) {
		CHECK(view.content == ETL_RANGES);
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, &error) == 0);
		etl_process_release(process, view.slot);
	}
}

/* Every prefix of a slot's bytes, and none of it as it was: nothing is read that is not there. */
static void hostile(struct etl_decoder *decoder)
{
	static const uint64_t no_loss[ETL_MAX_KIND];
	static const uint32_t strides[ETL_MAX_KIND];
	struct etl_process_info info = { .process_id = 5, .cupti_version = 130500 };
	struct etl_error error;
	struct etl_process *process = etl_process_load(decoder, &info, strides, no_loss, &error);
	uint64_t seed = 7;

	CHECK(process);
	for (uint32_t bytes = 0; bytes < 400; bytes++)
		for (uint32_t content = ETL_RANGES; content <= ETL_FACTS; content++)
			for (int turn = 0; turn < 20; turn++) {
				uint8_t *data = malloc(bytes + 1);

				for (uint32_t i = 0; i < bytes; i++)
					data[i] = turn % 2 ? (uint8_t)random_next(&seed) :
							     (uint8_t)(random_next(&seed) % 24 == 0);
				CHECK(etl_process_decode(process, data, bytes, content, &error) == 0);
				free(data);
			}
	etl_process_free(process);
}

/* A capture that loses nothing: as many ranges end as begin. */
static void quiet(struct etl_decoder *decoder, int fd, const char *owner)
{
	struct etl_counters *counters = &etl_injector.map.segment->counters;
	struct etl_error error;
	struct etl_process *process = etl_process_map(decoder, fd, &error);
	struct etl_decoded decoded;

	CHECK(process);
	etl_ranges_forget();
	etl_store(&is_on, true);
	for (int turn = 0; turn < 100; turn++) {
		one_turn((void *)(uintptr_t)owner, turn);
		etl_ranges_flush();
		drain(process);
	}
	etl_ranges_finish();
	etl_ranges_flush();
	drain(process);
	etl_process_get_decoded(process, &decoded);
	CHECK(etl_peek(&counters->ring_full[ETL_ACTIVITY_MARKER]) == 0);
	CHECK(decoded.open_ranges == PLANTED);
	etl_process_free(process);
	etl_segment_renew(&etl_injector.map);
}

int main(void)
{
	const char *owners = calloc(THREADS, 8);
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_error error;
	pthread_t threads[THREADS];
	int fd;

	memset(longer, 'x', sizeof longer);
	CHECK(etl_segment_create(2, &etl_injector.map, &fd, &error) == 0);
	etl_put(&running, THREADS);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(owners + 8 * i)) ==
		      0);
	for (int capture = 0; capture < CAPTURES; capture++) {
		struct etl_counters *counters = &etl_injector.map.segment->counters;
		struct etl_process *process = etl_process_map(decoder, fd, &error);
		struct etl_decoded decoded;

		CHECK(process);
		etl_ranges_forget();
		etl_store(&etl_injector.active, true);
		etl_store(&is_on, true);
		for (int look = 0; look < 300 || (capture == CAPTURES - 1 && etl_load(&running));
		     look++) {
			etl_ranges_flush();
			drain(process);
			/* A pause. */
			etl_store(&is_on, look % 10 != 0);
		}
		etl_ranges_finish();
		etl_ranges_flush();
		drain(process);
		etl_process_get_decoded(process, &decoded);
		CHECK(decoded.records + etl_peek(&counters->ring_full[ETL_ACTIVITY_MARKER]) +
			      etl_peek(&counters->ring_full[ETL_ACTIVITY_MARKER_DATA]) ==
		      etl_peek(&counters->handed_over));
		CHECK(decoded.unreadable_bytes == 0);
		etl_process_free(process);
		etl_segment_renew(&etl_injector.map);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	quiet(decoder, fd, owners);
	hostile(decoder);
	etl_decoder_free(decoder);
	etl_segment_unmap(&etl_injector.map);
	free((void *)(uintptr_t)owners);
	return 0;
}
