// Every order in which two threads can touch shared memory, of the real code: it is compiled as for
// ThreadSanitizer, which announces each access before it is made, and what it announces to is ours
// ((instrument.cpp). Each atomic access is a point at which the other thread may go on, each access one at
// which a signal handler of the first thread may run, or the process be killed. States that were seen before
// are not explored again: the same memory, and threads that have read the same.
//
// The machine is one whose memory is in order; what C++ allows beyond that is caught as a race: two threads
// touch the same bytes, one of them plainly and one of them writing, and no release and acquire order them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace model {

struct Scene {
    void (*prepare)();  // all memory as at the beginning
    void (*first)();
    void (*second)();
    void (*handler)();         // of a signal to the first thread, once; null: none comes
    std::string (*is_fine)();  // in every state: what a kill here would leave; empty: all well
    std::string (*at_end)();   // when both are through
};

struct Found {
    uint64_t states = 0, orders = 0;  // points at which there was a choice, and ends that were reached
    std::string wrong;                // the first that was found; empty: none
};

// Memory that both threads look at, and what only the first one and its handler do. Before explore().
void share(const void* begin, size_t bytes);
void keep_to_first(const void* begin, size_t bytes);

Found explore(const Scene& scene);

// What instrument.cpp announces: an access is about to be made, or (atomic loads) what it has read.
enum class Access : uint8_t { read, write, atomic_read, atomic_write };
void announce(const void* address, size_t bytes, Access access);
void acquired(const void* address);
void released(const void* address, bool releases);

}  // namespace model
