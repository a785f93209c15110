// What steps spend around collectives, on lanes 0 (compute) and 1 (NCCL) of one GPU.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace comm_step_part_test {

using namespace made;

namespace {

constexpr int64_t kUs = 1000;

// Kernels by number, and two steps of 1 ms. A launch takes 8 us to an empty queue.
struct CommFacts : MadeFacts {
    int64_t gemm = kernel("ampere_sgemm_128x64_nn"), cat = kernel("CatArrayBatchedCopy"),
            split = kernel("split_with_sizes_copy"), scale = kernel("vectorized_elementwise_kernel"),
            adam = kernel("multi_tensor_apply_kernel_adam_fused"),
            reduce = kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
            gather = kernel("ncclDevKernel_AllGather_RING_LL");

    CommFacts() {
        step(0, 1000 * kUs);
        step(1000 * kUs, 2000 * kUs);
    }
    Call at(int64_t kernel_id, int64_t start_us, int64_t end_us, int32_t of_step = 0) {
        const int64_t enter_ns = of_step * 1000 * kUs + ++launches_;
        Call call = made::kernel(launch(0, enter_ns, enter_ns + 1), kernel_id);
        if (kernel_id == reduce || kernel_id == gather) {
            call.type = OperationClass::comm;
            call.lane = 1;
        }
        return in_step(ran(call, start_us * kUs, end_us * kUs), of_step);
    }
    std::string ask(const char* sql, const std::vector<Call>& calls) {
        Written written;
        all_of(make_comm_step_part(facts), *this, calls, written);
        return written.ask(sql);
    }
    // How many, and of the first one its step, GPU, packing and unpacking.
    std::string row(const std::vector<Call>& calls) {
        return ask("SELECT count(*), min(step), min(gpu_id), min(pack_ns), min(unpack_ns) FROM comm_step",
                   calls);
    }
    std::string delay(const std::vector<Call>& calls) {
        return ask("SELECT start_delay_ns FROM comm_step", calls);
    }

  private:
    int64_t launches_ = 0;
};

Call event(CallKind kind, int32_t lane, int64_t at_ns) { return other(kind, lane, 5, at_ns, at_ns + 1); }

}  // namespace

//  0██100 gemm  100▒130 cat  130▒140 scaled  140░░200 reduce  200▒210 scaled  210▒250 split  250██ adam
TEST_CASE("packing and unpacking by the names of kernels", "[comm_step_part]") {
    CommFacts made;
    const std::vector<Call> step = {made.at(made.gemm, 0, 100),    made.at(made.cat, 100, 130),
                                    made.at(made.scale, 130, 140), made.at(made.reduce, 140, 200),
                                    made.at(made.scale, 200, 210), made.at(made.split, 210, 250),
                                    made.at(made.adam, 250, 300)};
    CHECK(made.row(step) == "1 0 20 30000 40000");
}

TEST_CASE("copies within the GPU pack, too, and others do not", "[comm_step_part]") {
    const auto copied = [](OperationClass type) {
        CommFacts made;
        const Call copy = of_kind(made.at(made.cat, 100, 130), type, 4096);
        return made.row({made.at(made.gemm, 0, 100), copy, made.at(made.reduce, 140, 200)});
    };
    CHECK(copied(OperationClass::d2d) == "1 0 20 30000 0");
    CHECK(copied(OperationClass::h2d) == "1 0 20 0 0");
    CHECK(copied(OperationClass::graph) == "1 0 20 0 0");
}

TEST_CASE("gathering moves no gradients", "[comm_step_part]") {
    CommFacts made;
    CHECK(made.row({made.at(made.cat, 100, 130), made.at(made.gather, 140, 200)}) == "0 - - - -");
}

//  step    0 0 0 1 0 1 1      a call of another thread, which stands behind the next step's first one
TEST_CASE("nothing is said of steps that are there in parts", "[comm_step_part]") {
    CommFacts made;
    const auto reduced = [&](int32_t step, int64_t at_us) {
        return made.at(made.reduce, at_us, at_us + 60, step);
    };
    const auto packed = [&](int32_t step, int64_t at_us) {
        return made.at(made.cat, at_us, at_us + 30, step);
    };
    CHECK(made.row({packed(0, 100), reduced(0, 140), packed(1, 1100), reduced(1, 1140)}) == "2 0 20 30000 0");
    CHECK(made.row({packed(0, 100), reduced(0, 140), packed(1, 1100), reduced(1, 1140), reduced(0, 300)}) ==
          "1 1 20 30000 0");
    CHECK(made.row({packed(0, 100), reduced(0, 140), packed(1, 1100), reduced(1, 1140), reduced(0, 300),
                    reduced(1, 1300), reduced(0, 500)}) == "0 - - - -");
}

// A product of one step is not merged with the next one's, and each step has its own row.
TEST_CASE("each step has a row", "[comm_step_part]") {
    CommFacts made;
    Written written;
    all_of(make_comm_step_part(made.facts), made,
           {made.at(made.gemm, 0, 100), made.at(made.cat, 100, 110), made.at(made.reduce, 120, 200),
            made.at(made.gemm, 1000, 1100, 1), made.at(made.cat, 1100, 1130, 1),
            made.at(made.reduce, 1130, 1200, 1)},
           written);
    CHECK(written.ask("SELECT group_concat(step || ':' || pack_ns, ' ') FROM comm_step") ==
          "0:10000 1:30000");
}

TEST_CASE("a step of which something has no device times has no row", "[comm_step_part]") {
    CommFacts made;
    Call untimed = made.at(made.cat, 100, 130);
    untimed.timed = false;
    CHECK(made.row({made.at(made.gemm, 0, 100), untimed, made.at(made.reduce, 140, 200)}) == "0 - - - -");
}

TEST_CASE("a step that is not whole in its piece has no row", "[comm_step_part]") {
    CommFacts made;
    Written written;
    const auto part = make_comm_step_part(made.facts);
    give(*part, piece(1), {}, {made.at(made.cat, 100, 130), made.at(made.reduce, 140, 200)});
    part->finish(written.run());
    CHECK(written.ask("SELECT count(*) FROM comm_step") == "0");
}

TEST_CASE("slices of a run have no rows", "[comm_step_part]") {
    CommFacts made;
    made.facts.are_slices = true;
    CHECK(made.row({made.at(made.cat, 100, 130), made.at(made.reduce, 140, 200)}) == "0 - - - -");
}

//  lane 0   20██████████████████300          a product that has nothing to do with it
//  lane 1     8 could start ······|300░░400  asked for at 0: 280 of the 292 us something computed
TEST_CASE("a collective that could start while its GPU computes", "[comm_step_part]") {
    CommFacts made;
    CHECK(made.delay({made.at(made.gemm, 20, 300), made.at(made.reduce, 300, 400)}) == "280000");
}

//  lane 0   20██100|r 100██████300       r: an event, which lane 1 waits for: it could start at 100
//  lane 1          w·············|300░░400
TEST_CASE("what it had to come after is no contention", "[comm_step_part]") {
    CommFacts made;
    const Call first = made.at(made.gemm, 20, 100);
    const Call record = event(CallKind::record, 0, 2), wait = event(CallKind::wait, 1, 3);
    made.at(made.gemm, 0, 0);
    made.at(made.gemm, 0, 0);
    CHECK(made.delay({first, record, wait, made.at(made.gemm, 100, 300), made.at(made.reduce, 300, 400)}) ==
          "200000");
    // The same behind one of its own stream.
    CommFacts again;
    CHECK(again.delay({again.at(again.reduce, 10, 250), again.at(again.gemm, 20, 300),
                       again.at(again.reduce, 300, 400)}) == "50000");
}

// A trace of another tool does not say which events are waited for.
TEST_CASE("imported traces have no start delay", "[comm_step_part]") {
    CommFacts made;
    made.made.run("INSERT INTO meta VALUES ('source', 'kineto')");
    CHECK(made.delay({made.at(made.gemm, 20, 300), made.at(made.reduce, 300, 400)}) == "-");
}

}  // namespace comm_step_part_test
