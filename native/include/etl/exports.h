/* What libcupti_etl.so offers to exports: rows as Protocol Buffers; the rest is in abi.h. */
#pragma once

#include "etl/abi.h"

#pragma GCC visibility push(default)
/* cffi: begin */
/* What is written for each row, in order. */
enum etl_protobuf_step_kind {
	ETL_PB_OPEN,	/* a message in the one around it, to the ETL_PB_CLOSE that belongs to it */
	ETL_PB_CLOSE,
	ETL_PB_LITERAL, /* bytes that are the same in each row */
	ETL_PB_VARINT,	/* a 64-bit integer */
	ETL_PB_FIXED64, /* the same, always of 8 bytes */
	ETL_PB_DOUBLE,
	ETL_PB_TEXT,	/* text or bytes, with 32-bit offsets */
};

/* What is NULL is left out: a field, or a message with all that is in it. */
struct etl_protobuf_step {
	uint32_t kind;
	uint32_t tag; /* number of the field << 3 | its wire type; not of a literal */
	int32_t column; /* whose values are written, or whose NULL leaves out a message; -1: none */
	uint32_t literal, bytes; /* where it begins, and how long it is */
};

struct etl_protobuf;
/* An encoder of rows by these steps; NULL: no memory, or messages that are not closed. */
struct etl_protobuf *etl_protobuf_new(const struct etl_protobuf_step *steps, uint32_t n, const uint8_t *literals,
				      uint32_t bytes);
void etl_protobuf_free(struct etl_protobuf *encoder);
/* Encodes a batch, which it takes over.  How many bytes that makes, which etl_protobuf_bytes has
 * until the next batch; -EINVAL: it has not the columns of the steps; -ENOMEM. */
int64_t etl_protobuf_encode(struct etl_protobuf *encoder, struct ArrowArray *batch);
const uint8_t *etl_protobuf_bytes(const struct etl_protobuf *encoder);

struct etl_slices;
/* Tells which slices cross others of their track; NULL: no memory. */
struct etl_slices *etl_slices_new(void);
void etl_slices_free(struct etl_slices *slices);
/* Takes over a batch of three columns of 64-bit integers without NULL: track, start, end, ordered by
 * the start and then by the end, the latest first.  `crossing` has room for an integer a row: 0 for
 * a slice that lies in all that are open on its track; of the others, their number, from 1. */
int etl_slices_add(struct etl_slices *slices, struct ArrowArray *batch, int64_t *crossing);
/* cffi: end */
#pragma GCC visibility pop
