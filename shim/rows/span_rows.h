// What the program says of itself, and what we say of our recording: marks, and ranges and marks of NVTX.
// What begins and ends becomes a row each, and that of an end says how long it was. The writer's thread only.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "row_maker.h"
#include "span_pairs.h"

namespace gpushim::shim {

class SpanRows : RowMaker {
  public:
    explicit SpanRows(Known& known) : RowMaker(known) {}
    void load(Database& base);
    void span(const Call& call);
    void marker(const Call& call);
    void add_marker(const Call& call, const char* kind, int64_t name_id, int64_t value);

  private:
    int64_t domain_id(std::string_view name);
    SpanBegun said_with(const Call& call, std::string_view domain, std::string_view text);
    void add_step(int64_t enter_ns, int64_t thread, int64_t samples);
    void add_range_step(const SpanBegun& step, int64_t thread, int64_t dur_ns);
    int64_t marker_series(const Call& call);

    SpanPairs spans_;
    std::unordered_map<std::string, int64_t> domains_;
};

}  // namespace gpushim::shim
