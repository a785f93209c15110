#include "counters.h"

namespace gpushim::analysis {

namespace {
// None runs before its launch, but for what clocks are apart.
constexpr int64_t kClocksApartNs = 10'000'000;
}  // namespace

void Counters::pass_ends(std::pair<int64_t, int64_t> stream, Ends& ends, int64_t until_ns) {
    while (!ends.empty() && ends.top() <= until_ns) {
        const int64_t at_ns = ends.top();
        while (!ends.empty() && ends.top() == at_ns) ends.pop();
        on_queue_(stream.first, stream.second, at_ns, static_cast<int64_t>(ends.size()));
    }
}

void Counters::close(int64_t id, Device& device) {
    if (!device.has_piece) return;
    on_busy_(id, device.piece.first, true);
    on_busy_(id, device.piece.second, false);
    device.has_piece = false;
}

void Counters::pass_starts(int64_t id, Device& device, int64_t until_ns) {
    for (; !device.waiting.empty() && device.waiting.top().first < until_ns; device.waiting.pop()) {
        const Span next = device.waiting.top();
        if (device.has_piece && next.first <= device.piece.second) {
            device.piece.second = std::max(device.piece.second, next.second);
            continue;
        }
        close(id, device);
        device.piece = next;
        device.has_piece = true;
    }
}

void Counters::add(const CountedOperation& operation) {
    const std::pair stream(operation.device, operation.stream);
    Ends& ends = queues_[stream];
    pass_ends(stream, ends, operation.enter_ns);
    ends.push(operation.end_ns);
    on_queue_(operation.device, operation.stream, operation.enter_ns, static_cast<int64_t>(ends.size()));
    Device& device = devices_[operation.device];
    device.waiting.push({operation.start_ns, operation.end_ns});
    pass_starts(operation.device, device, operation.enter_ns - kClocksApartNs);
}

void Counters::finish() {
    for (auto& [stream, ends] : queues_) pass_ends(stream, ends, INT64_MAX);
    for (auto& [id, device] : devices_) {
        pass_starts(id, device, INT64_MAX);
        close(id, device);
    }
}

}  // namespace gpushim::analysis
