#include "host_gap.h"

namespace gpushim::shim {

void note_gap(ThreadState&, const Slot&) {}
void read_cpu_clock(ThreadState&) {}

}  // namespace gpushim::shim
