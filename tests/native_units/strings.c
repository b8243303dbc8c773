/* Strings from the injector's side to the collector's: each published once, before what
 * uses it, and found there under the key that the record holds. */
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "decode/process.h"
#include "etl/hash.h"
#include "inject/injector.h"
#include "inject/intern.h"
#include "inject/wakeup.h"

struct etl_injector etl_injector; /* intern.c is all that we take of the injector */

void etl_wakeup_send(void)
{
}

static struct etl_decoder *decoder;
static struct etl_process *process;

static void start(void)
{
	struct etl_error error;
	int fd = -1;

	memset(&etl_injector, 0, sizeof etl_injector);
	CHECK(etl_segment_create(1, &etl_injector.map, &fd, NULL) == 0);
	decoder = etl_decoder_new();
	process = etl_process_map(decoder, fd, &error);
	CHECK(process);
	close(fd);
}

static void stop(void)
{
	etl_process_free(process);
	etl_decoder_free(decoder);
	etl_segment_unmap(&etl_injector.map);
}

static uint64_t drain(void)
{
	struct etl_error error;
	struct etl_slot_view view;
	uint64_t slots = 0;

	while (etl_process_next(process, &view)) {
		CHECK(view.content == ETL_STRINGS);
		CHECK(etl_process_decode(process, view.data, view.bytes, view.content, &error) == 0);
		etl_process_release(process, view.slot);
		slots++;
	}
	return slots;
}

static bool is_text(uint64_t id, const char *bytes, size_t length)
{
	struct text_table *texts = &process->texts;
	uint32_t text = text_find(texts, id);

	return text != NO_TEXT && texts->starts[text + 1] - texts->starts[text] == length &&
	       memcmp(texts->bytes + texts->starts[text], bytes, length) == 0;
}

/* Recordings hold keys, so the function must stay what it is.  The values are of the
 * second implementation, in tests/support/records.py. */
static void keys_never_change(void)
{
	CHECK(etl_hash("", 0) == UINT64_C(0xaf72a5916eaffa97));
	CHECK(etl_hash("a", 1) == UINT64_C(0x8ef889daabef7b9c));
	CHECK(etl_hash("12345678", 8) == UINT64_C(0x10cba223a7c7c07b));
	CHECK(etl_hash("_Z6vecAddPKfS0_Pfi", 18) == UINT64_C(0x56fc96c2086f5710));
	CHECK(etl_hash("\0", 1) != etl_hash("\0\0", 2));
}

static void each_is_published_once(uint64_t seed)
{
	enum { N = 3000 };
	static char text[N][40];
	uint64_t ids[N], published;

	start();
	for (int i = 0; i < N; i++) {
		int length = 6 + (int)(random_next(&seed) % 30);

		memset(text[i], 'x', sizeof text[i]);
		snprintf(text[i], sizeof text[i], "%d", i);
		text[i][strlen(text[i])] = '_';
		text[i][length] = '\0';
		ids[i] = etl_intern(text[i], strlen(text[i]), 0, 0);
		CHECK(ids[i] == etl_hash(text[i], strlen(text[i])));
	}
	CHECK(etl_intern_flush());
	published = drain();
	CHECK(published >= 1 && published < 5);
	for (int i = 0; i < N; i++) {
		CHECK(is_text(ids[i], text[i], strlen(text[i])));
		CHECK(etl_intern(text[i], strlen(text[i]), 0, 0) == ids[i]);
	}
	CHECK(etl_intern_flush());
	CHECK(drain() == 0);
	stop();
}

static void long_ones_are_cut_and_counted(void)
{
	size_t most = ETL_LARGE_BYTES - sizeof(struct etl_string_entry) - 8;
	char *text = malloc(2 * ETL_LARGE_BYTES);
	uint64_t id;

	start();
	memset(text, 'y', 2 * ETL_LARGE_BYTES);
	id = etl_intern(text, ETL_SMALL_BYTES, 0, 0); /* more than a small slot holds */
	CHECK(etl_intern_flush() && drain() == 1 && is_text(id, text, ETL_SMALL_BYTES));
	id = etl_intern(text, most, 0, 0);
	CHECK(etl_intern_flush() && drain() == 1 && is_text(id, text, most));
	CHECK(etl_peek(&etl_injector.map.segment->counters.truncated_strings) == 0);
	text[0] = 'z';
	id = etl_intern(text, 2 * ETL_LARGE_BYTES, 0, 0);
	CHECK(etl_intern_flush() && drain() == 1 && is_text(id, text, most));
	CHECK(etl_peek(&etl_injector.map.segment->counters.truncated_strings) == 1);
	free(text);
	stop();
}

static void without_a_slot_nothing_is_taken_for_published(void)
{
	struct etl_map *map = &etl_injector.map;
	int64_t slot, last = -1;
	uint64_t id;

	start();
	while ((slot = etl_slot_take(map, true)) >= 0)
		last = slot;
	while ((slot = etl_slot_take(map, false)) >= 0)
		last = slot;
	id = etl_intern("late", 4, 0, 0);
	CHECK(!etl_intern_flush()); /* the records that use it must not be published */
	CHECK(drain() == 0);
	etl_slot_free(map, (uint64_t)last, ETL_HELD);
	CHECK(etl_intern("late", 4, 0, 0) == id);
	CHECK(etl_intern_flush() && drain() == 1 && is_text(id, "late", 4));
	stop();
}

/* A function's name comes with its number, for each of its numbers. */
static void names_of_functions(void)
{
	start();
	for (uint32_t cbid = 1; cbid < 4; cbid++)
		etl_intern("cudaLaunchKernel", 16, etl_api_tag(5, cbid), cbid == 2 ? ETL_API_DROP : 0);
	CHECK(etl_intern_flush() && drain() == 1);
	for (uint32_t cbid = 1; cbid < 4; cbid++) {
		CHECK(process->api_text[1][cbid] - 1 ==
		      text_find(&process->api_texts, etl_hash("cudaLaunchKernel", 16)));
		CHECK(process->api_drop[1][cbid] == (cbid == 2));
		CHECK(process->api_text[0][cbid] == 0);
	}
	/* Numbers beyond all tables. */
	for (uint32_t kind = 4; kind <= 5; kind++) {
		etl_intern("tooLarge", 8, etl_api_tag(kind, ETL_MAX_CBID), ETL_API_DROP);
		etl_intern("tooLarge", 8, etl_api_tag(kind, 0xffff), ETL_API_DROP);
	}
	etl_intern("noApi", 5, etl_api_tag(0xffff, 1), 0);
	CHECK(etl_intern_flush() && drain() == 1);
	CHECK(process->api_text[0][1] == 0 && process->api_drop[0][0] == 0);
	stop();
}

/* A collector that comes later gets all of them again, over as many flushes as it takes. */
static void all_come_again_when_asked(void)
{
	enum { N = 40000 };
	struct etl_map *map = &etl_injector.map;
	char text[64];
	int64_t slot, kept[ETL_SLOTS_PER_STEP];
	int n_kept = 0;

	start();
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof text, "kernel_%d_of_a_template", i);
		etl_intern(text, strlen(text), 0, 0);
	}
	etl_intern("cudaLaunchKernel", 16, etl_api_tag(5, 211), ETL_API_DROP);
	CHECK(etl_intern_flush());
	drain();
	etl_intern_answer(); /* nobody has asked */
	CHECK(drain() == 0 && !etl_process_awaits_strings(process));

	/* As if the first collector had died and another had mapped the segment. */
	text_free(&process->texts);
	text_free(&process->api_texts);
	memset(process->api_text, 0, sizeof process->api_text);
	memset(process->api_drop, 0, sizeof process->api_drop);
	etl_process_resume(process);
	CHECK(etl_process_awaits_strings(process));
	while ((slot = etl_slot_take(map, false)) >= 0)
		kept[n_kept++] = slot;
	while ((slot = etl_slot_take(map, true)) >= 0)
		kept[n_kept++] = slot;
	etl_intern_answer(); /* no slot is free */
	CHECK(etl_process_awaits_strings(process) && drain() == 0);
	etl_slot_free(map, (uint64_t)kept[--n_kept], ETL_HELD);
	for (int flushes = 0; etl_process_awaits_strings(process); flushes++) {
		CHECK(flushes < 100);
		etl_intern_answer();
		if (etl_process_awaits_strings(process))
			CHECK(drain() == 1);
	}
	drain();
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof text, "kernel_%d_of_a_template", i);
		CHECK(is_text(etl_hash(text, strlen(text)), text, strlen(text)));
	}
	CHECK(process->api_text[1][211] && process->api_drop[1][211]);
	while (n_kept)
		etl_slot_free(map, (uint64_t)kept[--n_kept], ETL_HELD);
	stop();
}

/* A program with a new string for each record: both sides let go of those before, and each
 * slot finds its own, and the names of functions. */
static void they_are_forgotten_in_time(void)
{
	enum { SLOTS = 100, A_SLOT = 5000 };
	size_t most_texts = 0, most_bytes = 0;
	char text[64];

	start();
	etl_intern("cudaLaunchKernel", 16, etl_api_tag(5, 211), ETL_API_DROP);
	CHECK(etl_intern_flush());
	for (int slot = 0; slot < SLOTS; slot++) {
		etl_intern_begin();
		for (int i = 0; i < A_SLOT; i++) {
			snprintf(text, sizeof text, "range %d of a long run", slot * A_SLOT + i);
			etl_intern(text, strlen(text), 0, 0);
		}
		etl_intern("in each", 7, 0, 0);
		CHECK(etl_intern_flush() && drain() > 0);
		CHECK(is_text(etl_hash("in each", 7), "in each", 7));
		for (int i = 0; i < A_SLOT; i++) {
			snprintf(text, sizeof text, "range %d of a long run", slot * A_SLOT + i);
			CHECK(is_text(etl_hash(text, strlen(text)), text, strlen(text)));
		}
		if (process->texts.ids.n > most_texts)
			most_texts = process->texts.ids.n;
		if (process->texts.bytes_used > most_bytes)
			most_bytes = process->texts.bytes_used;
	}
	CHECK(most_texts > 100000 && most_texts < 200000 && most_bytes < 16 << 20);
	CHECK(process->decoded.cut_strings == 0);
	CHECK(process->api_text[1][211] && process->api_drop[1][211]);

	/* A collector that comes later gets those that still count. */
	text_free(&process->texts);
	text_free(&process->api_texts);
	memset(process->api_text, 0, sizeof process->api_text);
	etl_process_resume(process);
	etl_intern_answer();
	drain();
	CHECK(!etl_process_awaits_strings(process) && process->api_text[1][211]);
	CHECK(is_text(etl_hash(text, strlen(text)), text, strlen(text)));
	CHECK(text_find(&process->texts, etl_hash("range 0 of a long run", 21)) == NO_TEXT);
	stop();
}

/* So do long ones, of which few are many bytes. */
static void long_ones_are_forgotten_in_time(void)
{
	char *text = malloc(ETL_LARGE_BYTES);
	size_t length = ETL_LARGE_BYTES - 64;

	start();
	memset(text, 'y', ETL_LARGE_BYTES);
	for (int i = 0; i < 200; i++) {
		memcpy(text, &i, sizeof i);
		etl_intern_begin();
		uint64_t id = etl_intern(text, length, 0, 0);
		CHECK(etl_intern_flush() && drain() > 0 && is_text(id, text, length));
		CHECK(process->texts.bytes_used <= 17 << 20);
	}
	free(text);
	stop();
}

int main(void)
{
	all_come_again_when_asked();
	they_are_forgotten_in_time();
	long_ones_are_forgotten_in_time();
	keys_never_change();
	each_is_published_once(11);
	long_ones_are_cut_and_counted();
	without_a_slot_nothing_is_taken_for_published();
	names_of_functions();
	return 0;
}
