#include "gpu_sweep.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

int32_t offset_ns(int64_t ns) { return static_cast<int32_t>(std::clamp<int64_t>(ns, 0, 2'000'000'000)); }

}  // namespace

StepFigures& StepFigures::operator+=(const StepFigures& other) {
    busy_low_ns += other.busy_low_ns;
    busy_high_ns += other.busy_high_ns;
    busy_likely_low_ns += other.busy_likely_low_ns;
    busy_likely_high_ns += other.busy_likely_high_ns;
    launches.operations += other.launches.operations;
    launches.timed += other.launches.timed;
    launches.api_ns += other.launches.api_ns;
    launches.between_ns += other.launches.between_ns;
    if (!first_launch_ns) first_launch_ns = other.first_launch_ns;
    return *this;
}

void GpuSweep::begin(Interval known, std::span<const WholeStep> steps, TimedSpan::Untimed untimed) {
    segments_ = cut_at_steps(known, steps);
    if (!is_known()) return;
    order_ = DeviceOrder(streams_);
    activity_.begin(segments_);
    busy_.begin(segments_, std::move(untimed));
    gaps_.emplace(gpu_, known);
    behind_.reset();
    dependencies_.clear();
    launches_.begin(segments_);
    idle_.begin(segments_);
    known_until_ns_ = known.end_ns;
    busy_until_ns_ = known.start_ns;
    settled_ns_ = INT64_MIN;
}

void GpuSweep::add(size_t stream, const Call& call, uint32_t thread, const Dependency& dependency,
                   bool is_later_node) {
    const DeviceTimes& times = call.times;
    // Clocks that disagree may say that it began before it was asked for. What is settled stays as it is.
    early_ += times.start_ns < settled_ns_ || times.start_high_ns < call.enter_ns;
    const int64_t start_ns = std::max(times.start_ns, settled_ns_);
    const bool waits = dependency.any();
    DeviceOp& op = order_.add(stream, start_ns);
    op = {.start_ns = start_ns,
          .end_ns = times.end_ns,
          .enter_ns = call.enter_ns,
          .exit_ns = call.exit_ns,
          .wait_ns = call.wait_ns,
          .start_before_ns = offset_ns(start_ns - times.start_low_ns),
          .start_after_ns = offset_ns(times.start_high_ns - start_ns),
          .end_before_ns = offset_ns(times.end_ns - times.end_low_ns),
          .end_after_ns = offset_ns(times.end_high_ns - times.end_ns),
          .thread = thread,
          .type = call.type,
          .waits = waits,
          .launched_before = launched_before(stream, call),
          .is_later_node = is_later_node,
          .is_page = TraceFacts::is_touched_page(call)};
    op.set_likely_ns(times.likely_ns);
    if (waits) dependencies_.emplace(call.enter_ns, dependency);
}

void GpuSweep::settle(int64_t until_ns, std::span<const int64_t> threads) {
    while (const DeviceOp* op = order_.next(until_ns)) put(*op, threads);
    activity_.run_to(until_ns);
    settled_ns_ = until_ns;
}

void GpuSweep::put(const DeviceOp& op, std::span<const int64_t> threads) {
    activity_.add(op);
    busy_.add(op);
    const WaitsFor waits = op.waits ? waits_for(op) : WaitsFor::nothing;
    const auto next = [&] { return next_of(op, threads[op.thread], waits); };
    gaps_->add(op.start_ns, op.end_ns, op.is_page, next);
    if (op.start_ns >= known_until_ns_ && op.end_ns >= op.start_ns && !behind_)
        behind_ = {op.start_ns, op.end_ns, next()};
    busy_until_ns_ = std::max(busy_until_ns_, op.end_ns);
}

Next GpuSweep::next_of(const DeviceOp& op, int64_t thread, WaitsFor waits) {
    return {.thread = thread,
            .launch_enter_ns = op.enter_ns,
            .launch_exit_ns = op.exit_ns,
            .is_copy_h2d = op.type == OperationClass::h2d,
            .waits_for = waits,
            .launched_before = op.launched_before,
            .is_later_node = op.is_later_node,
            .is_page = op.is_page,
            .likely_ns = op.likely_ns(std::max(op.start_before_ns, op.start_after_ns))};
}

// An event that was there before the GPU ran empty was not what it waited for.
WaitsFor GpuSweep::waits_for(const DeviceOp& op) {
    const auto found = dependencies_.find(op.enter_ns);
    const Dependency dependency = found->second;
    dependencies_.erase(found);
    if (dependency.other_gpu_until_ns > busy_until_ns_) return WaitsFor::other_gpu;
    return dependency.host_callback ? WaitsFor::host_callback : WaitsFor::nothing;
}

void GpuSweep::ask(const HostLines& lines) {
    gaps_->take(asked_);
    for (const Gap& gap : asked_) ask(gap, lines);
}

void GpuSweep::ask(const Gap& gap, const HostLines& lines) {
    if (const auto cause = cause_of_all(gap, idle_facts_))
        return idle_.add(Piece{*cause, gap.from_ns, gap.until_ns});
    attribute(gap, lines, idle_facts_, answer_);
    idle_.add(answer_);
}

void GpuSweep::end(const HostLines& lines, std::span<const int64_t> threads, const Undisturbed* would) {
    while (const DeviceOp* op = order_.next(INT64_MAX)) put(*op, threads);
    activity_.end();
    for (Gap& gap : gaps_->finish()) {
        if (!gap.next && behind_) {
            gap.until_ns = behind_->start_ns;
            gap.next = behind_->next;
        }
        ask(gap, lines);
    }
    idle_.end(would);
    put_figures();
}

void GpuSweep::put_figures() {
    const BusyUnions::Sums ns = busy_.finish();
    for (size_t i = 0; i < segments_.size(); ++i) {
        StepFigures figures = {segments_[i].step, ns.low[i],           ns.high[i], ns.likely_low[i],
                               ns.likely_high[i], launches_.sums()[i], {}};
        if (figures.step == kNoStep) {
            rest_ += figures;
            continue;
        }
        if (const auto enter_ns = figures.launches.first_enter_ns)
            figures.first_launch_ns = *enter_ns - segments_[i].from_ns;
        figures_.push_back(figures);
    }
    figures_.push_back(rest_);
    rest_ = {};
}

}  // namespace gpushim::analysis
