// Causes of idle time where a framework told what its threads were in. Times in microseconds; l is 5.
#include "analysis/idle/attribute.h"

#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_told_test {

using namespace idle_scene;

//  GPU     ██100|                                       |200███
//  thread  ──loader──┐120  ┌op┐130…150  ┌optimizer┐155…175   195┌N┐
//                               ┌L┐140…145
TEST_CASE("the host part is what the framework was in", "[idle][idle_told]") {
    Scene scene;
    scene.call(What::loading, 50, 120).call(What::dispatching, 130, 150).launch(140, 145);
    scene.call(What::optimizing, 155, 175).launch(195, 199).gap_before(100, 200, 195, 199);
    CHECK(scene.pieces() == Pieces{is(Cause::input_loading, 100, 125), is(Cause::python, 125, 135),
                                   is(Cause::framework, 135, 145), is(Cause::launch_bound, 145, 150),
                                   is(Cause::framework, 150, 155), is(Cause::python, 155, 160),
                                   is(Cause::optimizer, 160, 180), is(Cause::python, 180, 200)});
}

//  thread  ┌op┐80 ───────── ┌slow call┐90…2095 ────── op ──┐2100 N
TEST_CASE("a slow call within an operator is no dispatching", "[idle][idle_told]") {
    const auto within = [](What what) {
        Scene scene;
        scene.call(What::dispatching, 80, 2110).call(what, 90, 2095).launch(2100, 2104);
        return scene.gap_before(100, 2105, 2100, 2104).pieces();
    };
    CHECK(within(What::slow_call) ==
          Pieces{is(Cause::slow_call, 100, 2100), is(Cause::framework, 2100, 2105)});
    CHECK(within(What::other_call) == Pieces{is(Cause::framework, 100, 2105)});
}

TEST_CASE("a wait within a loader is the loader's", "[idle][idle_told]") {
    Scene scene;
    scene.call(What::loading, 50, 180).call(What::sync, 90, 150).launch(195, 199);
    scene.gap_before(100, 200, 195, 199);
    CHECK(scene.pieces() == Pieces{is(Cause::input_loading, 100, 185), is(Cause::python, 185, 200)});
}

//  thread  ┌op┐90 ─────────── in nothing ────────── N
TEST_CASE("on the way to the next operator for long, the host does something else", "[idle][idle_told]") {
    const auto apart = [](int64_t us) {
        Scene scene;
        scene.call(What::dispatching, 80, 90).launch(90 + us, 94 + us);
        return scene.gap_before(100, 95 + us, 90 + us, 94 + us).pieces();
    };
    CHECK(apart(999) == Pieces{is(Cause::python, 100, 1094)});
    CHECK(apart(1000) == Pieces{is(Cause::callback, 100, 1095)});
    // Of a thread of which nothing was told, it is not known.
    Scene untold;
    untold.launch(80, 90).launch(1090, 1094).gap_before(100, 1095, 1090, 1094);
    CHECK(untold.pieces() == Pieces{is(Cause::host_unknown, 100, 1095)});
}

//  thread     untold  1500|  ┌op┐2000 ─── in nothing ─── N4000
TEST_CASE("where the framework is known to tell nothing, it is not known", "[idle][idle_told]") {
    Scene scene;
    scene.line().add_untold(30 * kUs);
    scene.line().add_untold(400 * kUs);  // a call of MPI was in between
    scene.launch(10, 14).call(What::dispatching, 1500, 2000).launch(4000, 4004);
    CHECK(scene.gap_before(20, 4005, 4000, 4004).pieces() == Pieces{is(Cause::host_unknown, 20, 1505),
                                                                    is(Cause::framework, 1505, 2005),
                                                                    is(Cause::callback, 2005, 4005)});
    scene.line().add_untold(2000 * kUs);
    CHECK(scene.pieces().back() == is(Cause::host_unknown, 2005, 4005));
}

//  thread  ┌op┐90 ──── in nothing, 1.9 ms ────┌op  ┌H2D┐  ┐
TEST_CASE("in nothing before the input copy is loading, where no loader tells", "[idle][idle_told]") {
    Scene scene;
    scene.call(What::dispatching, 80, 90).call(What::dispatching, 1990, 2010).launch(2000, 2004);
    scene.gap_before(100, 2005, 2000, 2004).input_copy_at(2000);
    scene.gap.next->is_copy_h2d = true;
    CHECK(scene.pieces() == Pieces{is(Cause::input_loading, 100, 1995), is(Cause::framework, 1995, 2005)});
    // A loader that tells does not load then.
    Scene told;
    told.call(What::loading, 10, 20).call(What::dispatching, 80, 90);
    told.call(What::dispatching, 1990, 2010).launch(2000, 2004);
    told.gap_before(100, 2005, 2000, 2004).input_copy_at(2000);
    told.gap.next->is_copy_h2d = true;
    CHECK(told.pieces() == Pieces{is(Cause::callback, 100, 1995), is(Cause::framework, 1995, 2005)});
}

//  GPU     ██100|          |125███
//  thread  ┌op┐┌L┐90…97 ┐99   ┌op┐108┌N┐112…119
TEST_CASE("what the framework does between launches in a loop is the loop", "[idle][idle_told]") {
    const auto next_at = [](int64_t enter_us) {
        Scene scene;
        scene.call(What::dispatching, 80, 99).launch(90, 97);
        scene.call(What::dispatching, enter_us - 4, enter_us + 8).launch(enter_us, enter_us + 7);
        return scene.gap_before(100, enter_us + 5, enter_us, enter_us + 7).pieces();
    };
    CHECK(next_at(112) == Pieces{is(Cause::launch_bound, 100, 117)});
    CHECK(next_at(116) == Pieces{is(Cause::launch_bound, 100, 121)});
    // 20 us apart it is none.
    CHECK(next_at(117) == Pieces{is(Cause::launch_bound, 100, 102), is(Cause::framework, 102, 104),
                                 is(Cause::python, 104, 118), is(Cause::framework, 118, 122)});
}

TEST_CASE("what else a thread does between launches is no part of their loop", "[idle][idle_told]") {
    Scene scene;
    scene.call(What::dispatching, 80, 99).launch(90, 97).call(What::sync, 99, 104);
    scene.call(What::dispatching, 104, 120).launch(112, 119).gap_before(100, 117, 112, 119);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 100, 102), is(Cause::framework, 102, 104),
                                   is(Cause::sync, 104, 109), is(Cause::framework, 109, 117)});
    Scene other;  // launches for another GPU
    other.call(What::dispatching, 80, 99).call(What::launch, 90, 97, 1);
    other.call(What::dispatching, 108, 120).launch(112, 119).gap_before(100, 117, 112, 119);
    CHECK(other.pieces().front() == is(Cause::launching_other_gpu, 100, 102));
    CHECK(other.pieces().back() == is(Cause::framework, 113, 117));
}

}  // namespace idle_told_test
