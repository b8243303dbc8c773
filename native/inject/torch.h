/* --pytorch: operators and modules of PyTorch as ranges; see torch.c. */
#pragma once

/* A session begins, or is over. */
void etl_torch_begin(void);
void etl_torch_end(void);
/* Before the last word of a session. */
void etl_torch_finish(void);
