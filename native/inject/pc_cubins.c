#include "inject/injector.h"
#include "inject/keys.h"
#include "inject/pc_cubins.h"
#include "inject/pc_params.h"
#include "inject/pc_rows.h"

/* A cubin that is larger, or comes when so many bytes have been kept, has a row without bytes. */
#define MOST_BYTES ((uint64_t)64 << 20)
#define MOST_BYTES_OF_ALL ((uint64_t)512 << 20)

/* CUpti_ModuleResourceData. */
struct module {
	uint32_t id;
	size_t bytes;
	const uint8_t *cubin;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct etl_keys known; /* of cubins that have rows, by their CRC */
static uint64_t kept; /* bytes */

/* Whether it is new, and its bytes are to be kept.  A CRC of 0 is none that `known` can hold. */
static bool is_new(uint64_t crc, size_t bytes, bool *is_kept)
{
	uint64_t key = crc ? crc : 1;
	bool is_first;

	pthread_mutex_lock(&lock);
	is_first = etl_keys_reserve(&known) && !etl_keys_have(&known, key);
	if (is_first)
		etl_keys_add(&known, key);
	*is_kept = is_first && bytes <= MOST_BYTES && kept + bytes <= MOST_BYTES_OF_ALL;
	if (*is_kept)
		kept += bytes;
	pthread_mutex_unlock(&lock);
	return is_first;
}

void etl_pc_cubin_loaded(const void *info)
{
	const struct cupti_api *cupti = &etl_injector.cupti;
	const struct module *module = info;
	struct pc_cubin_crc crc = PM_PARAMS(pc_cubin_crc, crc);
	struct etl_pc_cubin piece = { 0 };
	bool is_kept;

	if (!module || !module->cubin || !module->bytes || !cupti->cubin_crc)
		return;
	crc.bytes = module->bytes;
	crc.cubin = module->cubin;
	if (cupti->cubin_crc(&crc) != CUPTI_OK || !is_new(crc.crc, module->bytes, &is_kept))
		return;
	piece.cubin_crc = crc.crc;
	piece.size = module->bytes;
	if (!is_kept) {
		(void)etl_pc_rows_cubin(piece, NULL);
		return;
	}
	for (uint64_t at = 0; at < module->bytes; at += piece.length) {
		uint64_t left = module->bytes - at;

		piece.at = (uint32_t)at;
		piece.length = (uint32_t)(left < ETL_PC_CUBIN_PIECE ? left : ETL_PC_CUBIN_PIECE);
		(void)etl_pc_rows_cubin(piece, module->cubin + at);
	}
}

void etl_pc_cubins_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	etl_keys_clear(&known);
	kept = 0;
}
