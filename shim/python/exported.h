// Names that an interpreter exports, found without the loader's lock, which a program may hold for long, and
// without touching an object that it may be unloading (own_memory.h). Only the executable and libraries that
// are called libpython… are looked at. Cold threads.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// Where the interpreter has what we ask for; 0: it does not export that.
struct PythonExports {
    uint64_t runtime;       // _PyRuntime; 0: there is no interpreter here
    uint64_t version;       // Py_Version, since 3.11
    uint64_t code_type;     // PyCode_Type
    uint64_t unicode_type;  // PyUnicode_Type
    bool has_iter_send;     // PyIter_Send came with 3.10
    bool has_frame_back;    // PyFrame_GetBack came with 3.9
};

PythonExports find_python_exports();

}  // namespace gpushim::shim
