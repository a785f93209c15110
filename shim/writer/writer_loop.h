// What the writer does again and again: empties the rings, lets the observers look, commits. By the trace's
// own clock (test_clock.h). The writer's thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "../base/descriptors.h"
#include "../machine/device.h"
#include "../machine/identity.h"
#include "../ring/rings.h"
#include "../trace/store.h"
#include "drain.h"
#include "observers.h"
#include "switch_files.h"
#include "taking_in.h"
#include "writer_folder.h"

namespace gpushim::shim {

// What the thread is started with.
struct WriterStart {
    const char* trace_path;
    TraceIdentity* identity;
    std::span<const Device> devices;
};

// How a loop ended.
enum class Ended {
    finished,  // the process exits, and all is in the trace that could be written
    alone,     // the main thread has ended, the process has not (pause)
    lost,      // the trace cannot be written any more
};

class WriterLoop {
  public:
    WriterLoop(const WriterStart& start, std::unique_ptr<Store> store, WriterFolder folder);

    // Whichever thread ends last ends the process, with its own descriptors: where the main thread is gone,
    // that must not be this one.
    Ended run();

    // Before the program that waits for the start goes on.
    void make_space();

    // On another thread, as the process exits: the old one has taken its descriptors with it.
    void resume();

  private:
    Ended write_until_the_end();
    // The rings hold what still happens; at the exit they are emptied (resume).
    Ended pause();
    void pass();
    int64_t sleep_after_scan();
    int64_t obey_switches(int64_t now_ns);
    Moment now(bool ending) const;
    Spares wanted_spares();
    int64_t take_in(int64_t now_ns);
    bool has_news();
    bool has_nothing_to_do() const;
    bool is_worth_a_commit(int64_t now_ns) const;
    // `ended`: with the last one, what meta.ended becomes.
    bool commit(const char* ended = nullptr);
    bool has_nothing_to_look_for() const;
    void look_last();
    void read_now();
    void finish();
    void watch_files();
    bool has_its_files();
    void complain_once(const char* what_now);
    void wish_for_names();

    WriterStart start_;
    std::unique_ptr<Store> store_;
    WriterFolder folder_;
    ClockKind clock_;
    Drain drain_;
    Observers observers_;
    WatchedFiles files_;
    SwitchFiles switches_;
    TakingIn taking_in_;
    std::vector<uint64_t> unnamed_;
    int64_t sleep_ns_;
    int64_t last_commit_ns_;
    bool wants_spares_ = false;
    bool is_idle_ = false;
    bool has_committed_ = false;
    bool complained_ = false;
};

// Whoever waits for the writer sees that it gets on.
void show_progress();

}  // namespace gpushim::shim
