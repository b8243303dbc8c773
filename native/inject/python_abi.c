#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "inject/python_abi.h"

struct etl_python_abi etl_python;

bool etl_python_find(struct etl_error *error)
{
	const struct {
		const char *name;
		void *at;
	} wanted[] = {
		{ "PyType_FromSpec", &etl_python.type_from_spec },
		{ "PyType_GenericAlloc", &etl_python.type_alloc },
		{ "PyObject_Free", &etl_python.free },
		{ "PyCFunction_NewEx", &etl_python.function },
		{ "Py_IncRef", &etl_python.incref },
		{ "Py_DecRef", &etl_python.decref },
		{ "PyUnicode_AsUTF8AndSize", &etl_python.utf8 },
		{ "PyUnicode_AsEncodedString", &etl_python.encode },
		{ "PyBytes_AsStringAndSize", &etl_python.bytes },
		{ "PyObject_IsInstance", &etl_python.is_instance },
		{ "PyErr_Clear", &etl_python.clear_error },
		{ "PyErr_SetString", &etl_python.raise },
		{ "PyTuple_GetItem", &etl_python.tuple_item },
		{ "PyTuple_Size", &etl_python.tuple_size },
		{ "PyDict_New", &etl_python.new_dict },
		{ "PyDict_SetItem", &etl_python.dict_set },
		{ "PyDict_SetItemString", &etl_python.dict_set_name },
		{ "PyLong_FromUnsignedLongLong", &etl_python.new_integer },
		{ "PyLong_AsUnsignedLongLong", &etl_python.unsigned_integer },
		{ "PyLong_AsLongLongAndOverflow", &etl_python.integer },
		{ "PyImport_GetModuleDict", &etl_python.modules },
		{ "PyDict_GetItem", &etl_python.dict_get },
		{ "PyObject_CallObject", &etl_python.call },
		{ "PyObject_CallFunctionObjArgs", &etl_python.call_with },
		{ "PyUnicode_FromFormat", &etl_python.format },
		{ "PyObject_IsTrue", &etl_python.is_true },
		{ "PyUnicode_FromString", &etl_python.new_text },
		{ "PyUnicode_Type", &etl_python.text_type },
		{ "_Py_NoneStruct", &etl_python.none },
		{ "PyExc_TypeError", &etl_python.type_error },
		{ "PyDict_Next", &etl_python.dict_next },
		{ "PyObject_Type", &etl_python.type_of },
		{ "PyType_GetFlags", &etl_python.type_flags },
		{ "PyFloat_AsDouble", &etl_python.real },
		{ "PyObject_Str", &etl_python.as_text },
		{ "PySequence_Size", &etl_python.length },
		{ "PySequence_GetItem", &etl_python.item },
		{ "_Py_TrueStruct", &etl_python.yes },
		{ "_Py_FalseStruct", &etl_python.no },
		{ "PyFloat_Type", &etl_python.real_type },
	};

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *found = dlsym(RTLD_DEFAULT, wanted[i].name);

		if (!found) {
			etl_fail(error, ENOSYS, "this interpreter has no %s", wanted[i].name);
			return false;
		}
		memcpy(wanted[i].at, &found, sizeof found);
	}
	/* Of an exception, it is where its address stands. */
	memcpy(&etl_python.type_error, etl_python.type_error, sizeof etl_python.type_error);
	return true;
}
