/* The join of samples to runs and its fit: random traces, hostile input, every end. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "etl/attribution.h"

#define DEVICES 2
#define METRICS 2
#define GROUPS 30 /* more than are fitted */
#define RUNS 4000
#define SAMPLES 3000
#ifdef PLANT_WRONG
#define ADDED 1
#else
#define ADDED 0
#endif

static int64_t run_columns[6][RUNS];
static int64_t sample_columns[3][SAMPLES];
static double values[METRICS][SAMPLES];
static int64_t counts[(GROUPS + 1) * ETL_OVERLAP_COUNTS];
static double fits[(GROUPS + 1) * ETL_OVERLAP_FITS];
static double planes[(GROUPS + 1) * METRICS * ETL_OVERLAP_PLANES];

static void make_world(uint64_t *state)
{
	int64_t now = 0;

	for (int i = 0; i < RUNS; i++) {
		now += (int64_t)(random_next(state) % 50);
		run_columns[0][i] = (int64_t)(random_next(state) % DEVICES);
		run_columns[1][i] = 1 + (int64_t)(random_next(state) % GROUPS);
		run_columns[2][i] = now;
		run_columns[3][i] = now + (int64_t)(random_next(state) % 300);
	}
	for (int i = 0; i < SAMPLES; i++) {
		sample_columns[0][i] = i % DEVICES;
		sample_columns[1][i] = i / DEVICES * 60;
		sample_columns[2][i] = i / DEVICES * 60 + 60;
		for (int m = 0; m < METRICS; m++)
			values[m][i] = random_next(state) % 20 ? 1 : NAN;
	}
}

static struct etl_overlap *new_join(int rows)
{
	static const int64_t groups[DEVICES] = {GROUPS, GROUPS};
	static const int64_t samples[DEVICES] = {SAMPLES / 2, SAMPLES / 2};
	static const int64_t lag[DEVICES] = {0, 7};
	static const double interval[DEVICES] = {60, 60};
	static const uint8_t is_sum[METRICS] = {0, 1};
	static const uint8_t is_union[METRICS] = {1, 0};
	static const uint8_t is_known[DEVICES * METRICS] = {1, 1, 1, 1};
	static double mean[DEVICES * GROUPS];
	struct etl_overlap_options options = {.devices = DEVICES,
					      .metrics = METRICS,
					      .is_rows_wanted = rows,
					      .least_coverage = 0.5,
					      .groups = groups,
					      .samples = samples,
					      .lag_ns = lag,
					      .interval_ns = interval,
					      .mean_ns = mean,
					      .is_sum = is_sum,
					      .is_union = is_union,
					      .is_known = is_known};

	for (int i = 0; i < DEVICES * GROUPS; i++)
		mean[i] = i % 3 ? 150 : 10;
	return etl_overlap_new(&options);
}

/* Gives everything, so many rows at a time; what the last step came to. */
static int drive(struct etl_overlap *join, int64_t rows_at_once)
{
	const double *columns[METRICS];
	int64_t run = 0, sample = 0;
	int result;

	while ((result = etl_overlap_step(join)) == ETL_OVERLAP_RUNS ||
	       result == ETL_OVERLAP_SAMPLES || result == ETL_OVERLAP_ROWS) {
		if (result == ETL_OVERLAP_RUNS) {
			int64_t n = RUNS - run < rows_at_once ? RUNS - run : rows_at_once;
			struct etl_runs given = {n,
						 run_columns[0] + run,
						 run_columns[1] + run,
						 run_columns[2] + run,
						 run_columns[3] + run,
						 run_columns[4] + run,
						 run_columns[5] + run};

			etl_overlap_give_runs(join, &given);
			run += n;
		} else if (result == ETL_OVERLAP_SAMPLES) {
			int64_t n = SAMPLES - sample < rows_at_once ? SAMPLES - sample
								    : rows_at_once;
			struct etl_samples given = {n, sample_columns[0] + sample,
						    sample_columns[1] + sample,
						    sample_columns[2] + sample, columns};

			for (int m = 0; m < METRICS; m++)
				columns[m] = values[m] + sample;
			etl_overlap_give_samples(join, &given);
			sample += n;
		}
	}
	return result;
}

static void check_whole(struct etl_overlap *join)
{
	struct etl_overlap_rows rows;
	int64_t runs = 0, covered = 0, counted = 0;

	etl_overlap_take(join, &rows);
	CHECK(rows.rows == RUNS);
	for (int64_t i = 0; i < rows.rows; i++) {
		int64_t length = rows.columns[3][i] - rows.columns[2][i];
		double mean = rows.values[i * METRICS];

		CHECK(rows.columns[7][i] <= length && rows.columns[8][i] <= length);
		CHECK(isnan(mean) || fabs(mean - 1) < 1e-9);
		covered += rows.columns[7][i];
	}
	for (int d = 0; d < DEVICES; d++) {
		CHECK(etl_overlap_totals(join, d, counts, fits, planes) == 0);
		for (int g = 0; g <= GROUPS; g++) {
			runs += counts[g];
			counted += counts[3 * (GROUPS + 1) + g];
		}
	}
	CHECK(runs == RUNS + ADDED);
	CHECK(counted == covered);
}

static void test_batches_of_any_size(void)
{
	uint64_t state = 1;

	make_world(&state);
	for (int64_t n = 1; n <= 4096; n = n * 8 + 1) {
		struct etl_overlap *join = new_join(1);

		CHECK(join && drive(join, n) == ETL_OVERLAP_END);
		check_whole(join);
		etl_overlap_free(join);
	}
}

static void test_what_is_refused(void)
{
	static const struct {
		int column;
		int64_t value;
	} wrong[] = {{0, DEVICES}, {0, -1}, {1, 0}, {1, GROUPS + 1}, {2, -5}};
	struct etl_overlap *join;
	uint64_t state = 2;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		make_world(&state);
		run_columns[wrong[i].column][RUNS / 2] = wrong[i].value;
		join = new_join(0);
		CHECK(drive(join, 100) == -EINVAL);
		etl_overlap_free(join);
	}
	make_world(&state);
	sample_columns[0][7] = DEVICES;
	join = new_join(0);
	CHECK(drive(join, 100) == -EINVAL);
	etl_overlap_free(join);
	make_world(&state);
	sample_columns[1][SAMPLES / 2] = 0;
	sample_columns[2][SAMPLES / 2] = 60;
	join = new_join(0);
	CHECK(drive(join, 100) == ETL_OVERLAP_UNSORTED);
	etl_overlap_free(join);
}

static void test_it_can_be_left_at_any_time(void)
{
	struct etl_overlap *join = new_join(1);

	CHECK(etl_overlap_step(join) == ETL_OVERLAP_RUNS);
	etl_overlap_free(join);
	etl_overlap_free(NULL);
}

static void test_lag(void)
{
	int64_t starts[20], ends[20], lags[3] = {-30, 0, 30};
	double out[3 * 2 * (3 + 3)];
	const double *columns[1] = {values[0]};
	struct etl_samples given = {50, sample_columns[0], sample_columns[1], sample_columns[2],
				    columns};

	for (int i = 0; i < 50; i++) {
		sample_columns[1][i] = i * 10;
		sample_columns[2][i] = i * 10 + 10;
		/* Busy where (time - 30) / 20 is even. */
		values[0][i] = (i * 10 - 30 + 400) / 20 % 2 == 0;
	}
	for (int i = 0; i < 20; i++) {
		starts[i] = i * 40 - 40;
		ends[i] = starts[i] + 20;
	}
	CHECK(etl_lag_sums(&given, 1, starts, ends, 20, lags, 3, 2, out) == 0);
	for (int b = 0; b < 2; b++) {
		const double *late = out + (2 * 2 + b) * 6;

		CHECK(late[0] == 25 && late[5] == late[4] && late[1] == late[3]);
	}
	sample_columns[2][3] = sample_columns[1][3];
	CHECK(etl_lag_sums(&given, 1, starts, ends, 20, lags, 3, 2, out) == -EINVAL);
}

int main(void)
{
	test_batches_of_any_size();
	test_what_is_refused();
	test_it_can_be_left_at_any_time();
	test_lag();
	return 0;
}
