/* Characters as UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Writes a character, in at most four bytes; how many these are. */
static inline size_t etl_put_utf8(char *out, uint32_t c)
{
	/* Half of a pair of surrogates is no character; JSON and the name of a file can have one. */
	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
