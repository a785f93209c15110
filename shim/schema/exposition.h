// Prometheus's text format, by the one table of metrics (metrics.def), for the library and for the analyzer.
// The text has HELP and TYPE of what has values, and at most kMostSamples of them. Numbers are written
// without printf, whose decimal point is the program's locale's. One thread; throws std::bad_alloc only.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gpushim {

enum class Metric : uint8_t {
#define METRIC(name, ...) name,
#include "metrics.def"
    count
};

enum class MetricWriter : uint8_t { process, watch };

struct MetricRow {
    std::string_view name, type;
    MetricWriter writer;
    std::string_view labels, help;
};

inline constexpr MetricRow kMetrics[] = {
#define METRIC(name, type, writer, ...) {"gpushim_" #name, #type, MetricWriter::writer, __VA_ARGS__},
#include "metrics.def"
};

struct MetricLabel {
    std::string_view name, value;
};

// ` name="value"` with what the format wants escaped; bytes that are no UTF-8 become '?', because one of them
// makes Prometheus refuse the whole file.
std::string metric_labels(std::initializer_list<MetricLabel> labels);

class Exposition {
  public:
    static constexpr size_t kMostSamples = 10'000;

    // Labels that all samples get from now on (metric_labels).
    void set_common(std::string labels) { common_ = std::move(labels); }
    void add(Metric metric, double value, std::initializer_list<MetricLabel> labels = {});
    // How many had no place; it has one itself.
    void add_left_out(Metric metric) { put(metric, static_cast<double>(left_out_), {}); }
    std::string text() const;

  private:
    void put(Metric metric, double value, std::initializer_list<MetricLabel> labels);

    std::string common_;
    std::array<std::string, static_cast<size_t>(Metric::count)> samples_;
    size_t count_ = 0, left_out_ = 0;
};

// --- how

namespace exposition {

// Length of the UTF-8 character that `text` begins with; 0: it is none.
inline size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (length == 1) return 1;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const bool is_overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool is_none = (first == 0xed && byte(1) > 0x9f) || (first == 0xf4 && byte(1) > 0x8f);
    return is_overlong || is_none ? 0 : length;
}

inline void add_escaped(std::string& to, std::string_view value) {
    while (!value.empty()) {
        const size_t length = character_length(value);
        const std::string_view one = value.substr(0, length);
        if (length == 0)
            to += '?';
        else if (one == "\n")
            to += "\\n";
        else if (one == "\\" || one == "\"")
            to.append("\\").append(one);
        else
            to += one;
        value.remove_prefix(length == 0 ? 1 : length);
    }
}

inline std::string number(double value) {
    if (!(std::abs(value) < 9e15)) return value > 0 ? "+Inf" : value < 0 ? "-Inf" : "NaN";
    constexpr int64_t kParts = 1'000'000'000;
    const double size = std::abs(value);
    auto whole = static_cast<int64_t>(size);
    auto parts = static_cast<int64_t>((size - static_cast<double>(whole)) * kParts + 0.5);
    if (parts == kParts) ++whole, parts = 0;
    std::string text = (value < 0 ? "-" : "") + std::to_string(whole);
    if (parts == 0) return text;
    std::string decimals = std::to_string(kParts + parts);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return text + "." + decimals.substr(1);
}

}  // namespace exposition

inline std::string metric_labels(std::initializer_list<MetricLabel> labels) {
    std::string text;
    for (const MetricLabel& label : labels) {
        if (label.value.empty()) continue;  // to Prometheus that is no label
        if (!text.empty()) text += ',';
        text.append(label.name).append("=\"");
        exposition::add_escaped(text, label.value);
        text += '"';
    }
    return text;
}

inline void Exposition::add(Metric metric, double value, std::initializer_list<MetricLabel> labels) {
    if (count_ == kMostSamples) {
        ++left_out_;
        return;
    }
    ++count_;
    put(metric, value, labels);
}

inline void Exposition::put(Metric metric, double value, std::initializer_list<MetricLabel> labels) {
    std::string own = metric_labels(labels);
    if (!own.empty() && !common_.empty()) own.insert(0, 1, ',');
    own.insert(0, common_);
    std::string& to = samples_[static_cast<size_t>(metric)];
    to += kMetrics[static_cast<size_t>(metric)].name;
    if (!own.empty()) to.append("{").append(own).append("}");
    to.append(" ").append(exposition::number(value)).append("\n");
}

inline std::string Exposition::text() const {
    std::string text;
    for (size_t i = 0; i < samples_.size(); ++i) {
        if (samples_[i].empty()) continue;
        const MetricRow& row = kMetrics[i];
        text.append("# HELP ").append(row.name).append(" ").append(row.help).append("\n# TYPE ");
        text.append(row.name).append(" ").append(row.type).append("\n").append(samples_[i]);
    }
    return text;
}

}  // namespace gpushim
