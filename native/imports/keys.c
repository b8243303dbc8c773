
#include <errno.h>
#include <string.h>

#include "etl/hash.h"
#include "etl/kinds.h"
#include "imports/keys.h"

uint64_t key_hash(const char *p, size_t n, int level)
{
	uint64_t hash = etl_hash(p, n) ^ (uint64_t)level;

	return hash ? hash : 1;
}

struct key *keys_find(struct keys *keys, uint64_t hash)
{
	size_t i = hash % N_KEYS;

	while (keys->table[i].hash && keys->table[i].hash != hash)
		i = (i + 1) % N_KEYS;
	return &keys->table[i];
}

static int form_of(char letter)
{
	static const char letters[] = "idtsa*-";
	const char *at = strchr(letters, letter);

	return letter && at ? (int)(at - letters) : -1;
}

/* One line of the list of columns: a letter, a space, a path. */
static int add_column(struct keys *keys, const char *line, size_t n, char *types, size_t *n_types)
{
	int form = n > 2 ? form_of(line[0]) : -1, level = 0;
	const char *path = line + 2;
	struct key *key;

	if (n > 2 && line[0] == '+')
		form = FORM_INT;
	if (form < 0 || *n_types >= ETL_MAX_COLUMNS)
		return -EINVAL;
	n -= 2;
	if (n > 5 && memcmp(path, "args.", 5) == 0) {
		path += 5;
		n -= 5;
		level = 1;
	}
	if (form == FORM_REST)
		keys->rest_column = (int)*n_types;
	if (line[0] != '+' && form != FORM_REST) {
		uint64_t hash = key_hash(path, n, level);

		key = keys_find(keys, hash);
		key->hash = hash;
		key->form = (uint8_t)form;
		key->column = (int16_t)*n_types;
	}
	if (form != FORM_DROP)
		types[(*n_types)++] = form == FORM_TEXT || form == FORM_REST ? 's' :
				      form == FORM_DOUBLE		     ? 'd' :
									       'i';
	return 0;
}

int keys_read(struct keys *keys, const char *columns, char *types)
{
	size_t n_types = 0;

	keys->rest_column = -1;
	while (*columns) {
		size_t n = strcspn(columns, "\n");
		int rc = add_column(keys, columns, n, types, &n_types);

		if (rc < 0)
			return rc;
		columns += n + (columns[n] == '\n');
	}
	types[n_types] = 0;
	return 0;
}
