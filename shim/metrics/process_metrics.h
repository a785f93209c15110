// GPUSHIM_METRICS: every two seconds the writer puts what it knows of this process into a file for Prometheus
// (schema/metrics.def). Sums only of what is in the trace, and nothing that is guessed: shares
// and causes need an analysis. The file goes when the process ends in order: what stays of
// a process that was killed says when it was written. A file that cannot be written is counted, and said
// once. Of two processes with one name the second takes a name with its number, and says so.
#pragma once

#include <memory>
#include <span>

#include "../machine/device.h"
#include "../machine/identity.h"
#include "../rows/observer.h"

namespace gpushim::shim {

// Whose process it is, and where the file is; "": none is wanted. Before observers are made; all outlive
// them.
void metrics_speak_for(const TraceIdentity& identity, const char* path);

// Null: no file is wanted.
std::unique_ptr<Observer> make_process_metrics(std::span<const Device> devices);

}  // namespace gpushim::shim
