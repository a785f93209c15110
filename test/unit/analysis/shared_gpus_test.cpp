// GPUs that several processes used, drawn by hand and at random.
#include "analysis/run/ranks/shared_gpus.h"

#include <random>

#include "analysis/process/temporary.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/sql/run_db.h"
#include "known_row.h"
#include "made_trace.h"

#include <catch2/catch.hpp>

namespace shared_gpus_test {

using namespace made;

namespace {

constexpr const char* kRows =
    "SELECT group_concat(text, ', ') FROM (SELECT gpu_id || '/' || shared_id || ' ' || known_ns || ' ' ||"
    " coalesce(union_ns || ' ' || busy_ns || ' ' || next_own_ns || ' ' || other_process_ns || ' ' || tail_ns,"
    " why) AS text FROM shared_gpu ORDER BY gpu_id)";

// The trace of a process on a host, which ended then.
Made process(const char* boot, int64_t ends_ns, int streams = 1) {
    Made made(streams);
    made.run(std::string("INSERT INTO meta VALUES ('boot_id', '") + boot + "')");
    made.ends(ends_ns);
    return made;
}
void ran(Made& made, int64_t start_ns, int64_t end_ns, int stream = 1) {
    made.timed(start_ns - 8, start_ns - 4, start_ns, end_ns, 3, stream);
}

std::string shared_of(const std::vector<const Made*>& processes, std::optional<int64_t> unused = {}) {
    std::vector<TraceFacts> facts;
    std::vector<std::vector<DeviceBusy>> busy;
    int64_t next_gpu = 0;
    for (const Made* made : processes) {
        const Trace& trace = made->inputs().traces[0];
        facts.push_back(make_facts(trace, static_cast<int64_t>(facts.size()), next_gpu, {}));
        busy.push_back(busy_of(trace));
    }
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    if (unused) add_known(run.raw(), "gpu", {{"gpu_id", *unused}, {"unused", 1}});
    write_shared_gpus(facts, busy, run);
    Query rows(run.raw(), "run", kRows);
    return rows.step() ? rows.text(0) : "";
}

//  ns          0   100 150 200 250 300 400   600 650      900   1000
//  process 1   |    ███████         ████                        |
//  process 2   |        ███████               ███          |            over at 900
Made first() {
    Made made = process("a", 1000);
    ran(made, 100, 200);
    ran(made, 300, 400);
    made.window(0, 1000, 2, 2);
    return made;
}
Made second(int64_t timed_until_ns, const char* boot = "a") {
    Made made = process(boot, 900);
    ran(made, 150, 250);
    ran(made, 600, 650);
    made.window(0, timed_until_ns, timed_until_ns > 600 ? 2 : 1, timed_until_ns > 600 ? 2 : 1);
    return made;
}

}  // namespace

TEST_CASE("processes on one GPU are one GPU", "[shared_gpus]") {
    const Made one = first(), two = second(900);
    // Busy 100..250, 300..400, 600..650. Until 100 and from 250 to 300 what came next was the first one's,
    // from 400 to 600 the second one's, from 650 on nothing came.
    CHECK(shared_of({&one, &two}) == "0/0 1000 300 200 150 200 350, 1/0 1000 300 150 200 150 350");
}

TEST_CASE("a process that only has a context there does not share a GPU", "[shared_gpus]") {
    const Made one = first(), two = second(900);
    CHECK(shared_of({&one, &two}, 1).empty());
}

TEST_CASE("only what is timed in all of them counts", "[shared_gpus]") {
    const Made one = first(), two = second(500);
    // 0 to 500, and behind 900 the second is over.
    CHECK(shared_of({&one, &two}) == "0/0 600 250 200 150 0 200, 1/0 600 250 100 0 150 200");
}

TEST_CASE("what is never timed at one time is not known", "[shared_gpus]") {
    const Made one = first();
    Made two = process("a", 1000);
    two.launch(100, 104);
    CHECK(shared_of({&one, &two}) ==
          "0/0 0 the processes were never timed at the same time, 1/0 0 the processes were never timed at "
          "the same time");
}

TEST_CASE("GPUs of other hosts, of other UUIDs and without one are their own", "[shared_gpus]") {
    const Made one = first(), two = second(900, "b");
    CHECK(shared_of({&one, &two}).empty());
    for (const char* uuid : {"'MIG-0'", "''"}) {
        Made other = second(900), same = first();
        other.run(std::string("UPDATE device SET uuid = ") + uuid);
        same.run(std::string("UPDATE device SET uuid = ") + (uuid[1] == '\'' ? "''" : "uuid"));
        CHECK(shared_of({&same, &other}).empty());
    }
}

TEST_CASE("any processes: the same as counted instant by instant", "[shared_gpus]") {
    std::mt19937 random(7);
    const auto any = [&](int64_t below) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
    };
    int asked = 0;
    for (int round = 0; round < 20; ++round) {
        constexpr int64_t kEnd = 2000;
        std::vector<Made> made;
        std::vector<std::vector<bool>> is_busy(3, std::vector<bool>(kEnd));
        std::vector<std::vector<bool>> starts = is_busy;
        for (size_t p = 0; p < 3; ++p) {
            made.push_back(process("a", kEnd, 2));
            std::vector<int64_t> free = {20, 20};
            for (int64_t i = 0; i < 12; ++i) {
                int64_t& at = free[static_cast<size_t>(i % 2)];
                const int64_t start = (at + 40 * any(4) + 13 * static_cast<int64_t>(p)) / 2 * 2 + 2 + i % 2;
                const int64_t end = std::min(kEnd, start + 1 + any(90));
                if (start >= kEnd - 50) break;
                ran(made.back(), start, end, static_cast<int>(i % 2) + 1);
                for (int64_t t = start; t < end; ++t) is_busy[p][static_cast<size_t>(t)] = true;
                starts[p][static_cast<size_t>(start)] = true;
                at = end + 10 + 50 * any(2);
            }
            made.back().window(0, kEnd, 12, 12);
        }
        int64_t union_ns = 0, tail_ns = 0, idle_ns = 0, busy_ns[3] = {}, ended_ns[3] = {};
        bool tied = false;
        for (size_t t = 0; t < kEnd; ++t) {
            const int running = is_busy[0][t] + is_busy[1][t] + is_busy[2][t];
            for (size_t p = 0; p < 3; ++p) {
                busy_ns[p] += is_busy[p][t];
                if (starts[p][t] && idle_ns > 0) {
                    tied |= starts[0][t] + starts[1][t] + starts[2][t] > 1;
                    ended_ns[p] += idle_ns;
                    idle_ns = 0;
                }
            }
            union_ns += running > 0;
            idle_ns += running == 0;
        }
        tail_ns = idle_ns;
        if (tied) continue;  // which of two that start together came first is nobody's to say
        std::string expected;
        const int64_t all_ns = ended_ns[0] + ended_ns[1] + ended_ns[2];
        for (size_t p = 0; p < 3; ++p)
            expected += (p == 0 ? "" : ", ") + std::to_string(p) + "/0 2000 " + std::to_string(union_ns) +
                        " " + std::to_string(busy_ns[p]) + " " + std::to_string(ended_ns[p]) + " " +
                        std::to_string(all_ns - ended_ns[p]) + " " + std::to_string(tail_ns);
        INFO(round);
        ++asked;
        CHECK(shared_of({&made[0], &made[1], &made[2]}) == expected);
    }
    CHECK(asked > 10);
}

}  // namespace shared_gpus_test
