#include "gemm_rows.h"

namespace gpushim::shim {
namespace {

int64_t count_of(Sharing sharing, uint64_t batch) {
    switch (sharing) {
        case Sharing::none:
            return static_cast<int64_t>(batch);
        case Sharing::one:
            return 1;
        case Sharing::not_told:
            break;
    }
    return kNull;
}

}  // namespace

void GemmRows::gemm(const Call& call) {
    row::gemm made = {.enter_ns = call.enter_ns,
                      .dur_ns = call.dur_ns,
                      .thread_id = call.thread,
                      .api_id = call.api,
                      .flags = call.flags};
    const auto words = call.words<event::gemm>();
    // Read one after the other, each by itself: another thread may have found out in between where they are.
    const bool has_sizes = words.m != kSizeNotTold && words.n != kSizeNotTold && words.k != kSizeNotTold;
    if (words.how != 0 && has_sizes) {
        const ProductHow how = product_how_of(words.how);
        made.m = static_cast<int64_t>(words.m);
        made.n = static_cast<int64_t>(words.n);
        made.k = static_cast<int64_t>(words.k);
        made.batch = static_cast<int64_t>(how.batch);
        made.a_type = or_null(how.a_type != kTypeNotTold, how.a_type);
        made.b_type = or_null(how.b_type != kTypeNotTold, how.b_type);
        made.c_type = or_null(how.c_type != kTypeNotTold, how.c_type);
        made.compute = or_null(how.compute != kComputeNotTold, how.compute);
        made.a_count = count_of(how.a_sharing, how.batch);
        made.b_count = count_of(how.b_sharing, how.batch);
    }
    tables_.gemm.add(made, series_.id(series_of(call, SeriesKind::gemm)));
}

}  // namespace gpushim::shim
