#include "trace_writer.h"

#include <map>
#include <set>

#include "../terminal/progress.h"
#include "api_kinds.h"
#include "collective_words.h"
#include "external_sort.h"
#include "host_spans.h"
#include "host_words.h"
#include "program_spans.h"
#include "said_collectives.h"
#include "thread_join.h"
#include "trace_tables.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kUnsaid = -1;
constexpr size_t kMostExplained = 1'000'000;

// Profilers write 0 where a call asked for nothing.
int64_t correlation_of(ImportedNumber correlation) {
    return correlation && *correlation > 0 ? *correlation : kNotThere;
}

ImportedWhat what_of(ImportedWork::What what) {
    constexpr ImportedWhat kWhats[] = {ImportedWhat::kernel, ImportedWhat::copy, ImportedWhat::set,
                                       ImportedWhat::graph};
    return kWhats[static_cast<size_t>(what)];
}

// AMD's runtime copies and fills by kernels of its own, and its profilers list them among the program's.
ImportedWork::What what_is(const ImportedWork& work) {
    constexpr std::string_view kRuntimes = "__amd_rocclr_";
    if (work.what != ImportedWork::What::kernel || !work.name.starts_with(kRuntimes)) return work.what;
    const std::string_view rest = work.name.substr(kRuntimes.size());
    return rest.starts_with("copy")   ? ImportedWork::What::copy
           : rest.starts_with("fill") ? ImportedWork::What::set
                                      : work.what;
}

}  // namespace

struct TraceWriter::Impl {
    Impl(std::filesystem::path where, size_t bytes)
        : place(std::move(where)),
          asked(place.parent_path(), bytes),
          rows(place.parent_path(), bytes),
          spans(place.parent_path(), bytes) {}

    int32_t thread(ImportedNumber id, int64_t start_ns);
    int32_t stream(const ImportedStream& is);
    using Sizes = std::optional<std::array<int64_t, 3>>;
    int32_t shape(int32_t name, const Sizes& grid, const Sizes& block, ImportedNumber shared_bytes);
    int32_t collective(const ImportedArguments& said, int64_t& number);
    int32_t collective_by_name(int32_t name, std::string_view text);
    bool is_by_name(int32_t collective) const;
    int32_t communicator(const ImportedArguments& arguments);
    void join(const ImportedRow& row);
    void leave();
    void lay_out_spans(const ImportedTrace& trace);
    std::map<int64_t, int64_t> threads_of_spans(const std::set<int64_t>& launching);
    int64_t tid(int32_t thread) { return names.threads.at(thread); }

    std::filesystem::path place;
    ImportedNames names;
    ExternalSort<ImportedRow, ByCorrelation> asked;
    ExternalSort<ImportedRow, ByEnter> rows;
    ExternalSort<HostSpan, ByThreadAndStart> spans;
    HostWords words;
    std::vector<bool> launches;  // by number of the thread
    ThreadJoin threads;
    std::unordered_map<int32_t, int32_t> collectives_by_name;
    struct Explained {
        int32_t collective;
        int64_t number;
    };
    std::unordered_map<int64_t, Explained> explained;  // by operator
    SaidCollectives by_range;

    ImportedRow call;  // the last one, while its operations may follow
    bool has_call = false, is_used = false;
    ImportedCounts counts;
};

TraceWriter::TraceWriter(std::filesystem::path place, size_t sorted_bytes)
    : impl_(std::make_unique<Impl>(std::filesystem::absolute(place), sorted_bytes)) {}
TraceWriter::~TraceWriter() = default;

int32_t TraceWriter::Impl::thread(ImportedNumber id, int64_t start_ns) {
    if (!id) return ImportedRow::kNobody;
    const int32_t number = names.threads.id(*id);
    if (number < 0) return number;
    const auto at = static_cast<size_t>(number);
    if (at >= names.thread_first_ns.size()) names.thread_first_ns.resize(at + 1, INT64_MAX);
    names.thread_first_ns[at] = std::min(names.thread_first_ns[at], start_ns);
    return number;
}

int32_t TraceWriter::Impl::stream(const ImportedStream& is) {
    if (is.device && names.devices.id(*is.device) < 0) return ImportedRow::kNobody;
    return names.streams.id(is);
}

int32_t TraceWriter::Impl::shape(int32_t name, const Sizes& grid, const Sizes& block,
                                 ImportedNumber shared_bytes) {
    constexpr std::array<int64_t, 3> kUnknown = {kUnsaid, kUnsaid, kUnsaid};
    return names.shapes.id(
        {name, grid.value_or(kUnknown), block.value_or(kUnknown), shared_bytes.value_or(kUnsaid)});
}

int32_t TraceWriter::Impl::communicator(const ImportedArguments& arguments) {
    if (arguments.group.empty() && arguments.group_ranks.empty()) return ImportedRow::kNobody;
    std::string uid(arguments.group);
    uid += " " + std::string(arguments.group_ranks);
    return names.communicators.id(
        {std::move(uid), std::string(arguments.group_ranks), arguments.group_size.value_or(kUnsaid)});
}

// The same kernel's name always says the same: it is asked once.
int32_t TraceWriter::Impl::collective_by_name(int32_t name, std::string_view text) {
    const auto [found, is_new] = collectives_by_name.try_emplace(name, ImportedRow::kNobody);
    const std::string_view api = is_new ? api_of_kernel(text) : std::string_view();
    if (api.empty()) return found->second;
    const auto type = type_of_kernel(text);
    found->second = names.collectives.id(
        {names.apis.id(api), -1, kUnsaid, type ? type->nccl : kUnsaid, kUnsaid, kUnsaid, kUnsaid});
    return found->second;
}

// Only a kernel's name says that it is one.
bool TraceWriter::Impl::is_by_name(int32_t collective) const {
    if (collective < 0) return false;
    const ImportedCollective& is = names.collectives.at(collective);
    return is.communicator < 0 && is.bytes < 0;
}

int32_t TraceWriter::Impl::collective(const ImportedArguments& said, int64_t& number) {
    const std::string_view api = api_of_collective(said.collective);
    const auto type = data_type(said.dtype);
    const int64_t count =
        type ? count_passed(api, said.in_elements, said.out_elements, said.group_size).value_or(kUnsaid)
             : kUnsaid;
    int64_t bytes = kUnsaid;
    if (count >= 0 && __builtin_mul_overflow(count, type->bytes, &bytes)) bytes = kUnsaid;
    const bool sends = api == "ncclSend", receives = api == "ncclRecv";
    const ImportedNumber peer = sends ? said.target_rank : receives ? said.source_rank : ImportedNumber();
    if (!sends && !receives) number = said.sequence.value_or(kNotThere);
    return names.collectives.id({names.apis.id(api.empty() ? "nccl" : api), communicator(said), count,
                                 type ? type->nccl : kUnsaid, bytes, peer.value_or(kUnsaid), sends ? 1 : 0});
}

std::string too_many_gpus(int64_t operations) {
    if (operations == 0) return {};
    return "more GPUs or streams than a host has: of " + std::to_string(operations) +
           " operations it is not known which one ran them";
}

void TraceWriter::explain(int64_t operator_id, const ImportedArguments& arguments) {
    if (arguments.collective.empty() || impl_->explained.size() == kMostExplained) return;
    Impl::Explained explained = {0, kNotThere};
    explained.collective = impl_->collective(arguments, explained.number);
    impl_->explained.emplace(operator_id, explained);
}

void TraceWriter::said(const ImportedArguments& arguments, int64_t start_ns, int64_t duration_ns,
                       int64_t thread) {
    if (api_of_collective(arguments.collective).empty()) return;
    int64_t number = kNotThere;
    impl_->by_range.add(thread, start_ns, start_ns + duration_ns, impl_->collective(arguments, number));
}

void TraceWriter::call(const ImportedCall& call) {
    ImportedRow row;
    row.what = ImportedWhat::call;
    row.correlation = correlation_of(call.correlation);
    row.enter_ns = call.start_ns;
    row.call_ns = call.duration_ns;
    row.api = impl_->names.apis.id(name_of_api(call.api));
    row.thread = impl_->thread(call.thread, call.start_ns);
    row.flags = call.failed ? 2 : 0;
    if (call.stream.stream) row.stream = impl_->stream(call.stream);
    row.number = call.event.value_or(kNotThere);
    if (!call.kernel.empty()) row.name = impl_->shape(impl_->names.names.id(call.kernel), {}, {}, {});
    impl_->asked.add(row);
}

void TraceWriter::gap(const ImportedGap& gap) {
    ImportedRow row;
    row.what = ImportedWhat::gap;
    row.enter_ns = gap.start_ns;
    row.call_ns = gap.duration_ns;
    row.thread = impl_->thread(gap.thread, gap.start_ns);
    if (row.thread < 0) return;
    row.number = gap.running_ns.value_or(kNotThere);
    row.ran_ns = gap.runqueue_ns.value_or(kNotThere);
    row.correlation = gap.samples.value_or(0);
    if (!gap.blocked_on.empty()) row.name = impl_->names.names.id(gap.blocked_on);
    impl_->rows.add(row);
}

void TraceWriter::work(const ImportedWork& work) {
    ImportedRow row;
    const ImportedWork::What what = what_is(work);
    row.what = what_of(what);
    row.correlation = correlation_of(work.correlation);
    row.start_ns = work.start_ns;
    row.ran_ns = work.duration_ns;
    row.stream = impl_->stream(work.stream);
    impl_->counts.of_no_gpu += row.stream < 0;
    row.number = work.bytes.value_or(kNotThere);
    row.direction = work.direction;
    row.sides = static_cast<uint8_t>(work.source + 8 * work.target);
    if (what == ImportedWork::What::kernel) {
        row.number = kNotThere;
        row.name = impl_->shape(impl_->names.names.id(work.name), work.grid, work.block, work.shared_bytes);
        row.collective = impl_->collective_by_name(impl_->names.names.id(work.name), work.name);
        if (row.collective >= 0 && !work.arguments.collective.empty())
            row.collective = impl_->collective(work.arguments, row.number);
        else if (row.collective >= 0 && work.operator_id != work.correlation)
            row.call_ns = work.operator_id.value_or(kNotThere);  // its operator may come later
    }
    impl_->asked.add(row);
}

void TraceWriter::waited_for(int64_t correlation, const ImportedStream& stream) {
    ImportedRow row;
    row.what = ImportedWhat::target;
    row.correlation = correlation_of(correlation);
    row.stream = impl_->stream(stream);
    if (row.correlation != kNotThere) impl_->asked.add(row);
}

void TraceWriter::allocated(int64_t correlation, int64_t bytes) {
    ImportedRow row;
    row.what = ImportedWhat::target;
    row.correlation = correlation_of(correlation);
    row.number = bytes;
    if (row.correlation != kNotThere) impl_->asked.add(row);
}

void TraceWriter::range(std::string_view name, int64_t start_ns, int64_t duration_ns, ImportedNumber thread,
                        ImportedRange kind) {
    ImportedRow row;
    row.what = ImportedWhat::push;
    row.enter_ns = start_ns;
    row.call_ns = duration_ns;
    row.name = impl_->names.names.id(name);
    row.thread = impl_->thread(thread, start_ns);
    row.direction = static_cast<uint8_t>(kind);
    impl_->rows.add(row);
    if (kind == ImportedRange::mark) return;
    if (const HostTold told = impl_->words.told(name); told.inside)
        inside(told, start_ns, duration_ns, thread);
    row.what = ImportedWhat::pop;
    row.enter_ns = start_ns + std::max<int64_t>(duration_ns, 1);  // never before it begins
    impl_->rows.add(row);
}

void TraceWriter::inside(std::string_view name, HostInside otherwise, int64_t start_ns, int64_t duration_ns,
                         ImportedNumber thread) {
    HostTold told = impl_->words.told(name);
    if (!told.inside) told.inside = otherwise;
    inside(told, start_ns, duration_ns, thread);
}

void TraceWriter::inside(HostTold told, int64_t start_ns, int64_t duration_ns, ImportedNumber thread) {
    if (thread && told.inside)
        impl_->spans.add({*thread, start_ns, start_ns + duration_ns, *told.inside, told.stage});
}

void TraceWriter::within(std::string_view name, ImportedOperator is, int64_t start_ns, int64_t duration_ns,
                         ImportedNumber thread, ImportedNumber sequence) {
    if (!thread || duration_ns <= 0) return;
    ImportedRow row;
    row.what = ImportedWhat::within;
    row.correlation = *thread;
    row.enter_ns = start_ns;
    row.call_ns = duration_ns;
    row.name = impl_->names.names.id(name);
    row.number = sequence.value_or(kNotThere);
    row.direction = static_cast<uint8_t>(is);
    impl_->rows.add(row);
}

void TraceWriter::name_thread(int64_t thread, std::string_view name) {
    impl_->names.thread_names[thread] = name.substr(0, 256);
}

// A call that asked for nothing is a row of its own.
void TraceWriter::Impl::leave() {
    if (!has_call || is_used) return;
    const std::string_view kind = kind_of_api(names.apis.at(call.api)).kind;
    counts.calls_without_operation +=
        kind == "launch" || kind == "graph_launch" || kind == "copy" || kind == "memset";
    rows.add(call);
}

void TraceWriter::Impl::join(const ImportedRow& row) {
    if (row.what == ImportedWhat::call) {
        leave();
        call = row;
        has_call = true;
        is_used = false;
        return;
    }
    const bool is_asked = has_call && row.correlation != kNotThere && row.correlation == call.correlation;
    if (row.what == ImportedWhat::target) {
        if (is_asked && row.stream >= 0) call.stream = row.stream;
        if (is_asked && row.number != kNotThere) call.number = row.number;
        return;
    }
    ImportedRow joined = row;
    if (const auto found = explained.find(row.call_ns); row.collective >= 0 && found != explained.end()) {
        joined.collective = found->second.collective;
        joined.number = found->second.number;
    } else if (is_by_name(row.collective) && is_asked && call.thread >= 0) {
        if (const auto found_at = by_range.at(tid(call.thread), call.enter_ns)) joined.collective = *found_at;
    }
    joined.call_ns = kNotThere;
    joined.enter_ns = is_asked ? call.enter_ns : row.start_ns;
    if (is_asked) {
        joined.api = call.api;
        joined.thread = call.thread;
        joined.call_ns = is_used ? 0 : call.call_ns;  // a graph's call is the first one's
        is_used = true;
        if (call.thread >= 0) {
            launches[static_cast<size_t>(call.thread)] = true;
            threads.called(tid(call.thread), call.enter_ns,
                           call.enter_ns + std::max<int64_t>(call.call_ns, 0));
        }
    } else {
        ++counts.without_call;
    }
    ++counts.operations;
    rows.add(joined);
}

// Whose spans those of each thread are: of threads that launched. What others did nobody asks.
std::map<int64_t, int64_t> TraceWriter::Impl::threads_of_spans(const std::set<int64_t>& launching) {
    spans.each([this](const HostSpan& span) { threads.inside(span); });
    std::map<int64_t, int64_t> joined = threads.joined();
    for (const auto& [own, calls] : joined)
        if (const auto name = names.thread_names.find(own); name != names.thread_names.end())
            names.thread_names.try_emplace(calls, name->second);
    for (const int64_t tid : launching) joined.emplace(tid, tid);
    return joined;
}

void TraceWriter::Impl::lay_out_spans(const ImportedTrace& trace) {
    std::set<int64_t> tids;
    for (size_t i = 0; i < launches.size(); ++i)
        if (launches[i]) tids.insert(tid(static_cast<int32_t>(i)));
    std::map<int64_t, int64_t> whose;
    if (trace.joins_threads) whose = threads_of_spans(tids);
    HostFill fill(threads.calls(), [this](const HostSpan& span) {
        ImportedRow row;
        row.what = ImportedWhat::inside;
        row.enter_ns = span.start_ns;
        row.call_ns = span.end_ns - span.start_ns;
        row.thread = names.threads.id(span.thread);
        row.direction = static_cast<uint8_t>(span.inside);
        row.sides = static_cast<uint8_t>(span.stage);
        rows.add(row);
    });
    if (trace.program_thread)
        lay_out_program(*trace.program_thread, spans, [&](const HostSpan& span) { fill.other(span); });
    std::set<int64_t> without = tids;
    HostSpans own([&](const HostSpan& span) { fill.own(span), without.erase(span.thread); });
    spans.each([&](HostSpan span) {
        const auto found = whose.find(span.thread);
        if (found == whose.end() && !tids.contains(span.thread)) return;
        if (found != whose.end() && found->second != span.thread) {
            span.thread = found->second;
            const Interval& calls = threads.calls();
            span.start_ns = std::max(span.start_ns, calls.start_ns);
            span.end_ns = std::min(span.end_ns, calls.end_ns);
        }
        own.add(span);
    });
    own.finish();
    fill.end_thread();
    for (const int64_t thread : without) fill.alone(thread);
}

ImportedCounts TraceWriter::finish(const ImportedTrace& trace) {
    const Progress writing("writing its rows");
    Progress::expect(static_cast<int64_t>(2 * impl_->asked.size() + impl_->rows.size()));
    ProgressCount done;
    impl_->launches.resize(static_cast<size_t>(impl_->names.threads.count()));
    impl_->asked.each([&](const ImportedRow& row) { impl_->join(row), ++done; });
    impl_->leave();
    impl_->lay_out_spans(trace);
    TraceTables tables(impl_->place, trace, impl_->names);
    impl_->rows.each([&](const ImportedRow& row) { tables.write(row), ++done; });
    ImportedCounts& counts = impl_->counts;
    counts.rows = tables.finish(counts).rows;
    return counts;
}

}  // namespace gpushim::analysis
