/* What libcupti_etl.so offers to queries, where SQL is too slow; the rest is in abi.h. */
#pragma once

#include <stdbool.h>
#include "etl/abi.h"

#pragma GCC visibility push(default)
/* cffi: begin */
struct etl_operator;

/* An operator over rows of 64-bit integers, by its name (native/operators).  NULL: there is none, or
 * no memory. */
struct etl_operator *etl_operator_new(const char *name);
/* Another of the same kind, the `number`th of so many, which knows what this one was given as its
 * first input, and is freed before it.  From now on they are given the same batches, and each takes
 * its share of the rows: this one, which is number 0, too.  NULL: not all that the kind makes of a
 * row is a sum, or there is no memory. */
struct etl_operator *etl_operator_beside(struct etl_operator *operator, uint32_t number, uint32_t of);
void etl_operator_free(struct etl_operator *operator);
/* Takes the batch over.  Its columns are 64-bit integers without NULL.  -EINVAL: others; -E2BIG:
 * rows that need more room than they are worth; -ENOMEM. */
int etl_operator_add(struct etl_operator *operator, uint32_t input, struct ArrowArray *batch);
/* Whether rows of an input are put in order: they are only kept when they are added, which another
 * thread may do while those of the slice before are read. */
bool etl_operator_orders(const struct etl_operator *operator, uint32_t input);
/* The rows to come, of inputs that are put in order, belong after all that are there.  The slice
 * before must have been read. */
void etl_operator_cut(struct etl_operator *operator);
/* Reads the slice that was cut; a row of another input was read when it was added. */
int etl_operator_slice(struct etl_operator *operator);
/* There are no more rows: what was made can be taken. */
int etl_operator_finish(struct etl_operator *operator);
/* Moves at most so many rows of an output into a record batch of 64-bit numbers; how many they
 * are, or a negative errno. */
int64_t etl_operator_take(struct etl_operator *operator, uint32_t output, int64_t most, struct ArrowArray *out);
/* cffi: end */
#pragma GCC visibility pop
