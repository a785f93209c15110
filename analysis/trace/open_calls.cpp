#include "open_calls.h"

#include "../process/library.h"

namespace gpushim::analysis {

namespace {

using TellTrace = void(void*, int, const char*);
using TellCall = void(void*, int, int64_t, const char*, const char*);

}  // namespace

std::vector<LiveTrace> live_traces() {
    std::vector<LiveTrace> all;
    std::string why;
    const auto ask = library_function<int(TellTrace*, void*)>("gpushim_live_traces", why);
    constexpr TellTrace* keep = [](void* to, int pid, const char* trace) {
        static_cast<std::vector<LiveTrace>*>(to)->push_back({pid, trace});
    };
    if (ask != nullptr) ask(keep, &all);
    return all;
}

std::vector<OpenCall> open_calls_of(const std::filesystem::path& trace) {
    std::vector<OpenCall> all;
    std::string why;
    const auto ask = library_function<int(const char*, TellCall*, void*)>("gpushim_open_calls", why);
    constexpr TellCall* keep = [](void* to, int tid, int64_t enter_ns, const char* name, const char* kind) {
        static_cast<std::vector<OpenCall>*>(to)->push_back({tid, enter_ns, name, kind});
    };
    if (ask != nullptr) ask(trace.c_str(), keep, &all);
    return all;
}

}  // namespace gpushim::analysis
