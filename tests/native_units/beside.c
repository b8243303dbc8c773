/* Executions of an operator that take slices beside one another, in threads of their own. */
#include <errno.h>
#include <pthread.h>

#include "operator_rows.h"
#include "operators/calls.h"
#include "operators/operator.h"

#define EXECUTIONS 4
#define SLICES 50

struct taking {
	struct etl_operator *operator;
	int64_t number;
};

/* Two calls a slice, in ranges 5 and 6 of thread 7, and one of thread 8, which is in none. */
static void *take_slices(void *data)
{
	const struct taking *taking = data;

	for (int64_t slice = 0; slice < SLICES; slice++) {
		int64_t id = 3 * (taking->number + EXECUTIONS * slice);
		const int64_t calls[][CALL_FIELDS] = {{1, id, 10 + slice % 10, 30, 7, 1, 0},
						      {1, id + 1, 20 + slice, 90, 7, 1, 0},
						      {1, id + 2, 12, 13, 8, 1, 0}};
		const int64_t acts[][7] = {{1, id, 30, 31, 0, 0, UNKNOWN},
					   {1, id + 1, 40, 42, 0, 0, UNKNOWN},
					   {1, id + 2, 50, 54, 0, 0, UNKNOWN}};

		give(taking->operator, 1, *calls, 3, CALL_FIELDS);
		give(taking->operator, 2, *acts, 3, 7);
		CHECK(etl_operator_slice(taking->operator) == 0);
	}
	return NULL;
}

static void check_sums(struct etl_operator *operator)
{
	int64_t n, *rows;

	CHECK(etl_operator_finish(operator) == 0);
	rows = take(operator, 0, 12, &n);
	CHECK(n == 2);
	for (int64_t i = 0; i < n; i++) {
		const int64_t *row = rows + 12 * i; /* range, GPU, activities, their time */

		CHECK(row[0] == 5 + i && row[1] == 0 && row[2] == SLICES);
		CHECK(row[3] == SLICES * (1 + i));
	}
	free(rows);
}

int main(void)
{
	const int64_t turns[][4] = {{1, 7, 10, 5}, {1, 7, 20, 6}, {1, 8, 10, UNKNOWN}};
	struct etl_operator *busy = etl_operator_new("busy");
	struct taking takings[EXECUTIONS] = {{etl_operator_new("range"), 0}};
	pthread_t threads[EXECUTIONS];

	CHECK(!etl_operator_beside(busy)); /* its slices need those before them */
	etl_operator_free(busy);
	give(takings[0].operator, 0, *turns, 3, 4);
	for (int64_t i = 1; i < EXECUTIONS; i++) {
		takings[i] = (struct taking){etl_operator_beside(takings[0].operator), i};
		CHECK(takings[i].operator);
		CHECK(add(takings[i].operator, 0, *turns, 1, 4) == -EINVAL);
	}
	for (int64_t i = 0; i < EXECUTIONS; i++)
		CHECK(pthread_create(&threads[i], NULL, take_slices, &takings[i]) == 0);
	for (int64_t i = 0; i < EXECUTIONS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	for (int64_t i = EXECUTIONS; i-- > 0;) { /* the first one is freed last */
		check_sums(takings[i].operator);
		etl_operator_free(takings[i].operator);
	}
	return 0;
}
