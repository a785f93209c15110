#include "kernel.h"

#include <cuda.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arithmetic.h"
#include "engine/box_state.h"
#include "engine/knobs.h"
#include "engine/mover.h"
#include "engine/variation.h"
#include "profiler.h"

namespace gpusim::nccl {
namespace {

constexpr Ns kUnit = 1'000'000'000;

// The variation of this launch is drawn when it is issued: later would not be the same moment in every run.
double draw_variation(int device) {
    return static_cast<double>(vary_copy(kUnit, device)) / static_cast<double>(kUnit);
}

Ns scaled(double ns, double factor) { return static_cast<Ns>(std::llround(ns * factor)); }

// What several operations in one kernel take: collectives one after the other, messages of both directions at
// once.
class Duration {
  public:
    void add(const Transfer& t, Ns ns) {
        (t.kind == Kind::recv ? receiving_ : t.kind == Kind::send ? sending_ : collectives_) += ns;
    }
    Ns total() const { return collectives_ + std::max(sending_, receiving_); }

  private:
    Ns collectives_ = 0, sending_ = 0, receiving_ = 0;
};

}  // namespace

std::shared_ptr<Behaviour> begin_kernel(const char*, const void* parameter, int device) {
    const Batch* batch = nullptr;
    std::memcpy(&batch, parameter, sizeof batch);
    auto kernel = std::make_shared<Kernel>(batch->shared_from_this(), device);
    batch->comm->last = kernel;
    return kernel;
}

Kernel::Kernel(std::shared_ptr<const Batch> batch, int device)
    : batch_(std::move(batch)),
      comm_(batch_->comm),
      previous_(comm_->last),
      variation_(draw_variation(device)),
      latency_ns_(scaled(knobs().nccl_latency_us * 1e3, variation_)) {
    entries_.reserve(batch_->transfers.size());
    Duration duration;
    for (const Transfer& t : batch_->transfers) {
        number(t);
        duration.add(t, scaled(static_cast<double>(entries_.back().share.duration_ns()), variation_));
    }
    duration_ns_ = latency_ns_ + duration.total();
}

void Kernel::number(const Transfer& t) {
    Entry e{{t, comm_->rank, comm_->nranks}, 0, 0, {}, 0};
    const auto peer = static_cast<size_t>(t.peer);
    if (t.kind == Kind::send)
        e.number = ++comm_->sent[peer];
    else if (t.kind == Kind::recv)
        e.number = ++comm_->received[peer];
    else
        e.number = ++comm_->rounds;
    bytes_ += e.share.whole_bytes();
    entries_.push_back(e);
}

void Kernel::arrive(Ns ready_ns) {
    ready_ns_ = ready_ns;
    int64_t work = 0;
    for (Entry& e : entries_) {
        if (!take_stage(e))
            return comm_->fail(ncclSystemError, "more bytes are under way than fit the stage");
        work += static_cast<int64_t>(e.share.contribution_bytes()) * (e.share.reduces() ? comm_->nranks : 1);
    }
    mover::push(
        [self = shared_from_this()] {
            for (const Entry& e : self->entries_) self->stage(e);
            self->one_step_done(true);
        },
        work);
    learn_start();
}

bool Kernel::take_stage(Entry& e) {
    const size_t size = e.share.contribution_bytes();
    e.offset = transfer(e).kind == Kind::send
                   ? comm_->stage->take_for_message(transfer(e).peer, e.number, size)
                   : comm_->stage->take_for_round(e.number, size);
    return e.offset != Stage::kFull;
}

void Kernel::stage(const Entry& e) const {
    const size_t size = e.share.contribution_bytes();
    if (size == 0) return;
    std::byte* const into = comm_->room->stage(comm_->rank) + e.offset;
    const Transfer& t = transfer(e);
    if (!t.reduction.scaled || !e.share.reduces()) {
        std::memcpy(into, t.send, size);
        return;
    }
    const void* scalar =
        t.reduction.device_scalar != nullptr ? t.reduction.device_scalar : t.reduction.scalar;
    scale(t.type, size / type_bytes(t.type), scalar, t.send, into);
}

void Kernel::learn_start() {
    if (start_known_ || (previous_ != nullptr && !previous_->over_)) return;
    if (previous_ != nullptr) ready_ns_ = std::max(ready_ns_, previous_->end_ns_);
    previous_ = nullptr;
    start_known_ = true;
    one_step_done(false);
}

void Kernel::one_step_done(bool on_mover) {
    if (steps_left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (on_mover) return publish();
    const bool reduces =
        std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.share.reduces(); });
    mover::push([self = shared_from_this()] { self->publish(); }, reduces ? bytes_ * comm_->nranks : 0);
}

void Kernel::publish() {
    bool somebody_waits = false;
    for (Entry& e : entries_) {
        const bool complete = transfer(e).is_message() ? publish_message(e) : publish_round(e);
        somebody_waits = somebody_waits || complete;
    }
    published_.store(true, std::memory_order_release);
    if (somebody_waits) box::ring_bell();
}

void Kernel::fill(Part& part, const Entry& e) const {
    part.ready_ns = ready_ns_;
    part.duration_ns = scaled(static_cast<double>(e.share.duration_ns()), variation_);
    part.latency_ns = latency_ns_;
    part.meaning = meaning(transfer(e));
    part.offset = e.offset;
    // In one order with the other side's: of two that come at the same time, at least one sees the other.
    part.number.store(e.number, std::memory_order_seq_cst);
}

bool Kernel::publish_round(Entry& e) {
    Round& round = room().round(e.number);
    fill(round.parts[comm_->rank], e);
    const auto ranks = static_cast<uint64_t>(comm_->nranks);
    const uint64_t all = ranks * ((e.number - 1) / kRounds + 1);
    if (round.came.fetch_add(1, std::memory_order_acq_rel) + 1 != all) return false;
    combine_round(round, e);
    round.complete.store(e.number, std::memory_order_release);
    return true;
}

// In place in the own stage: whoever comes last does it once for all, so all get the same bits.
void Kernel::combine_round(Round& round, const Entry& e) {
    round.result_rank = comm_->rank;
    if (!e.share.reduces()) return;
    std::vector<const std::byte*> from;
    for (int rank = 0; rank < comm_->nranks; ++rank) {
        if (round.parts[rank].meaning != meaning(transfer(e))) return;  // all will see that it cannot be done
        from.push_back(comm_->room->stage(rank) + round.parts[rank].offset);
    }
    const Transfer& t = transfer(e);
    combine(t.reduction.scaled ? ncclSum : t.reduction.op, t.type,
            e.share.contribution_bytes() / type_bytes(t.type), from,
            comm_->room->stage(comm_->rank) + e.offset);
}

bool Kernel::publish_message(const Entry& e) {
    const Transfer& t = transfer(e);
    const size_t place = (e.number - 1) % kMessages;
    const bool sends = t.kind == Kind::send;
    Channel& channel = sends ? room().channels[comm_->rank][t.peer] : room().channels[t.peer][comm_->rank];
    fill(sends ? channel.sent[place] : channel.received[place], e);
    const Part& other = sends ? channel.received[place] : channel.sent[place];
    return other.number.load(std::memory_order_seq_cst) == e.number;
}

const Part* Kernel::partner(const Entry& e, int rank) const {
    const Transfer& t = transfer(e);
    const Part* part = nullptr;
    if (t.kind == Kind::send)
        part = &room().channels[comm_->rank][rank].received[(e.number - 1) % kMessages];
    else if (t.kind == Kind::recv)
        part = &room().channels[rank][comm_->rank].sent[(e.number - 1) % kMessages];
    else
        part = &room().round(e.number).parts[rank];
    return part->number.load(std::memory_order_acquire) == e.number ? part : nullptr;
}

bool Kernel::all_there() const {
    return std::all_of(entries_.begin(), entries_.end(), [this](const Entry& e) {
        if (transfer(e).is_message()) return partner(e, transfer(e).peer) != nullptr;
        return room().round(e.number).complete.load(std::memory_order_acquire) == e.number;
    });
}

bool Kernel::is_missing(int rank) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
        if (transfer(e).is_message()) return transfer(e).peer == rank && partner(e, rank) == nullptr;
        return partner(e, rank) == nullptr;
    });
}

std::optional<Outcome> Kernel::outcome() {
    learn_start();
    if (comm_->stopped.load(std::memory_order_acquire)) return stopped();
    if (published_.load(std::memory_order_acquire) && all_there() &&
        (are_alike() || knobs().nccl_unlike == 0))
        return finish();
    return failure();
}

bool Kernel::are_alike() const {
    return std::all_of(entries_.begin(), entries_.end(), [this](const Entry& e) {
        const Transfer& t = transfer(e);
        const int first = t.is_message() ? t.peer : 0, last = t.is_message() ? t.peer : comm_->nranks - 1;
        for (int rank = first; rank <= last; ++rank)
            if (partner(e, rank)->meaning != meaning(t)) return false;
        return true;
    });
}

// From here on it occupies its device; until the last one has come it waits there.
Outcome Kernel::finish() {
    Ns all_ready = ready_ns_;
    Ns latency = 0;
    const bool agree = are_alike();
    Duration duration;
    for (Entry& e : entries_) {
        const Transfer& t = transfer(e);
        const int first = t.is_message() ? t.peer : 0;
        const int last = t.is_message() ? t.peer : comm_->nranks - 1;
        for (int rank = first; rank <= last; ++rank) {
            const Part& part = *partner(e, rank);
            all_ready = std::max(all_ready, part.ready_ns);
            e.source_offsets[rank] = part.offset;
        }
        // One rank decides how long it takes: the sender, or rank 0.
        const bool own = t.kind == Kind::send;
        const Part& deciding = *partner(e, first);
        duration.add(
            t, own ? scaled(static_cast<double>(e.share.duration_ns()), variation_) : deciding.duration_ns);
        latency = std::max(latency, own ? latency_ns_ : deciding.latency_ns);
        e.result_rank = t.is_message() ? t.peer : room().round(e.number).result_rank;
    }
    if (!agree)
        comm_->fail(ncclInvalidUsage, "the ranks do not agree on kind, count, type, operator or root");
    delivers_ = agree;
    return end(ready_ns_, all_ready + latency + duration.total(), agree ? 0 : CUDA_ERROR_LAUNCH_FAILED);
}

Outcome Kernel::end(Ns start_ns, Ns end_ns, int error) {
    over_ = true;
    end_ns_ = end_ns;
    previous_ = nullptr;
    return {start_ns, end_ns, error};
}

Outcome Kernel::stopped() { return end(ready_ns_, std::max(ready_ns_, clock::now()), 0); }

std::optional<Outcome> Kernel::failure() {
    std::optional<Patience::End> over;
    if (published_.load(std::memory_order_acquire))
        over = patience_.over(*comm_->room, comm_->nranks, [this](int rank) { return is_missing(rank); });
    else if (room().failed.load(std::memory_order_acquire) != ncclSuccess)
        over = Patience::End{ncclRemoteError, "an earlier operation of the communicator has failed", false};
    if (!over) return std::nullopt;
    comm_->fail(over->result, over->why);
    // The program hears of it at once, the context suffers later: there is time to abort the communicator.
    const auto now = Patience::Clock::now();
    if (!doomed_since_) doomed_since_ = now;
    if (!over->out_of_time && now - *doomed_since_ < Patience::timeout() / 4) return std::nullopt;
    const Ns waited = static_cast<Ns>(knobs().nccl_timeout_s * 1e9);
    const Ns until = clock::stepped() ? ready_ns_ + waited : std::max(ready_ns_, clock::now());
    return end(ready_ns_, until, CUDA_ERROR_LAUNCH_FAILED);
}

// On the mover, in the order in which the kernels of a communicator are over: the counters only rise.
void Kernel::move() {
    profiler::runs(*batch_, ready_ns_, end_ns_);
    for (const Entry& e : entries_) {
        const Transfer& t = transfer(e);
        if (delivers_ && e.share.receives()) {
            auto* const into = static_cast<std::byte*>(t.recv);
            const size_t size = t.part_bytes();
            for (int i = 0; i < e.share.sources(); ++i) {
                const int rank = e.share.reduces() ? e.result_rank : e.share.first_source() + i;
                const std::byte* from =
                    comm_->room->stage(rank) + e.source_offsets[rank] + e.share.source_offset();
                std::memcpy(into + static_cast<size_t>(i) * size, from, size);
            }
        }
        if (!delivers_) continue;
        if (t.kind == Kind::recv)
            room().channels[t.peer][comm_->rank].moved.store(e.number, std::memory_order_release);
        else if (t.kind != Kind::send)
            room().members[comm_->rank].rounds_moved.store(e.number, std::memory_order_release);
    }
    // The communicator keeps its last kernel: what that kept would never go.
    entries_.clear();
    batch_ = nullptr;
    comm_ = nullptr;
}

}  // namespace gpusim::nccl
