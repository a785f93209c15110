#include "recovery.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "../base/entries.h"
#include "../base/protection.h"
#include "../base/system.h"
#include "../ring/clock.h"
#include "../ring/ring_folder.h"
#include "leftovers.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kLookAgainNs = 20'000'000;

struct Facts {
    std::map<uint64_t, Committed> rings;
    std::vector<ClockPair> pairs;
};

std::vector<uint8_t> parsed(const std::string& text) {
    if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
    std::vector<uint8_t> uuid;
    for (size_t i = 0; i < 16; ++i)
        uuid.push_back(static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16)));
    return uuid;
}

std::optional<std::vector<uint8_t>> read_uuid(const std::string& path) {
    Database base(path, Database::Open::read);
    Statement meta = base.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'meta'");
    meta.step();
    if (meta.number(0) == 0) return {};
    Statement row = base.prepare("SELECT value FROM meta WHERE key = 'uuid'");
    if (!row.step()) return {};
    std::vector<uint8_t> uuid = parsed(row.text(0));
    return uuid.empty() ? std::nullopt : std::optional(std::move(uuid));
}

std::vector<ClockPair> read_pairs(Database& base) {
    std::vector<ClockPair> pairs;
    Statement row = base.prepare("SELECT ticks, mono_ns, real_ns FROM clock");
    while (row.step()) pairs.push_back({static_cast<uint64_t>(row.number(0)), row.number(1), row.number(2)});
    return pairs;
}

Facts read_facts(const std::string& path) {
    Facts facts;
    Database base(path, Database::Open::read);
    Statement rings = base.prepare("SELECT ring_id, seq, open FROM ring_commit");
    while (rings.step())
        facts.rings[static_cast<uint64_t>(rings.number(0))] = {static_cast<uint64_t>(rings.number(1)),
                                                               rings.blob(2)};
    facts.pairs = read_pairs(base);
    return facts;
}

// Whether the readings are far enough apart to tell the clock's pace; each ring has every one.
bool tell_the_pace(const std::vector<ClockPair>& pairs) {
    const auto [first, last] =
        std::minmax_element(pairs.begin(), pairs.end(),
                            [](const ClockPair& a, const ClockPair& b) { return a.mono_ns < b.mono_ns; });
    return !pairs.empty() && last->mono_ns - first->mono_ns >= TickMap::kAwayNs;
}

}  // namespace

std::vector<std::unique_ptr<DeadRing>> open_rings_of(int folder, std::span<const uint8_t> uuid) {
    uint8_t of[16];
    std::copy_n(uuid.begin(), sizeof of, of);
    std::vector<std::unique_ptr<DeadRing>> rings;
    for (const std::string& name : names_in(folder))
        if (name.starts_with("ring-"))
            if (auto ring = DeadRing::open(folder, name.c_str(), of)) rings.push_back(std::move(ring));
    return rings;
}

std::vector<ClockPair> clock_pairs_of(const std::string& path) {
    Database base(path, Database::Open::read);
    return read_pairs(base);
}

std::vector<ClockPair> pairs_of_now(uint32_t clock_kind) {
    const auto kind = static_cast<ClockKind>(clock_kind);
    std::vector<ClockPair> pairs = {read_pair(kind)};
    const timespec pause = {0, TickMap::kAwayNs};
    nanosleep(&pause, nullptr);
    pairs.push_back(read_pair(kind));
    return pairs;
}

// Who is killed while making a trace leaves a file that has to be put in order before anybody can read it.
std::optional<std::vector<uint8_t>> uuid_of(const std::string& path) {
    try {
        return read_uuid(path);
    } catch (const DatabaseError& e) {
        if (!e.needs_rollback()) throw;
    }
    Database(path, Database::Open::write).run("PRAGMA user_version");
    return read_uuid(path);
}

std::string folder_name_of(std::span<const uint8_t> uuid) {
    uint8_t of[16];
    std::copy_n(uuid.begin(), sizeof of, of);
    char name[33];
    trace_folder_name(name, of);
    return name;
}

DeadFolder::DeadFolder(std::span<const uint8_t> uuid, int64_t most_ns) {
    uint8_t of[16];
    std::copy_n(uuid.begin(), sizeof of, of);
    trace_folder_name(name_, of);
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    while (true) {
        user_ = open_user_folder(kRingRoot, false);
        folder_ = user_ < 0 ? -1 : open_trace_folder(user_, of, false);
        lock_ = folder_ < 0 ? -1 : lock_trace_folder(folder_);
        const bool is_alive = lock_ >= 0 && is_written_to(folder_, name_);
        const bool is_recovered = folder_ >= 0 && lock_ < 0 && is_recovered_by_another(folder_);
        if (!is_alive && !is_recovered) return;
        close_all();
        if (clock_ns(CLOCK_MONOTONIC) >= until_ns) return;
        const timespec pause = {0, kLookAgainNs};
        nanosleep(&pause, nullptr);
    }
}

DeadFolder::~DeadFolder() { close_all(); }

void DeadFolder::close_all() {
    for (int* file : {&lock_, &folder_, &user_})
        if (*file >= 0) close(std::exchange(*file, -1));
}

void DeadFolder::remove() { remove_trace_folder(user_, name_); }

Recovery::Recovery(const std::string& path, std::span<const uint8_t> uuid, int folder, size_t most_slots,
                   ClocksNow clocks)
    : path_(path), rings_(open_rings_of(folder, uuid)) {
    if (rings_.empty()) return;
    read_rings(path, clocks);
    store_.reset(Store::open(path.c_str(), Store::Role::recovery));
    if (store_ == nullptr) throw std::runtime_error(path + ": " + Store::failure());
    const size_t fits = store_->most_slots();
    batches_.emplace(events_->all(), of_rings_, most_slots == 0 ? fits : std::min(fits, most_slots));
}

void Recovery::read_rings(const std::string& path, ClocksNow clocks) {
    Facts facts = read_facts(path);
    size_t most = 0;
    for (const auto& ring : rings_) most += ring->most_events(facts.rings[ring->header().ring_id]);
    events_.emplace(most);
    for (const auto& ring : rings_) {
        const Committed& committed = facts.rings[ring->header().ring_id];
        const size_t begin = events_->all().size();
        ring->add_pairs(facts.pairs);
        const size_t open = ring->read(committed, *events_);
        of_rings_.push_back({ring->progress(), begin, events_->all().size(), open});
    }
    // A process that was killed before its writer had read the clocks for a while: they still run at that
    // pace.
    const uint32_t clock_kind = rings_.front()->header().clock_kind;
    if (!tell_the_pace(facts.pairs) && clock_kind != kTestClock)
        for (const ClockPair& pair : clocks.pairs(clock_kind)) facts.pairs.push_back(pair);
    map_times(events_->all(), facts.pairs);
}

bool Recovery::step() {
    if (store_ == nullptr) return false;
    Batch batch;
    if (!batches_->next(batch)) {
        store_->note_end("recovered");
        store_.reset();
        return false;
    }
    // What does not fit as rows is tried as totals, then counted.
    if (!store_->write(batch) && !store_->write(batch) && !store_->write(batch))
        throw std::runtime_error(path_ + ": " + Store::failure());
    return true;
}

}  // namespace gpushim::shim
