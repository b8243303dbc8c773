/* The code that a program loads onto its GPUs, each cubin once. */
#pragma once

/* What CUPTI tells of a module that was loaded: CUpti_ModuleResourceData. */
void etl_pc_cubin_loaded(const void *module);
void etl_pc_cubins_forget(void);
