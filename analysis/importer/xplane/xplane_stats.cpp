#include "xplane_stats.h"

#include <charconv>
#include <utility>

#include "message_file.h"

namespace gpushim::analysis {

namespace {

using protozero::pbf_wire_type;
using protozero::tag_and_type;

// Programs have thousands of names, of up to some thousand characters.
constexpr size_t kMostBytes = 64 << 20, kLongestName = 64 << 10, kEach = 128;

constexpr std::string_view kNames[] = {
    "correlation_id",     "context_id",      "kernel_details",     "memcpy_details", "memset_details",
    "cuda_graph_exec_id", "step_num",        "core_count",         "memory_size",    "compute_cap_major",
    "compute_cap_minor",  "gpu_device_name", "profile_start_time", "device_vendor",  "process_id",
};
static_assert(std::size(kNames) == kXplaneStats);

std::optional<XplaneStat> stat_named(std::string_view name) {
    for (size_t i = 0; i < kXplaneStats; ++i)
        if (kNames[i] == name) return static_cast<XplaneStat>(i);
    return {};
}

// Of other texts there is no end: every operator's name is one.
bool is_detail(std::string_view text) {
    return text.find("grid:") != std::string_view::npos || text.find("size:") != std::string_view::npos ||
           text.find("num_bytes:") != std::string_view::npos;
}

struct Entry {
    int64_t id = 0;
    std::string_view name;
};

// The maps' values have their names in the same place.
Entry entry_in(std::string_view message) {
    Entry entry;
    protozero::pbf_reader map(message);
    while (map.next()) {
        if (map.tag_and_type() == tag_and_type(1, pbf_wire_type::varint)) {
            entry.id = map.get_int64();
        } else if (map.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited)) {
            protozero::pbf_reader value = map.get_message();
            while (value.next())
                if (value.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited))
                    entry.name = value.get_view();
                else
                    value.skip();
        } else {
            map.skip();
        }
    }
    return entry;
}

}  // namespace

std::optional<int64_t> XplaneStats::number(XplaneStat stat) const {
    if (!has(stat)) return {};
    const Value& value = values_[static_cast<size_t>(stat)];
    if (value.is_number) return value.number;
    std::string_view text = value.text;
    if (text.starts_with("$$")) text.remove_prefix(2);  // of contexts
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return number;
}

std::string_view XplaneStats::text(XplaneStat stat) const {
    const Value& value = values_[static_cast<size_t>(stat)];
    return has(stat) && !value.is_number ? value.text : std::string_view();
}

void XplaneNames::add_event(std::string_view message) {
    const Entry entry = entry_in(message);
    const std::string_view name = entry.name.substr(0, kLongestName);
    if (name.empty() || bytes_ + name.size() + kEach > kMostBytes) return;
    if (events_.try_emplace(entry.id, name).second) bytes_ += name.size() + kEach;
}

void XplaneNames::add_stat(std::string_view message) {
    const Entry entry = entry_in(message);
    if (const auto stat = stat_named(entry.name)) {
        stats_.try_emplace(entry.id, *stat);
    } else if (is_detail(entry.name) && bytes_ + entry.name.size() + kEach <= kMostBytes) {
        if (texts_.try_emplace(entry.id, entry.name).second) bytes_ += entry.name.size() + kEach;
    }
}

std::string_view XplaneNames::event(int64_t id) const {
    const auto found = events_.find(id);
    return found == events_.end() ? std::string_view() : std::string_view(found->second);
}

void XplaneNames::read_stat(std::string_view message, XplaneStats& stats) const {
    protozero::pbf_reader stat(message);
    std::optional<XplaneStat> known;
    XplaneStats::Value value = {0, {}, false};
    bool has_value = false;
    while (stat.next()) {
        const auto field = stat.tag_and_type();
        if (field == tag_and_type(1, pbf_wire_type::varint)) {
            const auto found = stats_.find(stat.get_int64());
            if (found == stats_.end()) return;
            known = found->second;
        } else if (field == tag_and_type(3, pbf_wire_type::varint) ||
                   field == tag_and_type(4, pbf_wire_type::varint)) {
            value = {stat.get_int64(), {}, true};
            has_value = true;
        } else if (field == tag_and_type(5, pbf_wire_type::length_delimited)) {
            value = {0, stat.get_view(), false};
            has_value = true;
        } else if (field == tag_and_type(7, pbf_wire_type::varint)) {
            const auto text = texts_.find(stat.get_int64());
            has_value = text != texts_.end();
            if (has_value) value = {0, text->second, false};
        } else {
            stat.skip();
        }
    }
    if (!known || !has_value) return;
    stats.has_ |= uint32_t{1} << static_cast<size_t>(*known);
    stats.values_[static_cast<size_t>(*known)] = value;
}

}  // namespace gpushim::analysis
