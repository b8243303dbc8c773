/* Sizes and types of an operator's inputs, as text; see torch.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds what tells of them; false if this PyTorch has it not. */
bool etl_torch_inputs_open(void *library);
/* ", sizes = [[2, 3], []], types = ["float", "Scalar"]", and how long that is; without room for
 * all of it, or without inputs, nothing. */
size_t etl_torch_inputs(const void *function, char *text, size_t room);
