// What the threads that call CUDA did between their calls, as Nsight Systems recorded it: calls of MPI, the
// operating system's functions that they were blocked in (OSRT_API), and when they had no processor
// (SCHED_EVENTS). One thread.
#pragma once

#include <functional>
#include <set>

#include "../../sqlite/database.h"
#include "../trace_writer.h"

namespace gpushim::analysis {

// Of a thread's serialised number; null: not wanted.
using WriterOfThread = std::function<TraceWriter*(int64_t global_tid)>;

void read_messages(const Database& base, const WriterOfThread& writer);
void read_os_calls(const Database& base, const WriterOfThread& writer);
void read_scheduling(const Database& base, const WriterOfThread& writer);

// What a thread is blocked on in that function, in the words of host_gap; empty: it need not block.
std::string_view blocked_on_in(std::string_view function);

}  // namespace gpushim::analysis
