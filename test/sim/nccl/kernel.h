// One execution of one of NCCL's kernels on the box: it holds the operations of a batch, tells the other
// ranks when it could start, and runs when all of them have come. The steps, each of which may be another
// thread's:
//
//   begin     (launch or replay; engine's lock)   numbers are given: the n-th collective, the n-th message to
//   a peer arrive    (engine's lock)                     contributions go to the stage, on the mover publish
//   (mover)                             bytes staged and own start known: the others are told. Who comes
//                                                 last combines what is to be reduced
//   outcome   (engine's lock)                     all have come: times and sources are known
//   move      (mover)                             bytes go to where the program wants them
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "communicator.h"
#include "engine/operation.h"
#include "patience.h"
#include "transfer.h"

namespace gpusim::nccl {

// What one kernel does. A captured graph may launch it again at any time.
struct Batch : std::enable_shared_from_this<Batch> {
    Communicator comm;
    std::vector<Transfer> transfers;
    std::vector<void*> plugin_handles;  // of the transfers, where a profiler plug-in was told of them
};

class Kernel : public Behaviour, public std::enable_shared_from_this<Kernel> {
  public:
    Kernel(std::shared_ptr<const Batch> batch, int device);

    void arrive(Ns ready_ns) override;
    std::optional<Outcome> outcome() override;
    Ns not_before() const override { return ready_ns_ + duration_ns_; }
    int64_t bytes() const override { return bytes_; }
    void move() override;

    bool is_over() const { return over_; }  // engine's lock
    Ns end_ns() const { return end_ns_; }

  private:
    // A transfer with its number; what is known about its partners once they have come.
    struct Entry {
        Share share;
        uint64_t number;
        uint64_t offset;  // of the contribution in the own stage
        uint64_t source_offsets[kMaxRanks];
        int result_rank;  // of a reduction
    };

    const Transfer& transfer(const Entry& e) const { return e.share.transfer; }
    SharedRoom& room() const { return comm_->room->shared(); }
    void number(const Transfer& t);
    bool take_stage(Entry& e);
    void stage(const Entry& e) const;
    void one_step_done(bool on_mover);
    void learn_start();

    void publish();
    void fill(Part& part, const Entry& e) const;
    bool publish_round(Entry& e);
    bool publish_message(const Entry& e);
    void combine_round(Round& round, const Entry& e);

    const Part* partner(const Entry& e, int rank) const;  // null: not there yet
    bool all_there() const;
    bool are_alike() const;  // all are there
    bool is_missing(int rank) const;
    Outcome finish();
    Outcome end(Ns start_ns, Ns end_ns, int error);
    std::optional<Outcome> failure();
    Outcome stopped();

    std::shared_ptr<const Batch> batch_;
    Communicator comm_;
    std::shared_ptr<Kernel> previous_;  // of this communicator: they run one after the other
    std::vector<Entry> entries_;
    int64_t bytes_ = 0;
    double variation_ = 1;
    Ns latency_ns_ = 0;
    Ns duration_ns_ = 0;  // as far as this rank knows
    Ns ready_ns_ = 0;
    Ns end_ns_ = 0;
    std::atomic<int> steps_left_{2};  // staged; start known
    bool start_known_ = false;
    bool over_ = false;
    bool delivers_ = false;
    std::atomic<bool> published_{false};
    Patience patience_;
    std::optional<std::chrono::steady_clock::time_point> doomed_since_;
};

// gpusim::KernelImage::begin of the library.
std::shared_ptr<Behaviour> begin_kernel(const char* name, const void* parameter, int device);

}  // namespace gpusim::nccl
