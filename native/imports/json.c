
#include <stdlib.h>
#include <string.h>

#include "etl/utf8.h"
#include "imports/json.h"

const char *json_skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return NULL;
}

static bool ends_word(char c)
{
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' ||
	       c == '\t' || c == ':';
}

const char *json_skip(const char *p, const char *end)
{
	size_t depth = 0;

	if (p >= end)
		return NULL;
	if (*p == '"')
		return json_skip_string(p, end);
	if (*p != '{' && *p != '[') {
		while (p < end && !ends_word(*p))
			p++;
		return p < end ? p : NULL;
	}
	while (p < end) {
		if (*p == '"') {
			p = json_skip_string(p, end);
			if (!p)
				return NULL;
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if ((*p == '}' || *p == ']') && --depth == 0)
			return p + 1;
		p++;
	}
	return NULL;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code unit of \uXXXX behind the u, or -1. */
static int32_t code_unit(const char *p, const char *end)
{
	int32_t unit = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex(p[i]);

		if (digit < 0)
			return -1;
		unit = unit << 4 | digit;
	}
	return unit;
}

size_t json_unescape(char *out, const char *p, size_t n)
{
	static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
	const char *end = p + n;
	char *to = out;

	while (p < end) {
		const char *name;
		int32_t unit, low;

		if (*p != '\\' || p + 1 == end) {
			*to++ = *p++;
			continue;
		}
		p++;
		unit = *p == 'u' ? code_unit(p + 1, end) : -1;
		if (unit >= 0) {
			p += 5;
			low = end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? code_unit(p + 2, end) : -1;
			if (unit >> 10 == 0xD800 >> 10 && low >> 10 == 0xDC00 >> 10) {
				unit = 0x10000 + ((unit & 0x3FF) << 10 | (low & 0x3FF));
				p += 6;
			}
			to += etl_put_utf8(to, (uint32_t)unit);
			continue;
		}
		name = memchr(names, *p, sizeof names - 1);
		*to++ = name ? values[name - names] : *p;
		p++;
	}
	return (size_t)(to - out);
}

static void inexact(struct cell *out, const char *p, size_t n, int scale)
{
	char copy[64], *end;

	if (n >= sizeof copy)
		return;
	memcpy(copy, p, n);
	copy[n] = 0;
	out->number = strtod(copy, &end);
	if (end != copy + n || !n)
		return;
	out->kind = CELL_DOUBLE;
	if (!scale)
		return;
	for (; scale; scale--)
		out->number *= 10;
	if (out->number < 0x1p63 && out->number > -0x1p63) {
		out->kind = CELL_INT;
		out->integer = (int64_t)(out->number + (out->number < 0 ? -0.5 : 0.5));
	}
}

void json_number(struct cell *out, const char *p, const char *end, int scale)
{
	const char *begin;
	uint64_t value = 0;
	int digits = 0, fraction = -1, round = 0;
	bool negative;

	out->kind = CELL_NULL;
	if (end - p >= 2 && *p == '"') {
		p++;
		end--;
	}
	begin = p;
	negative = p < end && *p == '-';
	p += negative;
	for (; p < end; p++) {
		if (*p == '.' && fraction < 0) {
			fraction = 0;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		if (fraction >= scale) {
			if (fraction++ == scale)
				round = *p >= '5';
			if (!scale && *p != '0')
				break; /* a fraction that may not be lost */
			continue;
		}
		/* Unsigned 64-bit numbers are stored as their bits. */
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			break;
		digits++;
		if (fraction >= 0)
			fraction++;
	}
	if (p < end || !digits) {
		inexact(out, begin, (size_t)(end - begin), scale);
		return;
	}
	for (int i = fraction < 0 ? 0 : fraction; i < scale; i++)
		if (__builtin_mul_overflow(value, 10, &value)) {
			inexact(out, begin, (size_t)(end - begin), scale);
			return;
		}
	value += (uint64_t)round;
	if (scale && value > INT64_MAX)
		return; /* no time that nanoseconds can count */
	out->kind = CELL_INT;
	out->integer = (int64_t)(negative ? 0 - value : value);
}
