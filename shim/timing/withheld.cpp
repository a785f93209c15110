#include "withheld.h"

#include "hardware_queues.h"
#include "measuring.h"
#include "programmatic.h"

namespace gpushim::shim {
namespace {

constexpr Withheld kWithheld[] = {
    {are_events_stopped, "cuEventQuery",
     "streams share hardware queues, and one of gpushim's events waited for 5 s: nothing is timed from now "
     "on"},
    {[] { return seen_sharing() == Sharing::none_gets_events; }, "CUDA_DEVICE_MAX_CONNECTIONS",
     "streams share the only hardware queue: gpushim's events would hold up other streams, so nothing is"
     " timed"},
    {[] { return seen_sharing() == Sharing::one_gets_events; }, "CUDA_DEVICE_MAX_CONNECTIONS",
     "streams share hardware queues: gpushim's events would hold up other streams, so only the stream that is"
     " used most is timed"},
    {[] { return measured_operations() != 0; }, "cuEventElapsedTime",
     "the program measures with events of its own: what a thread launches meanwhile is not timed "
     "(GPUSHIM_DEVICE_TIME=events times it as well)"},
    {[] { return programmatic_operations() != 0; }, "cuLaunchKernelEx",
     "programmatic launches, and the operations before them, are not timed: an event between two would keep "
     "them from overlapping"},
};

}  // namespace

std::span<const Withheld> all_withheld() { return kWithheld; }

}  // namespace gpushim::shim
