/* Rows of PC sampling: gathered in pieces that can be read alone, each written at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "etl/pc_samples.h"

/* One for each context, which one thread has in hand at a time. */
struct etl_pc_rows {
	_Alignas(8) uint8_t bytes[56 << 10];
	uint32_t used, rows;
	uint64_t samples; /* in these rows */
	uint64_t lost; /* samples of rows that found no slot, since the last etl_pc_rows_lost() */
	/* Texts that lie in the piece, by where they are in the program's memory. */
	struct {
		const char *text;
		uint32_t at;
	} known[256];
	uint32_t n_known;
};

/* The two texts may be NULL; they stay as they are until the next etl_pc_rows_write(). */
void etl_pc_rows_add(struct etl_pc_rows *rows, struct etl_pc_sample sample, const char *function,
		     const char *reason);
/* The same with what an instruction counted, whose metric must have a name. */
void etl_pc_rows_count(struct etl_pc_rows *rows, struct etl_sass_count count, const char *function,
		       const char *metric);
void etl_pc_rows_write(struct etl_pc_rows *rows);
void etl_pc_rows_window(struct etl_pc_window window);
/* Of the whole or a piece of it; false if there was no slot. */
bool etl_pc_rows_cubin(struct etl_pc_cubin cubin, const uint8_t *bytes);
/* Publishes what has gathered. */
void etl_pc_rows_flush(void);
void etl_pc_rows_forget(void);
