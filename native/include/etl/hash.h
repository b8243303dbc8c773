/* The content key of a string: 64 bits that name it in every process.
 *
 * Injector and collector must agree, so the function lives here once.  It is a
 * multiply-and-fold hash (eight bytes a step); two of a million different strings
 * share a key with a probability of about 3e-8.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t etl_fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Never 0: 0 stands for "no string". */
static inline uint64_t etl_hash(const void *data, size_t length)
{
	const uint8_t *p = data;
	uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ length;
	uint64_t word;

	for (; length >= 8; length -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = etl_fold(h ^ word, UINT64_C(0xD6E8FEB86659FD93));
	}
	word = 0;
	memcpy(&word, p, length);
	h = etl_fold(h ^ word, UINT64_C(0xA0761D6478BD642F));
	h = etl_fold(h ^ UINT64_C(0xE7037ED1A0B428DB), UINT64_C(0x8EBC6AF09C88C6E3));
	return h ? h : 1;
}

/* The key of any text.  Of texts of less than eight bytes etl_hash() gives some the same, such as ""
 * and "\1", as the length is undone by the bytes; recordings hold what it gives, so it stays. */
static inline uint64_t etl_text_key(const void *data, size_t length)
{
	return etl_fold(etl_hash(data, length) ^ length, UINT64_C(0x8EBC6AF09C88C6E3));
}
