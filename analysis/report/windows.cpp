// Of each device of each rank: how busy it was in the windows with device times, and what they and the time
// between them say of the whole run. From the traces, in JSON only; the sections on GPUs and trust say it in
// words.
#include "../busy/busy.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_windows {

namespace {

// A run lasts to the last call of the host, here as in the run database.
class ToTheLastCall : public CallWatch {
  public:
    void see(Call&) override {}
    std::vector<Call> piece(TimedSpan::Contents contents) override { return std::move(contents.calls); }
    const std::vector<int64_t>& cuts() const override { return none_; }

  private:
    std::vector<int64_t> none_;
};

void set(Facts& facts, const std::string& key, const Figure& figure, const std::string& why) {
    facts.between(key, figure.share, figure.low, figure.high, why);
}

Json json_of(const SpanBusy& busy) {
    const Range certain = certain_range(busy);
    return Json::object({{"from_ns", busy.span.start_ns},
                         {"until_ns", busy.span.end_ns},
                         {"slot", busy.window.slot},
                         {"coverage", busy.coverage()},
                         {"open_share", busy.open_share()},
                         {"operations", busy.operations},
                         {"refused", is_refused(busy)},
                         {"queued", busy.queued},
                         {"unqueued", busy.unqueued},
                         {"as_it_ran_ns", busy.busy_ns},
                         {"as_it_ran_low_ns", busy.low_ns},
                         {"as_it_ran_high_ns", busy.high_ns},
                         {"without_us", busy.undisturbed},
                         {"busy_ns", busy.estimate.part_ns},
                         {"window_ns", busy.estimate.whole_ns},
                         {"busy_share_low", certain.low},
                         {"busy_share_high", certain.high},
                         {"busy_share_likely_low", ratio_of({&busy.at_least, 1})},
                         {"busy_share_likely_high", ratio_of({&busy.at_most, 1})}});
}

Json json_of(const Trace& trace, const DeviceBusy& busy) {
    const bool host = busy.level() == "host";
    const Figure figure = busy.without_us();
    int64_t window_ns = 0;
    bool undisturbed = true;
    Json windows = Json::array();
    for (const SpanBusy& span : busy.windows) {
        if (!is_refused(span)) window_ns += span.estimate.whole_ns;
        undisturbed = undisturbed && span.undisturbed;
        windows.push(json_of(span));
    }
    Facts facts;
    facts.known("rank", trace.rank)
        .known("device", busy.device_id)
        .known("level", busy.level())
        .known("window_ns", host ? busy.run.length_ns() : window_ns);
    set(facts, "busy_share", busy.certain(), busy.why());
    facts.maybe("busy_share_likely_low", figure.share ? std::optional(figure.low) : std::nullopt, busy.why())
        .maybe("busy_share_likely_high", figure.share ? std::optional(figure.high) : std::nullopt,
               busy.why());
    facts.maybe("idle_share", figure.share ? std::optional(1 - *figure.share) : std::nullopt, busy.why());
    set(facts, "busy_share_as_it_ran", busy.as_it_ran(), host ? busy.why() : "only windows were timed");
    facts.known("without_us", !host && undisturbed)
        .known("sampled", !host && busy.sampled())
        .maybe("coverage", busy.coverage(), host ? busy.why() : "no operation was in a window")
        .known("timed_share", busy.timed_share())
        .known("run_from_ns", busy.run.start_ns)
        .known("run_until_ns", busy.run.end_ns)
        .known("windows", std::move(windows));
    return facts.json();
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr || source.options.only_lines) return;
    Json list = Json::array();
    for (const Trace& trace : source.traces->traces) {
        ToTheLastCall watch;
        for (const DeviceBusy& busy : busy_of(trace, &watch)) list.push(json_of(trace, busy));
    }
    report.json.set("windows", std::move(list));
}

constexpr Section kSection = {"windows", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_windows
