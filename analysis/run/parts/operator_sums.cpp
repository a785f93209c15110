#include "operator_sums.h"

#include <array>
#include <map>
#include <tuple>

#include "../../sqlite/number_rows.h"

namespace gpushim::analysis {

namespace {

using Number = std::optional<int64_t>;
using Text = std::optional<std::string>;
struct Sum {
    int64_t launches = 0, ns = 0;
};

// A table that is read up to a key that another one has.
class Beside {
  public:
    Beside(const Database& trace, const char* table, const char* column)
        : rows_(trace, table, "enter_ns", {column}), has_row_(rows_.next(row_)) {}

    bool reaches(int64_t key) {
        while (has_row_ && row_.key < key) has_row_ = rows_.next(row_);
        return has_row_ && row_.key == key;
    }
    const NumberRow& row() const { return row_; }

  private:
    NumberRow row_;
    NumberRows rows_;
    bool has_row_;
};

Number number(const NumberRow& row, size_t column) {
    return row.is_null(column) ? Number() : Number(row.number(column));
}

// Of launch_operator.
enum Column { kName, kModule, kPass, kForward, kColumns };
struct OfStream {
    std::array<Number, kColumns> what;
    Number stream;
    auto operator<=>(const OfStream&) const = default;
};

std::map<OfStream, Sum> sums_of_streams(const Database& trace) {
    std::map<OfStream, Sum> sums;
    NumberRows operators(trace, "launch_operator", "enter_ns",
                         {"operator_id", "module_id", "pass", "forward_id"});
    Beside launches(trace, "launch", "stream_id"), times(trace, "launch_device", "dur_ns");
    for (NumberRow row; operators.next(row);) {
        if (!launches.reaches(row.key) || !times.reaches(row.key)) continue;
        OfStream of{{}, number(launches.row(), 0)};
        for (size_t column = 0; column < kColumns; ++column) of.what[column] = number(row, column);
        Sum& sum = sums[of];
        ++sum.launches;
        sum.ns += times.row().number_or(0, 0);
    }
    return sums;
}

std::map<int64_t, Number> devices_of_streams(const Database& trace) {
    std::map<int64_t, Number> devices;
    for (Query row = trace.prepare("SELECT id, device_id FROM v_stream"); row.step();)
        devices[row.number(0)] = row.maybe(1);
    return devices;
}

std::map<int64_t, Text> texts_of(const Database& trace) {
    std::map<int64_t, Text> texts;
    for (Query row = trace.prepare("SELECT id, text FROM name"); row.step();)
        if (!row.is_null(1)) texts[row.number(0)] = row.text(1);
    return texts;
}

}  // namespace

std::vector<OperatorSum> operator_sums(const Database& trace) {
    const std::map<OfStream, Sum> of_streams = sums_of_streams(trace);
    if (of_streams.empty()) return {};
    const auto devices = devices_of_streams(trace);
    const auto texts = texts_of(trace);
    const auto text = [&](const Number& id) {
        const auto found = id ? texts.find(*id) : texts.end();
        return found == texts.end() ? Text() : found->second;
    };
    std::map<std::tuple<Number, Text, Text, Number, Text>, Sum> sums;
    for (const auto& [of, sum] : of_streams) {
        const auto device = of.stream ? devices.find(*of.stream) : devices.end();
        if (device == devices.end()) continue;
        Sum& all = sums[{device->second, text(of.what[kName]), text(of.what[kModule]), of.what[kPass],
                         text(of.what[kForward])}];
        all.launches += sum.launches;
        all.ns += sum.ns;
    }
    std::vector<OperatorSum> list;
    for (const auto& [of, sum] : sums)
        list.push_back({std::get<0>(of), std::get<1>(of), std::get<2>(of), std::get<3>(of), std::get<4>(of),
                        sum.launches, sum.ns});
    return list;
}

}  // namespace gpushim::analysis
