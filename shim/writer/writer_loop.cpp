#include "writer_loop.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "../base/log.h"
#include "../base/protection.h"
#include "../base/system.h"
#include "../base/time_units.h"
#include "../program/capture_range.h"
#include "../program/function_names.h"
#include "../ring/rings.h"
#include "../ring/test_clock.h"
#include "../windows/windows.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kShortestSleepNs = kMillisecond;
constexpr int64_t kLongestSleepNs = 50 * kMillisecond;
constexpr int64_t kIdleSleepNs = 80 * kMillisecond;
constexpr int64_t kCommitEveryNs = 100 * kMillisecond;  // rings of threads that ended are free only then
// The first makes the trace one that is written all the time. Most processes that make a context and end soon
// never have it; where rings are lost with the process it does not wait.
constexpr int64_t kFirstCommitNs = 1000 * kMillisecond;
constexpr int64_t kForkWaitNs = 20 * kMillisecond;
constexpr int64_t kMakeSpaceNs = 200 * kMillisecond;
constexpr size_t kWorthACommit = 4096;
constexpr double kGettingFull = 0.25;
constexpr double kBusy = 0.5;
constexpr double kWantsSpares = 0.125;

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

void end_transaction() {
    process_state->writing.store(0);
    if (process_state->forks.load() != 0) wake_all(process_state->writing);
}

// Not while a fork is under way, if it does not take too long.
void begin_transaction() {
    process_state->writing.store(1);
    for (uint32_t forks = process_state->forks.load(); forks != 0; forks = process_state->forks.load()) {
        end_transaction();
        wait_while(process_state->forks, forks, kForkWaitNs);
        process_state->writing.store(1);
        if (process_state->forks.load() == forks) return;
    }
}

constexpr char kExit[] = "exit";  // of meta.ended

bool is_ending() { return process_state->doing.load() == kEnding; }

}  // namespace

void show_progress() {
    process_state->progress.fetch_add(1);
    wake_all(process_state->progress);
}

WriterLoop::WriterLoop(const WriterStart& start, std::unique_ptr<Store> store, WriterFolder folder)
    : start_(start),
      store_(std::move(store)),
      folder_(folder),
      clock_(static_cast<ClockKind>(start.identity->clock_kind)),
      drain_(clock_, read_pair(clock_)),
      observers_(start.devices),
      switches_(start.trace_path),
      taking_in_(*start.identity, now(false).mono_ns),
      sleep_ns_(kShortestSleepNs),
      last_commit_ns_(now(false).mono_ns) {
    drain_.take_at_most(store_->most_slots());
    watch_files();
}

void WriterLoop::make_space() {
    if (clock_ != kTestClock) taking_in_.make_space(kMakeSpaceNs);
}

Ended WriterLoop::run() {
    try {
        return write_until_the_end();
    } catch (const std::bad_alloc&) {
        complain_once("out of memory; not tracing any more");
        return Ended::lost;
    }
}

Ended WriterLoop::write_until_the_end() {
    while (!is_ending()) {
        const bool was_called = process_state->awake.exchange(0) != 0;
        if (process_state->last_look.load() == kLookWanted) look_last();
        if (process_state->last_look.load() == kReadWanted) read_now();
        // On the test clock never beside the program: only while a thread of it waits for that.
        if ((clock_ != kTestClock || was_called) && pass_is_due(read_pair(clock_).ticks)) pass();
        if (store_ == nullptr) return Ended::lost;
        if (is_ending()) break;
        wait_while(process_state->awake, 0, clock_ == kTestClock ? kIdleSleepNs : sleep_ns_);
        if (has_nothing_to_do() && main_thread_is_gone()) return pause();
    }
    finish();
    return Ended::finished;
}

// On the test clock nothing happens between two passes that were asked for.
bool WriterLoop::has_nothing_to_do() const {
    return clock_ == kTestClock ? process_state->awake.load() == 0 : is_idle_;
}

void WriterLoop::pass() {
    const Moment moment = now(false);
    const int64_t range_ns = std::min(time_passes(moment.mono_ns), obey_switches(moment.mono_ns));
    drain_.scan(false);
    is_idle_ = !drain_.has_news();
    const int64_t look_ns = std::min(range_ns, observers_.look(moment));
    if (has_news() && is_worth_a_commit(moment.mono_ns)) commit();
    care_for_rings(wanted_spares(), !drain_.has_news());
    sleep_ns_ = std::clamp(std::min(look_ns, take_in(moment.mono_ns)), kShortestSleepNs, sleep_after_scan());
    pass_is_done(read_pair(clock_).ticks + static_cast<uint64_t>(sleep_ns_));
}

// Only while nothing of our own waits.
int64_t WriterLoop::take_in(int64_t now_ns) {
    if (clock_ == kTestClock || is_ending() || drain_.fullest() > kWantsSpares) return kIdleSleepNs;
    if (taking_in_.is_due(now_ns)) {
        begin_transaction();
        taking_in_.take_piece(now_ns);
        end_transaction();
    }
    return taking_in_.next_ns() - now_ns;
}

// Once a thread has been busy, or there was a second one, the next may want a ring at any time.
Spares WriterLoop::wanted_spares() {
    wants_spares_ = wants_spares_ || drain_.fullest() > kWantsSpares || all_rings().size() > 1;
    if (!wants_spares_) return Spares::none;
    return drain_.fullest() > kBusy ? Spares::large : Spares::some;
}

int64_t WriterLoop::obey_switches(int64_t now_ns) {
    const int64_t next_ns = switches_.look(now_ns);
    switched_off(switches_.is_off());
    store_->keep_rows(switches_.keeps());
    return next_ns;
}

int64_t WriterLoop::sleep_after_scan() {
    if (drain_.is_full()) return kShortestSleepNs;
    if (is_idle_) return std::clamp(2 * sleep_ns_, kShortestSleepNs, kIdleSleepNs);
    const double share = std::max(0.0, 1 - drain_.fullest() / kGettingFull);
    return std::max(kShortestSleepNs, static_cast<int64_t>(share * kLongestSleepNs));
}

Moment WriterLoop::now(bool ending) const {
    const ClockPair pair = read_pair(clock_);
    return {pair.mono_ns, pair.real_ns, ending};
}

bool WriterLoop::has_news() { return drain_.has_news() || observers_.have_rows(); }

bool WriterLoop::is_worth_a_commit(int64_t now_ns) const {
    // Device times are read once their rows are in: not all at once, later.
    const bool may_wait = !has_committed_ && start_.identity->rings_survive && !drain_.has_timed();
    return drain_.events() >= kWorthACommit || drain_.is_full() || drain_.fullest() > kGettingFull ||
           now_ns - last_commit_ns_ >= (may_wait ? kFirstCommitNs : kCommitEveryNs);
}

bool WriterLoop::commit(const char* ended) {
    if (!has_its_files()) return false;
    Batch batch = drain_.batch();
    batch.is_at_the_end = is_ending() || process_state->last_look.load() == kLookWanted;
    batch.ended = ended;
    batch.observed = observers_.rows();
    batch.samples_left_out = observers_.left_out();
    const WindowSpan window = newest_window();
    batch.window_from_ns = window.from_ns;
    batch.window_until_ns = window.until_ns;
    begin_transaction();
    if (!kept(Protection::slots_until_commit)) drain_.committed();
    const bool written = store_->write(batch);
    const Drop why_not = written ? Drop::full : store_->why_not();
    process_state->not_emptied.store(static_cast<uint32_t>(why_not));
    drain_.take_at_most(store_->most_slots());
    watch_files();
    end_transaction();
    if (written) {
        observers_.stored(batch.events, store_->timed());
        drain_.committed();
        last_commit_ns_ = now(false).mono_ns;
        has_committed_ = true;
        show_progress();
        wish_for_names();
    }
    if (!written) complain_once("events are kept while there is room, then counted as lost");
    return written;
}

// A short process that used no device: all of it goes in with its end.
bool WriterLoop::has_nothing_to_look_for() const {
    return !has_committed_ && !drain_.has_timed() && !is_range_asked();
}

// Device times belong to rows: first everything is written, then what can be read now is read.
void WriterLoop::look_last() {
    drain_.scan(false);
    if (has_nothing_to_look_for() || !drain_.has_news() || commit()) observers_.look(now(true));
    process_state->last_look.store(kLooked);
    show_progress();
}

void WriterLoop::read_now() {
    drain_.scan(false);
    Moment moment = now(false);
    moment.reading = true;
    if (!drain_.has_news() || commit()) observers_.look(moment);
    uint32_t wanted = kReadWanted;
    process_state->last_look.compare_exchange_strong(wanted, kLookNotYet);
    show_progress();
}

void WriterLoop::finish() {
    bool written = store_ != nullptr;
    drain_.scan(true);
    while (written && drain_.has_news() && !(has_nothing_to_look_for() && !drain_.is_cut_short())) {
        written = commit();
        drain_.scan(true);
    }
    // Twice where it was not done before: what one of them closes is another's to write.
    if (written && process_state->last_look.load() != kLooked) observers_.look(now(true));
    if (written) observers_.look(now(true));
    const bool has_more = has_news();
    if (written && has_more) written = commit(kExit);
    written = has_its_files() && written;
    if (written && !has_more) store_->note_end(kExit);
    store_.reset();
    // What could not be written stays, for recovery.
    if (written) remove_folder(folder_, *start_.identity);
    pass_is_done(kNoMorePasses);
}

Ended WriterLoop::pause() {
    process_state->timing.store(0);
    drain_.scan(false);
    if (has_news()) commit();
    // Else closing what was ours would close what the program has under those numbers.
    if (!has_its_files()) return Ended::lost;
    store_.reset();
    close_folder(folder_);
    pass_is_done(kNoMorePasses);
    return Ended::alone;
}

void WriterLoop::resume() {
    folder_ = WriterFolder();
    if (start_.identity->rings_survive) open_folder(folder_, *start_.identity);
    store_.reset(Store::open(start_.trace_path, Store::Role::writer));
    watch_files();
    finish();
}

// What the store has opened by now; it keeps it open.
void WriterLoop::watch_files() {
    if (!has_own_descriptors()) files_.watch(start_.trace_path);
}

// False: the program has closed them and may have others under their numbers: never again. The store is not
// destroyed: that would write, too. What is still in the rings stays there for recovery.
bool WriterLoop::has_its_files() {
    if (store_ == nullptr || files_.are_intact()) return store_ != nullptr;
    static_cast<void>(store_.release());
    log_line(LogLevel::warn, "the program closed the files of %s; the trace ends here", start_.trace_path);
    return false;
}

void WriterLoop::complain_once(const char* what_now) {
    if (std::exchange(complained_, true)) return;
    const char* why = Store::failure();
    log_line(LogLevel::warn, "cannot write %s (%s); %s", start_.trace_path, why, what_now);
}

void WriterLoop::wish_for_names() {
    uint64_t functions[32];
    const size_t count = store_->take_unnamed(functions);
    unnamed_.insert(unnamed_.end(), functions, functions + count);
    std::erase_if(unnamed_, wish_for_name);
}

}  // namespace gpushim::shim
