// Random threads and gaps against the rule asked of each microsecond by itself, from the calls as they are.
#include "idle_scene.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace idle_random_test {

using namespace idle_scene;

namespace {

struct Call {
    What what;
    int64_t from, until;
    int32_t gpu;
};
struct Row {
    int64_t from, until, running, runqueue;
};

// A thread as lists, in microseconds.
struct Made {
    std::vector<Call> calls;
    std::vector<Row> rows;
    int64_t input_at = -1;
    Gap gap;
    bool is_told = false;  // by a framework

    bool has(What what) const {
        return std::any_of(calls.begin(), calls.end(),
                           [what](const Call& call) { return call.what == what; });
    }
};

constexpr What kUntold[] = {What::sync, What::staging, What::alloc_or_load, What::making_graph,
                            What::comm, What::launch,  What::slow_call,     What::other_call};
constexpr What kTold[] = {What::loading, What::optimizing, What::dispatching};

class Maker {
  public:
    explicit Maker(uint64_t seed) : random_(seed) {}

    Made make() {
        Made made;
        made.is_told = below(2) == 0;
        for (int64_t t = below(10); t < 300;) {
            const int64_t until = t + 1 + below(below(4) == 0 ? 60 : 6);
            put_call(made, t, until);
            t = until + below(below(3) == 0 ? 60 : 8);
            if (t > until && below(3) != 0) put_row(made, until, t);
        }
        put_gap(made);
        return made;
    }
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  private:
    void put_call(Made& made, int64_t from, int64_t until) {
        const bool may_tell = made.is_told && below(3) == 0;
        const What what = may_tell ? kTold[below(3)] : below(8) < 4 ? What::launch : kUntold[below(7)];
        made.calls.push_back({what, from, until, gpu_of(what)});
        if (what != What::comm && what != What::dispatching) return;
        for (int64_t t = from; t < until; ++t)
            if (const int64_t end = t + 1 + below(5); end <= until && below(3) == 0) {
                const What inner = kUntold[below(7)];
                if (inner != What::comm) made.calls.push_back({inner, t, end, gpu_of(inner)});
                t = end;
            }
    }
    int32_t gpu_of(What what) {
        const bool is_of_gpu = what == What::launch || what == What::sync;
        return is_of_gpu ? static_cast<int32_t>(below(4) == 0) : kNoGpu;
    }
    void put_row(Made& made, int64_t from, int64_t until) {
        const int64_t running = below(until - from + 1);
        made.rows.push_back({from, until, running, below(until - from - running + 1)});
    }
    void put_gap(Made& made) {
        const Call& next = made.calls[static_cast<size_t>(below(static_cast<int64_t>(made.calls.size())))];
        const int64_t from = std::max<int64_t>(0, next.from + 20 - below(100));
        made.gap = {0, from * kUs, (from + 1 + below(80)) * kUs,
                    Next{kThread, next.from * kUs, next.until * kUs}};
        made.gap.next->is_copy_h2d = below(2) == 0;
        made.gap.next->waits_for = static_cast<WaitsFor>(std::max<int64_t>(0, below(8) - 5));
        if (below(2) == 0)
            made.input_at = next.from;
        else if (below(2) == 0)
            made.input_at = made.calls[made.calls.size() / 2].from;
    }

    std::mt19937_64 random_;
};

// --- the rule, of one microsecond

const Call* call_at(const Made& made, int64_t t) {
    const Call* best = nullptr;
    for (const Call& call : made.calls)
        if (call.from <= t && t < call.until && (best == nullptr || call.what < best->what)) best = &call;
    return best;
}

const Call* deciding_at(const Made& made, int64_t t) {
    const Call* call = call_at(made, t);
    return call != nullptr && call->what != What::other_call ? call : nullptr;
}

What outside_at(const Made& made, int64_t t) {
    if (call_at(made, t) != nullptr) return What::other_call;
    for (const Row& row : made.rows) {
        if (t < row.from || t >= row.until) continue;
        const int64_t off = row.until - row.from - row.running;
        return t < row.from + off - row.runqueue ? What::blocked
               : t < row.from + off              ? What::ready
                                                 : What::running;
    }
    return What::unknown;
}

bool is_input(const Made& made, int64_t enter) {
    if (enter != made.input_at) return false;
    return enter * kUs != made.gap.next->launch_enter_ns || made.gap.next->is_copy_h2d;
}

// That decides then, or what an operator that is open then calls first.
const Call* called_from(const Made& made, int64_t t) {
    while (call_at(made, t) != nullptr && call_at(made, t)->what == What::dispatching) ++t;
    return call_at(made, t);
}

bool is_told(const Made& made) {
    return std::any_of(std::begin(kTold), std::end(kTold), [&](What what) { return made.has(what); });
}

// What the framework does between two launches for this GPU that are less than 20 us apart.
bool is_in_loop(const Made& made, int64_t t) {
    const What what = outside_at(made, t);
    const auto is_between = [&](int64_t at) {
        const Call* call = deciding_at(made, at);
        return call == nullptr || call->what == What::dispatching;
    };
    if (!is_told(made) || !is_between(t)) return false;
    if (deciding_at(made, t) == nullptr && (what == What::ready || what == What::blocked)) return false;
    int64_t before = t, after = t;
    while (before >= 0 && is_between(before)) --before;
    while (after < 500 && is_between(after)) ++after;
    const auto here = [&](int64_t at) {
        const Call* call = at >= 0 ? deciding_at(made, at) : nullptr;
        return call != nullptr && call->what == What::launch && call->gpu == 0;
    };
    return here(before) && here(after) && after - before - 1 < 20;
}

Cause host_cause(const Made& made, int64_t t) {
    if (is_in_loop(made, t)) return Cause::launch_bound;
    if (const Call* call = deciding_at(made, t)) switch (call->what) {
            case What::loading:
                return Cause::input_loading;
            case What::optimizing:
                return Cause::optimizer;
            case What::dispatching:
                return Cause::framework;
            case What::sync:
                return call->gpu > 0 ? Cause::sync_other_gpu : Cause::sync;
            case What::staging:
                return Cause::copy_staging;
            case What::alloc_or_load:
                return Cause::alloc_or_load;
            case What::making_graph:
                return Cause::graph_update;
            case What::comm:
                return Cause::comm_host;
            case What::slow_call:
                return Cause::slow_call;
            default:
                return call->gpu == 0 ? Cause::launch_bound : Cause::launching_other_gpu;
        }
    int64_t before = t, after = t;
    while (before >= 0 && deciding_at(made, before) == nullptr) --before;
    while (after < 500 && deciding_at(made, after) == nullptr) ++after;
    const Call *first = before >= 0 ? deciding_at(made, before) : nullptr, *last = deciding_at(made, after);
    const auto here = [](const Call* call) { return call && call->what == What::launch && call->gpu == 0; };
    const What what = outside_at(made, t);
    const bool ran = what == What::running || what == What::other_call;
    const bool off = what == What::ready || what == What::blocked;
    const bool told = is_told(made);
    if (told && first != nullptr && last != nullptr) return off ? Cause::host_blocked : Cause::python;
    if (here(first) && here(last) && after - before - 1 < 20) return Cause::launch_bound;
    const Call* next = called_from(made, after);
    if (next != nullptr && is_input(made, next->from) && !made.has(What::loading)) {
        if (what == What::unknown) return told ? Cause::input_loading : Cause::host_unknown;
        if (what == What::other_call && told) return Cause::input_loading;
        return ran ? Cause::input_cpu : Cause::input_wait;
    }
    if (here(first) && here(last)) return off ? Cause::host_blocked : Cause::between_launches;
    if (told && (what == What::unknown || what == What::other_call)) return Cause::callback;
    if (what == What::unknown) return Cause::host_unknown;
    return ran ? Cause::host_cpu : Cause::host_blocked;
}

Cause cause_at(const Made& made, int64_t t) {
    const Next& next = *made.gap.next;
    const int64_t a = made.gap.from_ns / kUs, b = made.gap.until_ns / kUs;
    const int64_t enter = next.launch_enter_ns / kUs, exit = next.launch_exit_ns / kUs;
    const int64_t asked = enter + 5 > a ? t - 5 : t;
    if (asked < enter) return host_cause(made, asked);
    if (asked < exit) return Cause::launch_call;
    if (next.waits_for == WaitsFor::other_gpu) return Cause::wait_other_gpu;
    if (next.waits_for == WaitsFor::host_callback) return Cause::wait_host_callback;
    const int64_t queued = b - std::max(a, exit);
    if (enter + 5 < a && queued <= 3) return Cause::kernel_gap;
    return queued <= 9 ? Cause::launch_latency : Cause::device_other;
}

// --- the same thread as a line

Scene scene_of(const Made& made) {
    Scene scene;
    auto row = made.rows.begin();
    for (const Call& call : made.calls) {
        for (; row != made.rows.end() && row->from < call.from; ++row)
            scene.row(row->from, row->until, row->running, row->runqueue);
        scene.call(call.what, call.from, call.until, call.gpu);
    }
    for (; row != made.rows.end(); ++row) scene.row(row->from, row->until, row->running, row->runqueue);
    scene.input_copy_at(made.input_at);
    scene.gap = made.gap;
    return scene;
}

// Each call in two, where it is long enough, and each part of a row by itself.
Made cut(const Made& made, Maker& maker) {
    Made result = made;
    result.calls.clear();
    result.rows.clear();
    for (const Call& call : made.calls) {
        const int64_t at = call.from + maker.below(call.until - call.from);
        if (at > call.from) result.calls.push_back({call.what, call.from, at, call.gpu});
        result.calls.push_back({call.what, at, call.until, call.gpu});
    }
    std::stable_sort(result.calls.begin(), result.calls.end(),
                     [](const Call& x, const Call& y) { return x.from < y.from; });
    for (const Row& row : made.rows) {
        const int64_t ran_from = row.until - row.running, ready_from = ran_from - row.runqueue;
        if (ready_from > row.from) result.rows.push_back({row.from, ready_from, 0, 0});
        if (ran_from > ready_from) result.rows.push_back({ready_from, ran_from, 0, ran_from - ready_from});
        if (row.until > ran_from) result.rows.push_back({ran_from, row.until, row.until - ran_from, 0});
    }
    return result;
}

}  // namespace

TEST_CASE("the pieces of a gap are what each microsecond says by itself", "[idle][random]") {
    Maker maker(20'260'101);
    IdleByCause seen;
    for (int i = 0; i < 2000; ++i) {
        INFO("round " << i);
        const Made made = maker.make();
        const Attributed result = scene_of(made).ask();
        REQUIRE(tile(result.pieces, made.gap.from_ns, made.gap.until_ns));
        IdleByCause one, expected;
        add(one, result.pieces);
        REQUIRE(one.total() == made.gap.length_ns());
        for (const Piece& piece : result.pieces)
            for (int64_t t = piece.from_ns; t < piece.until_ns; t += kUs) {
                const Cause cause = cause_at(made, t / kUs);
                expected[cause] += kUs;
                INFO("at " << t / kUs << " " << name_of(cause) << ", not " << name_of(piece.cause));
                REQUIRE(cause == piece.cause);
            }
        REQUIRE(one == expected);
        seen += one;
    }
    // All came up but those of which nothing can be asked, two that only samples of Python tell, and one of
    // operators that take longer than these lines.
    for (const CauseRow& row : kCauses)
        if (row.cause < Cause::tail && row.cause != Cause::interpreter_lock &&
            row.cause != Cause::garbage_collection && row.cause != Cause::operator_cpu) {
            INFO(row.name);
            CHECK(seen[row.cause] > 0);
        }
}

TEST_CASE("how calls are cut changes nothing", "[idle][random]") {
    Maker maker(7);
    for (int i = 0; i < 2000; ++i) {
        INFO("round " << i);
        const Made made = maker.make();
        const Attributed whole = scene_of(made).ask(), parts = scene_of(cut(made, maker)).ask();
        REQUIRE(parts.pieces == whole.pieces);
        REQUIRE(parts.drained_by_sync == whole.drained_by_sync);
        REQUIRE(parts.contended == whole.contended);
    }
}

TEST_CASE("what is forgotten does not change what is asked later", "[idle][random]") {
    Maker maker(9);
    for (int i = 0; i < 500; ++i) {
        INFO("round " << i);
        const Made made = maker.make();
        Scene scene = scene_of(made);
        const std::vector<Piece> whole = scene.pieces();
        scene.line().forget_before(made.gap.from_ns - scene.facts.device.latency_ns);
        REQUIRE(scene.pieces() == whole);
    }
}

}  // namespace idle_random_test
