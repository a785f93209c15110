#include "kineto_reader.h"

#include <algorithm>

#include "../../failure.h"
#include "../trace_rank.h"
#include "damage.h"
#include "input_stream.h"
#include "json_scanner.h"
#include "text_window.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostElementBytes = 4 << 20;  // a larger one is skipped; real ones have some hundred bytes
constexpr size_t kMostCategories = 64, kLongestCategory = 64;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF", kBetween = " \t\r\n,";

// The rank that collectives of the group of all ranks say, if they all say the same.
class CollectiveRank {
  public:
    void see(const KinetoEvent& event) {
        if (!event.group_rank || !is_group_of_all(event)) return;
        if (rank_ && *rank_ != *event.group_rank) contradicts_ = true;
        rank_ = event.group_rank;
    }
    std::optional<int64_t> rank() const { return contradicts_ ? std::nullopt : rank_; }

  private:
    static bool is_group_of_all(const KinetoEvent& event) {
        if (!event.group_description.empty()) return event.group_description == "default_pg";
        return event.group == "default_pg" || event.group == "0";
    }
    std::optional<int64_t> rank_;
    bool contradicts_ = false;
};

class Reader {
  public:
    Reader(const std::string& path, const KinetoOptions& options,
           const std::function<void(const KinetoEvent&)>& on_event)
        : path_(path),
          options_(options),
          on_event_(on_event),
          input_(path),
          window_(input_, kMostElementBytes) {}

    KinetoSummary run() {
        read_all();
        if (!found_events_) throw Failure(path_ + ": not a trace of PyTorch's profiler: " + why_no_events());
        summary_.text_bytes = window_.position();
        summary_.was_gzip = input_.is_gzip();
        tell_rank();
        return std::move(summary_);
    }

  private:
    enum class Step { fine, wrong, too_large, end };

    // Reads from the front of the window, again with more text if it was cut off, and takes what was read.
    template <class Read>
    Step attempt(const Read& read) {
        for (;;) {
            JsonScanner json(window_.text());
            read(json);
            if (!json.cut() && !json.wrong()) return window_.take(json.used()), Step::fine;
            if (json.wrong()) return Step::wrong;
            if (!window_.more()) return window_.full() ? Step::too_large : Step::end;
        }
    }

    // The first character behind blanks and commas; none: there is no more.
    std::optional<char> next() {
        for (;;) {
            const std::string_view text = window_.text();
            const size_t at = std::min(text.find_first_not_of(kBetween), text.size());
            window_.take(at);
            if (at < text.size()) return text[at];
            if (!window_.more()) return {};
        }
    }

    bool stop(KinetoEnd end, const std::string& what) {
        summary_.end = input_.trouble().starts_with("gzip is damaged") ? KinetoEnd::damaged : end;
        summary_.end_note = what + " at byte " + std::to_string(window_.position() + window_.text().size());
        if (end == KinetoEnd::damaged)
            summary_.end_note = what + " at byte " + std::to_string(window_.position());
        if (!input_.trouble().empty()) summary_.end_note += ": " + input_.trouble();
        return false;
    }

    bool skip_value() {
        JsonSkipper skipper;
        for (;;) {
            window_.take(skipper.feed(window_.text()));
            if (skipper.done()) return true;
            if (!window_.more()) return stop(KinetoEnd::broken_off, "breaks off");
        }
    }

    void read_all() {
        while (window_.text().size() < kByteOrderMark.size() && window_.more()) {
        }
        if (window_.text().starts_with(kByteOrderMark)) window_.take(kByteOrderMark.size());
        const auto first = next();
        if (first != '{' && first != '[') {
            stop(KinetoEnd::damaged, first ? "not JSON" : "empty");
            return;
        }
        if (first == '[' ? read_events() : read_members()) look_behind();
    }

    bool read_members() {
        window_.take(1);
        for (;;) {
            std::string key;
            bool is_member = false;
            const Step step = attempt([&](JsonScanner& json) {
                std::string_view view;
                is_member = json.next_member(view);
                key = view;
            });
            if (step == Step::end) return stop(KinetoEnd::broken_off, "breaks off");
            if (step != Step::fine) return stop(KinetoEnd::damaged, "not JSON");
            if (!is_member) return true;
            if (!read_member(key)) return false;
        }
    }

    bool read_member(const std::string& key) {
        if (key == "traceEvents" && next() == '[') return read_events();
        if (!is_head_key(key)) return skip_value();
        const Step step = attempt([&](JsonScanner& json) { read_head_value(json, key, summary_.head); });
        if (step == Step::fine) return true;
        if (step == Step::end) return stop(KinetoEnd::broken_off, "breaks off");
        ++summary_.head.values_ignored;
        return skip_value();
    }

    bool read_events() {
        found_events_ = true;
        window_.take(1);
        for (;;) {
            const auto first = next();
            if (!first) return stop(KinetoEnd::broken_off, "breaks off");
            if (*first == ']') return window_.take(1), true;
            if (!(*first == '{' ? read_event() : pass_by())) return false;
        }
    }

    bool read_event() {
        const Step step = attempt([&](JsonScanner& json) {
            read_element(json, options_, element_);
            if (!json.cut() && !json.wrong()) give();
        });
        if (step == Step::end) return stop(KinetoEnd::broken_off, "breaks off");
        if (step == Step::fine) return true;
        count(step == Step::wrong ? KinetoSkip::malformed : KinetoSkip::too_large);
        return step == Step::wrong ? recover() : skip_value();
    }

    // What stands between elements and is none.
    bool pass_by() {
        const uint64_t before = window_.position();
        if (!skip_value()) return false;
        const bool is_value = window_.position() > before;
        if (!is_value) window_.take(1);
        count(is_value ? KinetoSkip::not_an_object : KinetoSkip::malformed);
        return true;
    }

    bool recover() {
        for (bool at_element = true;;) {
            const std::string_view text = window_.text();
            const auto end = at_element ? end_of_damage(text) : next_element(text, 0, text.size());
            if (end) return window_.take(*end), true;
            if (window_.more()) continue;
            if (!window_.full()) return stop(KinetoEnd::broken_off, "breaks off in a damaged element");
            window_.take(text.size());
            at_element = false;
        }
    }

    void give() {
        const KinetoEvent& event = element_.event;
        summary_.values_ignored += element_.values_ignored;
        // Most elements are of the category of the one before.
        if (last_ != summary_.by_category.end() && last_->first == event.category)
            ++last_->second;
        else
            last_ = count_category(summary_.by_category, event.category);
        if (element_.skip == KinetoSkip::unknown_category) count_category(summary_.unread, event.category);
        if (element_.skip != KinetoSkip::none) return count(element_.skip);
        ++summary_.events[static_cast<size_t>(event.kind)];
        rank_.see(event);
        if (event.duration_ns > 0) {
            const int64_t end_ns = event.start_ns + event.duration_ns;
            summary_.first_start_ns =
                std::min(event.start_ns, summary_.first_start_ns.value_or(event.start_ns));
            summary_.last_end_ns = std::max(end_ns, summary_.last_end_ns.value_or(end_ns));
        }
        on_event_(event);
    }

    void count(KinetoSkip why) { ++summary_.skipped[static_cast<size_t>(why)]; }

    using Counts = std::map<std::string, uint64_t, std::less<>>;
    static Counts::iterator count_category(Counts& counts, std::string_view category) {
        if (category.empty()) return counts.end();
        auto found = counts.find(category);
        const bool has_room = counts.size() < kMostCategories && category.size() <= kLongestCategory;
        if (found == counts.end())
            found = counts.try_emplace(has_room ? std::string(category) : "(others)").first;
        ++found->second;
        return found;
    }

    // Behind the JSON nothing should be. To look there also lets gzip check its sum.
    void look_behind() {
        const auto extra = next();
        if (extra) stop(KinetoEnd::damaged, "not read: what follows the end of the JSON,");
        if (!extra && !input_.trouble().empty())
            stop(KinetoEnd::broken_off, "the JSON is complete; its file breaks off");
    }

    std::string why_no_events() const {
        return summary_.end_note.empty() ? "it has no list traceEvents" : summary_.end_note;
    }

    void tell_rank() {
        const std::pair<std::optional<int64_t>, KinetoRankSource> sources[] = {
            {summary_.head.rank, KinetoRankSource::distributed_info},
            {rank_.rank(), KinetoRankSource::collectives},
            {rank_of_file_name(path_, options_.numbers_count), KinetoRankSource::file_name}};
        for (const auto& [rank, source] : sources) {
            if (!rank || *rank < 0) continue;
            summary_.rank = rank;
            summary_.rank_source = source;
            return;
        }
    }

    const std::string& path_;
    const KinetoOptions& options_;
    const std::function<void(const KinetoEvent&)>& on_event_;
    InputStream input_;
    TextWindow window_;
    KinetoSummary summary_;
    KinetoElement element_;
    std::map<std::string, uint64_t, std::less<>>::iterator last_ = summary_.by_category.end();
    CollectiveRank rank_;
    bool found_events_ = false;
};

}  // namespace

KinetoSummary read_kineto(const std::string& path, const KinetoOptions& options,
                          const std::function<void(const KinetoEvent&)>& on_event) {
    return Reader(path, options, on_event).run();
}

}  // namespace gpushim::analysis
