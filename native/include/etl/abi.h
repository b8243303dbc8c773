/* What libcupti_etl.so offers to Python, through cffi.  Functions that can fail return
 * a negative errno or NULL and fill `error` with a sentence. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "etl/error.h"

#pragma GCC visibility push(default)
/* cffi: begin */
struct ArrowArray { int64_t length, null_count, offset, n_buffers, n_children; const void **buffers; struct ArrowArray **children; struct ArrowArray *dictionary; void (*release)(struct ArrowArray *); void *private_data; };
struct etl_decoder;
struct etl_process;

/* A kind of that number or larger is taken for damage; more groups of one pass each are refused. */
enum { ETL_MAX_KIND = 128, ETL_MOST_RANGE_GROUPS = 32 };
enum etl_content {
	ETL_RECORDS = 1, ETL_STRINGS, ETL_LAUNCH_STACKS, ETL_RANGES, ETL_FACTS, ETL_CALLBACKS,
	ETL_GRAPH_NODES, ETL_PC_SAMPLES, ETL_RANGE_METRICS, ETL_NCCL_EVENTS,
};

enum etl_process_state {
	ETL_STARTING,
	ETL_TRACING,
	ETL_FINISHED, /* flushed in order */
	ETL_NOT_TRACED, /* `detail` says why */
	ETL_NOT_FLUSHED, /* the last flush took too long to wait for */
};

/* Why recording was switched on or off. */
enum etl_switch {
	ETL_BY_PROCESS, /* its start or its end */
	ETL_BY_COLLECTOR, /* --delay, --duration, --max-rows, --max-size */
	ETL_BY_RANGE, /* --capture-range */
	ETL_BY_OTHER_CLIENT, /* that another CUPTI client came, or left */
};

/* A full slot that the caller is draining. */
struct etl_slot_view {
	int64_t slot;
	const uint8_t *data;
	uint32_t bytes;
	uint32_t content;
	uint64_t sequence;
};

/* What a process says of itself.  Text is not trusted: it always ends in a zero byte,
 * but may not be UTF-8. */
struct etl_process_info {
	uint64_t process_id;
	int64_t start_ns;
	int64_t last_flush_ns;
	int64_t last_return_ns;
	int64_t finished_ns;
	int64_t taken_ns; /* another CUPTI client has had the records since; 0: none */
	int64_t regained_ns; /* until then; 0: it still has them */
	int64_t first_held_ns; /* since when CUPTI has held a slot; 0: it holds none */
	int64_t rank, local_rank, world_size, slurm_job_id, slurm_proc_id; /* INT64_MIN: not set */
	uint64_t handed_over;
	uint64_t cupti_dropped;
	uint64_t unreadable_bytes; /* seen by the injector */
	uint64_t published;
	uint64_t requests;
	uint64_t spares;
	uint64_t flushes;
	uint64_t truncated_strings;
	uint64_t stacks; /* calls that stacks were to be kept of */
	uint64_t stacks_lost; /* those of them that found no slot */
	uint64_t callbacks; /* calls and other callbacks that were to be kept */
	uint64_t callbacks_lost;
	uint64_t graph_nodes; /* that CUPTI told of */
	uint64_t graph_nodes_lost; /* those of them that found no slot */
	uint64_t nccl_events; /* operations and channels that NCCL told of */
	uint64_t nccl_events_lost;
	uint64_t nccl_too_old; /* version of the interface that an older NCCL has; 0: none */
	uint64_t pc_rows; /* rows of pc_sample, pc_window, cubin and sass_metric, made */
	uint64_t pc_rows_lost, sass_dropped; /* the latter: counts that CUPTI dropped */
	uint64_t pc_dropped; /* samples that the hardware dropped */
	uint64_t pc_full; /* collections that gave nothing, as the hardware's buffer was full */
	int64_t pc_failure, sass_failure; /* why there are none: CUPTI's result, or -errno; 0 */
	uint64_t range_rows; /* rows of launch_metric that were made */
	uint64_t range_rows_lost;
	uint64_t range_launches; /* that were replayed */
	uint64_t range_dropped; /* of these, those that CUPTI gives no values of */
	uint64_t range_ns, range_groups; /* that they took; runs that all metrics take, at one pass each */
	/* Launches that cannot be replayed, by enum etl_left_out. */
	uint64_t range_cooperative, range_graphs, range_communication, range_others;
	int64_t range_failure; /* why launches are not measured: CUPTI's result, or -errno */
	uint64_t held; /* slots that CUPTI holds, or held at the orderly end */
	int64_t orphaned_ns; /* when an earlier collector last read something; 0: there was none */
	int64_t adopted_ns; /* when this one took its place */
	int32_t pid;
	int32_t parent_pid;
	uint32_t cupti_version;
	int32_t driver_version;
	uint32_t state;
	uint32_t steps;
	uint32_t steps_live;
	uint32_t layout_generation;
	uint32_t is_selected, replay_run; /* records of chosen fields; of the command, from 1, or 0 */
	uint32_t is_settled; /* CUPTI had to give back all, and has got no record since */
	char host[128];
	char cupti_path[512];
	char argv[4096];
	char detail[512];
};

/* Where in its record a column's value lies. */
struct etl_place {
	uint32_t offset;
	uint32_t width; /* 0: nowhere */
	uint32_t only_at; /* see etl_column; 65535: no condition */
};

/* A stretch of time in which a process recorded. */
struct etl_window {
	int64_t start_ns;
	int64_t end_ns; /* 0: it is open */
	int64_t on_ns; /* how long switching on took */
	int64_t off_ns;
	uint32_t opened_by; /* enum etl_switch */
	uint32_t closed_by;
	/* Launches of the process before it began to be switched on, and until it had been switched
	 * off; 0 where none are counted. */
	uint64_t launches_on, launches_off;
};

/* What decoding found, per process. */
struct etl_decoded {
	uint64_t slots;
	uint64_t records; /* of known and unknown kinds, dropped ones not counted */
	uint64_t filtered; /* API calls that were not asked for, kernels of CUPTI's own */
	uint64_t unreadable_bytes;
	uint64_t unresolved_strings;
	uint64_t damaged_strings;
	uint64_t cut_strings; /* not taken, as the process had too many */
	uint64_t stacks; /* rows of launch_stack */
	uint64_t cut_stacks; /* that are not in python_stack, as the process had too many */
	uint64_t damaged_stacks;
	uint64_t callbacks; /* rows of callback_event */
	uint64_t damaged_callbacks;
	int64_t open_ranges; /* of its own code, that have not ended */
	uint64_t graph_nodes; /* rows of graph_node */
	uint64_t damaged_graph_nodes;
	uint64_t nccl_events; /* rows of nccl_event */
	uint64_t open_nccl_events; /* those of them without an end */
	uint64_t damaged_nccl_events;
	uint64_t pc_rows; /* of pc_sample, pc_window, cubin and sass_metric */
	uint64_t pc_samples; /* those of pc_sample alone */
	uint64_t sass_metrics; /* and of sass_metric */
	uint64_t damaged_pc_rows;
	uint64_t range_rows; /* of launch_metric */
	uint64_t damaged_range_rows;
};

/* A decoder gathers the rows of all processes, table by table.  Free it last. */
struct etl_decoder *etl_decoder_new(void);
void etl_decoder_free(struct etl_decoder *decoder);

/* Of all that this library shares with the injected one and with Python; see
 * cupti_etl/schema/fingerprint.py. */
uint64_t etl_fingerprint(void);

int64_t etl_decoder_rows(const struct etl_decoder *decoder, int table);
/* Of the texts that they use. */
uint64_t etl_decoder_text_bytes(const struct etl_decoder *decoder, int table);
/* Moves the gathered rows out; the caller owns the array (release). */
int etl_decoder_take(struct etl_decoder *decoder, int table, struct ArrowArray *out);

/* Maps the segment behind `fd`; does not keep `fd`. */
struct etl_process *etl_process_map(struct etl_decoder *decoder, int fd, struct etl_error *error);
/* A process out of a recording: what it said of itself, and its record sizes and losses
 * by activity kind (ETL_MAX_KIND each). */
struct etl_process *etl_process_load(struct etl_decoder *decoder, const struct etl_process_info *info, const uint32_t *strides, const uint64_t *ring_full, struct etl_error *error);
/* The same, later in the recording. */
void etl_process_update(struct etl_process *process, const struct etl_process_info *info, const uint32_t *strides, const uint64_t *ring_full);
void etl_process_free(struct etl_process *process);
/* Of a process that has ended and been drained: keeps the header, unmaps the segment. */
int etl_process_detach(struct etl_process *process, struct etl_error *error);
/* Takes the segment behind `fd` for this process alone, until it is detached: -EAGAIN if
 * another collector has it. */
int etl_process_claim(struct etl_process *process, int fd, struct etl_error *error);
/* Whether the image that fills the segment lives; -1 if this cannot be known. */
int etl_process_is_alive(const struct etl_process *process);
/* Of a claimed process that an earlier collector left: gives back the slots that it was
 * reading, and asks for all strings anew. */
void etl_process_resume(struct etl_process *process);
/* Whether strings that were asked for are still to come. */
int etl_process_awaits_strings(const struct etl_process *process);

void etl_process_get_info(const struct etl_process *process, struct etl_process_info *out);

/* 1 and a slot, or 0.  Every slot must be released. */
int etl_process_next(struct etl_process *process, struct etl_slot_view *out);
void etl_process_release(struct etl_process *process, int64_t slot);
/* Appends a slot's rows to the decoder. */
int etl_process_decode(struct etl_process *process, const uint8_t *data, uint32_t bytes, uint32_t content, struct etl_error *error);

void etl_process_get_decoded(const struct etl_process *process, struct etl_decoded *out);
uint64_t etl_process_stored(const struct etl_process *process, int table);
/* Rows that lack a text because the process had too many. */
uint64_t etl_process_cut(const struct etl_process *process, int table);
/* Names of kernels that were not taken yet: how many, and all of them as strings.  A name can
 * come again. */
int64_t etl_process_names(const struct etl_process *process);
int etl_process_take_names(struct etl_process *process, struct ArrowArray *out);
/* Rows whose member for the column held the value that means "not known". */
uint64_t etl_process_nulls(const struct etl_process *process, int table, int column);
/* Rows with a time that was not taken from CLOCK_REALTIME, and is NULL. */
uint64_t etl_process_other_clock(const struct etl_process *process, int table);
/* Rows that were to end before they began, and end at their start. */
uint64_t etl_process_early_ends(const struct etl_process *process, int table);
/* Records, by activity kind: lost for want of a slot, and of kinds without a table. */
uint64_t etl_process_ring_full(const struct etl_process *process, int kind);
uint64_t etl_process_unknown(const struct etl_process *process, int kind);
/* Of a process whose records hold chosen fields.  `table` and `column` must exist. */
void etl_process_get_place(const struct etl_process *process, int table, int column, struct etl_place *out);
/* Only of a process out of a recording. */
void etl_process_set_place(struct etl_process *process, int table, int column, const struct etl_place *place);
/* Window `*number`, from 0: 1, or 0 if there is none yet.  The oldest ones are not kept:
 * then it is the next that is, and `*number` says which. */
int etl_process_window(const struct etl_process *process, uint32_t *number, struct etl_window *out);
uint32_t etl_process_stride(const struct etl_process *process, int kind);
int etl_table_of_kind(int kind);

/* ---- CUPTI's profiler host; see pm/host.c.  What can fail returns 0, -errno, or CUPTI's
 * result, which is positive. */

struct pm_api;
struct pm_host;

struct etl_names { const char *const *names; uint64_t count; void *memory; };
struct etl_bytes { uint8_t *data; uint64_t size; };
/* Texts are CUPTI's, valid until the host is asked again. */
struct etl_metric_text { const char *description, *hardware_unit, *dimension; int metric_type, collection_scope; };

/* The first usable libcupti of `places`, paths with colons between them; "": the loader's. */
int etl_cupti_open(const char *places, struct pm_api **out, struct etl_error *error);
uint32_t etl_cupti_version(const struct pm_api *api);
const char *etl_cupti_path(const struct pm_api *api);
int etl_cupti_chips(const struct pm_api *api, struct etl_names *out, struct etl_error *error);
int etl_cupti_sets(const struct pm_api *api, const char *chip, struct etl_names *out, struct etl_error *error);
int etl_cupti_set_metrics(const struct pm_api *api, const char *chip, const char *set, struct etl_names *out, struct etl_error *error);
int etl_cupti_passes(const struct pm_api *api, const uint8_t *config, uint64_t bytes, uint32_t *passes, struct etl_error *error);
int etl_cupti_most_per_pass(const struct pm_api *api, int profiler_type, const char *chip, const uint8_t *availability, uint64_t *count, struct etl_error *error);
int etl_cupti_device_chip(const struct pm_api *api, uint64_t device, char *chip, uint64_t size, struct etl_error *error);
int etl_cupti_availability(const struct pm_api *api, uint64_t device, struct etl_bytes *out, struct etl_error *error);
/* Bytes of counter data that each sample of these metrics takes on a device. */
int etl_cupti_sample_bytes(const struct pm_api *api, uint64_t device, int is_by_cycles, const struct etl_bytes *config, const char *const *metrics, uint64_t count, double *bytes, struct etl_error *error);
/* Whole samples in a counter data image of PM sampling. */
int etl_cupti_samples(const struct pm_api *api, const uint8_t *image, uint64_t bytes, uint64_t *samples, struct etl_error *error);
/* What the two kinds of answers hold. */
void etl_names_free(struct etl_names *names);
void etl_bytes_free(struct etl_bytes *bytes);

int etl_host_new(const struct pm_api *api, const char *chip, int profiler_type, const struct etl_bytes *availability, const char *single_pass_set, struct pm_host **out, struct etl_error *error);
void etl_host_free(struct pm_host *host);
int etl_host_config(struct pm_host *host, const char *const *metrics, uint64_t count, struct etl_bytes *out, uint32_t *passes, struct etl_error *error);
int etl_host_select(struct pm_host *host, const char *const *metrics, const uint8_t *is_optional, uint64_t count, uint8_t *is_kept, struct etl_error *error);
int etl_host_evaluate(struct pm_host *host, const uint8_t *image, uint64_t bytes, uint64_t first, uint64_t samples, const char *const *metrics, uint64_t count, double *const *columns, struct etl_error *error);
int etl_host_base_metrics(struct pm_host *host, int metric_type, struct etl_names *out, struct etl_error *error);
int etl_host_sub_metrics(struct pm_host *host, int metric_type, const char *metric, struct etl_names *out, struct etl_error *error);
int etl_host_describe(struct pm_host *host, const char *metric, struct etl_metric_text *out, struct etl_error *error);

/* ---- traces that others wrote */

struct etl_events;
struct etl_sqlite;

/* What reading a piece of a file came to; places are bytes of the piece. */
struct etl_piece {
	uint64_t used; /* up to here the piece is done with, or where it is malformed */
	uint64_t name_at, value_at; /* of a member; it ends at `used` */
};
enum { ETL_EVENTS_MORE, ETL_EVENTS_FULL, ETL_EVENTS_MEMBER, ETL_EVENTS_END };

/* Reads the JSON of a Chrome trace.  `columns` has a line for each: a letter, a space, and a
 * member of an event ("ts") or of its arguments ("args.stream").  The letters: i integer,
 * d double, t microseconds that become nanoseconds, s text, a array of which the next two
 * columns (+) take the second and the third number, * arguments without a column, - nothing.
 * NULL: no memory, or a column that cannot be. */
struct etl_events *etl_events_new(const char *columns);
void etl_events_free(struct etl_events *events);
/* Reads a piece until `most` rows are there (FULL), a member that stands beside the events
 * comes (MEMBER), the whole ends (END), or more is needed (MORE): then what was not used must
 * be given again, with more behind it.  -EBADMSG: it is malformed. */
int etl_events_read(struct etl_events *events, const char *data, uint64_t bytes, int64_t most, struct etl_piece *out);
int64_t etl_events_rows(const struct etl_events *events);
/* Elements of the array that were no objects. */
uint64_t etl_events_others(const struct etl_events *events);
/* Values that have become NULL, as they were no numbers of a column of numbers. */
uint64_t etl_events_unfit(const struct etl_events *events, uint32_t column);
int etl_events_take(struct etl_events *events, struct ArrowArray *out);

/* Reads a table of the SQLite file `fd`, whose tree begins at page `root`.  `types` has a
 * letter a column (i, d, s), `fields` its place in the table, -1 for the row id. */
struct etl_sqlite *etl_sqlite_new(int fd, uint32_t root, const char *types, const int32_t *fields, struct etl_error *error);
void etl_sqlite_free(struct etl_sqlite *table);
/* Reads at most so many rows; returns how many there are then, or a negative errno. */
int64_t etl_sqlite_read(struct etl_sqlite *table, int64_t most, struct etl_error *error);
/* As etl_events_unfit. */
uint64_t etl_sqlite_unfit(const struct etl_sqlite *table, uint32_t column);
int etl_sqlite_take(struct etl_sqlite *table, struct ArrowArray *out);
/* ---- sampling of hardware counters; see pm/frames.h */

struct etl_sampler;

struct etl_frame {
	uint32_t magic;
	uint32_t type;
	uint32_t device; /* 0 for the first that was added */
	uint32_t reserved;
	uint64_t rows;
	uint64_t bytes; /* that follow */
};
enum { ETL_FRAME_MAGIC = 0x6d705045, ETL_FRAME_TEXT = 1, ETL_FRAME_SAMPLES = 2, ETL_FRAME_LOSS = 3 };

/* Why there are no samples for a time. */
enum { ETL_GAP_UNKNOWN = 1, ETL_GAP_OVERFLOW = 2, ETL_GAP_FULL = 3, ETL_GAP_FAILED = 4 };
struct etl_sample_loss {
	uint32_t cause;
	uint32_t reserved;
	int64_t start_ns;
	int64_t end_ns;
	int64_t samples; /* intervals that went by */
};

struct etl_gpu {
	char uuid[48];
	char name[128];
	char chip[64];
};

/* A value of a sample: factor * metrics[numerator] / what `denominator` says.  Two counters and a
 * division can cost half of what the percentage costs that CUPTI makes of them. */
struct etl_sampled_column {
	uint32_t numerator;
	int32_t denominator; /* of metrics, or one of these: */
	double factor;
};
enum { ETL_BY_NOTHING = -1, ETL_BY_TIME = -2 /* the sample's length in ns */ };

struct etl_sampling_request {
	uint64_t index; /* of the GPU for CUDA */
	const char *single_pass_set; /* or NULL */
	const char **metrics;
	const uint8_t *is_optional; /* of each: left out where it cannot be counted with the others */
	uint8_t *is_kept; /* filled: whether it was not */
	uint64_t metric_count;
	const struct etl_sampled_column *columns; /* those whose metrics are kept are sent */
	uint64_t column_count;
	uint64_t interval_ns;
	int is_by_cycles; /* Turing and GA100 sample by cycles of a clock, taken for 1 GHz */
	uint64_t hardware_bytes; /* of the hardware's buffer; 0: as many as are good */
	int is_draining_only; /* decode, and evaluate nothing */
};

/* How sampling a device went; whole after etl_sampler_run. */
struct etl_sampling {
	uint64_t samples;
	uint64_t missing;
	uint64_t gaps;
	uint64_t dropped; /* that were none: without a time, or a length */
	uint64_t restarts;
	uint64_t decodes;
	uint64_t decode_ns; /* time of the CPU, of either thread */
	uint64_t evaluate_ns;
	uint64_t image_bytes; /* of counter data, of one image */
	uint64_t image_slots; /* samples that it holds */
	int failure; /* why it ended early: CUPTI's result, or -errno; 0: it did not */
	char detail[512];
};

/* Loads the first usable libcupti of `places` (paths with colons between; "": the loader's)
 * and finds the GPUs.  Where a function of a sampler can fail it returns 0, -errno, or
 * CUPTI's result, which is positive. */
int etl_sampler_new(const char *places, struct etl_sampler **out, struct etl_error *error);
void etl_sampler_free(struct etl_sampler *sampler);
uint32_t etl_sampler_cupti(const struct etl_sampler *sampler);
const char *etl_sampler_cupti_path(const struct etl_sampler *sampler);
int etl_sampler_gpus(const struct etl_sampler *sampler);
int etl_sampler_gpu(struct etl_sampler *sampler, int index, struct etl_gpu *out, struct etl_error *error);
/* Opens a GPU for sampling; it gets the next number. */
int etl_sampler_add(struct etl_sampler *sampler, const struct etl_sampling_request *ask, struct etl_error *error);
/* Begins to sample; etl_sampler_run must follow soon, or the hardware's buffer runs over. */
int etl_sampler_start(struct etl_sampler *sampler, int number, struct etl_error *error);
/* Sends a frame of text. */
void etl_sampler_say(struct etl_sampler *sampler, int fd, const char *text);
/* Sends what is sampled to the socket `fd`, until the other end closes its side or no device
 * goes on.  -ETIMEDOUT: a thread hangs in CUPTI, and nothing may be freed. */
int etl_sampler_run(struct etl_sampler *sampler, int fd);
void etl_sampler_get(const struct etl_sampler *sampler, int number, struct etl_sampling *out);
/* cffi: end */
#pragma GCC visibility pop
