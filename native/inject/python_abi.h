/* The part of Python's stable ABI that is used here: the same in every version since 3.10, so that
 * it needs no header of Python's.  Objects and types are `void *`. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "etl/error.h"

struct etl_method {
	const char *name;
	void *function;
	int flags;
	const char *doc;
};
enum { TAKES_NOTHING = 0x4, TAKES_ONE = 0x8, TAKES_MANY = 0x80, TAKES_NAMED = 0x2 };

struct etl_type_slot {
	int slot;
	void *value;
};
enum { SLOT_CALL = 50, SLOT_DEALLOC = 52, SLOT_METHODS = 64, SLOT_REPR = 66 };

struct etl_type_spec {
	const char *name;
	int basic_size, item_size;
	unsigned flags;
	struct etl_type_slot *slots;
};
/* Py_TPFLAGS_DEFAULT, and what PyType_GetFlags tells of types of objects. */
#define FLAGS_DEFAULT (1u << 18)
#define IS_INTEGER (1ul << 24)
#define IS_LIST (1ul << 25)
#define IS_TUPLE (1ul << 26)
#define IS_TEXT (1ul << 28)

struct etl_python_abi {
	void *(*type_from_spec)(struct etl_type_spec *);
	void *(*type_alloc)(void *, ssize_t);
	void (*free)(void *);
	void *(*function)(struct etl_method *, void *, void *);
	void (*incref)(void *);
	void (*decref)(void *);
	const char *(*utf8)(void *, ssize_t *);
	void *(*encode)(void *, const char *, const char *);
	int (*bytes)(void *, char **, ssize_t *);
	int (*is_instance)(void *, void *);
	void (*clear_error)(void);
	void (*raise)(void *, const char *);
	void *(*tuple_item)(void *, ssize_t);
	ssize_t (*tuple_size)(void *);
	void *(*new_tuple)(ssize_t);
	void *(*attribute)(void *, const char *);
	void *(*new_dict)(void);
	int (*dict_set)(void *, void *, void *);
	int (*dict_set_name)(void *, const char *, void *);
	void *(*new_integer)(unsigned long long);
	void *(*new_signed)(long long);
	unsigned long long (*unsigned_integer)(void *);
	long long (*integer)(void *, int *);
	void *(*modules)(void);
	void *(*dict_get)(void *, void *);
	void *(*call)(void *, void *);
	void *(*call_with)(void *, ...);
	void *(*format)(const char *, ...);
	int (*is_true)(void *);
	void *(*new_text)(const char *);
	int (*dict_next)(void *, ssize_t *, void **, void **);
	void *(*type_of)(void *);
	unsigned long (*type_flags)(void *);
	double (*real)(void *);
	void *(*as_text)(void *);
	ssize_t (*length)(void *);
	void *(*item)(void *, ssize_t);
	void *none, *yes, *no, *text_type, *real_type, *type_error;
};

extern struct etl_python_abi etl_python;

/* Finds all of it; false, with a sentence, where this is no such interpreter. */
bool etl_python_find(struct etl_error *error);
