// What the reader makes of good traces: written by hand as Kineto writes them, and real ones.
#include "analysis/importer/kineto/kineto_reader.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "analysis/importer/kineto/kineto_names.h"
#include "kineto_made.h"
#include "optional.h"

namespace kineto_reader_test {

using namespace made;

namespace {

KinetoEvent only(const std::string& element) {
    const Read got = read(with_events(element));
    REQUIRE(got.events.size() == 1);
    return got.events[0].event;
}

}  // namespace

TEST_CASE("a kernel has what the trace says of it, and times in ns", "[kineto]") {
    const Read got = read(with_events(R"json(
  {
    "ph": "X", "cat": "kernel", "name": "void gemm<128>(float*)", "pid": 3, "tid": 23,
    "ts": 1682725898082228.125, "dur": 10.007,
    "args": {
    "External id" : 6935929, "queued" : 0, "device" : 3, "context" : 1, "stream" : 23, "correlation" : 17,
        "registers per thread" : 27, "shared memory" : 4096, "blocks per SM" : 22.2, "warps per SM" : 177.7,
        "grid" : [ 2400, 2, 1 ],
                 "block" : [ 256, 1, 1 ],
                           "est. achieved occupancy %" : 62.5,
                           "graph id" : 9,
                           "graph node id" : 11
    }
  })json"));
    REQUIRE(got.events.size() == 1);
    const KinetoEvent& event = got.events[0].event;
    CHECK(event.kind == KinetoKind::kernel);
    CHECK(got.events[0].name == "void gemm<128>(float*)");
    CHECK(event.start_ns == 1682725898082228125);
    CHECK(event.duration_ns == 10007);
    CHECK(
        (event.pid == 3 && event.tid == 23 && event.device == 3 && event.stream == 23 && event.context == 1));
    CHECK((event.correlation == 17 && event.external_id == 6935929));
    CHECK((event.registers_per_thread == 27 && event.shared_memory_bytes == 4096));
    CHECK(event.grid == std::array<int64_t, 3>{2400, 2, 1});
    CHECK(event.block == std::array<int64_t, 3>{256, 1, 1});
    CHECK(event.occupancy_percent == 62.5);
    CHECK((event.graph_id == 9 && event.graph_node_id == 11));
    CHECK_FALSE((event.bytes || event.group_size || event.group_rank));
    CHECK(got.summary.of(KinetoKind::kernel) == 1);
    CHECK(got.summary.first_start_ns == 1682725898082228125);
    CHECK(got.summary.last_end_ns == 1682725898082238132);
    CHECK(got.summary.end == KinetoEnd::whole);
    CHECK(got.summary.end_note.empty());
}

TEST_CASE("copies and sets: which way, between which memories", "[kineto]") {
    struct Row {
        const char *category, *name;
        KinetoDirection direction;
        KinetoMemory from, to;
    };
    using D = KinetoDirection;
    using M = KinetoMemory;
    const Row rows[] = {
        {"gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", D::h2d, M::pageable, M::device},
        {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", D::d2h, M::device, M::pinned},
        {"gpu_memcpy", "Memcpy DtoD (Device -> Device)", D::d2d, M::device, M::device},
        {"gpu_memcpy", "Memcpy PtoP (Device -> Device)", D::p2p, M::device, M::device},
        {"gpu_memcpy", "Memcpy HtoA (Managed -> Array)", D::h2d, M::managed, M::array},
        {"gpu_memcpy", "Memcpy HtoD (Sheep -> Device Static)", D::h2d, M::unknown, M::device},
        {"gpu_memcpy", "Memcpy XtoY", D::unknown, M::unknown, M::unknown},
        {"gpu_memcpy", "Memcpy )(", D::unknown, M::unknown, M::unknown},
        {"gpu_memset", "Memset (Device)", D::unknown, M::unknown, M::device},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const KinetoEvent event =
            only(std::string(R"({"ph":"X","cat":")") + row.category + R"(","name":")" + row.name +
                 R"(","pid":0,"tid":7,"ts":1,"dur":2,"args":{"bytes":4194304}})");
        CHECK(event.direction == row.direction);
        CHECK(event.from_memory == row.from);
        CHECK(event.to_memory == row.to);
        CHECK(event.bytes == 4194304);
    }
}

TEST_CASE("each category has its kind; what is none is counted with why", "[kineto]") {
    const auto element = [](const char* phase, const char* category, const char* name) {
        return std::string(R"({"ph":")") + phase + R"(","cat":")" + category + R"(","name":")" + name +
               R"(","pid":1,"tid":2,"ts":3,"dur":4},)";
    };
    const std::string trace = with_events(
        element("X", "kernel", "k") + element("X", "cuda_runtime", "cudaLaunchKernel") +
        element("X", "cuda_driver", "cuLaunchKernelEx") + element("X", "user_annotation", "ProfilerStep#7") +
        element("X", "gpu_user_annotation", "forward") + element("X", "cpu_op", "aten::mm") +
        element("X", "python_function", "f.py(3): f") + element("X", "overhead", "Buffer Flush") +
        element("X", "cuda_sync", "Stream Sync") + element("X", "Operator", "ProfilerStep#8") +
        element("X", "Trace", "PyTorch Profiler (0)") + element("s", "ac2g", "ac2g") +
        element("f", "ac2g", "ac2g") + element("i", "", "Record Window End") +
        element("i", "cpu_instant_event", "[OutOfMemory]") + element("C", "", "GPU 0 Utilization") +
        element("B", "", "begin") + element("X", "cpu_instant_event", "[memory]"));
    const KinetoSummary summary = KinetoFile(trace).read().summary;
    const KinetoKind once[] = {KinetoKind::kernel,  KinetoKind::runtime_call,   KinetoKind::driver_call,
                               KinetoKind::cpu_op,  KinetoKind::gpu_annotation, KinetoKind::overhead,
                               KinetoKind::gpu_sync};
    for (const KinetoKind kind : once) {
        INFO(kineto_kind_name(kind));
        CHECK(summary.of(kind) == 1);
    }
    CHECK(summary.of(KinetoKind::annotation) == 2);  // the step among operators, too
    CHECK(summary.of(KinetoKind::python_function) == 0);
    CHECK(summary.of(KinetoSkip::not_asked_for) == 1);
    CHECK(summary.of(KinetoSkip::flow) == 2);
    CHECK(summary.of(KinetoSkip::instant) == 2);
    CHECK(summary.of(KinetoSkip::counter) == 1);
    CHECK(summary.of(KinetoSkip::other_phase) == 1);
    CHECK(summary.of(KinetoSkip::unknown_category) == 2);  // Trace; memory that is no instant
    CHECK(summary.by_category.at("ac2g") == 2);
    CHECK(summary.by_category.at("python_function") == 1);

    const KinetoSummary other = KinetoFile(trace).read({.python_functions = true, .cpu_ops = false}).summary;
    CHECK(other.of(KinetoKind::python_function) == 1);
    CHECK(other.of(KinetoKind::cpu_op) == 0);
    CHECK(other.of(KinetoSkip::not_asked_for) == 1);
}

TEST_CASE("memory is an instant with a sign", "[kineto]") {
    const KinetoEvent event =
        only(R"({"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":2,
        "ts":77.001,"args":{"Total Reserved":2097152,"Total Allocated":512,"Bytes":-1024,
        "Addr":140000000000000,"Device Id":1,"Device Type":1,"Ev Idx":4}})");
    CHECK(event.kind == KinetoKind::memory);
    CHECK((event.start_ns == 77001 && event.duration_ns == 0));
    CHECK((event.bytes == -1024 && event.address == 140000000000000 && event.device == 1));
    CHECK((event.total_reserved_bytes == 2097152 && event.total_allocated_bytes == 512));
}

TEST_CASE("a collective has its group, its size and its peers", "[kineto]") {
    const Read got = read(with_events(
        R"({"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":9,"ts":1,"dur":2,"args":{
        "Collective name":"send","In msg nelems":1048576,"Out msg nelems":524288,"Group size":4,
        "dtype":"BFloat16","In split size":"[]","Process Group Name":"12",
        "Process Group Description":"mesh_tp","Process Group Ranks":"[0, 2, 4, 6]",
        "Rank":2,"Src Rank":1,"Dst Rank":3,"Seq":41}},
        {"ph":"X","cat":"cpu_op","name":"record_param_comms","ts":1,"dur":2,"args":{
        "Process Group Ranks": [0, 1]}})"));
    REQUIRE(got.events.size() == 2);
    const Kept& kept = got.events[0];
    CHECK((kept.collective == "send" && kept.dtype == "BFloat16" && kept.group == "12"));
    CHECK((kept.group_description == "mesh_tp" && kept.group_ranks == "[0, 2, 4, 6]"));
    CHECK((kept.event.in_elements == 1048576 && kept.event.out_elements == 524288));
    CHECK((kept.event.group_size == 4 && kept.event.group_rank == 2 && kept.event.sequence == 41));
    CHECK((kept.event.source_rank == 1 && kept.event.target_rank == 3));
    CHECK(got.events[1].group_ranks == "[0, 1]");
    CHECK(got.events[1].event.pid == std::nullopt);
}

TEST_CASE("names of processes and threads are given, other metadata is counted", "[kineto]") {
    const Read got = read(with_events(
        R"({"name":"thread_name","ph":"M","ts":0.000,"pid":0,"tid":7,"args":{"name":"stream 7 \u00b5"}},
        {"name":"process_name","ph":"M","ts":0,"pid":-1,"tid":0,"args":{"name":"python"}},
        {"name":"thread_name","ph":"M","ts":0,"pid":"Spans","tid":"x","args":{}},
        {"name":"process_labels","ph":"M","ts":0,"pid":0,"tid":0,"args":{"labels":"GPU 0","name":"x"}})"));
    REQUIRE(got.events.size() == 2);
    CHECK(got.events[0].event.kind == KinetoKind::thread_name);
    CHECK(got.events[0].label == "stream 7 \xC2\xB5");
    CHECK(got.events[1].event.kind == KinetoKind::process_name);
    CHECK(got.events[1].event.pid == -1);
    CHECK(got.summary.of(KinetoSkip::metadata) == 2);
}

TEST_CASE("the head may stand before the events or behind them", "[kineto]") {
    const std::string head = R"("schemaVersion": 1, "deviceProperties": [
        {"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 84942979072, "computeMajor": 9, "computeMinor": 0,
         "numSms": 132, "maxThreadsPerMultiprocessor": 2048, "sharedMemPerMultiprocessor": 233472},
        {"id": 1, "name": "NVIDIA A100", "warpSize": 32}],
        "cupti_version": 22, "cuda_runtime_version": 12040, "cuda_driver_version": 12060, "with_flops": 1,
        "record_shapes": false, "trace_id": "AB12", "hostname": "node7",
        "distributedInfo": {"backend": "nccl", "rank": 5, "world_size": 8, "pg_count": 1,
            "pg_config": [{"pg_name": "0", "ranks": [0, 1]}], "nccl_version": "2.21.5"},
        "displayTimeUnit": "ms", "baseTimeNanoseconds": 1727000000000000123, "something": {"else": [[]]})";
    const std::string events = "\"traceEvents\": [" + kernel("k") + "]";
    for (const std::string& trace : {"{" + head + "," + events + "}", "{" + events + "," + head + "}"}) {
        const Read got = read(trace);
        const KinetoHead& said = got.summary.head;
        CHECK(got.events.size() == 1);
        CHECK((said.schema_version == 1 && said.base_time_ns == 1727000000000000123));
        CHECK((said.rank == 5 && said.world_size == 8 && said.group_count == 1));
        CHECK((said.backend == "nccl" && said.nccl_version == "2.21.5"));
        CHECK(said.groups_json == R"([{"pg_name": "0", "ranks": [0, 1]}])");
        CHECK((said.cupti_version == 22 && said.cuda_runtime_version == 12040));
        CHECK((said.cuda_driver_version == 12060 && said.with_flops == true && said.record_shapes == false));
        CHECK(said.with_stack == std::nullopt);
        CHECK((said.trace_id == "AB12" && said.host_name == "node7" && said.display_time_unit == "ms"));
        REQUIRE(said.devices.size() == 2);
        CHECK((said.devices[0].name == "NVIDIA H100" && said.devices[0].sm_count == 132));
        CHECK((said.devices[1].id == 1 && said.devices[1].sm_count == std::nullopt));
        CHECK(said.values_ignored == 0);
        CHECK(got.events[0].event.start_ns == 5000);  // the base is the caller's to add
    }
}

TEST_CASE("the rank is what the trace says, else its collectives, else its name", "[kineto]") {
    const auto collective = [](int rank, const char* group) {
        return R"({"ph":"X","cat":"cpu_op","name":"c","ts":1,"dur":2,"args":{"Rank":)" +
               std::to_string(rank) + R"(,"Process Group Name":"0","Process Group Description":")" + group +
               "\"}}";
    };
    const auto rank = [](const std::string& head, const std::string& elements) {
        const auto s =
            KinetoFile("{" + head + "\"traceEvents\":[" + elements + "]}", "rank-9.json").read().summary;
        return std::pair(s.rank.value_or(-1), s.rank_source);
    };
    using Source = KinetoRankSource;
    const std::string all = "default_pg", info = R"("distributedInfo": {"rank": 0},)";
    CHECK(rank(info, collective(3, "default_pg")) == std::pair(int64_t{0}, Source::distributed_info));
    CHECK(rank("", collective(3, "default_pg")) == std::pair(int64_t{3}, Source::collectives));
    CHECK(rank("", collective(3, "")) == std::pair(int64_t{3}, Source::collectives));  // "0" is the default
    CHECK(rank("", collective(3, "mesh_tp")) == std::pair(int64_t{9}, Source::file_name));
    CHECK(rank("", collective(3, "default_pg") + "," + collective(4, "default_pg")) ==
          std::pair(int64_t{9}, Source::file_name));
    CHECK(KinetoFile(with_events(""), "trace.json").read().summary.rank == std::nullopt);
}

TEST_CASE("a bare list of events and gzip of several members are read as well", "[kineto]") {
    CHECK(names(read("[" + kernel("a") + ",\n" + kernel("b") + "\n]")) == std::vector<std::string>{"a", "b"});
    const std::string trace = with_events(kernel("a") + "," + kernel("b"));
    const Read packed = read(gzip(trace));  // named .json: only the content counts
    CHECK(names(packed) == std::vector<std::string>{"a", "b"});
    CHECK(packed.summary.was_gzip);
    CHECK(packed.summary.text_bytes == trace.size());
    const Read two = read(gzip(trace.substr(0, 40)) + gzip(trace.substr(40)));
    CHECK(names(two) == std::vector<std::string>{"a", "b"});
    CHECK(two.summary.end == KinetoEnd::whole);
}

// Counts were taken from the files by a general JSON reader.
TEST_CASE("two real traces", "[kineto]") {
    const char* folder = std::getenv("GPUSHIM_REAL_TRACES");
    if (folder == nullptr) {
        lacks("real_traces");
        return;
    }
    struct Row {
        const char* file;
        int64_t rank;
        uint64_t kernels, calls, ops, annotations, bytes;
        int64_t kernel_sum_ns;
    };
    for (const Row& row : {Row{"rank-0.json.gz", 0, 1154, 1204, 2329, 73, 1759570, 606519000},
                           Row{"rank-1.json.gz", 1, 1104, 1154, 2302, 65, 1690403, 651026000}}) {
        std::set<int64_t> streams;
        int64_t kernel_sum_ns = 0;
        const KinetoSummary got =
            read_kineto(std::string(folder) + "/" + row.file, {}, [&](const KinetoEvent& event) {
                if (event.kind != KinetoKind::kernel) return;
                streams.insert(event.stream.value_or(-1));
                kernel_sum_ns += event.duration_ns;
            });
        CHECK((got.rank == row.rank && got.rank_source == KinetoRankSource::distributed_info));
        CHECK(got.head.world_size == 128);
        CHECK(got.of(KinetoKind::kernel) == row.kernels);
        CHECK(got.of(KinetoKind::runtime_call) == row.calls);
        CHECK(got.of(KinetoKind::cpu_op) == row.ops);
        CHECK(got.of(KinetoKind::annotation) == row.annotations);
        CHECK((got.of(KinetoKind::copy) == 40 && got.of(KinetoKind::set) == 10));
        CHECK((got.of(KinetoSkip::unknown_category) == 1 && got.of(KinetoSkip::malformed) == 0));
        CHECK((got.end == KinetoEnd::whole && got.text_bytes == row.bytes && got.values_ignored == 0));
        CHECK((streams.size() == 4 && streams.count(-1) == 0));
        CHECK(kernel_sum_ns == row.kernel_sum_ns);
    }
}

}  // namespace kineto_reader_test
