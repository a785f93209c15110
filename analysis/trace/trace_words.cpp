#include "trace_words.h"

#include <algorithm>
#include <string_view>

#include "plausible.h"

namespace gpushim::analysis {

namespace {

// The driver, the runtime and HIP call the same things by the same names behind their own letters.
std::string_view without_prefix(std::string_view base) {
    for (const std::string_view prefix : {"cuda", "cu", "hip"})
        if (base.starts_with(prefix)) return base.substr(prefix.size());
    return {};
}
bool does_any(std::string_view base, std::initializer_list<std::string_view> begins) {
    const std::string_view does = without_prefix(base);
    return std::any_of(begins.begin(), begins.end(),
                       [&](std::string_view begin) { return does.starts_with(begin); });
}
bool loads_code(std::string_view base) { return does_any(base, {"ModuleLoad", "LibraryLoad", "Link"}); }
bool looks_up(std::string_view base) {
    return does_any(base, {"ModuleGetFunction", "LibraryGetKernel", "FuncLoad", "KernelGetFunction",
                           "FuncGetAttributes"});
}

// What goes on around an executable graph, but for launching it.
bool makes_graph(std::string_view base) {
    return does_any(base, {"GraphInstantiate", "GraphExec", "GraphUpload"});
}
bool begins_capture(std::string_view base) { return does_any(base, {"StreamBeginCapture"}); }
bool ends_capture(std::string_view base) { return does_any(base, {"StreamEndCapture"}); }

CallKind kind_of(const std::string& kind, const std::string& base) {
    if (kind == "sync") return CallKind::sync;
    if (kind == "record") return CallKind::record;
    if (kind == "wait") return CallKind::wait;
    if (kind == "host_call") return CallKind::host_call;
    if (kind == "memory") return CallKind::memory;
    if (begins_capture(base)) return CallKind::begin_capture;
    if (ends_capture(base)) return CallKind::end_capture;
    if (makes_graph(base)) return CallKind::make_graph;
    return loads_code(base) ? CallKind::load : CallKind::other;
}

}  // namespace

TraceWords words_of(const Database& base) {
    TraceWords words;
    Query streams = base.prepare("SELECT id FROM stream ORDER BY id");
    for (int32_t lane = 0; streams.step(); ++lane) words.lane_of_stream[streams.number(0)] = lane;
    Query apis = base.prepare("SELECT id, kind, base FROM api");
    while (apis.step()) {
        words.kind_of_api[apis.number(0)] = kind_of(apis.text(1), apis.text(2));
        if (looks_up(apis.text(2))) words.lookups.insert(apis.number(0));
    }
    if (base.is_of_first_schema()) return words;
    Query errors = base.prepare(
        "SELECT id, start_low_ns, start_high_ns, end_low_ns, end_high_ns, likely_ns, events, queued"
        " FROM level_error");
    while (errors.step())
        words.errors[errors.number(0)] = {plausible_span(errors.number(1)),
                                          plausible_span(errors.number(2)),
                                          plausible_span(errors.number(3)),
                                          plausible_span(errors.number(4)),
                                          plausible_span(errors.number(5)),
                                          static_cast<int32_t>(errors.number(6)),
                                          errors.number(7) != 0};
    Query classes = base.prepare("SELECT DISTINCT class FROM host_gap WHERE class IS NOT NULL");
    while (classes.step()) words.host_classes.push_back(classes.text(0));
    return words;
}

}  // namespace gpushim::analysis
