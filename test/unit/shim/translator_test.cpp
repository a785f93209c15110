// Objects by their life, memory by address and time, communicators: what one needs several events to know.
#include "trace.h"

namespace translator_test {

using namespace trace;

TEST_CASE("an address used again means another function", "[translator]") {
    // h:    create A ──┤ use ├ destroy │ create B ──┤ use
    Trace trace;
    Events events;
    events.call("cuModuleLoadData", 1, 2, {0x700});
    events.call("cuModuleGetFunction", 10, 20, {0xf00, 0x700, 1}, {.text = "A"});
    events.call("cuLaunchKernel", 30, 31, {0xf00, 0, kGrid, kBlock});
    events.call("cuModuleUnload", 40, 50, {0x700});
    events.call("cuModuleLoadData", 51, 52, {0x700});
    events.call("cuModuleGetFunction", 60, 70, {0xf00, 0x700, 1}, {.text = "B"});
    events.call("cuLaunchKernel", 80, 81, {0xf00, 0, kGrid, kBlock});
    SECTION("all at once") { trace.write(events); }
    SECTION("with a call that was open while the rest was written") {
        Events late;
        trace.write(events);
        late.call("cuLaunchKernel", 35, 90, {0xf00, 0, kGrid, kBlock}, {.thread = 2});
        trace.write(late);
        CHECK(trace.ask("SELECT kernel FROM v_launch WHERE thread_id = 2") == "A");
    }
    SECTION("and read again from the file between") {
        trace.write(events);
        trace.open();
        events.call("cuLaunchKernel", 100, 101, {0xf00, 0, kGrid, kBlock}, {.thread = 3});
        trace.write(events);
        CHECK(trace.ask("SELECT kernel FROM v_launch WHERE thread_id = 3") == "B");
        CHECK(trace.ask("SELECT count(*) FROM shape") == "2");
    }
    CHECK(trace.ask("SELECT kernel FROM v_launch WHERE thread_id = 1") == "A ; B");
    CHECK(trace.ask("SELECT kind, born_ns, died_ns, name FROM v_handle ORDER BY id") ==
          "module|2|40|- ; function|20|40|A ; module|52|-|- ; function|70|-|B");
}

TEST_CASE("a handle may be given out again before its end is told", "[translator]") {
    // thread 1:  cuStreamCreate ├─────────────┤ = s
    // thread 2:      use(s) ├ cuStreamDestroy(s) ├
    Trace trace;
    Events events;
    events.call("cuStreamCreate", 1, 2, {0x5000, 0, 1}, {.thread = 2});
    events.call("cuStreamCreate", 10, 100, {0x5000, 0, 2});
    events.call("cuLaunchKernel", 20, 25, {0xf00, 0x5000, kGrid, kBlock}, {.thread = 2});
    events.call("cuStreamDestroy_v2", 30, 90, {0x5000}, {.thread = 2});
    events.call("cuLaunchKernel", 110, 115, {0xf00, 0x5000, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT s.flags FROM launch l JOIN stream s ON s.id = l.stream_id") == "1 ; 2");
    CHECK(trace.ask("SELECT flags, born_ns, died_ns FROM v_stream") == "1|2|30 ; 2|100|-");
}

TEST_CASE("an end that comes after its handle was written stands beside it", "[translator]") {
    Trace trace;
    Events events;
    events.call("cuEventCreate", 1, 2, {0xe000});
    trace.write(events);
    events.call("cuEventDestroy_v2", 10, 11, {0xe000});
    trace.write(events);
    CHECK(trace.ask("SELECT died_ns FROM handle") == "-");
    CHECK(trace.ask("SELECT born_ns, died_ns FROM v_handle") == "2|10");
}

TEST_CASE("asking twice for the same function gives one object", "[translator]") {
    Trace trace;
    Events events;
    events.call("cuModuleLoadData", 1, 2, {0x700});
    for (int64_t t = 10; t < 50; t += 10)
        events.call("cuModuleGetFunction", t, t + 1, {0xf00, 0x700, 1}, {.text = "A"});
    events.call("cuLibraryGetKernel", 60, 61, {0xfa0, 0x800, 1}, {.text = "K"});
    events.call("cuKernelGetFunction", 70, 71, {0xfb0, 0xfa0});
    events.call("cuKernelGetFunction", 80, 81, {0xfb0, 0xfa0});
    events.call("cuLaunchKernel", 90, 91, {0xfb0, 0, kGrid, kBlock});
    events.call("cuLaunchKernel", 92, 93, {0xfa0, 0, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT kind, name FROM v_handle WHERE kind IN ('function', 'kernel')") ==
          "function|A ; kernel|K ; function|K");
    CHECK(trace.ask("SELECT kernel FROM v_launch") == "K ; K");
}

TEST_CASE("thousands of modules at the same addresses", "[translator]") {
    Trace trace;
    Events events;
    for (int64_t i = 0; i < 2'000; ++i) {
        const int64_t t = 1'000'000 + i * 1'000;
        events.call("cuModuleLoadData", t, t + 10, {0x700});
        events.call("cuModuleGetFunction", t + 20, t + 30, {0xf00, 0x700, 4},
                    {.text = "k" + std::to_string(i)});
        events.call("cuLaunchKernel", t + 40, t + 50, {0xf00, 0, kGrid, kBlock});
        events.call("cuModuleUnload", t + 60, t + 70, {0x700});
        if (i % 500 == 499) trace.write(events);
    }
    CHECK(trace.ask(
              "SELECT count(*), count(DISTINCT kernel), sum(kernel = 'k' || ((enter_ns - 1000040) / 1000)) "
              "FROM v_launch") == "2000|2000|2000");
    CHECK(trace.ledger() == "8000|8000|0|0|0|0");
}

TEST_CASE("default streams belong to their context and thread", "[translator]") {
    Trace trace(2);
    Events events;
    events.call("cuCtxCreate_v2", 1, 2, {0xc000, 0, 0}, {.context = 1});
    events.call("cuCtxCreate_v2", 3, 4, {0xc100, 0, 1}, {.context = 2});
    const auto launch = [&](const char* name, int64_t t, uint64_t stream, uint32_t context, int32_t thread) {
        events.call(name, t, t + 1, {0xf00, stream, kGrid, kBlock}, {.thread = thread, .context = context});
    };
    launch("cuLaunchKernel", 10, 0, 1, 1);
    launch("cuLaunchKernel", 20, 1, 1, 2);
    launch("cuLaunchKernel", 30, 0, 2, 1);
    launch("cuLaunchKernel_ptsz", 40, 0, 1, 1);
    launch("cuLaunchKernel", 50, 2, 1, 1);
    launch("cuLaunchKernel_ptsz", 60, 0, 1, 2);
    trace.write(events);
    CHECK(trace.ask("SELECT stream_id, stream, device_id FROM v_launch") ==
          "1|default|0 ; 1|default|0 ; 2|default|1 ; 3|per-thread 1|0 ; 3|per-thread 1|0 ; 4|per-thread 2|0");
    trace.open();
    launch("cuLaunchKernel_ptsz", 70, 0, 1, 2);
    trace.write(events);
    CHECK(trace.ask("SELECT stream_id FROM launch WHERE enter_ns = 70") == "4");
}

TEST_CASE("copies know the memory on each side at that time", "[translator]") {
    Trace trace(2);
    Events events;
    events.call("cuCtxCreate_v2", 1, 2, {0xc000, 0, 0}, {.context = 1});
    events.call("cuCtxCreate_v2", 3, 4, {0xc100, 0, 1}, {.context = 2});
    events.call("cuMemAlloc_v2", 10, 11, {0x10000, 0x1000});
    events.call("cuMemHostAlloc", 12, 13, {0x20000, 0x1000});
    events.call("cuMemAllocManaged", 14, 15, {0x30000, 0x1000});
    events.call("cuMemAlloc_v2", 16, 17, {0x40000, 0x1000}, {.context = 2});
    events.call("cuMemcpyHtoDAsync_v2", 20, 21, {0x10000, 0x90000, 64, 0});
    events.call("cuMemcpyHtoDAsync_v2", 22, 23, {0x10080, 0x20ff0, 64, 0});
    events.call("cuMemcpyAsync", 24, 25, {0x90000, 0x10000, 64, 0});
    events.call("cuMemcpyAsync", 26, 27, {0x40000, 0x10000, 64, 0});
    events.call("cuMemcpyDtoH_v2", 28, 29, {0x90000, 0x30000, 64});
    events.call("cuMemFreeHost", 30, 31, {0x20000});
    events.call("cuMemcpyHtoDAsync_v2", 32, 33, {0x10080, 0x20ff0, 64, 0});
    events.call("cuMemHostRegister_v2", 34, 35, {0x20000, 0x1000, 0});
    events.call("cuMemcpyHtoDAsync_v2", 36, 37, {0x10080, 0x20ff0, 64, 0});
    trace.write(events);
    CHECK(trace.ask("SELECT kind, source, target, blocking FROM v_copy") ==
          "h2d|pageable|device|0 ; h2d|pinned|device|0 ; d2h|device|pageable|0 ; p2p|device|device|0 ; "
          "d2h|managed|pageable|1 ; h2d|pageable|device|0 ; h2d|pinned|device|0");
    CHECK(trace.ask("SELECT sum(bytes) FROM v_copy_total") == "448");
}

TEST_CASE("copies told by a struct carry their memory types", "[translator]") {
    Trace trace;
    Events events;
    const auto bytes = [](uint64_t size, uint64_t target, uint64_t source) {
        return size | target << 60 | source << 56;
    };
    events.call("cuMemcpy2D_v2", 10, 11, {0x10000, 0x90000, bytes(96, 2, 1)});
    events.call("cuMemcpy2DAsync_v2", 12, 13, {0x90000, 0xa000, bytes(96, 1, 3), 0});
    events.call("cuMemcpyHtoA_v2", 14, 15, {0xa000, 0x90000, 32});
    trace.write(events);
    CHECK(trace.ask("SELECT kind, source, target, bytes FROM v_copy") ==
          "h2d|pageable|device|96 ; d2h|array|pageable|96 ; h2d|pageable|array|32");
}

TEST_CASE("memory is counted by context and kind, and its peak stays", "[translator]") {
    Trace trace;
    Events events;
    events.call("cuCtxCreate_v2", 1, 2, {0xc000, 0, 0});
    events.call("cuMemAlloc_v2", 10, 11, {0x10000, 100});
    events.call("cuMemAlloc_v2", 12, 13, {0x20000, 200});
    events.call("cuMemFree_v2", 14, 15, {0x10000});
    events.call("cuMemAllocFromPoolAsync", 16, 17, {0x50000, 70, 0x9000, 0});
    events.call("cuMemFreeAsync", 18, 19, {0x50000, 0, 0, 0});
    trace.write(events);
    trace.open();
    events.call("cuMemAlloc_v2", 20, 21, {0x10000, 50});
    events.call("cuMemHostAlloc", 22, 23, {0x60000, 8});
    events.call("cuMemFree_v2", 24, 25, {0x77000});
    trace.write(events);
    CHECK(trace.ask("SELECT bytes, held_bytes FROM memory") ==
          "100|100 ; 200|300 ; -100|200 ; 70|270 ; -70|200 ; 50|250 ; 8|8 ; -|-");
    CHECK(trace.ask("SELECT kind, peak_bytes FROM v_memory_peak ORDER BY kind") == "device|300 ; pinned|8");
    CHECK(trace.ask("SELECT peak_bytes FROM v_pool_peak") == "70");
}

TEST_CASE("physical memory is counted where it is made, not where it is mapped", "[translator]") {
    Trace trace;
    Events events;
    events.call("cuMemCreate", 10, 11, {0x77, 4096});
    events.call("cuMemMap", 12, 13, {0x10000, 4096, 0, 0x77});
    events.call("cuMemcpyDtoHAsync_v2", 14, 15, {0x90000, 0x10000, 64, 0});
    events.call("cuMemUnmap", 16, 17, {0x10000, 4096});
    events.call("cuMemRelease", 18, 19, {0x77});
    trace.write(events);
    CHECK(trace.ask("SELECT kind, bytes, held_bytes FROM memory WHERE kind > 0") ==
          "4|4096|4096 ; 4|-4096|0");
}

TEST_CASE("communicators have the same name in every process", "[translator]") {
    const auto run = [](uint64_t handle, uint64_t rank, uint64_t colour) {
        Trace trace;
        Events events;
        events.call("ncclCommInitRank", 10, 11, {handle, rank | 2ull << 32, 0xabcdef, 0});
        events.call("ncclCommSplit", 20, 21, {0, 0, uint64_t{0} - 1, handle});  // no colour for this rank
        events.call("ncclCommSplit", 30, 31, {handle + 1, 0 | 1ull << 32, colour, handle});
        trace.write(events);
        trace.open();
        events.call("ncclCommSplit", 40, 41, {handle + 2, 0 | 1ull << 32, colour, handle});
        trace.write(events);
        CHECK(trace.ask("SELECT rank, ranks FROM communicator WHERE id = 1") == std::to_string(rank) + "|2");
        return trace.ask("SELECT uid FROM communicator");
    };
    const std::string one = run(0x1000, 0, 5), other = run(0x8000, 1, 5), third = run(0x8000, 1, 6);
    CHECK(one == other);
    CHECK(one.substr(0, 16) == third.substr(0, 16));
    CHECK(one.substr(19, 16) != third.substr(19, 16));
    CHECK(one.substr(19, 16) != one.substr(38, 16));  // the second and third split with the same colour
}

TEST_CASE("collectives are counted per communicator, sends and receives per pair", "[translator]") {
    Trace trace;
    Events events;
    const uint64_t sum_float = 7;
    events.call("ncclCommInitRank", 1, 2, {0xcc, 0 | 4ull << 32, 1, 0});
    events.call("ncclCommInitRank", 3, 4, {0xdd, 0 | 4ull << 32, 2, 0});
    events.call("ncclAllReduce", 10, 11, {0xcc, 100, sum_float, 0x5000}, {.group = 1});
    events.call("ncclAllReduce", 20, 21, {0xdd, 100, sum_float, 0x5000}, {.group = 2});
    events.call("ncclSend", 30, 31, {0xcc, 8, 7 | 1ull << 32, 0x5000}, {.group = 3});
    events.call("ncclSend", 32, 33, {0xcc, 8, 7 | 2ull << 32, 0x5000}, {.group = 3});
    events.call("ncclRecv", 34, 35, {0xcc, 8, 7 | 1ull << 32, 0x5000}, {.group = 3});
    trace.write(events);
    trace.open();
    events.call("ncclSend", 40, 41, {0xcc, 8, 7 | 1ull << 32, 0x5000}, {.group = 4});
    events.call("ncclBroadcast", 50, 51, {0xcc, 3, 9 | 3ull << 32, 0x5000}, {.group = 5});
    events.call("ncclReduce", 60, 61, {0xcc, 3, 8 | 2ull << 8 | 1ull << 32, 0x5000}, {.group = 6});
    trace.write(events);
    CHECK(trace.ask("SELECT communicator_id, api, seq, bytes, dtype, op, peer FROM v_collective") ==
          "1|ncclAllReduce|1|400|float32|sum|- ; 2|ncclAllReduce|1|400|float32|sum|- ; "
          "1|ncclSend|1|32|float32|-|1 ; "
          "1|ncclSend|1|32|float32|-|2 ; 1|ncclRecv|1|32|float32|-|1 ; 1|ncclSend|2|32|float32|-|1 ; "
          "1|ncclBroadcast|2|6|bfloat16|-|3 ; 1|ncclReduce|3|24|float64|max|1");
}

TEST_CASE("kernels inside a collective carry its group", "[translator]") {
    Trace trace;
    Events events;
    events.call("cuModuleGetFunction", 1, 2, {0xf00, 0x700, 1},
                {.text = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"});
    events.call("cuModuleGetFunction", 3, 4, {0xf10, 0x700, 1}, {.text = "mine"});
    events.call("ncclAllReduce", 10, 30, {0xcc, 100, 7, 0x5000}, {.group = 9});
    events.call("cuLaunchKernel", 20, 21, {0xf00, 0x5000, kGrid, kBlock}, {.group = 9, .flags = kInsideNccl});
    events.call("cuLaunchKernel", 40, 41, {0xf00, 0x5000, kGrid, kBlock},
                {.thread = 2});  // NCCL's own thread
    events.call("cuLaunchKernel", 50, 51, {0xf00, 0x6000, kGrid, kBlock},
                {.thread = 2});  // a stream it never used
    events.call("cuLaunchKernel", 60, 61, {0xf10, 0x5000, kGrid, kBlock});
    trace.write(events);
    CHECK(trace.ask("SELECT group_id, inferred_group FROM v_launch") == "9|0 ; 9|1 ; -|0 ; -|0");
}

TEST_CASE("a primary context ends when nobody retains it", "[translator]") {
    Trace trace(2);
    Events events;
    events.call("cuDevicePrimaryCtxRetain", 1, 2, {0xc000, 0, 1}, {.context = 0});
    events.call("cuDevicePrimaryCtxRetain", 3, 4, {0xc000, 0, 1}, {.context = 0});
    events.call("cuCtxSetCurrent", 5, 6, {0xc000}, {.context = 1});
    events.call("cuLaunchKernel", 7, 8, {0xf00, 0, kGrid, kBlock});
    events.call("cuDevicePrimaryCtxRelease_v2", 9, 10, {0, 1, 1});
    events.call("cuDevicePrimaryCtxRelease_v2", 11, 12, {0, 0, 1});
    trace.write(events);
    CHECK(trace.ask("SELECT born_ns, died_ns FROM v_handle WHERE kind = 'context'") == "2|11");
    CHECK(trace.ask("SELECT device_id FROM v_launch") == "1");
}

// NVIDIA's runtime makes it current in a way of its own; the thread asks and says so, which is no call.
TEST_CASE("a context that nobody made current has its device", "[translator]") {
    Trace trace(2);
    Events events;
    events.call("cuDevicePrimaryCtxRetain", 1, 2, {0xc000, 0, 1}, {.context = 0});
    events.event(kNoApi, EventKind::context, 3, 3, {0xc000, 2});
    events.call("cuLaunchKernel", 4, 5, {0xf00, 0, kGrid, kBlock});
    // One that was there before the library: only the answer says where.
    events.event(kNoApi, EventKind::context, 6, 6, {0xc100, 1}, {.thread = 2, .context = 2});
    events.call("cuLaunchKernel", 7, 8, {0xf00, 0, kGrid, kBlock}, {.thread = 2, .context = 2});
    // And one whose device was not to be had.
    events.event(kNoApi, EventKind::context, 9, 9, {0xc200, 0}, {.thread = 3, .context = 3});
    events.call("cuLaunchKernel", 10, 11, {0xf00, 0, kGrid, kBlock}, {.thread = 3, .context = 3});
    trace.write(events);
    CHECK(trace.ask("SELECT device_id FROM v_launch") == "1 ; 0 ; -");
    CHECK(trace.ask("SELECT id, handle, device_id FROM v_context") == "1|0xc000|1 ; 2|0xc100|0 ; 3|0xc200|-");
    CHECK(trace.ask("SELECT extra FROM handle WHERE kind = 'context'") == "1 ; 0 ; -");
    CHECK(trace.ask("SELECT api, calls FROM v_api_total ORDER BY api") ==
          "cuDevicePrimaryCtxRetain|1 ; cuLaunchKernel|3");
    CHECK(trace.ask("SELECT recorded FROM v_ledger") == "4");
}

// What failed for another reason, what is of the host, and a free are none of it.
TEST_CASE("the newest hundred allocations without memory are kept, with what was held", "[translator]") {
    constexpr uint64_t kOutOfMemory = 2, kInvalid = 1;
    Trace trace;
    Events events;
    events.call("cuCtxCreate_v2", 1, 2, {0xc000, 0, 0});
    events.call("cuMemAlloc_v2", 10, 11, {0x10000, 100});
    events.call("cuMemAlloc_v2", 12, 13, {0, 70, 0, kInvalid}, {.flags = kFailed});
    events.call("cuMemHostAlloc", 14, 15, {0, 80, 0, kOutOfMemory}, {.flags = kFailed});
    events.call("cuMemFree_v2", 16, 17, {0x10000, 0, 0, kOutOfMemory}, {.flags = kFailed});
    for (int64_t i = 0; i < 103; ++i)
        events.call("cuMemAlloc_v2", 20 + 2 * i, 21 + 2 * i,
                    {0, static_cast<uint64_t>(1000 + i), 0, kOutOfMemory}, {.flags = kFailed});
    trace.write(events);
    trace.open();
    events.call("cuMemAllocManaged", 900, 901, {0x20000, 5, 1});
    events.call("cuMemAllocManaged", 902, 903, {0, 5000, 1, kOutOfMemory}, {.flags = kFailed});
    trace.write(events);
    CHECK(trace.ask("SELECT count(*), min(nth), max(nth) FROM failed_allocation") == "100|4|103");
    CHECK(trace.ask("SELECT bytes, held_bytes FROM v_failed_allocation WHERE nth IN (4, 103) ORDER BY nth") ==
          "1004|100 ; 5000|105");
}

}  // namespace translator_test
