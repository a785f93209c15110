// Reads a Kineto trace (the JSON of PyTorch's profiler, plain or gzip, or a bare list of Chrome's events) and
// gives its events in the order of the file. Memory: some 4 MB, and below 64 MB whatever the file is.
//
// A trace that breaks off counts up to there, a damaged place costs the elements it touches, and the summary
// says so. Throws Failure where there is nothing to read (no such file, not JSON, no traceEvents), and what
// `on_event` throws; nothing else. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kineto_element.h"
#include "kineto_event.h"
#include "kineto_head.h"

namespace gpushim::analysis {

enum class KinetoRankSource : uint8_t { none, distributed_info, collectives, file_name };
enum class KinetoEnd : uint8_t { whole, broken_off, damaged };

struct KinetoSummary {
    KinetoHead head;
    std::optional<int64_t> rank;
    KinetoRankSource rank_source = KinetoRankSource::none;

    std::array<uint64_t, static_cast<size_t>(KinetoKind::kCount)> events{};   // given, by kind
    std::array<uint64_t, static_cast<size_t>(KinetoSkip::kCount)> skipped{};  // elements, by reason
    std::map<std::string, uint64_t, std::less<>> by_category;  // elements with one, as the file calls it
    std::map<std::string, uint64_t, std::less<>> unread;       // those of categories that we do not know
    uint64_t values_ignored = 0;                               // known keys whose values have another type
    std::optional<int64_t> first_start_ns, last_end_ns;        // of what has a duration

    KinetoEnd end = KinetoEnd::whole;
    std::string end_note;     // "" if all is well; else what and where
    uint64_t text_bytes = 0;  // of JSON that were read
    bool was_gzip = false;

    uint64_t of(KinetoKind kind) const { return events[static_cast<size_t>(kind)]; }
    uint64_t of(KinetoSkip why) const { return skipped[static_cast<size_t>(why)]; }
};

KinetoSummary read_kineto(const std::string& path, const KinetoOptions& options,
                          const std::function<void(const KinetoEvent&)>& on_event);

}  // namespace gpushim::analysis
