"""Where CPython keeps what a stack is read from: ``native/generated/pythons.inc``.

Of 3.11 and 3.12, whose objects say nothing of themselves, these are the offsets of members.
From 3.13 on an interpreter publishes its own in ``_PyRuntime`` (struct ``_Py_DebugOffsets``), and
these are the places where they stand there, so that builds without the GIL are read as well as
others.  Nothing of Python's headers is kept: a C program is made that includes them and prints
numbers, and only ``scripts/update_python_layouts.py`` and the contract test call it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from cupti_etl.errors import SchemaError
from tools.codegen.cdecl import BANNER

LAYOUTS = Path(__file__).with_name("generated") / "python_layouts.json"

# By the names of struct etl_python_layout: the member that is meant, and where its offset is
# published.
_MEMBERS = {
    "thread_frame": ("", "thread_state.current_frame"),
    "frame_previous": ("_PyInterpreterFrame, previous", "interpreter_frame.previous"),
    "frame_code": ("_PyInterpreterFrame, f_code", "interpreter_frame.executable"),
    "frame_instruction": ("_PyInterpreterFrame, prev_instr", "interpreter_frame.instr_ptr"),
    "frame_owner": ("_PyInterpreterFrame, owner", "interpreter_frame.owner"),
    "code_file": ("PyCodeObject, co_filename", "code_object.filename"),
    "code_function": ("PyCodeObject, co_qualname", "code_object.qualname"),
    "code_table": ("PyCodeObject, co_linetable", "code_object.linetable"),
    "code_first_line": ("PyCodeObject, co_firstlineno", "code_object.firstlineno"),
    "code_instructions": ("PyCodeObject, co_code_adaptive", "code_object.co_code_adaptive"),
    "object_type": ("PyObject, ob_type", "pyobject.ob_type"),
    "bytes_size": ("PyVarObject, ob_size", "bytes_object.ob_size"),
    "bytes_data": ("PyBytesObject, ob_sval", "bytes_object.ob_sval"),
    "text_length": ("PyASCIIObject, length", "unicode_object.length"),
    "text_state": ("PyASCIIObject, state", "unicode_object.state"),
    "text_ascii": ("", "unicode_object.asciiobject_size"),
}
# Numbers that no interpreter publishes.
_OTHERS = {
    "text_wide_more": "sizeof(PyCompactUnicodeObject) - sizeof(PyASCIIObject)",
    "kind_bit": "bit(kind)",
    "compact_bit": "bit(compact)",
    "ascii_bit": "bit(ascii)",
}
# Versions that are read without the GIL, too; 3.14 gives each thread instructions of its own.
_WITHOUT_GIL = (13,)
# A number of a code object that is no other's, behind its first line; 3.11 has none.
_VERSION = "offsetof(PyCodeObject, co_version) - offsetof(PyCodeObject, co_firstlineno)"
_PROGRAM = """
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_runtime.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
static int first_bit(PyASCIIObject *text) {
    unsigned word; memcpy(&word, &text->state, sizeof word); return __builtin_ctz(word);
}
#define bit(NAME) ({ PyASCIIObject text = { 0 }; text.state.NAME = 1; first_bit(&text); })
#define SHOW(NAME, VALUE) printf("%s\\"%s\\": %ld", comma, NAME, (long)(VALUE)); comma = ", ";
int main(void) {
    const char *comma = "";
    printf("{");
    ROWS
    printf("}\\n");
    return 0;
}
"""


def extract(include: Path) -> tuple[str, dict[str, int]]:
    """The version of the headers in a folder, and its row.

    Raises:
        SchemaError: they do not compile.
    """
    text = (include / "patchlevel.h").read_text()
    words = [line.split() for line in text.splitlines() if line.startswith("#define")]
    numbers = {word[1]: word[2] for word in words if len(word) > 2}
    minor = int(numbers["PY_MINOR_VERSION"])
    is_published = minor >= 13
    rows = {"is_published": str(int(is_published))}
    for name, (member, published) in _MEMBERS.items():
        rows[name] = f"offsetof({member})"
        if is_published:
            rows[name] = f"offsetof(_Py_DebugOffsets, {published})"
    if not is_published:
        rows["thread_frame"] = "offsetof(PyThreadState, cframe)"
        rows["text_ascii"] = "sizeof(PyASCIIObject)"
    in_frame = "offsetof(_PyCFrame, current_frame)"
    rows["frame_in"] = "-1" if is_published else in_frame
    rows |= _OTHERS
    rows["is_read_without_gil"] = str(int(minor in _WITHOUT_GIL))
    rows["code_version"] = _VERSION if minor >= 12 else "-1"
    body = "\n".join(f'SHOW("{name}", {value})' for name, value in rows.items())
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(_PROGRAM.replace("ROWS", body))
        # Some distributions have a part of a header beside the folder.
        folders = [f"-I{include}", f"-I{include}/internal", f"-I{include.parent}"]
        cc = [os.environ.get("CC", "cc"), "-w", *folders]
        for command in ([*cc, "-o", str(program), str(source)], [str(program)]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SchemaError(f"Python's headers cannot be read: {done.stderr[:2000]}")
    found: dict[str, int] = json.loads(done.stdout)
    return f"3.{minor}", found


def load_layouts() -> dict[str, dict[str, int]]:
    """The rows that the repository keeps, by version."""
    layouts: dict[str, dict[str, int]] = json.loads(LAYOUTS.read_text())
    return layouts


def dump(layouts: dict[str, dict[str, int]]) -> str:
    """The rows as they are kept."""
    return json.dumps(layouts, indent=1) + "\n"


def pythons_inc() -> str:
    """Text of ``native/generated/pythons.inc``."""
    layouts = load_layouts()
    out = [BANNER, "static const struct etl_python_layout etl_python_layouts[] = {\n"]
    for version, row in layouts.items():
        values = "".join(f"\t\t.{name} = {value},\n" for name, value in row.items())
        out.append(f"\t{{\n\t\t.minor = {version.removeprefix('3.')},\n{values}\t}},\n")
    names = f"{', '.join([*layouts][:-1])} and {[*layouts][-1]}"
    return "".join([*out, "};\n", f'#define ETL_PYTHONS "{names}"\n'])
