#include <sqlite3.h>
#include <algorithm>
#include <catch2/catch.hpp>

#include "analysis/history/history_db.h"
#include "analysis/history/judge.h"
#include "analysis/history/trend.h"
#include "analysis/process/temporary.h"
#include "made_side.h"

namespace history_test {

using namespace gpushim::analysis;

namespace {

// Nights of one job, judged one after the other.
class Nights {
  public:
    const Night& add(double step_ns, const std::string& gpu = "H100", int64_t ranks_expected = 1,
                     size_t steps = SIZE_MAX) {
        const auto id = static_cast<int64_t>(nights_.size() + 1);
        std::vector<int64_t> lengths_ns = made::waves(step_ns, 0.001, static_cast<uint64_t>(id));
        lengths_ns.resize(std::min(steps, lengths_ns.size()));
        Side side = made::side("n" + std::to_string(id), lengths_ns, {{"compute", step_ns}}, gpu);
        side.ranks_expected = ranks_expected;
        side.serving = serving;
        sides_[id] = side;
        Night night;
        night.name = side.name;
        night.started_real_ns = id;
        night.place = place_of(side);
        judge(night, side, nights_, [&](int64_t which) { return sides_.at(which); }, {});
        if (night.first_bad == night.id) night.first_bad = id;
        night.id = id;
        nights_.push_back(night);
        return nights_.back();
    }
    void row(int count, double step_ns) {
        for (int i = 0; i < count; ++i) add(step_ns * (1 + 0.002 * (i % 3 - 1)));
    }
    std::optional<ServingUse> serving;  // of the nights that come
    void accept() { nights_.back().is_accepted = nights_.back().is_base = true; }

  private:
    std::vector<Night> nights_;
    std::map<int64_t, Side> sides_;
};

}  // namespace

// night   1 2 3 4 5 6 7 8 9
// level   5 5 6 5 5 5 9 9 8      MAD 0, so the band is the least share; the rise is before the seventh
TEST_CASE("what nights vary by, whether they creep, and where they rise", "[history]") {
    const std::vector<double> levels = {5, 5, 6, 5, 5, 5, 9, 9, 8};
    CHECK_FALSE(band_of(std::span(levels).first(4), 0.03));
    const auto narrow = band_of(std::span(levels).first(6), 0.03);
    REQUIRE(narrow);
    CHECK(narrow->middle == 5);
    CHECK(narrow->high == Approx(5.15));
    CHECK(band_of(std::vector<double>{4, 5, 6, 7, 8}, 0.03)->high == Approx(6 + 3 * 1.4826));
    CHECK(rise_in(levels) == 6);
    CHECK_FALSE(rise_in(std::vector<double>{5, 5, 5}));
    CHECK_FALSE(rise_in(std::vector<double>{9, 5, 5}));
    CHECK(creep_of(std::vector<double>{100, 101, 102, 103, 104, 105, 106, 107}) ==
          Approx(0.07).margin(0.001));
    CHECK_FALSE(creep_of(std::vector<double>{100, 101, 102, 103, 104, 105, 106}));
    CHECK_FALSE(creep_of(std::vector<double>{100, 102, 99, 101, 100, 102, 99, 101}));
}

TEST_CASE("a night that is slower is the first bad one, and stays it", "[history]") {
    Nights nights;
    CHECK(nights.add(1e6).result == NightResult::kInconclusive);
    CHECK(nights.add(1e6).result == NightResult::kOk);
    nights.row(6, 1e6);
    const Night bad = nights.add(1.04e6);
    CHECK(bad.result == NightResult::kRegressed);
    CHECK(bad.cause == "compute");
    CHECK(bad.first_bad == 9);
    CHECK(bad.base == 8);
    nights.row(4, 1.04e6);
    const Night still = nights.add(1.04e6);
    CHECK(still.result == NightResult::kRegressed);
    CHECK(still.first_bad == 9);
    CHECK(still.base == 8);
    CHECK(nights.add(1e6).result == NightResult::kOk);
}

TEST_CASE("nights of few steps say both medians, and are judged where they lie far apart", "[history]") {
    const auto add = [](Nights& nights, double step_ns, size_t steps) {
        return nights.add(step_ns, "H100", 1, steps);
    };
    Nights nights;
    CHECK(add(nights, 1.11e6, 19).result == NightResult::kInconclusive);
    const Night alike = add(nights, 1.12e6, 19);
    CHECK(alike.result == NightResult::kInconclusive);
    CHECK(alike.why == "too few steps: 19, at least 40 are needed; a step took 1.12 ms, was 1.11 ms");
    const Night bad = add(nights, 4.11e6, 19);
    CHECK(bad.result == NightResult::kRegressed);
    CHECK(bad.base == 1);
    CHECK(bad.cause == "compute");
    CHECK(bad.why.starts_with("step 4.11 ms, was 1.11 ms: +270"));
    CHECK(bad.why.find("nine tenths of the steps") != std::string::npos);
    CHECK(add(nights, 4.11e6, 3).why ==
          "too few steps: 3, at least 40 are needed; a step took 4.11 ms, was 1.11 ms");
    // One with enough steps is a base for those that come, one with few is none for those.
    CHECK(nights.add(1.11e6).result == NightResult::kInconclusive);
    CHECK(add(nights, 1.12e6, 19).base == 5);
    const Night slower = nights.add(1.2e6);
    CHECK(slower.base == 5);
    CHECK(slower.result == NightResult::kRegressed);
}

TEST_CASE("what somebody accepted is the new normal", "[history]") {
    Nights nights;
    nights.row(6, 1e6);
    CHECK(nights.add(1.05e6).result == NightResult::kRegressed);
    nights.accept();
    CHECK(nights.add(1.05e6).result == NightResult::kOk);
    const Night worse = nights.add(1.1e6);
    CHECK(worse.result == NightResult::kRegressed);
    CHECK(worse.first_bad == 9);
}

TEST_CASE("nights that vary among themselves are no regression", "[history]") {
    Nights nights;
    for (const double step_ns : {1.00e6, 1.02e6, 0.98e6, 1.025e6, 0.98e6, 1.0e6, 0.98e6}) nights.add(step_ns);
    const Night high = nights.add(1.03e6);
    CHECK(high.result == NightResult::kOk);
    CHECK(high.why.find("good nights' steps lie between") != std::string::npos);
    CHECK(nights.add(1.2e6).result == NightResult::kRegressed);
}

TEST_CASE("half a per cent every night is found, too", "[history]") {
    Nights nights;
    NightResult result = NightResult::kOk;
    for (int i = 0; i < 12 && result != NightResult::kRegressed; ++i)
        result = i == 0 ? nights.add(1e6), NightResult::kOk : nights.add(1e6 * (1 + 0.005 * i)).result;
    CHECK(result == NightResult::kRegressed);
}

// Steps stay as they are: what makes tokens later are prompts between them.
TEST_CASE("a night whose tokens come later than several good ones' is a regression", "[history]") {
    Nights nights;
    for (const int64_t us : {2000, 2010, 1990, 2000}) {
        nights.serving = ServingUse{us * 1000, us * 1500, us * 4000, 400, 0.2, {}};
        nights.add(1e6);
    }
    // Four nights do not tell what they vary by.
    nights.serving->token_p95_ns = 3'200'000;
    CHECK(nights.add(1e6).result == NightResult::kOk);
    nights.serving->token_p95_ns = 3'000'000;
    CHECK(nights.add(1e6).result == NightResult::kOk);
    nights.serving->token_p99_ns = 40'000'000;
    CHECK(nights.add(1e6).result == NightResult::kOk);
    nights.serving->token_p95_ns = 5'000'000;
    const Night later = nights.add(1e6);
    INFO(later.why);
    CHECK(later.result == NightResult::kRegressed);
    CHECK(later.first_bad == later.id);
    CHECK_FALSE(later.is_base);
    CHECK(later.why.starts_with(
        "from one token to the next 5.00 ms (p95); the last 7 good nights' lie between"));
    nights.serving->token_p95_ns = 3'000'000;
    CHECK(nights.add(1e6).result == NightResult::kOk);
    nights.serving->token_p50_ns.reset();
    nights.serving->token_p95_ns.reset();
    CHECK(nights.add(1e6).result == NightResult::kOk);
}

TEST_CASE("another GPU begins anew, a missing rank is no base", "[history]") {
    Nights nights;
    nights.row(5, 1e6);
    const Night half = nights.add(2e6, "H100", 2);
    CHECK(half.result == NightResult::kInconclusive);
    CHECK(half.why.find("2 ranks expected, 1 seen") != std::string::npos);
    CHECK_FALSE(half.is_base);
    const Night other = nights.add(2e6, "H200");
    CHECK(other.result == NightResult::kInconclusive);
    CHECK(other.why.find("GPU H200 (was H100)") == 0);
    CHECK(nights.add(2e6, "H200").result == NightResult::kOk);
    CHECK(nights.add(1e6).result == NightResult::kOk);
}

TEST_CASE("a history gives back what it was given", "[history]") {
    const TemporaryFolder folder;
    History history(folder.path() / "h.db", History::Open::kWrite);
    Side side = made::side("a", made::waves(1e6, 0.01, 1, 5000), {{"compute", 10}, {"idle: sync", 5}});
    side.kernels = {{"gemm", {2, 50}}, {"untimed", {1, {}}}};
    side.predicted = {{"input_bound", 1, 2}};
    side.ranks_expected = 4;
    side.around.push_back({"tag", "model", "small"});
    side.product_mfu = 0.25;
    side.joules_per_step = 300;
    side.serving = ServingUse{2'000'000, 3'000'000, {}, 400, 0.2, {{"decode", 90, 0.8, 1'900'000}}};
    Night night;
    night.name = "a";
    night.first_bad = 0;
    history.begin();
    const int64_t id = history.add(night, side);
    history.keep();
    const Side back = history.side(id);
    CHECK(back.groups.size() == 2);
    CHECK(back.groups[0].count == 5000);
    CHECK(back.groups[0].lengths_ns.size() == 1667);  // every third
    CHECK_FALSE(back.groups[0].signature);
    CHECK(back.groups[1].signature == 7);
    CHECK(back.groups[1].split->whole_ns() == 15);
    CHECK(back.kernels.at("gemm").ns == 50);
    CHECK_FALSE(back.kernels.at("untimed").ns);
    CHECK(back.predicted[0].finding == "input_bound");
    CHECK(back.ranks_expected == 4);
    CHECK(back.value_of("tag", "model") == "small");
    CHECK(back.traces == side.traces);
    REQUIRE(back.serving);
    CHECK(back.serving->token_p50_ns == 2'000'000);
    CHECK_FALSE(back.serving->token_p99_ns);
    CHECK(back.serving->prefill_share == 0.2);
    REQUIRE(back.serving->kinds.size() == 1);
    CHECK(back.serving->kinds[0].kind == "decode");
    CHECK(back.serving->kinds[0].p50_ns == 1'900'000);
    CHECK(history.nights().front().token_p95_ns == 3'000'000);
    CHECK(history.nights().front().first_bad == id);
    CHECK(back.product_mfu == 0.25);
    CHECK(back.joules_per_step == 300);
    CHECK_FALSE(back.mfu);
    CHECK(history.nights().front().joules_per_step == 300);
    CHECK_FALSE(history.nights().front().mfu);
    history.begin();
    history.remove(id);
    history.keep();
    CHECK_THROWS_AS(history.side(id), Failure);
    sqlite3* base = nullptr;
    sqlite3_open((folder.path() / "h.db").c_str(), &base);
    for (const std::string table : {"night_trace", "night_around", "night_kernel", "night_iteration"}) {
        INFO(table);
        sqlite3_stmt* rows = nullptr;
        sqlite3_prepare_v2(base, ("SELECT count(*) FROM " + table).c_str(), -1, &rows, nullptr);
        REQUIRE(sqlite3_step(rows) == SQLITE_ROW);
        CHECK(sqlite3_column_int64(rows, 0) == 0);
        sqlite3_finalize(rows);
    }
    sqlite3_close(base);
}

TEST_CASE("a history of before energy was kept is read, and takes it from then on", "[history]") {
    const TemporaryFolder folder;
    const auto place = folder.path() / "h.db";
    Side side = made::side("a", std::vector<int64_t>(40, 1000));
    side.mfu = 0.5;
    History(place, History::Open::kWrite).add({}, side);
    sqlite3* base = nullptr;
    sqlite3_open(place.c_str(), &base);
    REQUIRE(sqlite3_exec(base, "DROP VIEW v_night; DROP TABLE night_use", nullptr, nullptr, nullptr) ==
            SQLITE_OK);
    sqlite3_close(base);
    const History before(place, History::Open::kRead);
    CHECK(before.nights().size() == 1);
    CHECK_FALSE(before.nights().front().mfu);
    CHECK_FALSE(before.side(1).mfu);
    side.traces = {"b"};
    History now(place, History::Open::kWrite);
    CHECK(now.side(now.add({}, side)).mfu == 0.5);
    CHECK_FALSE(now.side(1).mfu);
}

TEST_CASE("a history of before servers were kept is read, and takes them from then on", "[history]") {
    const TemporaryFolder folder;
    const auto place = folder.path() / "h.db";
    const Side side = made::side("a", std::vector<int64_t>(40, 1000));
    History(place, History::Open::kWrite).add({}, side);
    sqlite3* base = nullptr;
    sqlite3_open(place.c_str(), &base);
    const char* const older = "DROP VIEW v_night; DROP TABLE night_serving; DROP TABLE night_iteration";
    REQUIRE(sqlite3_exec(base, older, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(base);
    const History before(place, History::Open::kRead);
    CHECK(before.nights().size() == 1);
    CHECK_FALSE(before.nights().front().token_p50_ns);
    CHECK_FALSE(before.side(1).serving);
    Side served = side;
    served.traces = {"b"};
    served.serving = ServingUse{5, 6, 7, 1, 0, {}};
    History now(place, History::Open::kWrite);
    CHECK(now.side(now.add({}, served)).serving->token_p99_ns == 7);
    CHECK_FALSE(now.side(1).serving);
}

TEST_CASE("pruning leaves what others are compared with", "[history]") {
    const TemporaryFolder folder;
    History history(folder.path() / "h.db", History::Open::kWrite);
    const Side side = made::side("a", std::vector<int64_t>(40, 1000));
    for (int64_t start = 1; start <= 5; ++start) {
        Night night;
        night.started_real_ns = start;
        night.is_base = start == 2;
        history.add(night, side);
    }
    history.prune(2);
    std::string left;
    for (const Night& night : history.nights()) left += std::to_string(night.id) + " ";
    CHECK(left == "2 4 5 ");
}

}  // namespace history_test
