// What tests of the store stand on: a trace in a folder of its own, events said in one line, questions in
// SQL. Calls are told by their names; times are in ns and mean nothing but their order.
#pragma once

#include <dirent.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shim/calls/api.h"
#include "shim/trace/store.h"

namespace trace {

using namespace gpushim;
using namespace gpushim::shim;

inline uint16_t api(const char* name) {
    for (uint16_t i = 0; i < kApis; ++i)
        if (std::strcmp(api_traits[i].name, name) == 0) return i;
    FAIL("no row of the hook tables: " << name);
    return 0;
}

class Folder {
  public:
    Folder() {
        path_ = std::filesystem::temp_directory_path() / "gpushim-test-XXXXXX";
        REQUIRE(mkdtemp(path_.data()) != nullptr);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const char* name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

struct Options {
    int32_t thread = 1;
    uint32_t context = 1;
    uint32_t group = 0;
    uint8_t flags = 0;
    std::string text = {};
    bool unfinished = false;
};

// Events of one batch. Each thread has the ring of its number.
class Events {
  public:
    Events() : events_(std::make_unique<Event[]>(kMost)) {}

    Event& call(const char* name, int64_t enter_ns, int64_t exit_ns, std::initializer_list<uint64_t> words,
                const Options& options = {}) {
        const uint16_t number = api(name);
        return event(number, api_traits[number].kind, enter_ns, exit_ns, words, options);
    }
    Event& event(uint16_t api_number, EventKind kind, int64_t enter_ns, int64_t exit_ns,
                 std::initializer_list<uint64_t> words, const Options& options = {}) {
        REQUIRE(count_ < kMost);
        Event& event = events_[count_++];
        event.slot.api = api_number;
        event.slot.kind = static_cast<uint8_t>(kind);
        event.slot.flags = options.flags;
        if (api_number < kApis && (api_traits[api_number].traits & traits::per_thread) != 0)
            event.slot.flags |= kPerThreadStream;
        event.slot.context = options.context;
        event.slot.group = options.group;
        event.slot.enter = static_cast<uint64_t>(enter_ns);
        event.slot.exit = static_cast<uint64_t>(exit_ns);
        std::fill_n(event.slot.word, 4, 0);
        std::copy(words.begin(), words.end(), event.slot.word);
        event.ring_id = static_cast<uint64_t>(options.thread);
        event.position = next_[event.ring_id]++;
        event.thread_id = options.thread;
        event.enter_ns = enter_ns;
        event.exit_ns = options.unfinished ? kUnfinished : exit_ns;
        event.text = texts_.emplace_back(options.text);
        next_[event.ring_id] += (options.text.size() + kTextBytes - 1) / kTextBytes;
        last_ns_ = std::max({last_ns_, enter_ns, exit_ns});
        return event;
    }

    uint64_t slots(uint64_t ring) { return next_[ring]; }
    void take_slot(uint64_t ring) { --next_[ring]; }

    // What was written before has taken so many slots of the rings. A call that stands before the first slot
    // of all is a test's own affair.
    void go_on_after(const std::map<uint64_t, uint64_t>& slots) {
        if (std::exchange(goes_on_, true)) return;
        for (size_t i = 0; i < count_; ++i)
            if (const auto ring = slots.find(events_[i].ring_id);
                ring != slots.end() && events_[i].position != ~uint64_t{0})
                events_[i].position += ring->second;
        for (const auto& [ring, taken] : slots) next_[ring] += taken;
    }
    const std::map<uint64_t, uint64_t>& all_slots() const { return next_; }

    bool write(Store& store, std::vector<uint64_t> dropped = {}) {
        std::vector<RingProgress> rings;
        for (const auto& [ring, next] : next_) rings.push_back({ring, next, {}, dropped});
        const bool written = store.write({{events_.get(), count_}, rings, {}, last_ns_ + 1});
        if (written) count_ = 0;
        return written;
    }

  private:
    static constexpr size_t kMost = 4096;
    std::unique_ptr<Event[]> events_;
    size_t count_ = 0;
    std::map<uint64_t, uint64_t> next_;
    std::deque<std::string> texts_;
    bool goes_on_ = false;
    int64_t last_ns_ = 0;
};

inline Device device(int32_t ordinal) {
    Device made = {};
    made.ordinal = ordinal;
    std::snprintf(made.name, sizeof made.name, "Simulated GPU");
    std::snprintf(made.uuid, sizeof made.uuid, "GPU-%d", ordinal);
    made.memory_bytes = 1 << 30;
    return made;
}

class Trace {
  public:
    explicit Trace(int devices = 1, int64_t max_bytes = 0, int64_t min_free_bytes = 0) {
        std::vector<Device> all;
        for (int i = 0; i < devices; ++i) all.push_back(device(i));
        TraceIdentity identity = {};
        std::strcpy(identity.host, "here");
        identity.rank = identity.local_rank = identity.world_size = identity.restart = -1;
        identity.trace_uuid[0] = 0xab;
        identity.max_bytes = max_bytes;
        identity.min_free_bytes = min_free_bytes;
        REQUIRE(Store::create(path().c_str(), identity, all));
        open();
    }
    std::string path() const { return folder_ / "trace.db"; }
    void open(Store::Role role = Store::Role::writer) {
        store_.reset();
        store_.reset(Store::open(path().c_str(), role));
        INFO(Store::failure());
        REQUIRE(store_ != nullptr);
    }
    void close() { store_.reset(); }
    Store& store() { return *store_; }
    // Where it is not what was written last, it comes after that in the rings.
    void write(Events& events, std::vector<uint64_t> dropped = {}) {
        events.go_on_after(slots_);
        slots_ = events.all_slots();
        const bool written = events.write(*store_, std::move(dropped));
        INFO(Store::failure());
        REQUIRE(written);
    }

    // Rows as text: columns by '|', rows by ' ; '.
    std::string ask(const std::string& sql) const {
        sqlite3* base = nullptr;
        REQUIRE(sqlite3_open_v2(path().c_str(), &base, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
        sqlite3_stmt* statement = nullptr;
        const int code = sqlite3_prepare_v2(base, sql.c_str(), -1, &statement, nullptr);
        INFO(sql << ": " << sqlite3_errmsg(base));
        REQUIRE(code == SQLITE_OK);
        std::string rows;
        while (sqlite3_step(statement) == SQLITE_ROW) {
            if (!rows.empty()) rows += " ; ";
            for (int i = 0; i < sqlite3_column_count(statement); ++i) {
                const auto* text = sqlite3_column_text(statement, i);
                rows += (i > 0 ? "|" : "") +
                        std::string(text != nullptr ? reinterpret_cast<const char*>(text) : "-");
            }
        }
        sqlite3_finalize(statement);
        sqlite3_close(base);
        return rows;
    }
    std::string ledger() const {
        return ask("SELECT produced, recorded, recovered, dropped, unfinished, unknown FROM v_ledger");
    }

  private:
    Folder folder_;
    std::unique_ptr<Store> store_;
    std::map<uint64_t, uint64_t> slots_;
};

constexpr uint64_t grid(uint64_t x, uint64_t y = 1, uint64_t z = 1) { return x | y << 32 | z << 48; }
constexpr uint64_t block(uint64_t x, uint64_t y = 1, uint64_t z = 1, uint64_t shared = 0) {
    return x | y << 11 | z << 22 | shared << 32;
}
constexpr uint64_t kGrid = grid(1), kBlock = block(32);

}  // namespace trace
