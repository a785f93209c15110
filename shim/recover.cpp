#include "recover.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "clock.h"
#include "database.h"
#include "dead_ring.h"
#include "file_status.h"
#include "recovery_batches.h"
#include "ring_folder.h"
#include "store.h"
#include "system.h"

#define EXPORTED __attribute__((visibility("default")))

namespace gpushim::shim {
namespace {

constexpr char kSqliteMagic[] = "SQLite format 3";

// No string: what has failed may be an allocation.
constinit char failure_text[512] = {};

class File {
  public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    explicit operator bool() const { return descriptor_ >= 0; }
    operator int() const { return descriptor_; }
    void give_away() { descriptor_ = -1; }

  private:
    int descriptor_;
};

// Throws where it cannot be read: an empty folder of rings would be removed.
std::vector<std::string> names_in(int folder) {
    File copy(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy ? fdopendir(copy) : nullptr, closedir);
    if (entries == nullptr) throw std::system_error(errno, std::generic_category(), "a folder");
    copy.give_away();
    std::vector<std::string> names;
    while (const dirent* entry = readdir(entries.get()))
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
}

// What the trace says of itself.
struct Facts {
    uint8_t uuid[16] = {};
    std::map<uint64_t, Committed> rings;
    std::vector<ClockPair> pairs;
};

bool parse_uuid(const std::string& text, uint8_t (&uuid)[16]) {
    if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
    for (size_t i = 0; i < 16; ++i)
        uuid[i] = static_cast<uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
    return true;
}

// False: not a trace, or not one yet.
bool read_uuid(const std::string& path, uint8_t (&uuid)[16]) {
    Database base(path, Database::Open::read);
    Statement meta = base.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'meta'");
    meta.step();
    if (meta.number(0) == 0) return false;
    Statement row = base.prepare("SELECT value FROM meta WHERE key = 'uuid'");
    return row.step() && parse_uuid(row.text(0), uuid);
}

Facts read_facts(const std::string& path) {
    Facts facts;
    Database base(path, Database::Open::read);
    Statement rings = base.prepare("SELECT ring_id, seq, open FROM ring_commit");
    while (rings.step())
        facts.rings[static_cast<uint64_t>(rings.number(0))] = {static_cast<uint64_t>(rings.number(1)),
                                                               rings.blob(2)};
    Statement pairs = base.prepare("SELECT ticks, mono_ns, real_ns FROM clock");
    while (pairs.step())
        facts.pairs.push_back({static_cast<uint64_t>(pairs.number(0)), pairs.number(1), pairs.number(2)});
    return facts;
}

using Rings = std::vector<std::unique_ptr<DeadRing>>;

Rings open_rings_of(int folder, const uint8_t (&uuid)[16]) {
    Rings rings;
    for (const std::string& name : names_in(folder))
        if (name.starts_with("ring-"))
            if (auto ring = DeadRing::open(folder, name.c_str(), uuid)) rings.push_back(std::move(ring));
    return rings;
}

// Whether the readings are far enough apart to tell the clock's pace; each ring has every one.
bool tell_the_pace(const std::vector<ClockPair>& pairs) {
    const auto [first, last] =
        std::minmax_element(pairs.begin(), pairs.end(),
                            [](const ClockPair& a, const ClockPair& b) { return a.mono_ns < b.mono_ns; });
    return !pairs.empty() && last->mono_ns - first->mono_ns >= TickMap::kAwayNs;
}

// A process that was killed before its writer had read the clocks for a while: they still run at that pace.
void add_pairs_of_now(const Rings& rings, std::vector<ClockPair>& pairs) {
    if (rings.empty() || tell_the_pace(pairs)) return;
    const auto kind = static_cast<ClockKind>(rings.front()->header().clock_kind);
    if (kind == kTestClock) return;
    pairs.push_back(read_pair(kind));
    const timespec pause = {0, TickMap::kAwayNs};
    nanosleep(&pause, nullptr);
    pairs.push_back(read_pair(kind));
}

void recover_rings(const std::string& path, const Rings& rings) {
    Facts facts = read_facts(path);
    size_t most = 0;
    for (const auto& ring : rings) most += ring->most_events(facts.rings[ring->header().ring_id]);
    EventList list(most);
    std::vector<RingEvents> of_rings;
    for (const auto& ring : rings) {
        const Committed& committed = facts.rings[ring->header().ring_id];
        const size_t begin = list.all().size();
        ring->add_pairs(facts.pairs);
        const size_t open = ring->read(committed, list);
        of_rings.push_back({ring->progress(), begin, list.all().size(), open});
    }
    add_pairs_of_now(rings, facts.pairs);
    map_times(list.all(), facts.pairs);
    const std::unique_ptr<Store> store(Store::open(path.c_str(), Store::Role::recovery));
    if (store == nullptr) throw std::runtime_error(path + ": " + Store::failure());
    RecoveryBatches batches(list.all(), of_rings, store->most_slots());
    for (Batch batch; batches.next(batch);)
        // What does not fit as rows is tried as totals, then counted.
        if (!store->write(batch) && !store->write(batch) && !store->write(batch))
            throw std::runtime_error(path + ": " + Store::failure());
    store->note_end("recovered");
}

// The folder of the trace's rings, locked: its process is dead, and nobody else recovers it.
class DeadFolder {
  public:
    explicit DeadFolder(const uint8_t (&uuid)[16])
        : user_(open_user_folder(kRingRoot, false)),
          folder_(user_ ? open_trace_folder(user_, uuid, false) : -1),
          lock_(folder_ ? lock_trace_folder(folder_) : -1) {
        trace_folder_name(name_, uuid);
    }
    bool is_there() const { return static_cast<bool>(folder_); }
    bool is_locked() const { return static_cast<bool>(lock_); }
    int descriptor() const { return folder_; }
    void remove() { remove_trace_folder(user_, name_); }

  private:
    File user_, folder_, lock_;
    char name_[33];
};

// Who is killed while making a trace leaves a file that has to be put in order before anybody can read it.
bool read_uuid_of_any(const std::string& path, uint8_t (&uuid)[16]) {
    try {
        return read_uuid(path, uuid);
    } catch (const DatabaseError& e) {
        if (!e.needs_rollback()) throw;
    }
    Database(path, Database::Open::write).run("PRAGMA user_version");
    return read_uuid(path, uuid);
}

void recover_trace(const std::string& path) {
    uint8_t uuid[16];
    if (!read_uuid_of_any(path, uuid)) return;
    DeadFolder folder(uuid);
    if (!folder.is_there() || !folder.is_locked()) return;
    const Rings rings = open_rings_of(folder.descriptor(), uuid);
    if (!rings.empty()) recover_rings(path, rings);
    folder.remove();
}

void copy_file(const std::string& from, const std::string& to) {
    const File source(open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (!source) return;
    const File target(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target) throw std::runtime_error(to + ": " + std::strerror(errno));
    char block[65536];
    for (ssize_t size; (size = read(source, block, sizeof block)) > 0;)
        if (write(target, block, static_cast<size_t>(size)) != size)
            throw std::runtime_error(to + ": " + std::strerror(errno));
}

void recover_into_copy(const std::string& path, const std::string& copy) {
    copy_file(path, copy);
    copy_file(path + "-wal", copy + "-wal");
    uint8_t uuid[16];
    if (!read_uuid(copy, uuid)) throw std::runtime_error(path + ": not a trace");
    DeadFolder folder(uuid);
    if (!folder.is_locked()) return;
    const Rings rings = open_rings_of(folder.descriptor(), uuid);
    if (!rings.empty()) recover_rings(copy, rings);
}

bool is_database(const std::string& path) {
    const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat facts;
    char start[sizeof kSqliteMagic];
    return file && status_of(file, &facts) == 0 && S_ISREG(facts.st_mode) &&
           read(file, start, sizeof start) == static_cast<ssize_t>(sizeof start) &&
           std::memcmp(start, kSqliteMagic, sizeof start) == 0;
}

// Nobody left anything: then no trace has to be opened to know it.
bool anything_is_left() {
    const File user(open_user_folder(kRingRoot, false));
    return user && !names_in(user).empty();
}

std::vector<std::string> traces_in(const std::string& trace_or_folder) {
    const File folder(open(trace_or_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder) return {trace_or_folder};
    std::vector<std::string> traces;
    for (const std::string& name : names_in(folder))
        if (name.ends_with(".db")) traces.push_back(trace_or_folder + "/" + name);
    return traces;
}

template <class F>
bool attempt(F&& work) noexcept {
    try {
        work();
        return true;
    } catch (const std::exception& e) {
        std::snprintf(failure_text, sizeof failure_text, "%s", e.what());
    }
    return false;
}

}  // namespace
}  // namespace gpushim::shim

using namespace gpushim::shim;

EXPORTED int gpushim_recover(const char* trace_or_folder) {
    failure_text[0] = '\0';
    bool all = true;
    const bool looked = attempt([&] {
        if (!anything_is_left()) return;
        for (const std::string& trace : traces_in(trace_or_folder))
            if (is_database(trace)) all = attempt([&] { recover_trace(trace); }) && all;
    });
    return looked && all ? 0 : 1;
}

EXPORTED int gpushim_recover_copy(const char* trace, const char* copy) {
    failure_text[0] = '\0';
    return attempt([&] { recover_into_copy(trace, copy); }) ? 0 : 1;
}

EXPORTED const char* gpushim_recovery_failure() { return failure_text; }
