// Where ring files lie, for those who make them and for recovery:
//
//   /dev/shm/gpushim-<uid>/          0700, ours, no link
//     <trace uuid, 32 hex digits>/   0700, one traced process
//       lock                         the process's writer holds a POSIX write lock on it while it lives
//       ring-<id>                    RingHeader and slots; ring-0 has no slots
//
// A ring is dead when nobody holds the lock and its process has it mapped no more (writer/leftovers.h). Only
// openat below a folder that was checked; no link is followed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushim::shim {

constexpr char kRingRoot[] = "/dev/shm";

// Descriptor of the user's folder in `root`; -1: there is none, or it is not ours alone.
int open_user_folder(const char* root, bool create);

// Descriptor of the folder of one trace in the user's; -1: none.
int open_trace_folder(int user_folder, const uint8_t trace_uuid[16], bool create);

// Takes the lock, until the descriptor returned is closed (by whoever: it belongs to the descriptor table).
// -1: it is held by another, or cannot be had.
int lock_trace_folder(int trace_folder);

bool is_held(int trace_folder);       // by another
int32_t holder_of(int trace_folder);  // its process, as seen from this one; 0: none, or not to be told

constexpr size_t kRingNameBytes = 32;
void ring_name(char (&name)[kRingNameBytes], uint64_t ring_id);
void trace_folder_name(char (&name)[33], const uint8_t trace_uuid[16]);

// Removes a trace's folder and all that is in it.
void remove_trace_folder(int user_folder, const char* name);

}  // namespace gpushim::shim
