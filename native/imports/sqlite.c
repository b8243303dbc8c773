/* Rows of a table of an SQLite file, in the order of their ids, straight from its pages.
 *
 * Python's sqlite3 makes an object of each value and reads 100,000 wide rows a second.  The
 * file format is documented and fixed (https://www.sqlite.org/fileformat2.html); this reads
 * the one part of it that a finished, unencrypted database needs: table b-trees.  Which
 * tables and columns there are is sqlite3's to say.  Nothing in the file is trusted. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "imports/rows.h"

#define MAX_DEPTH 20 /* SQLite's own limit */
#define MAX_FIELDS 2000 /* SQLite's default limit */
#define INTERIOR 0x05
#define LEAF 0x0d

struct level {
	uint8_t *page;
	uint32_t number; /* from 1 */
	uint32_t cell, n_cells;
};

struct etl_sqlite {
	struct rows rows;
	int fd;
	uint32_t page_bytes, usable;
	int32_t column_of[MAX_FIELDS]; /* by field: the column + 1 */
	int32_t id_column; /* -1: not asked for */
	uint32_t n_fields; /* up to the last one that is wanted */
	uint32_t root;
	struct level levels[MAX_DEPTH];
	int depth; /* levels in use; 0: not begun, or over */
	bool has_begun;
	uint64_t file_bytes, pages; /* of the file; no table has more */
	uint8_t *payload; /* of a row that does not fit into its page */
	size_t payload_room;
};

static uint32_t big16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t big32(const uint8_t *p)
{
	return big16(p) << 16 | big16(p + 2);
}

/* Bytes of the number at p, or 0 if it does not end before `end`. */
static size_t varint(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
	uint64_t value = 0;

	for (size_t i = 0; i < 9 && p + i < end; i++) {
		if (i == 8) {
			*out = value << 8 | p[i];
			return 9;
		}
		value = value << 7 | (p[i] & 0x7F);
		if (!(p[i] & 0x80)) {
			*out = value;
			return i + 1;
		}
	}
	return 0;
}

static int say(struct etl_error *error, int code, const char *what, uint32_t page)
{
	return etl_fail(error, code, "%s (page %u)", what, page);
}

static int read_page(const struct etl_sqlite *table, uint32_t number, uint8_t *page,
		     struct etl_error *error)
{
	ssize_t got;

	if (!number)
		return say(error, EBADMSG, "a page refers to page 0", number);
	got = pread(table->fd, page, table->page_bytes,
		    (off_t)(number - 1) * (off_t)table->page_bytes);
	if (got < 0)
		return say(error, errno, strerror(errno), number);
	if ((size_t)got < table->page_bytes)
		return say(error, ENODATA, "the file ends within a page", number);
	return 0;
}

static const uint8_t *page_header(const struct level *level)
{
	return level->page + (level->number == 1 ? 100 : 0);
}

static int descend(struct etl_sqlite *table, uint32_t number, struct etl_error *error)
{
	struct level *level;
	const uint8_t *header;
	uint32_t room;
	int rc;

	if (table->depth == MAX_DEPTH || !table->pages--)
		return say(error, EBADMSG, "its pages refer to each other in a circle", number);
	level = &table->levels[table->depth];
	if (!level->page)
		level->page = malloc(table->page_bytes);
	if (!level->page)
		return say(error, ENOMEM, "no memory", number);
	rc = read_page(table, number, level->page, error);
	if (rc < 0)
		return rc;
	level->number = number;
	level->cell = 0;
	header = page_header(level);
	if (header[0] != LEAF && header[0] != INTERIOR)
		return say(error, EBADMSG, "a page is not part of a table", number);
	level->n_cells = big16(header + 3);
	room = table->usable - (number == 1 ? 100 : 0) - (header[0] == LEAF ? 8 : 12);
	if (level->n_cells * 2 > room)
		return say(error, EBADMSG, "a page has too many cells", number);
	table->depth++;
	return 0;
}

/* The cell of a page, or NULL if it lies outside. */
static const uint8_t *cell_of(const struct etl_sqlite *table, const struct level *level,
			      uint32_t cell)
{
	const uint8_t *header = page_header(level);
	uint32_t at = big16(header + (header[0] == LEAF ? 8 : 12) + 2 * cell);

	return at + 4 < table->usable ? level->page + at : NULL;
}

/* The whole payload of a row, whose first `local` bytes are at p and are followed by the
 * number of the page with the next. */
static int gather_payload(struct etl_sqlite *table, const uint8_t *p, uint64_t local,
			  uint64_t bytes, struct etl_error *error)
{
	uint32_t next = big32(p + local), number = table->levels[table->depth - 1].number;
	uint8_t *page;
	int rc = 0;

	if (bytes > INT32_MAX || bytes > table->file_bytes)
		return say(error, EBADMSG, "a row is too large", number);
	if (bytes + table->page_bytes > table->payload_room) {
		uint8_t *room = realloc(table->payload, bytes + table->page_bytes);

		if (!room)
			return say(error, ENOMEM, "no memory", number);
		table->payload = room;
		table->payload_room = bytes + table->page_bytes;
	}
	memcpy(table->payload, p, local);
	page = malloc(table->page_bytes);
	if (!page)
		return say(error, ENOMEM, "no memory", number);
	while (local < bytes && rc == 0) {
		uint64_t n = bytes - local < table->usable - 4 ? bytes - local : table->usable - 4;

		number = next;
		rc = read_page(table, number, page, error);
		if (rc == 0)
			memcpy(table->payload + local, page + 4, n);
		next = big32(page);
		local += n;
	}
	free(page);
	return rc;
}

/* A value of a record into a cell; `type` is its serial type, `p` has its bytes. */
static void read_value(struct cell *cell, uint64_t type, const uint8_t *p, uint64_t n)
{
	uint64_t bits = 0;

	if (type >= 12) {
		cell->kind = CELL_TEXT;
		cell->text.p = (const char *)p;
		cell->text.n = n;
	} else if (type == 8 || type == 9) {
		cell->kind = CELL_INT;
		cell->integer = (int64_t)type - 8;
	} else if (type >= 1 && type <= 7) {
		/* Big-endian, two's complement; widened by its sign. */
		bits = p[0] & 0x80 && type != 7 ? ~UINT64_C(0) : 0;
		for (uint64_t i = 0; i < n; i++)
			bits = bits << 8 | p[i];
		cell->kind = type == 7 ? CELL_DOUBLE : CELL_INT;
		if (type == 7)
			memcpy(&cell->number, &bits, sizeof bits);
		else
			cell->integer = (int64_t)bits;
	}
}

static uint64_t value_bytes(uint64_t type)
{
	static const uint8_t bytes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

	return type < 12 ? bytes[type] : (type - 12) / 2;
}

static int read_record(struct etl_sqlite *table, const uint8_t *p, uint64_t bytes,
		       struct etl_error *error)
{
	const uint8_t *end = p + bytes, *type_at, *values;
	uint32_t number = table->levels[table->depth - 1].number;
	uint64_t header, type;
	size_t step = varint(p, end, &header);

	if (!step || header > bytes || header < step)
		return say(error, EBADMSG, "a row has no header", number);
	type_at = p + step;
	values = p + header;
	for (uint32_t field = 0; field < table->n_fields && type_at < p + header; field++) {
		uint64_t n;
		int32_t column = table->column_of[field];

		step = varint(type_at, p + header, &type);
		if (!step)
			return say(error, EBADMSG, "a row's header does not end", number);
		type_at += step;
		n = value_bytes(type);
		if (n > (uint64_t)(end - values))
			return say(error, EBADMSG, "a value is longer than its row", number);
		if (column)
			read_value(&table->rows.cells[column - 1], type, values, n);
		values += n;
	}
	return 0;
}

static int read_leaf_cell(struct etl_sqlite *table, const struct level *level, uint32_t cell,
			  struct etl_error *error)
{
	const uint8_t *p = cell_of(table, level, cell), *end = level->page + table->usable;
	uint64_t bytes, id, local;
	uint32_t most = table->usable - 35, least = (table->usable - 12) * 32 / 255 - 23;
	size_t a, b;
	int rc;

	a = p ? varint(p, end, &bytes) : 0;
	b = a ? varint(p + a, end, &id) : 0;
	if (!b)
		return say(error, EBADMSG, "a row lies outside of its page", level->number);
	p += a + b;
	local = bytes;
	if (bytes > most) {
		local = least + (bytes - least) % (table->usable - 4);
		if (local > most)
			local = least;
	}
	if (local + (bytes > most ? 4 : 0) > (uint64_t)(end - p))
		return say(error, EBADMSG, "a row is longer than its page", level->number);
	if (bytes > most) {
		rc = gather_payload(table, p, local, bytes, error);
		if (rc < 0)
			return rc;
		p = table->payload;
	}
	rc = read_record(table, p, bytes, error);
	if (rc < 0)
		return rc;
	/* In the record, the field that stands for the id is NULL. */
	if (table->id_column >= 0) {
		table->rows.cells[table->id_column].kind = CELL_INT;
		table->rows.cells[table->id_column].integer = (int64_t)id;
	}
	return rows_append(&table->rows) < 0 ? say(error, ENOMEM, "no memory", level->number) : 0;
}

/* One step through the tree: a row, or the way to the next page. */
static int advance(struct etl_sqlite *table, struct etl_error *error)
{
	struct level *level = &table->levels[table->depth - 1];
	const uint8_t *header = page_header(level), *cell;
	uint32_t at = level->cell++;

	/* An inner page has one child more than cells. */
	if (at >= level->n_cells + (header[0] == INTERIOR)) {
		table->depth--;
		return 0;
	}
	if (header[0] == LEAF)
		return read_leaf_cell(table, level, at, error);
	if (at == level->n_cells)
		return descend(table, big32(header + 8), error);
	cell = cell_of(table, level, at);
	if (!cell)
		return say(error, EBADMSG, "a page refers to nothing", level->number);
	return descend(table, big32(cell), error);
}

struct etl_sqlite *etl_sqlite_new(int fd, uint32_t root, const char *types, const int32_t *fields,
				  struct etl_error *error)
{
	struct etl_sqlite *table = calloc(1, sizeof *table);
	uint8_t header[100];
	off_t bytes = lseek(fd, 0, SEEK_END);

	if (!table || rows_init(&table->rows, types) < 0 ||
	    pread(fd, header, sizeof header, 0) != sizeof header) {
		say(error, EINVAL, "it cannot be read", 1);
		free(table);
		return NULL;
	}
	table->fd = fd;
	table->root = root;
	table->page_bytes = big16(header + 16) == 1 ? 65536 : big16(header + 16);
	table->usable = table->page_bytes - header[20];
	table->id_column = -1;
	table->file_bytes = bytes < 0 ? 0 : (uint64_t)bytes;
	if (table->page_bytes < 512 || table->usable < 480 || big32(header + 56) > 1) {
		say(error, EINVAL, "its pages are of an unknown form", 1);
		free(table);
		return NULL;
	}
	table->pages = table->file_bytes / table->page_bytes;
	for (uint32_t i = 0; i < table->rows.kind.n_columns; i++) {
		if (fields[i] < 0) {
			table->id_column = (int32_t)i;
		} else if (fields[i] < MAX_FIELDS) {
			table->column_of[fields[i]] = (int32_t)i + 1;
			if ((uint32_t)fields[i] >= table->n_fields)
				table->n_fields = (uint32_t)fields[i] + 1;
		}
	}
	return table;
}

void etl_sqlite_free(struct etl_sqlite *table)
{
	if (!table)
		return;
	for (int i = 0; i < MAX_DEPTH; i++)
		free(table->levels[i].page);
	free(table->payload);
	rows_free(&table->rows);
	free(table);
}

int64_t etl_sqlite_read(struct etl_sqlite *table, int64_t most, struct etl_error *error)
{
	int rc = 0;

	if (!table->has_begun) {
		table->has_begun = true;
		rc = descend(table, table->root, error);
	}
	while (rc == 0 && table->depth && rows_count(&table->rows) < most)
		rc = advance(table, error);
	return rc < 0 ? rc : rows_count(&table->rows);
}

uint64_t etl_sqlite_unfit(const struct etl_sqlite *table, uint32_t column)
{
	return column < table->rows.kind.n_columns ? table->rows.unfit[column] : 0;
}

int etl_sqlite_take(struct etl_sqlite *table, struct ArrowArray *out)
{
	return rows_take(&table->rows, out);
}
