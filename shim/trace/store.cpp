#include "store.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "../base/system.h"
#include "identity_rows.h"
#include "open_trace.h"

namespace gpushim::shim {
namespace {

// How long to leave a file alone that could not be written: at least this, and three times as long as it took
// to fail.
constexpr int64_t kTryAgainAfter_ns = 50'000'000;
constexpr int64_t kTryAgainTimes = 3;
// Where not even totals fit, that is tried again every so often only: trying means reading the trace again.
constexpr int64_t kCountsOnlyNs = 1'000'000'000;

constinit char failure_text[256] = {};

void note_failure(const char* what) { std::snprintf(failure_text, sizeof failure_text, "%s", what); }

// Nothing that SQLite or the standard library throws leaves the store.
template <class F>
bool without_throwing(F&& work) noexcept {
    try {
        failure_text[0] = '\0';
        work();
        return true;
    } catch (const std::exception& e) {
        note_failure(e.what());
    }
    return false;
}

// In a transaction, which the caller ends.
std::unique_ptr<Database> begun(const char* path, const TraceIdentity& identity,
                                std::span<const Device> devices) {
    auto base = std::make_unique<Database>(path, Database::Open::create);
    base->run("BEGIN");
    write_identity(*base, identity, devices);
    return base;
}

}  // namespace

bool Store::create(const char* path, const TraceIdentity& identity,
                   std::span<const Device> devices) noexcept {
    return without_throwing([&] { begun(path, identity, devices)->commit(); });
}

Store* Store::make(const char* path, const TraceIdentity& identity,
                   std::span<const Device> devices) noexcept {
    std::unique_ptr<Store> made;
    const bool done = without_throwing([&] {
        made.reset(new Store(path, Role::writer));
        std::unique_ptr<Database> begun_base = begun(path, identity, devices);
        Database& base = *begun_base;
        // What it reads at first it reads in the same transaction: each of its own is a dozen system calls.
        made->trace_ = std::make_unique<OpenTrace>(std::move(begun_base), path, false, made->timed_);
        base.commit();
    });
    return done ? made.release() : nullptr;
}

Store::Store(std::string path, Role role) : path_(std::move(path)), role_(role) {}
Store::~Store() = default;

bool Store::connect() noexcept {
    return trace_ != nullptr || without_throwing([&] {
               trace_ = std::make_unique<OpenTrace>(std::make_unique<Database>(path_, Database::Open::write),
                                                    path_, role_ == Role::recovery, timed_);
           });
}

Store* Store::open(const char* path, Role role) noexcept {
    std::unique_ptr<Store> made;
    without_throwing([&] { made.reset(new Store(path, role)); });
    return made != nullptr && made->connect() ? made.release() : nullptr;
}

// Like without_throwing; also says why not.
template <class F>
Store::Outcome Store::attempt(F&& work) noexcept {
    Outcome failed = Outcome::broken;
    const bool done = without_throwing([&] {
        try {
            why_not_ = Drop::full;
            work();
        } catch (const NoRoom& e) {
            why_not_ = e.reason;
            if (e.reason != Drop::size) failed = Outcome::refused;
            throw;
        } catch (const DatabaseError& e) {
            if (e.is_busy()) why_not_ = Drop::reader;
            if (e.is_full()) why_not_ = Drop::size;
            if (e.is_of_disk()) why_not_ = Drop::disk;
            throw;
        }
    });
    return done ? Outcome::done : failed;
}

Share Store::share_of(Share there_is_room_for, int64_t now_ns) const {
    return most_ != Share::counts || now_ns < less_until_ns_ ? std::max(there_is_room_for, most_)
                                                             : Share::totals;
}

// What was too large comes again as less of it.
void Store::expect_less(Share tried, int64_t now_ns) {
    most_ = tried == Share::rows ? Share::totals : Share::counts;
    less_until_ns_ = now_ns + kCountsOnlyNs;
}

Store::Outcome Store::try_to_write(const Batch& batch) noexcept {
    return attempt([&] {
        const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        tried_ = share_of(Share::rows, now_ns);
        const Share most = tried_;
        tried_ = share_of(trace_->make_room(batch, most), now_ns);
        if (!batch.is_at_the_end && trace_->use_log())
            tried_ = share_of(trace_->make_room(batch, most), now_ns);
        trace_->write(batch, keeps_rows_, tried_);
        timed_.written();
        events_ += batch.events.size();
    });
}

bool Store::write(const Batch& batch) noexcept {
    const int64_t started_ns = clock_ns(CLOCK_MONOTONIC);
    if (started_ns < not_before_ns_) return false;
    const Outcome outcome = connect() ? try_to_write(batch) : Outcome::broken;
    const int64_t ended_ns = clock_ns(CLOCK_MONOTONIC);
    if (outcome == Outcome::done) {
        if (most_ != Share::counts || tried_ != Share::counts) most_ = Share::rows;
        return true;
    }
    if (why_not_ == Drop::size) expect_less(tried_, ended_ns);
    if (outcome == Outcome::broken) trace_.reset();  // rolls back
    if (role_ == Role::recovery) return false;
    not_before_ns_ = ended_ns + std::max(kTryAgainAfter_ns, kTryAgainTimes * (ended_ns - started_ns));
    return false;
}

Drop Store::why_not() const noexcept { return why_not_; }

size_t Store::most_slots() const noexcept { return trace_ == nullptr ? 1024 : trace_->size().most_slots(); }

void Store::note_end(const char* how) noexcept {
    if (trace_ != nullptr) without_throwing([&] { trace_->note_end(how); });
}

void Store::keep_rows(bool keep) noexcept { keeps_rows_ = keep; }

size_t Store::take_unnamed(std::span<uint64_t> functions) noexcept {
    if (trace_ == nullptr) return 0;
    auto& unnamed = trace_->unnamed();
    const size_t count = std::min(functions.size(), unnamed.size());
    std::copy_n(unnamed.end() - static_cast<long>(count), count, functions.begin());
    unnamed.resize(unnamed.size() - count);
    return count;
}

std::span<const TimedOperation> Store::timed() const noexcept { return timed_.list(); }

uint64_t Store::events() const noexcept { return events_; }
const char* Store::failure() noexcept { return failure_text; }

}  // namespace gpushim::shim
