// What tests of a trace's size stand on: seconds of launches, and how large the files are.
#pragma once

#include <sys/stat.h>

#include <thread>

#include "trace.h"

namespace trace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMegabyte = 1 << 20;

inline int64_t size_of(const Trace& trace) {
    int64_t bytes = 0;
    for (const char* suffix : {"", "-wal", "-shm"}) {
        struct stat facts;
        if (stat((trace.path() + suffix).c_str(), &facts) == 0) bytes += facts.st_size;
    }
    return bytes;
}

inline void launch(Events& events, int64_t enter_ns, std::string text = {}) {
    events.call("cuLaunchKernel", enter_ns, enter_ns + 4, {0xf00, 0x5000, kGrid, kBlock},
                {.text = std::move(text)});
}

// `per_second` launches in each second from `from_s` on.
inline bool write_seconds(Trace& trace, Events& events, int64_t from_s, int64_t until_s,
                          int64_t per_second = 1000) {
    for (int64_t second = from_s; second < until_s; ++second) {
        for (int64_t i = 0; i < per_second; ++i)
            launch(events, second * kSecond + i * (kSecond / per_second));
        if (!events.write(trace.store())) return false;
    }
    return true;
}

// A try that fails says what to try next. After one that took long the store waits, however long that is.
inline void write_in_the_end(Trace& trace, Events& events) {
    bool written = false;
    for (int i = 0; i < 3000 && !written; ++i) {
        written = events.write(trace.store());
        if (!written) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    INFO(Store::failure());
    REQUIRE(written);
}

// Somebody who reads and does not stop.
class Reader {
  public:
    explicit Reader(const Trace& trace) {
        REQUIRE(sqlite3_open_v2(trace.path().c_str(), &base_, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
        REQUIRE(sqlite3_exec(base_, "BEGIN; SELECT count(*) FROM launch", nullptr, nullptr, nullptr) ==
                SQLITE_OK);
    }
    ~Reader() { sqlite3_close(base_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

  private:
    sqlite3* base_ = nullptr;
};

}  // namespace trace
