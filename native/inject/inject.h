/* What the parts of the injector share.  Everything here runs inside somebody
 * else's program: never print, never abort, never block it, keep errno. */
#ifndef ETL_INJECT_H
#define ETL_INJECT_H

#include <pthread.h>

#include "etl/wakeup.h"
#include "etl/segment.h"
#include "inject/cupti_api.h"

struct etl_injector {
	struct cupti_api cupti;
	struct etl_map map;
	int socket; /* its closing tells the collector that we ended */
	int memfd; /* of the segment: the way in for a collector that comes later */
	struct etl_wakeup_page *wakeup; /* NULL: there is no memory for it */
	pid_t pid; /* of the process that was set up; a forked child differs */
	/* Held while strings are looked up and slots are published, so that a string is
	 * published before any slot that uses it.  Never held while calling CUPTI. */
	pthread_mutex_t publish;
	int flush_ms;
	_Atomic bool active; /* callbacks may touch the segment */
};

extern struct etl_injector etl_injector;

/* True in the process that was set up, false in a forked child of it. */
bool etl_injector_is_ours(void);

/* environment.c */
const char *etl_env(const char *name);
long etl_env_number(const char *name, long otherwise, long least, long most);
bool etl_list_has(const char *list, const char *word); /* comma-separated */
int64_t etl_now_ns(void); /* CLOCK_REALTIME */
void etl_describe_process(struct etl_segment *segment);

/* handshake.c: sends the segment (or, with fd < 0, only the reason why there is none) to
 * the collector; never waits.  0, -EAGAIN if it may go better later, or another -errno. */
int etl_hello(int fd, const char *reason);
/* Now and then: says it again if that may help, and takes what is answered. */
void etl_hello_again(void);

/* descriptors.c: out of the program's way; the new number, or the old one if there is no
 * room. */
int etl_move_descriptor(int fd);
/* Remembers a descriptor as ours. */
void etl_keep_descriptor(int fd);
/* Whether it is one of them, and the program has neither closed nor reused it. */
bool etl_is_kept(int fd);
void etl_close_kept(int fd); /* if it is */
/* Calls a function where some descriptors are free, whose numbers mean nothing outside;
 * what it returns, or -errno. */
int etl_call_with_room(int (*function)(void *), void *argument);

/* wakeup.c: the collector's page, or one of our own until the collector's comes. */
struct etl_wakeup_page *etl_wakeup_map(void);
void etl_wakeup_receive(int sock);
void etl_wakeup_send(void);

/* space.c: the most steps that a segment may have, of so many that are wanted; 0 and the
 * reason if there can be none. */
uint32_t etl_steps_that_fit(uint32_t wanted, struct etl_error *error);

/* recording.c: asks CUPTI for the records that the environment names. */
int etl_recording_start(struct etl_error *error);
/* Switches on or off, if it is to be other than it is. */
void etl_recording_update(enum etl_switch by);
bool etl_recording_is_on(void);
void etl_recording_retry(void);
void etl_recording_finish(void); /* the process ends */
/* Whether somebody else switched off what we had switched on. */
bool etl_recording_is_cut(void);
/* Another client has the records; and: ask CUPTI for them again. */
void etl_recording_lose(void);
int etl_recording_regain(struct etl_error *error);
/* After a start that failed: nothing more is recorded. */
void etl_recording_undo(void);

/* buffers.c: what the two callbacks that CUPTI calls do. */
void etl_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void etl_buffer_completed(uint8_t *buffer, size_t size, size_t valid);
uint64_t etl_count_held(void);
/* Notes how the records of a kind lie; with `publish` held once records flow. */
void etl_set_stride(uint32_t activity, uint32_t stride);
void etl_set_fields(uint32_t activity, uint32_t stride, const struct etl_field *fields, size_t n);

/* intern.c: called with `publish` held; the first before the strings of each slot. */
void etl_intern_begin(void);
uint64_t etl_intern(const char *text, size_t length, uint32_t tag, uint32_t flags);
bool etl_intern_flush(void); /* publishes new strings; false if there is no slot */
/* Publishes all strings anew for a collector that asks; takes `publish` itself. */
void etl_intern_answer(void);

/* takeover_probe.c: a call of our own, now and then, whose record must come back to us; if it
 * does not, another CUPTI client has taken over. */
void etl_takeover_probe_call(void);
void etl_takeover_probe_check(void); /* after a flush */
/* Marks the record if it is a probe's. */
bool etl_takeover_probe_mark(uint8_t *record);

/* timer.c */
int etl_timer_start(void);
void etl_timer_finish(void); /* last flush, bounded to two seconds */

#endif
