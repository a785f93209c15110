#include "writer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "descriptors.h"
#include "drain.h"
#include "log.h"
#include "names.h"
#include "ring_folder.h"
#include "rings.h"
#include "store.h"
#include "system.h"

namespace gpushim::shim {
namespace {

constexpr size_t kStackBytes = 512 * 1024;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kShortestSleepNs = kMillisecond;
constexpr int64_t kLongestSleepNs = 20 * kMillisecond;
constexpr int64_t kIdleSleepNs = 80 * kMillisecond;
constexpr int64_t kCommitEveryNs = 100 * kMillisecond;
constexpr int64_t kForkWaitNs = 20 * kMillisecond;
constexpr size_t kWorthACommit = 4096;
constexpr double kGettingFull = 0.25;
constexpr double kBusy = 0.5;
constexpr int64_t kEndNs = 2'000 * kMillisecond;
constexpr int64_t kStandstillNs = 250 * kMillisecond;

enum class Stage : uint32_t { starting, failed, running, paused, finished };

// What the thread is started with. One per process: the next start, in a child, uses it again.
struct Start {
    const char* trace_path;
    TraceIdentity* identity;
    std::span<const Device> devices;
};
constinit Start start = {};
constinit std::atomic<Stage> stage = Stage::starting;

void show_progress() {
    live->progress.fetch_add(1);
    wake_all(live->progress);
}

void reach(Stage reached) {
    stage.store(reached);
    show_progress();
}

// --- rings ----------------------------------------------------------------------------------------------

struct Folder {
    int user = -1;
    int trace = -1;
    int lock = -1;
    char path[256] = {};
};

void remove_folder(const Folder& folder, const TraceIdentity& identity) {
    if (folder.user < 0) return;
    char name[33];
    trace_folder_name(name, identity.trace_uuid);
    remove_trace_folder(folder.user, name);
}

void close_folder(Folder& folder) {
    for (int* file : {&folder.trace, &folder.user, &folder.lock})
        if (*file >= 0) close(std::exchange(*file, -1));
}

size_t tmpfs_budget() {
    struct statfs facts;
    if (statfs(kRingRoot, &facts) != 0 || facts.f_type != 0x01021994) return 0;
    return ring_budget(static_cast<uint64_t>(facts.f_blocks) * static_cast<uint64_t>(facts.f_bsize));
}

bool open_folder(Folder& folder, const TraceIdentity& identity) {
    folder.user = open_user_folder(kRingRoot, true);
    if (folder.user < 0) return false;
    remove_old_folders(folder.user);
    folder.trace = open_trace_folder(folder.user, identity.trace_uuid, true);
    // The lock before the rings: from their first moment they belong to somebody who lives.
    if (folder.trace >= 0) folder.lock = lock_trace_folder(folder.trace);
    if (folder.lock < 0) return false;
    char name[33];
    trace_folder_name(name, identity.trace_uuid);
    snprintf(folder.path, sizeof folder.path, "%s/gpushim-%u/%s", kRingRoot, geteuid(), name);
    return true;
}

RingSettings settings_for(const TraceIdentity& identity) {
    RingSettings settings = {};
    std::copy_n(identity.trace_uuid, sizeof settings.trace_uuid, settings.trace_uuid);
    std::copy_n(identity.boot_id, sizeof settings.boot_id, settings.boot_id);
    settings.pid = identity.pid;
    settings.clock_kind = identity.clock_kind;
    settings.process_start_ticks = identity.start_ticks;
    settings.trace_path = start.trace_path;
    return settings;
}

void make_rings(Folder& folder, TraceIdentity& identity) {
    RingSettings settings = settings_for(identity);
    settings.max_bytes = tmpfs_budget();
    identity.rings_survive = settings.max_bytes != 0 && open_folder(folder, identity);
    settings.folder = identity.rings_survive ? folder.path : nullptr;
    if (!identity.rings_survive) settings.max_bytes = kPrivateBudget;
    open_rings(settings);
    forget_wishes();
    care_for_rings(false, false);
}

// "pid (name) Z …": the main thread is a zombie for as long as others run.
bool main_thread_is_gone() {
    char text[512];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char* end_of_name = strrchr(text, ')');
    return end_of_name != nullptr && end_of_name[1] == ' ' && end_of_name[2] == 'Z';
}

// --- the thread -----------------------------------------------------------------------------------------

class Writer {
  public:
    Writer(std::unique_ptr<Store> store, Folder folder, ClockKind clock)
        : store_(std::move(store)), folder_(folder), drain_(clock, read_pair(clock)) {
        watch_files();
    }

    // False: the main thread has ended, the process has not. Whichever thread ends last then ends the
    // process, with its own descriptors; that must not be this one.
    bool run() {
        while (live->doing.load() != kEnding) {
            live->awake.store(0);
            const int64_t sleep_ns = pass();
            if (live->doing.load() == kEnding) break;
            wait_while(live->awake, 0, sleep_ns);
            if (is_idle_ && main_thread_is_gone()) return false;
        }
        finish();
        return true;
    }

    // The rings hold what still happens; at the exit they are emptied (resume).
    void pause() {
        drain_.scan(false);
        if (store_ != nullptr && drain_.has_news()) commit();
        store_.reset();
        close_folder(folder_);
    }

    // On another thread, as the process exits: the old one has taken its descriptors with it.
    void resume() {
        folder_ = Folder();
        if (start.identity->rings_survive) open_folder(folder_, *start.identity);
        store_.reset(Store::open(start.trace_path, Store::Role::writer));
        finish();
    }

  private:
    // How long to sleep then.
    int64_t pass() {
        if (store_ == nullptr) return kIdleSleepNs;
        drain_.scan(false);
        is_idle_ = !drain_.has_news();
        if (drain_.has_news() && is_worth_a_commit()) commit();
        care_for_rings(drain_.fullest() > kBusy, !drain_.has_news());
        if (drain_.is_full()) return kShortestSleepNs;
        if (is_idle_) return std::min(kIdleSleepNs, last_sleep_ns_ *= 2);
        const double share = std::max(0.0, 1 - drain_.fullest() / kGettingFull);
        last_sleep_ns_ = std::max(kShortestSleepNs, static_cast<int64_t>(share * kLongestSleepNs));
        return last_sleep_ns_;
    }

    bool is_worth_a_commit() const {
        return drain_.events() >= kWorthACommit || drain_.fullest() > kGettingFull ||
               clock_ns(CLOCK_MONOTONIC) - last_commit_ns_ >= kCommitEveryNs;
    }

    bool commit() {
        if (!files_.are_intact()) return lose_files();
        const Batch batch = drain_.batch();
        begin_transaction();
        const bool written = store_->write(batch);
        watch_files();
        end_transaction();
        if (written) {
            drain_.committed();
            last_commit_ns_ = clock_ns(CLOCK_MONOTONIC);
            show_progress();
            wish_for_names();
        }
        complain_once(written);
        return written;
    }

    // What the store has opened by now; it keeps it open.
    void watch_files() {
        if (!has_own_descriptors()) files_.watch(start.trace_path);
    }

    // The program has closed our files and may have others under their numbers: never again. What comes stays
    // in the rings, then is counted as lost. Not destroyed: that would write, too.
    bool lose_files() {
        static_cast<void>(store_.release());
        log_line(LogLevel::warn, "the program has closed the files of %s; it ends here", start.trace_path);
        return false;
    }

    // Not while a fork is under way, if it does not take too long.
    static void begin_transaction() {
        live->writing.store(1);
        for (uint32_t forks = live->forks.load(); forks != 0; forks = live->forks.load()) {
            end_transaction();
            wait_while(live->forks, forks, kForkWaitNs);
            live->writing.store(1);
            if (live->forks.load() == forks) return;
        }
    }
    static void end_transaction() {
        live->writing.store(0);
        if (live->forks.load() != 0) wake_all(live->writing);
    }

    void complain_once(bool written) {
        if (written || complained_) return;
        complained_ = true;
        log_line(LogLevel::warn,
                 "cannot write %s (%s); events are kept while there is room, then counted as lost",
                 start.trace_path, Store::failure());
    }

    void wish_for_names() {
        uint64_t functions[32];
        const size_t count = store_->take_unnamed(functions);
        unnamed_.insert(unnamed_.end(), functions, functions + count);
        std::erase_if(unnamed_, wish_for_name);
    }

    void finish() {
        bool written = store_ != nullptr;
        while (written) {
            drain_.scan(true);
            if (!drain_.has_news()) break;
            written = commit();
        }
        store_.reset();
        // What could not be written stays, for recovery.
        if (written) remove_folder(folder_, *start.identity);
        reach(Stage::finished);
    }

    std::unique_ptr<Store> store_;
    Folder folder_;
    Drain drain_;
    WatchedFiles files_;
    std::vector<uint64_t> unnamed_;
    int64_t last_sleep_ns_ = kShortestSleepNs;
    int64_t last_commit_ns_ = 0;
    bool is_idle_ = false;
    bool complained_ = false;
};

constinit Writer* paused_writer = nullptr;

std::unique_ptr<Store> make_store() {
    live->writing.store(1);
    std::unique_ptr<Store> store;
    if (Store::create(start.trace_path, *start.identity, start.devices))
        store.reset(Store::open(start.trace_path, Store::Role::writer));
    live->writing.store(0);
    return store;
}

void write_until_the_end() {
    leave_descriptors();
    prctl(PR_SET_NAME, "gpushim");
    Folder folder;
    make_rings(folder, *start.identity);
    std::unique_ptr<Store> store = make_store();
    if (store == nullptr) {
        log_line(LogLevel::warn, "cannot write %s (%s); not tracing", start.trace_path, Store::failure());
        remove_folder(folder, *start.identity);
        close_folder(folder);
        return reach(Stage::failed);
    }
    const auto clock = static_cast<ClockKind>(start.identity->clock_kind);
    // On the heap: it is large, and nothing destroys it while threads may still look.
    auto* writer = new Writer(std::move(store), folder, clock);
    reach(Stage::running);
    if (writer->run()) return;
    writer->pause();
    paused_writer = writer;
    reach(Stage::paused);
}

void* main_of_writer(void*) {
    try {
        if (paused_writer != nullptr)
            std::exchange(paused_writer, nullptr)->resume();
        else
            write_until_the_end();
    } catch (...) {
        // Out of memory: what is in the rings stays for recovery.
        live->doing.store(kOff);
        reach(Stage::failed);
    }
    return nullptr;
}

int create_thread(size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, main_of_writer, nullptr);
    pthread_attr_destroy(&attributes);
    return error;
}

// Its signals are the program's business: a thread inherits what is blocked.
int create_deaf_thread() {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = create_thread(kStackBytes);
    // Thread-local storage counts as stack, and some hosts have a lot of it.
    if (error == EINVAL) error = create_thread(0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

// Until the stage is no longer `from`, at most so long. False: it is.
bool wait_for_stage(Stage from, int64_t most_ns, int64_t standstill_ns) {
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + most_ns;
    int64_t moved_ns = clock_ns(CLOCK_MONOTONIC);
    uint32_t progress = live->progress.load();
    while (stage.load() == from) {
        const int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
        if (live->progress.load() != progress) moved_ns = now_ns;
        progress = live->progress.load();
        if (now_ns >= until_ns || now_ns - moved_ns >= standstill_ns) return false;
        wait_while(live->progress, progress, std::min(until_ns, moved_ns + standstill_ns) - now_ns);
    }
    return true;
}

}  // namespace

bool start_writer(const char* trace_path, TraceIdentity& identity, std::span<const Device> devices) {
    start = {trace_path, &identity, devices};
    stage.store(Stage::starting);
    const int error = create_deaf_thread();
    if (error != 0) {
        log_line(LogLevel::warn, "cannot start a thread (%s); not tracing", strerror(error));
        return false;
    }
    // A disk that takes longer than this to make a file: the program goes on, and the rings hold what
    // happens.
    wait_for_stage(Stage::starting, kEndNs, kEndNs);
    return stage.load() != Stage::failed;
}

void finish_writer() {
    if (stage.load() == Stage::paused) {
        stage.store(Stage::running);
        if (create_deaf_thread() != 0) return;
    }
    live->awake.store(1);
    wake_all(live->awake);
    wait_for_stage(Stage::running, kEndNs, kStandstillNs);
}

}  // namespace gpushim::shim
