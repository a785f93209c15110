#include "taking_in.h"

#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "../base/config.h"
#include "../base/descriptors.h"
#include "../base/entries.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../ring/clock.h"
#include "../ring/ring_folder.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kLookEveryNs = 10 * kSecond;
constexpr int64_t kShareOfTime = 9;  // so many times as long as a piece took it does nothing
constexpr int64_t kNotAgainNs = INT64_MAX / 2;
constexpr size_t kSlotsOfPiece = 1024;
constexpr int64_t kMostBytes = 8 << 20;  // its events are in our memory meanwhile
constexpr int64_t kShareOfFree = 10;

struct Space {
    int64_t used_bytes, free_bytes;
};

Space space() {
    struct statfs facts;
    if (statfs(kRingRoot, &facts) != 0) return {0, INT64_MAX};
    const auto page = static_cast<int64_t>(facts.f_bsize);
    return {static_cast<int64_t>(facts.f_blocks - facts.f_bfree) * page,
            static_cast<int64_t>(facts.f_bavail) * page};
}

bool may_take_in() { return has_own_descriptors() && config.recovers_all; }

// A moment ago and now; what was read when this began would do, too, but for a clock of another kind.
constinit ClockPair earlier[3] = {};
std::vector<ClockPair> pairs_since_then(uint32_t clock_kind) {
    if (clock_kind >= kTestClock) return {};
    return {earlier[clock_kind], read_pair(static_cast<ClockKind>(clock_kind))};
}

bool may_be_there(const std::string& path) { return access(path.c_str(), F_OK) == 0 || errno != ENOENT; }

}  // namespace

struct TakingIn::Current {
    Current(const Leftover& leftover, std::span<const uint8_t> uuid) : name(leftover.name), folder(uuid, 0) {
        if (folder.is_locked())
            recovery.emplace(leftover.trace, uuid, folder.descriptor(), kSlotsOfPiece,
                             ClocksNow{pairs_since_then});
    }
    std::string name;
    DeadFolder folder;
    std::optional<Recovery> recovery;
};

TakingIn::TakingIn(const TraceIdentity& own, int64_t now_ns) {
    trace_folder_name(own_, own.trace_uuid);
    const Space there = space();
    is_crowded_ = there.used_bytes > there.free_bytes / kShareOfFree;
    next_ns_ = !may_take_in() ? kNotAgainNs : is_crowded_ ? now_ns : now_ns + kLookEveryNs;
    for (const ClockKind kind : {kCounter, kMonotonic}) earlier[kind] = read_pair(kind);
}

TakingIn::~TakingIn() = default;

void TakingIn::take_piece(int64_t now_ns) noexcept {
    const int64_t started_ns = clock_ns(CLOCK_MONOTONIC);
    Database::exchange_log(log_);
    try {
        piece();
    } catch (const std::exception&) {
        // It is nobody's trace that was asked for; who asks for it is told why.
        if (current_ != nullptr) give_up(current_->name);
    }
    Database::exchange_log(log_);
    const int64_t took_ns = clock_ns(CLOCK_MONOTONIC) - started_ns;
    next_ns_ = now_ns + (wanted_.empty() && current_ == nullptr ? kLookEveryNs : kShareOfTime * took_ns);
}

void TakingIn::make_space(int64_t most_ns) noexcept {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    while (is_crowded_ && next_ns_ != kNotAgainNs && clock_ns(CLOCK_MONOTONIC) < until_ns) {
        take_piece(clock_ns(CLOCK_MONOTONIC));
        if (wanted_.empty() && current_ == nullptr) return;
    }
}

void TakingIn::give_up(const std::string& name) {
    given_up_.insert(name);
    current_.reset();
}

void TakingIn::piece() {
    if (current_ == nullptr && wanted_.empty()) find();
    if (current_ == nullptr) {
        if (wanted_.empty()) return;
        const Leftover next = std::move(wanted_.front());
        wanted_.pop_front();
        return begin(next);
    }
    if (current_->recovery->step()) return;
    // Closed before anybody is told that nothing is left.
    current_->recovery.reset();
    current_->folder.remove();
    current_.reset();
}

// Of those that are not known to be hopeless.
void TakingIn::find() {
    const File user(open_user_folder(kRingRoot, false));
    if (!user) return;
    remove_old_folders(user, own_);
    std::vector<Leftover> there = leftovers_in(user, own_);
    int64_t bytes = 0;
    for (const Leftover& leftover : there) bytes += leftover.bytes;
    is_crowded_ = bytes > space().free_bytes / kShareOfFree;
    std::set<std::string> names;
    for (Leftover& leftover : there) {
        names.insert(leftover.name);
        if (given_up_.contains(leftover.name)) continue;
        if (is_crowded_ || (seen_.contains(leftover.name) && leftover.bytes <= kMostBytes))
            wanted_.push_back(std::move(leftover));
    }
    seen_ = std::move(names);
}

void TakingIn::begin(const Leftover& leftover) {
    if (!may_be_there(leftover.trace)) {
        // Its user has removed it. Where there is room it stays, for it may have been moved.
        const File user(open_user_folder(kRingRoot, false));
        if (is_crowded_ && user) remove_trace_folder(user, leftover.name.c_str());
        return static_cast<void>(given_up_.insert(leftover.name));
    }
    given_up_.insert(leftover.name);  // unless it works
    if (access(leftover.trace.c_str(), W_OK) != 0) return;
    const auto uuid = uuid_of(leftover.trace);
    if (!uuid || folder_name_of(*uuid) != leftover.name) return;
    auto begun = std::make_unique<Current>(leftover, *uuid);
    if (!begun->recovery) return;
    given_up_.erase(leftover.name);
    current_ = std::move(begun);
}

}  // namespace gpushim::shim
