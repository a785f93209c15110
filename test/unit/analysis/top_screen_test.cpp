// What `gpushim top` draws, in a fixed number of rows and columns, and what keys do.
#include "analysis/screen/top_screen.h"

#include "analysis/screen/top_json.h"
#include "analysis/text/width.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace top_screen_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

RankNow rank_of(int64_t number) {
    RankNow rank;
    rank.rank = number;
    rank.label = std::to_string(number);
    rank.host = "node";
    rank.pid = 4000 + number;
    rank.trace = "run/" + rank.label + ".db";
    rank.news_age_ns = rank.call_age_ns = 50 * kMs;
    rank.pace.median_ns = 4'290'000 + number * 10'000;
    rank.pace.change = 0.03;
    rank.pace.steps = 2300;
    rank.pace.course_ns = {std::nullopt, 4'000'000, 2'000'000, 4'290'000, 8'600'000};
    rank.own_share = 0.009;
    rank.writer_share = 0.02;
    rank.window_age_ns = 4 * kSecond;
    GpuNow gpu;
    gpu.uuid = "GPU-" + rank.label;
    gpu.name = "Simulated GPU";
    gpu.is_simulated = true;
    GpuParts parts;
    parts.whole_ns = 1000;
    parts.productive_ns = 700;
    parts.transfer_ns = 20;
    parts.peer_wait_ns = number == 1 ? 0 : 50;
    parts.copy_ns = 30;
    parts.idle[Cause::launch_bound] = 200 - parts.peer_wait_ns + 40;
    parts.idle[Cause::sync] = 10;
    gpu.parts = parts;
    gpu.memory_used_bytes = 12.3 * 0x1p30;
    gpu.memory_total_bytes = 80 * 0x1p30;
    gpu.power_mw = 310'400;
    gpu.power_limit_mw = 700'000;
    gpu.temperature_c = 52;
    gpu.sm_mhz = 1980;
    rank.gpus.push_back(gpu);
    return rank;
}

RunNow run_of(int64_t ranks) {
    RunNow run;
    run.folder = "run";
    run.program = "train.py";
    run.taken_real_ns = 1000 * kSecond;
    run.started_real_ns = 246 * kSecond;
    for (int64_t i = 0; i < ranks; ++i) run.ranks.push_back(rank_of(i));
    run.slowest = slowest_of(run.ranks);
    return run;
}

std::string drawn(const RunNow& run, TopState state = {}, size_t rows = 24, size_t columns = 80,
                  bool has_marks = false) {
    const Grid grid = draw_top(run, state, rows, columns, {has_marks, true});
    const std::string text = grid.text();
    std::istringstream lines(text);
    size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) CHECK(width_of(line) <= columns);
    CHECK(count == rows);
    return text;
}

// test/golden/top, above the build folder that this program lies in.
std::filesystem::path golden_folder() {
    std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe");
    while (folder != folder.root_path() && !std::filesystem::is_directory(folder / "test" / "golden"))
        folder = folder.parent_path();
    return folder / "test" / "golden" / "top";
}

// What is drawn, exactly. `make golden` writes it; the difference is to be read like code.
void check_golden(const std::string& name, const std::string& text) {
    const std::filesystem::path file = golden_folder() / (name + ".txt");
    if (std::getenv("GOLDEN") != nullptr) {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    std::ifstream expected(file);
    CHECK(text == std::string(std::istreambuf_iterator<char>(expected), {}));
}

TopState seen(TopView view) {
    TopState state;
    state.view = view;
    return state;
}

}  // namespace

TEST_CASE("every view of two ranks, to the letter", "[top]") {
    check_golden("parts_80x24", drawn(run_of(2)));
    check_golden("idle_80x24", drawn(run_of(2), seen(TopView::idle)));
    check_golden("device_80x24", drawn(run_of(2), seen(TopView::device)));
    TopState help;
    help.shows_help = true;
    check_golden("help_80x24", drawn(run_of(2), help));
    CHECK(drawn(run_of(2), help, 24, 80) == drawn(run_of(2), help, 24, 200));  // nothing of it is cut off
}

TEST_CASE("64 ranks on one screen, to the letter", "[top]") {
    const std::string small = drawn(run_of(64));
    check_golden("64_ranks_80x24", small);
    for (int64_t i = 0; i < 64; ++i) CHECK(small.find(" " + std::to_string(i) + " 4.") != std::string::npos);
    check_golden("64_ranks_200x50", drawn(run_of(64), {}, 50, 200, true));
}

TEST_CASE("what goes wrong is said and what is not known is no figure, to the letter", "[top]") {
    RunNow run = run_of(4);
    run.ranks[0].state = RankState::silent;
    run.ranks[0].news_age_ns = 12 * kSecond;
    run.ranks[0].open_call = "cuCtxSynchronize";
    run.ranks[1].state = RankState::ended;
    run.ranks[2].state = RankState::died;
    run.ranks[2].pace = {};
    run.ranks[3] = {};
    run.ranks[3].label = "?";
    run.ranks[3].state = RankState::unreadable;
    run.ranks[3].why = "not a regular file";
    run.ranks[2].gpus[0].parts->is_wait_known = false;
    run.ranks[1].dropped = 1234;
    run.notes = {"the newest of 2 runs in this folder"};
    check_golden("troubles_80x24", drawn(run));
    check_golden("nothing_80x24", drawn({}));
}

TEST_CASE("any size is drawn, however small", "[top]") {
    for (const size_t rows : {0U, 1U, 3U, 5U, 6U, 24U})
        for (const size_t columns : {0U, 1U, 10U, 40U, 300U})
            for (const int64_t ranks : {0, 1, 70}) drawn(run_of(ranks), {}, rows, columns, true);
}

TEST_CASE("escapes redraw each line in its place, with colours only where they are wanted", "[top]") {
    TopState state;
    const Grid grid = draw_top(run_of(2), state, 24, 80, {false, true});
    const std::string plain = grid.escapes(false), coloured = grid.escapes(true);
    CHECK(plain.starts_with("\033[Hgpushim top"));
    CHECK(plain.find("\033[1m") == std::string::npos);
    CHECK(coloured.find("\033[1m") != std::string::npos);
    CHECK(!plain.ends_with("\n"));
    size_t lines = 0;
    for (size_t at = 0; (at = plain.find("\033[K", at)) != std::string::npos; ++at) ++lines;
    CHECK(lines == 24);
}

TEST_CASE("bars go where there is no room, before what says how old shares are", "[top]") {
    RunNow run = run_of(2);
    const auto pace_line = [&](size_t columns) {
        const std::string text = drawn(run, {}, 24, columns, true);
        const size_t from = text.find('\n') + 1;
        return text.substr(from, text.find('\n', from) - from);
    };
    CHECK(pace_line(80).find("▄") != std::string::npos);
    for (RankNow& rank : run.ranks) rank.pace.course_ns.resize(12, 4'290'000);
    CHECK(pace_line(80).find("▄") == std::string::npos);
    CHECK(pace_line(80).ends_with("GPU shares 4 s old"));
    CHECK(pace_line(120).find("▄") != std::string::npos);
}

TEST_CASE("rows are in the order that was chosen, and those that the filter leaves", "[top]") {
    const RunNow run = run_of(4);
    TopState state;
    CHECK(chosen_ranks(run, state) == std::vector<size_t>{0, 1, 2, 3});
    state.press("s", 19);
    CHECK(state.order == TopOrder::step);
    CHECK(chosen_ranks(run, state) == std::vector<size_t>{3, 2, 1, 0});
    state.press("r", 19);
    CHECK(chosen_ranks(run, state) == std::vector<size_t>{0, 1, 2, 3});
    state.press("rss", 19);
    CHECK(state.order == TopOrder::waiting);
    CHECK(chosen_ranks(run, state).back() == 1);
    state.press("f4002\r", 19);
    CHECK(!state.is_typing);
    CHECK(chosen_ranks(run, state) == std::vector<size_t>{2});
    state.press("\033", 19);
    CHECK(chosen_ranks(run, state).size() == 4);
    state.press("f1\r", 19);  // not process 4001
    CHECK(chosen_ranks(run, state) == std::vector<size_t>{1});
}

TEST_CASE("keys that are typed into the filter are no commands", "[top]") {
    TopState state;
    state.press("/qp\177", 19);
    CHECK(state.filter == "q");
    CHECK(!state.has_ended);
    CHECK(!state.is_paused);
    state.press("\003", 19);
    CHECK(state.filter.empty());
    state.press("pv?xq", 19);
    CHECK(state.is_paused);
    CHECK(state.view == TopView::idle);
    CHECK(!state.shows_help);  // x left it
    CHECK(state.has_ended);
}

TEST_CASE("arrows and pages scroll, no further than there are rows", "[top]") {
    TopState state;
    state.view = TopView::parts;
    state.press("\033[B\033[B\033[A", 19);
    CHECK(state.first == 1);
    state.press("\033[6~\033[6~\033[6~\033[6~\033[6~", 19);
    draw_top(run_of(64), state, 24, 80, {false, true});
    CHECK(state.first == 64 - 19);
    state.press("\033[1;5Dx", 19);  // a key that says nothing here
    CHECK(state.first == 64 - 19);
}

TEST_CASE("the slowest rank is the one that waited least, by more than an accident", "[top]") {
    CHECK(run_of(3).slowest == 1);
    RunNow run = run_of(3);
    run.ranks[1].gpus[0].parts->peer_wait_ns = 45;
    CHECK(!slowest_of(run.ranks));
    CHECK(!run_of(1).slowest);
}

TEST_CASE("of what is not known JSON has null, and why", "[top]") {
    RunNow run = run_of(2);
    run.ranks[0].gpus[0].parts = std::nullopt;
    run.ranks[0].gpus[0].why_no_parts = "no window";
    run.ranks[1].gpus[0].parts->is_wait_known = false;
    const Json json = top_json(run);
    const Json& none = json["ranks"].items()[0]["gpus"].items()[0];
    CHECK(none["productive_share"].is_null());
    CHECK(none["why"].words() == "no window");
    const Json& waits = json["ranks"].items()[1]["gpus"].items()[0];
    CHECK(waits["waiting_for_peer_share"].is_null());
    CHECK(waits["productive_share"].amount() == Approx(0.7));
    CHECK(!waits["why"].words().empty());
}

}  // namespace top_screen_test
