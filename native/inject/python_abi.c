#include <errno.h>
#include <string.h>

#include "etl/libcupti.h"
#include "inject/python_abi.h"

struct etl_python_abi etl_python;

#define WANTED(member, symbol) ETL_REQUIRED(etl_python_abi, member, symbol)
static const struct etl_symbol symbols[] = {
	WANTED(type_from_spec, "PyType_FromSpec"),
	WANTED(type_alloc, "PyType_GenericAlloc"),
	WANTED(free, "PyObject_Free"),
	WANTED(function, "PyCFunction_NewEx"),
	WANTED(incref, "Py_IncRef"),
	WANTED(decref, "Py_DecRef"),
	WANTED(utf8, "PyUnicode_AsUTF8AndSize"),
	WANTED(encode, "PyUnicode_AsEncodedString"),
	WANTED(bytes, "PyBytes_AsStringAndSize"),
	WANTED(is_instance, "PyObject_IsInstance"),
	WANTED(clear_error, "PyErr_Clear"),
	WANTED(raise, "PyErr_SetString"),
	WANTED(tuple_item, "PyTuple_GetItem"),
	WANTED(tuple_size, "PyTuple_Size"),
	WANTED(new_tuple, "PyTuple_New"),
	WANTED(attribute, "PyObject_GetAttrString"),
	WANTED(new_dict, "PyDict_New"),
	WANTED(dict_set, "PyDict_SetItem"),
	WANTED(dict_set_name, "PyDict_SetItemString"),
	WANTED(new_integer, "PyLong_FromUnsignedLongLong"),
	WANTED(new_signed, "PyLong_FromLongLong"),
	WANTED(unsigned_integer, "PyLong_AsUnsignedLongLong"),
	WANTED(integer, "PyLong_AsLongLongAndOverflow"),
	WANTED(modules, "PyImport_GetModuleDict"),
	WANTED(dict_get, "PyDict_GetItem"),
	WANTED(call, "PyObject_CallObject"),
	WANTED(call_with, "PyObject_CallFunctionObjArgs"),
	WANTED(format, "PyUnicode_FromFormat"),
	WANTED(is_true, "PyObject_IsTrue"),
	WANTED(new_text, "PyUnicode_FromString"),
	WANTED(text_type, "PyUnicode_Type"),
	WANTED(none, "_Py_NoneStruct"),
	WANTED(type_error, "PyExc_TypeError"),
	WANTED(dict_next, "PyDict_Next"),
	WANTED(type_of, "PyObject_Type"),
	WANTED(type_flags, "PyType_GetFlags"),
	WANTED(real, "PyFloat_AsDouble"),
	WANTED(as_text, "PyObject_Str"),
	WANTED(length, "PySequence_Size"),
	WANTED(item, "PySequence_GetItem"),
	WANTED(yes, "_Py_TrueStruct"),
	WANTED(no, "_Py_FalseStruct"),
	WANTED(real_type, "PyFloat_Type"),
};

bool etl_python_find(struct etl_error *error)
{
	const char *missing = etl_resolve(RTLD_DEFAULT, symbols, sizeof symbols / sizeof *symbols,
					  &etl_python);

	if (missing) {
		etl_fail(error, ENOSYS, "this interpreter has no %s", missing);
		return false;
	}
	/* Of an exception, it is where its address stands. */
	memcpy(&etl_python.type_error, etl_python.type_error, sizeof etl_python.type_error);
	return true;
}
