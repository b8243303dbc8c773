/* Sizes and types of an operator's inputs, as text; see torch.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finds what tells of them; false if this PyTorch has it not. */
bool etl_torch_inputs_open(void *library);

/* c10::IValue: what an operator is called with. */
struct etl_torch_value {
	const uint64_t *payload; /* of a tensor its at::TensorImpl */
	uint32_t tag, padding;
};

/* Where a tensor's dispatch keys lie is looked for in tensors whose keys are known, and which bits
 * say that it computes its sizes itself in tensors that differ in that alone.  Such tensors, and
 * those with one of `others`, are never asked for sizes: that may call Python, or they have none. */
void etl_torch_keys_begin(uint64_t others);
void etl_torch_keys_look(const struct etl_torch_value *tensor);
/* The keys of the tensor that was looked at last. */
void etl_torch_keys_compare(uint64_t keys);
/* Whether that one computes its sizes. */
void etl_torch_flags_compare(bool computes_sizes);
/* Whether both were found. */
bool etl_torch_keys_end(void);

/* ", sizes = [[2, 3], []], types = ["float", "Scalar"]", and how long that is; without room for
 * all of it, without inputs, or where one is not to be asked, nothing. */
size_t etl_torch_inputs(const void *function, const struct etl_torch_value *inputs, size_t n,
			char *text, size_t room);
