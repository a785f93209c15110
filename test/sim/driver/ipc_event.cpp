// Events between processes: a page in shared memory counts the records and keeps the end of the last few, in
// the box's time, which is the same in all processes.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "engine/box_state.h"
#include "ipc.h"
#include "ipc_handle.h"
#include "work.h"

namespace gpusim::driver {
namespace {

constexpr Ns kUnknown = -1;
constexpr uint64_t kKept = 64;  // records; what is older is over for anybody who asks

struct Record {
    std::atomic<uint64_t> number;  // of the record that this place holds; 0: being written
    std::atomic<int64_t> end_ns;
    std::atomic<int32_t> pid;  // who recorded
};

struct SharedRecords {
    std::atomic<uint64_t> count;
    Record kept[kKept];
};

// This process's view of an event: what Event::shared points at.
struct Interprocess {
    int file = -1;  // -1: opened from another process
    SharedRecords* records = nullptr;
    uint64_t seen = 0;  // the record that Event::point stands for

    ~Interprocess() {
        munmap(records, sizeof *records);
        if (file >= 0) close(file);
    }
};

Interprocess* view_of(Event& event) { return static_cast<Interprocess*>(event.shared.get()); }

std::shared_ptr<Interprocess> map_records(int file) {
    void* at = mmap(nullptr, sizeof(SharedRecords), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) return nullptr;
    auto view = std::make_shared<Interprocess>();
    view->records = static_cast<SharedRecords*>(at);
    return view;
}

std::shared_ptr<Interprocess> make_records() {
    const int file = memfd_create("gpusim-event", MFD_CLOEXEC);
    if (file < 0) return nullptr;
    const bool sized = ftruncate(file, sizeof(SharedRecords)) == 0;
    auto view = sized ? map_records(file) : nullptr;
    if (view == nullptr)
        close(file);
    else
        view->file = file;
    return view;
}

// Tells the others once the record's end is known and the bytes before it are in place.
class Publish : public Behaviour {
  public:
    Publish(std::shared_ptr<void> view, Record& record) : view_(std::move(view)), record_(record) {}
    void arrive(Ns ready_ns) override { end_ns_ = ready_ns; }
    std::optional<Outcome> outcome() override { return Outcome{end_ns_, end_ns_, 0}; }
    Ns not_before() const override { return end_ns_; }
    void move() override {
        record_.end_ns.store(end_ns_, std::memory_order_release);
        box::ring_bell();
    }

  private:
    std::shared_ptr<void> view_;  // keeps `record_` mapped
    Record& record_;
    Ns end_ns_ = 0;
};

class RecordedElsewhere : public Behaviour {
  public:
    RecordedElsewhere(std::shared_ptr<void> view, Record& record, uint64_t number)
        : view_(std::move(view)), record_(record), number_(number) {}
    void arrive(Ns ready_ns) override { ready_ns_ = ready_ns; }
    std::optional<Outcome> outcome() override {
        const uint64_t held = record_.number.load(std::memory_order_acquire);
        const Ns end = record_.end_ns.load(std::memory_order_acquire);
        if (held > number_) return at(ready_ns_);
        if (held == number_ && end != kUnknown) return at(end);
        if (held == number_ && kill(record_.pid.load(), 0) != 0) return at(clock::now());  // it died
        return std::nullopt;
    }
    Ns not_before() const override { return ready_ns_; }

  private:
    Outcome at(Ns end) const { return {std::max(ready_ns_, end), std::max(ready_ns_, end), 0}; }

    std::shared_ptr<void> view_;
    Record& record_;
    uint64_t number_;
    Ns ready_ns_ = 0;
};

Point issue_silently(std::shared_ptr<Behaviour> behaviour, const Event& event, const Point& after) {
    Operation op;
    op.op = "ipc";
    op.device = event.context->device->ordinal;
    op.silent = true;
    op.behaviour = std::move(behaviour);
    return engine::issue(std::move(op), {&after});
}

}  // namespace

namespace interprocess {

void recorded(Event& event) {
    Interprocess* view = view_of(event);
    if (view == nullptr) return;
    SharedRecords& all = *view->records;
    const uint64_t number = all.count.fetch_add(1) + 1;
    Record& record = all.kept[number % kKept];
    record.number.store(0, std::memory_order_release);
    record.end_ns.store(kUnknown, std::memory_order_relaxed);
    record.pid.store(getpid(), std::memory_order_relaxed);
    record.number.store(number, std::memory_order_release);
    view->seen = number;
    issue_silently(std::make_shared<Publish>(event.shared, record), event, event.point);
}

void refresh(Event& event) {
    Interprocess* view = view_of(event);
    if (view == nullptr) return;
    const uint64_t newest = view->records->count.load(std::memory_order_acquire);
    if (newest == view->seen) return;
    Record& record = view->records->kept[newest % kKept];
    view->seen = newest;
    event.recorded = true;
    event.point =
        issue_silently(std::make_shared<RecordedElsewhere>(event.shared, record, newest), event, Point{});
}

}  // namespace interprocess
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuIpcGetEventHandle)(CUipcEventHandle* handle, CUevent event_handle) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Event* event = events().find(event_handle);
    if (event == nullptr || (event->flags & CU_EVENT_INTERPROCESS) == 0) return CUDA_ERROR_INVALID_HANDLE;
    if (event->shared == nullptr) {
        event->shared = make_records();
        if (event->shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
        if (event->recorded) interprocess::recorded(*event);
    }
    const Interprocess& view = *view_of(*event);
    if (view.file < 0) return CUDA_ERROR_INVALID_HANDLE;  // another process's: that one may export it
    write_handle(*handle,
                 {SharedThing::event, getpid(), view.file, event->context->device->ordinal, 0, 0, 0});
    return CUDA_SUCCESS;
}

API(cuIpcOpenEventHandle)(CUevent* event_handle, CUipcEventHandle handle) {
    if (event_handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    const IpcContent content = read_handle(handle);
    if (context == nullptr || content.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    const int file = content.thing == SharedThing::event ? open_exported(content) : -1;
    if (file < 0) return CUDA_ERROR_INVALID_HANDLE;
    auto view = map_records(file);
    close(file);
    if (view == nullptr) return CUDA_ERROR_MAP_FAILED;
    Event* event = events().make();
    event->context = context;
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    event->shared = std::move(view);
    *event_handle = reinterpret_cast<CUevent>(event);
    return CUDA_SUCCESS;
}
