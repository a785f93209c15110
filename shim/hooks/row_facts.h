// What a row of the hook tables means for the thunk that runs it: facts that are known when it is compiled.
#pragma once

#include "../calls/api.h"
#include "stream_words.h"

namespace gpushim::shim {

template <class Row>
constexpr bool has(uint32_t trait) {
    return (Row::traits & trait) != 0;
}
template <class Row>
constexpr bool is_nccl = library_of(Row::id) == ApiLibrary::nccl;
// Of cuBLAS or cuBLASLt: a matrix product.
template <class Row>
constexpr bool is_product = Row::kind == EventKind::gemm;

template <class Row>
struct RowFacts {
    // Its slots are taken after the call: what they hold is as long as a name or an array.
    static constexpr bool is_late = Row::Words::has_text || Row::Words::is_list;

    // What the device does in a stream; where it is one operation per call, with device times.
    static constexpr bool is_device_work = Row::kind == EventKind::launch ||
                                           Row::kind == EventKind::graph_launch ||
                                           Row::kind == EventKind::copy || Row::kind == EventKind::memset;
    static constexpr bool is_operation = is_device_work && !is_late;

    // Recorded even while the process rests: without them the names and streams of later events are not
    // known.
    static constexpr bool is_of_life =
        Row::kind == EventKind::born || Row::kind == EventKind::died || Row::kind == EventKind::named ||
        Row::kind == EventKind::memory || Row::kind == EventKind::context ||
        Row::kind == EventKind::capture || Row::kind == EventKind::graph ||
        Row::kind == EventKind::communicator || has<Row>(traits::profiler_starts | traits::profiler_stops);

    static constexpr uint32_t object = Row::traits & traits::object_bits;

    // What it puts into an executable graph is asked of the driver.
    static constexpr bool fills_graphs =
        (Row::kind == EventKind::born || Row::kind == EventKind::graph) && object == traits::of_exec;

    static constexpr bool ends_code =
        Row::kind == EventKind::died && (object == traits::of_module || object == traits::of_library);

    // Gives a function its name.
    static constexpr bool names_function =
        Row::kind == EventKind::named && (object == traits::of_function || object == traits::of_kernel);

    static constexpr bool ends_context =
        (Row::kind == EventKind::died && object == traits::of_context) || Row::id == api_cuCtxDetach;

    // Which of its words is the stream that it is about. Of NCCL and cuBLAS those of the driver's calls in it
    // are.
    static constexpr int stream_of_call = is_nccl<Row> || is_product<Row> ? kNoStream
                                          : Row::Words::is_list || ends_context
                                              ? kAnyStream
                                              : gpushim::shim::stream_of_call(Row::kind, Row::traits);

    // Its slot says what the number of its context means.
    static constexpr bool tells_context =
        Row::kind == EventKind::context || (Row::kind == EventKind::born && has<Row>(traits::current));

    static constexpr bool tells_elapsed =
        Row::id == api_cuEventElapsedTime || Row::id == api_cuEventElapsedTime_v2;

    static constexpr bool blocks = Row::kind == EventKind::sync || has<Row>(traits::blocking);
};

}  // namespace gpushim::shim
