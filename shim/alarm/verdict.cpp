#include "verdict.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "../base/time_units.h"
#include "../sqlite/rows.h"

namespace gpushim::shim {
namespace {

bool is_utf8(std::string_view text) {
    size_t more = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool is_tail = (byte & 0xc0) == 0x80;
        if (is_tail != (more > 0)) return false;
        if (is_tail)
            --more;
        else
            more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
    }
    return more == 0;
}

// Names of threads, files and functions may be anything; of what is no UTF-8 only ASCII is told.
std::string json_text(std::string_view text) {
    std::string json = "\"";
    const bool is_whole = is_utf8(text);
    for (const char c : text) {
        char escape[8] = {is_whole || static_cast<unsigned char>(c) < 128 ? c : '?', '\0'};
        if (c == '"' || c == '\\')
            snprintf(escape, sizeof escape, "\\%c", c);
        else if (static_cast<unsigned char>(c) < ' ')
            snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
        json += escape;
    }
    return json + '"';
}

std::string or_null(std::string_view text) { return text.empty() ? "null" : json_text(text); }
std::string or_null(const char* text) { return text == nullptr ? "null" : json_text(text); }
std::string or_null(int64_t number, int64_t none = kNull) {
    return number == none ? "null" : std::to_string(number);
}

std::string json_of(const PythonLine& line) {
    return "{\"file\":" + json_text(line.file) + ",\"line\":" + or_null(line.line) +
           ",\"function\":" + json_text(line.function) + "}";
}

std::string json_of(const StuckThread& thread) {
    std::string python;
    for (const PythonLine& line : thread.python) python += (python.empty() ? "" : ",") + json_of(line);
    std::string native;
    for (const std::string& place : thread.native) native += (native.empty() ? "" : ",") + json_text(place);
    return "{\"tid\":" + std::to_string(thread.tid) + ",\"name\":" + json_text(thread.name) +
           ",\"call\":" + or_null(thread.call) + ",\"call_for_ns\":" + or_null(thread.call_ns) +
           ",\"state\":" + json_text({&thread.state, 1}) + ",\"blocked_on\":" + or_null(thread.blocked_on) +
           ",\"wchan\":" + or_null(thread.wchan) + ",\"cpu_ns\":" + or_null(thread.cpu_ns) +
           ",\"native\":" + (thread.native.empty() ? "null" : json_text(thread.native.front())) +
           ",\"native_stack\":[" + native +
           "],\"native_stack_is_whole\":" + (thread.is_native_whole ? "true" : "false") + ",\"python\":[" +
           python + "]}";
}

std::string seconds(int64_t ns) {
    char text[32];
    snprintf(text, sizeof text, "%.*f s", ns < 10'000 * kMillisecond ? 1 : 0, static_cast<double>(ns) * 1e-9);
    return text;
}

// The one that has been inside for longest.
const StuckThread* longest(const std::vector<StuckThread>& threads) {
    const StuckThread* found = nullptr;
    for (const StuckThread& thread : threads)
        if (thread.call != nullptr && (found == nullptr || thread.call_ns > found->call_ns)) found = &thread;
    return found;
}

// A line is one line, whatever a file is called.
std::string shown(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; },
        '?');
    return text;
}

}  // namespace

std::string line_of(const Verdict& verdict) {
    std::string line = (verdict.rank >= 0 ? "rank " + std::to_string(verdict.rank)
                                          : "process " + std::to_string(verdict.pid)) +
                       " hangs: no operation for " + seconds(verdict.for_ns);
    if (const StuckThread* thread = longest(verdict.threads)) {
        line += std::string("; ") + thread->call;
        if (thread->call_ns != kNull) line += " has not returned for " + seconds(thread->call_ns);
        if (!thread->python.empty()) line += ", at " + python_text({thread->python.front()});
    }
    const size_t folder = verdict.trace.rfind('/');
    return shown(line) + "; which rank is missing: gpushim watch " +
           shown(std::string(verdict.trace.substr(0, folder == std::string_view::npos ? 0 : folder + 1)));
}

std::string json_of(const Verdict& verdict) {
    std::string threads;
    for (const StuckThread& thread : verdict.threads)
        threads += (threads.empty() ? "" : ",") + json_of(thread);
    return "{\"gpushim_hang\":1,\"verdict\":" + json_text(line_of(verdict)) +
           ",\"host\":" + or_null(verdict.host) + ",\"pid\":" + std::to_string(verdict.pid) +
           ",\"rank\":" + or_null(verdict.rank, -1) + ",\"job\":" + or_null(verdict.job) +
           ",\"trace\":" + json_text(verdict.trace) + ",\"unix_ns\":" + std::to_string(verdict.real_ns) +
           ",\"for_ns\":" + std::to_string(verdict.for_ns) +
           ",\"limit_ns\":" + std::to_string(verdict.limit_ns) +
           ",\"usual_ns\":" + or_null(verdict.usual_ns, 0) + ",\"threads\":[" + threads + "]}\n";
}

std::string python_text(const std::vector<PythonLine>& lines) {
    std::string text;
    for (const PythonLine& line : lines) {
        if (!text.empty()) text += '\n';
        text +=
            line.file + ":" + (line.line == kNull ? "?" : std::to_string(line.line)) + " " + line.function;
    }
    return text;
}

std::string native_text(const StuckThread& thread) {
    std::string text;
    for (const std::string& place : thread.native) text += (text.empty() ? "" : "\n") + place;
    return text.empty() || thread.is_native_whole ? text : text + "\n…";
}

}  // namespace gpushim::shim
