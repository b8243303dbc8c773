/* The events of a Chrome trace as rows: each object of the array "traceEvents", whose members
 * and members of "args" go to the columns that were asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "imports/json.h"
#include "imports/keys.h"

enum state {
	BEGIN,
	MEMBERS, /* of the object around "traceEvents" */
	EVENTS,
	END,
};

struct etl_events {
	struct rows rows;
	struct keys keys;
	enum state state;
	bool is_bare; /* the file is the array itself */
	uint64_t others; /* elements of the array that are no objects */
	/* Of the event in hand: unescaped texts, and the rest as JSON.  Each has room for the
	 * whole piece, and neither can be longer than what it comes from. */
	char *texts, *rest;
	size_t room, texts_used, rest_used;
};

struct etl_events *etl_events_new(const char *columns)
{
	struct etl_events *events = calloc(1, sizeof *events);
	char types[ETL_MAX_COLUMNS + 1];

	if (!events)
		return NULL;
	if (keys_read(&events->keys, columns, types) < 0)
		goto fail;
	if (rows_init(&events->rows, types) < 0)
		goto fail;
	return events;
fail:
	free(events);
	return NULL;
}

void etl_events_free(struct etl_events *events)
{
	if (!events)
		return;
	rows_free(&events->rows);
	free(events->texts);
	free(events->rest);
	free(events);
}

static bool reserve(struct etl_events *events, size_t bytes)
{
	char *texts, *rest;

	if (bytes <= events->room)
		return true;
	texts = realloc(events->texts, bytes);
	if (texts)
		events->texts = texts;
	rest = realloc(events->rest, bytes);
	if (rest)
		events->rest = rest;
	if (texts && rest)
		events->room = bytes;
	return texts && rest;
}

static void put_text(struct etl_events *events, struct cell *cell, const char *p, const char *end)
{
	if (end - p == 4 && memcmp(p, "null", 4) == 0) {
		cell->kind = CELL_NULL; /* of a name that is there twice, the last counts */
		return;
	}
	cell->kind = CELL_TEXT;
	cell->text.p = p;
	cell->text.n = (size_t)(end - p);
	if (*p != '"')
		return;
	cell->text.p = p + 1;
	cell->text.n -= 2;
	if (memchr(p, '\\', (size_t)(end - p))) {
		char *to = events->texts + events->texts_used;

		cell->text.n = json_unescape(to, p + 1, cell->text.n);
		cell->text.p = to;
		events->texts_used += cell->text.n;
	}
}

static void put_number(struct cell *cell, const char *p, const char *end, int scale)
{
	json_number(cell, p, end, scale);
	if (cell->kind == CELL_NULL && !(end - p == 4 && memcmp(p, "null", 4) == 0))
		cell->kind = CELL_OTHER;
}

static void put_array(struct etl_events *events, int column, const char *p, const char *end)
{
	int last = column + 3 < (int)events->rows.kind.n_columns ?
			   column + 3 :
			   (int)events->rows.kind.n_columns;

	if (*p != '[') {
		put_number(&events->rows.cells[column], p, end, 0);
		return;
	}
	for (p++; column < last; column++) {
		const char *value = json_space(p, end), *behind = value ? json_skip(value, end) : NULL;

		if (!behind || *value == ']')
			return;
		put_number(&events->rows.cells[column], value, behind, 0);
		p = json_space(behind, end);
		if (!p || *p != ',')
			return;
		p++;
	}
}

static void put_value(struct etl_events *events, const struct key *key, const char *p,
		      const char *end)
{
	struct cell *cell = &events->rows.cells[key->column];

	switch ((enum form)key->form) {
	case FORM_INT:
	case FORM_DOUBLE:
		put_number(cell, p, end, 0);
		break;
	case FORM_MICROSECONDS:
		put_number(cell, p, end, 3);
		break;
	case FORM_TEXT:
		put_text(events, cell, p, end);
		break;
	case FORM_ARRAY:
		put_array(events, key->column, p, end);
		break;
	case FORM_REST:
	case FORM_DROP:
		break;
	}
}

/* A member of "args" that has no column: "name":value, with a comma or a brace in front. */
static void put_rest(struct etl_events *events, const char *name, size_t n, const char *value,
		     const char *behind)
{
	char *to = events->rest + events->rest_used;

	*to++ = events->rest_used ? ',' : '{';
	memcpy(to, name - 1, n + 2); /* with its quotes */
	to += n + 2;
	*to++ = ':';
	memcpy(to, value, (size_t)(behind - value));
	to += behind - value;
	events->rest_used = (size_t)(to - events->rest);
}

/* Whether an argument is no number where such should be, as other events may have other ones of its
 * name: then it has no column. */
static bool is_unfit(struct etl_events *events, const struct key *key)
{
	struct cell *cell = &events->rows.cells[key->column];
	bool is_other = cell->kind == CELL_OTHER;

	if (is_other)
		cell->kind = CELL_NULL;
	return is_other;
}

/* The members of an object whose brace has been read, into the row in hand.
 *
 * Returns what is behind the object, or NULL: more is needed, or it is malformed (`*bad`). */
static const char *read_members(struct etl_events *events, const char *p, const char *end,
				int level, const char **bad)
{
	for (;;) {
		const char *name, *value, *behind;
		const struct key *key;
		size_t n;

		p = json_space(p, end);
		if (p && *p == ',')
			p = json_space(p + 1, end);
		if (!p)
			return NULL;
		if (*p == '}')
			return p + 1;
		if (*p != '"') {
			*bad = p;
			return NULL;
		}
		name = p + 1;
		p = json_skip_string(p, end);
		if (!p)
			return NULL;
		n = (size_t)(p - name) - 1;
		p = json_space(p, end);
		if (!p)
			return NULL;
		if (*p != ':') {
			*bad = p;
			return NULL;
		}
		value = json_space(p + 1, end);
		if (!value)
			return NULL;
		if (level == 0 && *value == '{' && n == 4 && memcmp(name, "args", 4) == 0) {
			p = read_members(events, value + 1, end, 1, bad);
			if (!p)
				return NULL;
			continue;
		}
		behind = json_skip(value, end);
		if (behind == value)
			*bad = value;
		if (!behind || *bad)
			return NULL;
		key = keys_find(&events->keys, key_hash(name, n, level));
		if (key->hash)
			put_value(events, key, value, behind);
		if (level == 1 && events->keys.rest_column >= 0 && (!key->hash || is_unfit(events, key)))
			put_rest(events, name, n, value, behind);
		p = behind;
	}
}

/* One element of the array; as read_members. */
static const char *read_event(struct etl_events *events, const char *p, const char *end,
			      const char **bad, int *rc)
{
	memset(events->rows.cells, 0, sizeof events->rows.cells);
	events->texts_used = events->rest_used = 0;
	p = read_members(events, p + 1, end, 0, bad);
	if (!p)
		return NULL;
	if (events->rest_used) {
		struct cell *cell = &events->rows.cells[events->keys.rest_column];

		events->rest[events->rest_used++] = '}';
		cell->kind = CELL_TEXT;
		cell->text.p = events->rest;
		cell->text.n = events->rest_used;
	}
	*rc = rows_append(&events->rows);
	return p;
}

/* A member of the outer object: 1 if the array of events begins, 2 with the member in `out`,
 * 0 if more is needed. */
static int read_outer(struct etl_events *events, const char *p, const char *end, const char *data,
		      struct etl_piece *out, const char **bad)
{
	static const char wanted[] = "traceEvents";
	const char *name = p, *value, *behind = json_skip_string(p, end);
	size_t n;

	value = behind ? json_space(behind, end) : NULL;
	if (value && *value != ':') {
		*bad = value;
		return 0;
	}
	value = value ? json_space(value + 1, end) : NULL;
	if (!value)
		return 0;
	n = (size_t)(behind - name) - 2;
	if (*value == '[' && n == sizeof wanted - 1 && memcmp(name + 1, wanted, n) == 0) {
		events->state = EVENTS;
		out->used = (uint64_t)(value + 1 - data);
		return 1;
	}
	behind = json_skip(value, end);
	if (behind == value)
		*bad = value;
	if (!behind || *bad)
		return 0;
	out->name_at = (uint64_t)(name - data);
	out->value_at = (uint64_t)(value - data);
	out->used = (uint64_t)(behind - data);
	return 2;
}

static int malformed(const char *data, const char *bad, struct etl_piece *out)
{
	out->used = (uint64_t)(bad - data);
	return -EBADMSG;
}

int etl_events_read(struct etl_events *events, const char *data, uint64_t bytes, int64_t most,
		    struct etl_piece *out)
{
	const char *p = data, *end = data + bytes, *bad = NULL;
	int rc = 0;

	memset(out, 0, sizeof *out);
	if (!reserve(events, bytes + 64))
		return -ENOMEM;
	for (;;) {
		const char *next = json_space(p, end);

		/* Space and commas are done with; an element that is not whole is not. */
		if (!next) {
			out->used = bytes;
			return ETL_EVENTS_MORE;
		}
		p = next;
		out->used = (uint64_t)(p - data);
		if (events->state == END)
			return malformed(data, p, out);
		if (*p == ',' && events->state != BEGIN) {
			p++;
			continue;
		}
		if (events->state == BEGIN && end - p >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
			p += 3; /* the mark of UTF-8 that some editors write */
		} else if (events->state == BEGIN) {
			if (*p != '{' && *p != '[')
				return malformed(data, p, out);
			events->is_bare = *p == '[';
			events->state = events->is_bare ? EVENTS : MEMBERS;
			p++;
		} else if (events->state == MEMBERS && *p == '}') {
			events->state = END;
			out->used++;
			return ETL_EVENTS_END;
		} else if (events->state == MEMBERS) {
			if (*p != '"')
				return malformed(data, p, out);
			rc = read_outer(events, p, end, data, out, &bad);
			if (bad)
				return malformed(data, bad, out);
			if (rc != 1)
				return rc == 2 ? ETL_EVENTS_MEMBER : ETL_EVENTS_MORE;
			p = data + out->used;
		} else if (*p == ']') {
			events->state = events->is_bare ? END : MEMBERS;
			out->used++;
			if (events->is_bare)
				return ETL_EVENTS_END;
			p++;
		} else {
			if (*p == '{') {
				next = read_event(events, p, end, &bad, &rc);
			} else {
				next = json_skip(p, end);
				bad = next == p ? p : NULL;
				events->others += next != NULL;
			}
			if (bad)
				return malformed(data, bad, out);
			if (!next)
				return ETL_EVENTS_MORE;
			if (rc < 0)
				return rc;
			p = next;
			if (rows_count(&events->rows) >= most) {
				out->used = (uint64_t)(p - data);
				return ETL_EVENTS_FULL;
			}
		}
	}
}

int64_t etl_events_rows(const struct etl_events *events)
{
	return rows_count(&events->rows);
}

uint64_t etl_events_unfit(const struct etl_events *events, uint32_t column)
{
	return column < events->rows.kind.n_columns ? events->rows.unfit[column] : 0;
}

uint64_t etl_events_others(const struct etl_events *events)
{
	return events->others;
}

int etl_events_take(struct etl_events *events, struct ArrowArray *out)
{
	return rows_take(&events->rows, out);
}
