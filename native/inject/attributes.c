#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "inject/attributes.h"
#include "inject/python_abi.h"

/* What lies in each other deeper than that is written by str(). */
#define DEEPEST 8

struct out {
	char *at;
	size_t used, size;
	bool is_full;
};

static void put(struct out *out, const char *text, size_t length)
{
	if (length > out->size - out->used) {
		out->is_full = true;
		return;
	}
	memcpy(out->at + out->used, text, length);
	out->used += length;
}

static void put_quoted(struct out *out, const char *text, size_t length)
{
	put(out, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		char escape[8];

		if (c == '"' || c == '\\')
			put(out, (char[]){ '\\', (char)c }, 2);
		else if (c >= 0x20)
			put(out, text + i, 1);
		else
			put(out, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
	}
	put(out, "\"", 1);
}

static void put_text(struct out *out, void *text)
{
	void *encoded = etl_python.encode(text, "utf-8", "backslashreplace");
	ssize_t length;
	char *bytes;

	if (encoded && etl_python.bytes(encoded, &bytes, &length) == 0) {
		put_quoted(out, bytes, (size_t)length);
	} else {
		etl_python.clear_error();
		put(out, "null", 4);
	}
	if (encoded)
		etl_python.decref(encoded);
}

/* Whatever it is; a str() that fails is as none. */
static void put_other(struct out *out, void *value)
{
	void *text = etl_python.as_text(value);

	if (!text) {
		etl_python.clear_error();
		put(out, "null", 4);
		return;
	}
	put_text(out, text);
	etl_python.decref(text);
}

static void put_integer(struct out *out, void *value)
{
	int is_over = 0;
	long long number = etl_python.integer(value, &is_over);
	char text[32];

	if (is_over)
		put_other(out, value);
	else
		put(out, text, (size_t)snprintf(text, sizeof text, "%lld", number));
}

static void put_real(struct out *out, void *value)
{
	double number = etl_python.real(value);
	char text[40];
	int length;

	if (!isfinite(number)) {
		put_other(out, value); /* JSON has no such number */
		return;
	}
	/* The shortest that is read as the same number. */
	for (int digits = 15; digits <= 17; digits++) {
		double again;

		length = snprintf(text, sizeof text, "%.*g", digits, number);
		if (sscanf(text, "%lf", &again) == 1 && !(again < number) && !(again > number))
			break;
	}
	/* The program's locale may have another point. */
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.';
	put(out, text, (size_t)length);
}

static void put_value(struct out *out, void *value, int depth);

static void put_items(struct out *out, void *list, int depth)
{
	ssize_t n = etl_python.length(list);

	put(out, "[", 1);
	for (ssize_t i = 0; i < n && !out->is_full; i++) {
		void *item = etl_python.item(list, i);

		if (!item) {
			etl_python.clear_error(); /* it has become shorter */
			break;
		}
		if (i)
			put(out, ", ", 2);
		put_value(out, item, depth + 1);
		etl_python.decref(item);
	}
	put(out, "]", 1);
}

static void put_value(struct out *out, void *value, int depth)
{
	void *type = etl_python.type_of(value);
	unsigned long flags = etl_python.type_flags(type);

	etl_python.decref(type);
	if (value == etl_python.none)
		put(out, "null", 4);
	else if (value == etl_python.yes)
		put(out, "true", 4);
	else if (value == etl_python.no)
		put(out, "false", 5);
	else if (flags & IS_INTEGER)
		put_integer(out, value);
	else if (flags & IS_TEXT)
		put_text(out, value);
	else if (flags & (IS_LIST | IS_TUPLE) && depth < DEEPEST)
		put_items(out, value, depth);
	else if (etl_python.is_instance(value, etl_python.real_type) == 1)
		put_real(out, value);
	else
		put_other(out, value);
}

size_t etl_attributes(void *dictionary, char *out, size_t size)
{
	struct out json = { out, 0, size, false };
	void *key, *value;
	ssize_t at = 0;

	put(&json, "{", 1);
	while (etl_python.dict_next(dictionary, &at, &key, &value)) {
		if (json.used > 1)
			put(&json, ", ", 2);
		put_text(&json, key);
		put(&json, ": ", 2);
		put_value(&json, value, 0);
	}
	put(&json, "}", 1);
	return json.is_full ? 0 : json.used;
}
