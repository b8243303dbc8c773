/* Executions of an operator that share out rows, in threads of their own; and one that reads a slice
 * while the next is added. */
#include <errno.h>
#include <pthread.h>

#include "operator_rows.h"
#include "operators/calls.h"
#include "operators/operator.h"

#define EXECUTIONS 4
#define SLICES 50

/* Two calls a slice, in ranges 5 and 6 of thread 7, and one of thread 8, which is in none. */
static void *take_slices(void *data)
{
	struct etl_operator *operator = data;

	for (int64_t slice = 0; slice < SLICES; slice++) {
		int64_t id = 5000 * slice; /* all kinds of shares */
		const int64_t calls[][CALL_FIELDS] = {{1, id, 10 + slice % 10, 30, 7, 1, 0},
						      {1, id + 1, 20 + slice, 90, 7, 1, 0},
						      {1, id + 2, 12, 13, 8, 1, 0}};
		const int64_t acts[][7] = {{1, id, 30, 31, 0, 0, UNKNOWN},
					   {1, id + 1, 40, 42, 0, 0, UNKNOWN},
					   {1, id + 2, 50, 54, 0, 0, UNKNOWN}};

		give(operator, 1, *calls, 3, CALL_FIELDS);
		give(operator, 2, *acts, 3, 7);
		CHECK(slice_rows(operator) == 0);
	}
	return NULL;
}

static void *read_slice(void *data)
{
	CHECK(etl_operator_slice(data) == 0);
	return NULL;
}

static void check_slices(void)
{
	struct etl_operator *busy = etl_operator_new("busy");
	pthread_t reader;
	int64_t n, *rows;

	for (int64_t slice = 0; slice < SLICES; slice++) {
		const int64_t acts[][4] = {{10 * slice + 2, 10 * slice + 5, 0, 0},
					   {10 * slice, 10 * slice + 3, 0, 0}};

		give(busy, 0, *acts, 2, 4);
		CHECK(slice == 0 || pthread_join(reader, NULL) == 0);
		etl_operator_cut(busy);
		CHECK(pthread_create(&reader, NULL, read_slice, busy) == 0);
	}
	CHECK(pthread_join(reader, NULL) == 0);
	CHECK(etl_operator_finish(busy) == 0);
	rows = take(busy, 1, 3, &n);
	CHECK(n == 4); /* sets with this category */
	for (int64_t set = 0; set < n; set++)
		CHECK(rows[3 * set + 2] == 5 * SLICES); /* how long it was busy */
	free(rows);
	etl_operator_free(busy);
}

int main(void)
{
	const int64_t turns[][4] = {{1, 7, 10, 5}, {1, 7, 20, 6}, {1, 8, 10, UNKNOWN}};
	struct etl_operator *busy = etl_operator_new("busy"), *all[EXECUTIONS];
	int64_t activities[2] = {0}, work_ns[2] = {0}, most = 0;
	pthread_t threads[EXECUTIONS];

	CHECK(!etl_operator_beside(busy, 1, 2)); /* what it makes are no sums */
	etl_operator_free(busy);
	all[0] = etl_operator_new("range");
	give(all[0], 0, *turns, 3, 4);
	for (uint32_t i = 1; i < EXECUTIONS; i++) {
		all[i] = etl_operator_beside(all[0], i, EXECUTIONS);
		CHECK(all[i] && add(all[i], 0, *turns, 1, 4) == -EINVAL);
	}
	for (int64_t i = 0; i < EXECUTIONS; i++)
		CHECK(pthread_create(&threads[i], NULL, take_slices, all[i]) == 0);
	for (int64_t i = 0; i < EXECUTIONS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int64_t i = EXECUTIONS; i-- > 0;) { /* the first one is freed last */
		int64_t n, *rows, own = 0;

		CHECK(etl_operator_finish(all[i]) == 0);
		rows = take(all[i], 0, 12, &n);
		for (const int64_t *row = rows; row < rows + 12 * n; row += 12) {
			/* range, GPU, activities, their time */
			activities[row[0] - 5] += row[2];
			work_ns[row[0] - 5] += row[3];
			own += row[2];
		}
		most = own > most ? own : most;
		free(rows);
		etl_operator_free(all[i]);
	}
	CHECK(activities[0] == SLICES && activities[1] == SLICES);
	CHECK(work_ns[0] == SLICES && work_ns[1] == 2 * SLICES);
	CHECK(most < SLICES); /* of 2 * SLICES */
	check_slices();
	return 0;
}
