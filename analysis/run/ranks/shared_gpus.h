// GPUs that several processes of one host used: when any of them was busy, and whose operation came next when
// none was. They are the same GPU if their traces are of one boot of a host and the UUID is the same; each
// instance of a partitioned GPU has a UUID of its own.
//
//   process 1    ███     ██        ██                known: timed in all of them, or before a process began
//   process 2      ███       ██                      and after it had ended
//   together  |  █████   ██  ██    ██      |
//   next      |1 |    | 1|  |2|  1 |  tail |          of the time without operations; seen by process 1 that
//                                                      before 1 is its own, that before 2 other_process
//
// As they ran: read from the traces again. One thread.
#pragma once

#include <span>
#include <vector>

#include "../../busy/busy.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

class RunDb;

// `busy`: of each trace, what is known of its devices.
void write_shared_gpus(std::span<const TraceFacts> traces, std::span<const std::vector<DeviceBusy>> busy,
                       RunDb& run);

}  // namespace gpushim::analysis
