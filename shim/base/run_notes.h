// What processes tell the `gpushim run` that started them, or started those that started them: which trace
// they write, or why they write none. The notes are a file without a name (memfd) of that program. It is
// named by GPUSHIM_RUN_NOTES, so nothing is inherited, nothing lies on a disk, and nothing stays when `run`
// is killed. A process on another machine, of another user or in another pid namespace cannot leave a note.
#pragma once

#include <cstddef>

namespace gpushim::shim {

enum class NoteKind : char { trace = 't', failed = 'f', left_out = 'r' };

// One note, which is the path of a trace or the rank left out. False: there is no `run` to be told, or it
// cannot be told. Any thread of the traced process.
bool leave_note(NoteKind kind, const char* text);

// Whether a `run` reads this process's notes: then it speaks for it at the end.
bool is_noted();

}  // namespace gpushim::shim

extern "C" {

// Called by `gpushim run` before it starts a program. The notes' descriptor, and the variable ("NAME=value")
// that names them to processes. -1: there are none to be had, or an outer `run` has its own.
int gpushim_begin_notes(char* variable, size_t size);

// All notes of a descriptor, in the order in which they were left.
void gpushim_read_notes(int notes, void (*read)(void* with, char kind, const char* text), void* with);
}
