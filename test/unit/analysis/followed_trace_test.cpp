// Traces that grow while they are read, come late, end, and go.
#include "analysis/live/followed_trace.h"

#include "analysis/live/live_run.h"
#include "analysis/process/temporary.h"
#include "shim/sqlite/schema.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

namespace followed_trace_test {

using namespace gpushim::analysis;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

// A writer as the library is one: in WAL mode, and out of it at its end.
class Writer {
  public:
    Writer(fs::path path, int rank, const std::string& run_key = "job") : path_(std::move(path)) {
        REQUIRE(sqlite3_open(path_.c_str(), &base_) == SQLITE_OK);
        run("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
        for (const char* part : gpushim_schema) run(part);
        const Moment now = this_moment();
        begin_ns_ = now.mono_ns - 100 * kSecond;
        run("INSERT INTO meta VALUES ('boot_id', '" + now.boot_id + "'), ('host', 'here'), ('uuid', '" +
            path_.filename().string() + "'), ('started_real_ns', " + std::to_string(now.real_ns) + ")");
        run("INSERT INTO process (pid, start_ticks, rank, world_size, run_key, executable) VALUES (" +
            std::to_string(getpid()) + ", -7, " + std::to_string(rank) + ", 2, '" + run_key + "', 'train')");
        run("INSERT INTO device (id, uuid, name) VALUES (0, 'GPU-0', 'Simulated GPU')");
        run("INSERT INTO context VALUES (1, NULL, 0)");
    }
    ~Writer() { end(); }
    void run(const std::string& sql) {
        char* why = nullptr;
        const int code = sqlite3_exec(base_, sql.c_str(), nullptr, nullptr, &why);
        INFO((why != nullptr ? why : ""));
        REQUIRE(code == SQLITE_OK);
    }
    // Steps of 100 ms, or others, from the second `from` to the second `until`, and the clock to that.
    void steps(int64_t from, int64_t until, int64_t step_ms = 100) {
        for (int64_t at = from * kSecond; at < until * kSecond; at += step_ms * kMs)
            run("INSERT INTO step_total (enter_ns, thread_id, source, steps) VALUES (" + ns(at) +
                ", 1, 'mark', 1)");
        run("INSERT OR REPLACE INTO clock VALUES (" + ns(until * kSecond) + ", 0, " + ns(until * kSecond) +
            ")");
        run("INSERT OR REPLACE INTO cost VALUES (" + ns(until * kSecond) +
            ", 1000000000, 5, 0, 0, 0, 20000000, 0, 10000000)");
        run("INSERT OR REPLACE INTO nvml VALUES (" + ns(until * kSecond) + ", 0, 'power_mw', " +
            std::to_string(100'000 + until) + ")");
    }
    int64_t end() {
        if (base_ == nullptr) return 0;
        const int code = sqlite3_exec(base_, "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
        sqlite3_close(base_);
        base_ = nullptr;
        return code;
    }
    int64_t at_ns(int64_t second) const { return begin_ns_ + second * kSecond; }

  private:
    std::string ns(int64_t offset) const { return std::to_string(begin_ns_ + offset); }
    fs::path path_;
    sqlite3* base_ = nullptr;
    int64_t begin_ns_ = 0;
};

Moment moment_of(const Writer& writer, int64_t second) {
    Moment now = this_moment();
    now.mono_ns = writer.at_ns(second);
    return now;
}

}  // namespace

TEST_CASE("a trace is read while it grows, and what is known of it moves on", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    Writer writer(path, 0);
    writer.steps(0, 10);
    FollowedTrace trace(path);
    REQUIRE(trace.read(moment_of(writer, 10)));
    RankNow rank = trace.figures(moment_of(writer, 10), true);
    CHECK(rank.label == "0");
    CHECK(rank.state == RankState::running);
    CHECK(rank.pace.median_ns == 100 * kMs);
    CHECK(rank.news_age_ns == 0);
    CHECK(*rank.own_share == Approx(0.02));
    CHECK(*rank.writer_share == Approx(0.01));
    REQUIRE(rank.gpus.size() == 1);
    CHECK(rank.gpus[0].power_mw == 100'010);
    CHECK(!rank.gpus[0].memory_used_bytes);
    const int64_t steps = rank.pace.steps;

    writer.steps(10, 20);
    REQUIRE(trace.read(moment_of(writer, 20)));
    rank = trace.figures(moment_of(writer, 20), true);
    CHECK(rank.pace.steps >= steps);
    CHECK(rank.gpus[0].power_mw == 100'020);
    CHECK(rank.pace.change);
}

TEST_CASE("a rank whose steps become longer says since which step", "[top]") {
    const TemporaryFolder folder;
    Writer writer(folder.path() / "0.db", 0);
    FollowedTrace trace(folder.path() / "0.db");
    for (int64_t at = 0; at < 70; at += 10) {
        writer.steps(at, at + 10, at < 20 ? 100 : 125);
        REQUIRE(trace.read(moment_of(writer, at + 10)));
        const RankNow rank = trace.figures(moment_of(writer, at + 10), true);
        if (at < 20) CHECK_FALSE(rank.change);
    }
    const RankNow rank = trace.figures(moment_of(writer, 70), true);
    REQUIRE(rank.change);
    CHECK(rank.changed_step == 200);
    CHECK(rank.change->at_ns == writer.at_ns(20));
    CHECK(rank.change->ratio() == Approx(0.25).epsilon(0.01));
    CHECK(rank.changed_real_ns == writer.at_ns(20));  // its clock row says that both clocks are one
}

TEST_CASE("between two looks nothing of a trace is held: its writer ends it as if nobody read", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    Writer writer(path, 0);
    writer.steps(0, 3);
    FollowedTrace trace(path);
    REQUIRE(trace.read(moment_of(writer, 3)));
    writer.run("INSERT INTO meta VALUES ('ended', 'exit')");
    CHECK(writer.end() == SQLITE_OK);
    CHECK(!fs::exists(path.string() + "-wal"));
    REQUIRE(trace.read(this_moment()));
    const RankNow rank = trace.figures(this_moment(), false);
    CHECK(rank.state == RankState::ended);
    CHECK(rank.pace.median_ns == 100 * kMs);  // as it was at its end
}

TEST_CASE("a rank without news is silent, without calls quiet, and gone it has died", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    Writer writer(path, 0);
    writer.steps(0, 10);
    writer.run("INSERT INTO launch (enter_ns, dur_ns) VALUES (" + std::to_string(writer.at_ns(3)) + ", 5)");
    FollowedTrace trace(path);
    REQUIRE(trace.read(moment_of(writer, 10)));
    CHECK(trace.figures(moment_of(writer, 7), true).state == RankState::running);
    RankNow rank = trace.figures(moment_of(writer, 10), true);
    CHECK(rank.state == RankState::quiet);
    CHECK(rank.call_age_ns == 7 * kSecond - 5);
    rank = trace.figures(moment_of(writer, 22), true);
    CHECK(rank.state == RankState::silent);
    CHECK(rank.news_age_ns == 12 * kSecond);
    CHECK(!rank.pace.median_ns);
    // Nobody holds its rings, and the process of that number began at another time.
    CHECK(trace.figures(moment_of(writer, 22), false).state == RankState::died);
    // In a container it has another number: whose trace grows lives.
    CHECK(trace.figures(moment_of(writer, 12), false).state != RankState::died);
    Moment elsewhere = moment_of(writer, 22);
    elsewhere.boot_id = "another machine";
    CHECK(trace.figures(elsewhere, false).state != RankState::died);
}

TEST_CASE("a process that has ended has died, though its parent has not asked how", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    Writer writer(path, 0);
    writer.steps(0, 10);
    const pid_t child = fork();
    if (child == 0) pause();
    REQUIRE(child > 0);
    std::ifstream file("/proc/" + std::to_string(child) + "/stat");
    std::string began;
    for (int i = 0; i < 22; ++i) file >> began;  // of a name without spaces
    writer.run("UPDATE process SET pid = " + std::to_string(child) + ", start_ticks = " + began);
    FollowedTrace trace(path);
    REQUIRE(trace.read(moment_of(writer, 10)));
    CHECK(trace.figures(moment_of(writer, 22), false).state != RankState::died);
    kill(child, SIGKILL);
    siginfo_t ended;
    REQUIRE(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(trace.figures(moment_of(writer, 22), false).state == RankState::died);
    REQUIRE(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a file that goes, or another one in its place, is no longer followed", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    auto writer = std::make_unique<Writer>(path, 0);
    writer->steps(0, 1);
    FollowedTrace trace(path);
    REQUIRE(trace.read(this_moment()));
    writer.reset();
    fs::rename(path, folder.path() / "old.db");
    CHECK(!trace.read(this_moment()));
    Writer other(path, 1);
    CHECK(!trace.read(this_moment()));
}

TEST_CASE("what is no trace is unreadable, and says why", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    std::ofstream(path) << "no database, but long enough to be looked at";
    FollowedTrace trace(path);
    REQUIRE(trace.read(this_moment()));
    const RankNow rank = trace.figures(this_moment(), false);
    CHECK(rank.state == RankState::unreadable);
    CHECK(rank.why.find("not a SQLite database") != std::string::npos);
}

TEST_CASE("a trace that its writer locks is left alone while it is written", "[top]") {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "0.db";
    Writer(path, 0).steps(0, 1);
    std::ofstream(path.string() + "-journal") << "as on a network file system";
    FollowedTrace trace(path);
    Moment now = this_moment();
    REQUIRE(trace.read(now));
    CHECK(trace.figures(now, false).state == RankState::unreadable);
    CHECK(trace.figures(now, false).why == "it is being made");
    now.real_ns += 10 * kSecond;
    REQUIRE(trace.read(now));
    CHECK(trace.figures(now, false).why.find("network file system") != std::string::npos);
}

TEST_CASE("a run is the newest one in its folder; traces may come later", "[top]") {
    const TemporaryFolder folder;
    LiveRun live(folder.path());
    CHECK(live.look().ranks.empty());
    Writer one(folder.path() / "1.db", 1), none(folder.path() / "0.db", 0);
    RunNow run = live.look();
    REQUIRE(run.ranks.size() == 2);
    CHECK(run.ranks[0].label == "0");
    CHECK(run.program == "train");
    CHECK(run.notes.empty());
    CHECK(run.is_simulated());
    REQUIRE(run.ranks[0].gpus.size() == 1);
    CHECK(run.ranks[0].gpus[0].why_no_parts == "no window with device times is over yet");
    usleep(2000);  // begins later
    Writer next(folder.path() / "2.db", 0, "the next job");
    run = live.look();
    REQUIRE(run.ranks.size() == 1);
    REQUIRE(run.notes.size() == 2);
    CHECK(run.notes[0] == "the newest of 2 runs in this folder");
    CHECK(run.notes[1] == "1 of 2 ranks have no trace in this folder");
}

}  // namespace followed_trace_test
