#include "kineto_element.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <variant>

#include "../decimal.h"
#include "kineto_names.h"
#include "kineto_values.h"

namespace gpushim::analysis {

namespace {

constexpr int kMicroToNano = 3;

using Field = std::variant<KinetoEvent::Number KinetoEvent::*, std::optional<double> KinetoEvent::*,
                           KinetoEvent::Sizes KinetoEvent::*, std::string_view KinetoEvent::*>;
struct Argument {
    std::string_view key;
    Field field;
};
// By key.
constexpr Argument kArguments[] = {
    {"Addr", &KinetoEvent::address},
    {"Bytes", &KinetoEvent::bytes},
    {"Collective name", &KinetoEvent::collective},
    {"Device Id", &KinetoEvent::device},
    {"Device Type", &KinetoEvent::device_type},
    {"Dst Rank", &KinetoEvent::target_rank},
    {"External id", &KinetoEvent::external_id},
    {"Fwd thread id", &KinetoEvent::forward_thread},
    {"Group size", &KinetoEvent::group_size},
    {"In msg nelems", &KinetoEvent::in_elements},
    {"Input Dims", &KinetoEvent::input_dimensions},
    {"Input type", &KinetoEvent::input_types},
    {"Out msg nelems", &KinetoEvent::out_elements},
    {"Process Group Description", &KinetoEvent::group_description},
    {"Process Group Name", &KinetoEvent::group},
    {"Process Group Ranks", &KinetoEvent::group_ranks},
    {"Rank", &KinetoEvent::group_rank},
    {"Seq", &KinetoEvent::sequence},
    {"Sequence number", &KinetoEvent::autograd},
    {"Src Rank", &KinetoEvent::source_rank},
    {"Total Allocated", &KinetoEvent::total_allocated_bytes},
    {"Total Reserved", &KinetoEvent::total_reserved_bytes},
    {"block", &KinetoEvent::block},
    {"blocked on", &KinetoEvent::blocked_on},
    {"bytes", &KinetoEvent::bytes},
    {"call context", &KinetoEvent::call_context},
    {"call device", &KinetoEvent::call_device},
    {"call stream", &KinetoEvent::call_stream},
    {"context", &KinetoEvent::context},
    {"correlation", &KinetoEvent::correlation},
    {"device", &KinetoEvent::device},
    {"dtype", &KinetoEvent::dtype},
    {"est. achieved occupancy %", &KinetoEvent::occupancy_percent},
    {"event", &KinetoEvent::event},
    {"external id", &KinetoEvent::external_id},
    {"graph id", &KinetoEvent::graph_id},
    {"graph node id", &KinetoEvent::graph_node_id},
    {"grid", &KinetoEvent::grid},
    {"kernel", &KinetoEvent::kernel},
    {"kernels", &KinetoEvent::kernels},
    {"name", &KinetoEvent::label},
    {"operations", &KinetoEvent::operations},
    {"registers per thread", &KinetoEvent::registers_per_thread},
    {"running ns", &KinetoEvent::running_ns},
    {"runqueue ns", &KinetoEvent::runqueue_ns},
    {"samples", &KinetoEvent::samples},
    {"shared memory", &KinetoEvent::shared_memory_bytes},
    {"stream", &KinetoEvent::stream},
    {"thread", &KinetoEvent::thread},
    {"timed", &KinetoEvent::timed},
};
static_assert(std::is_sorted(std::begin(kArguments), std::end(kArguments),
                             [](const Argument& a, const Argument& b) { return a.key < b.key; }));

// Where to look for a key first: most elements have a dozen, and to search for each among all takes longer
// than to read them.
constexpr size_t kPlaces = 256;
constexpr size_t place_of(std::string_view key) {
    const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(key[at])); };
    return (key.size() * 7 + byte(0) * 31 + byte(key.size() / 2) * 5 + byte(key.size() - 1) * 3) % kPlaces;
}
constexpr std::array<const Argument*, kPlaces> kPlaceOfArgument = [] {
    std::array<const Argument*, kPlaces> places{};
    for (const Argument& argument : kArguments) {
        size_t place = place_of(argument.key);
        while (places[place] != nullptr) place = (place + 1) % kPlaces;
        places[place] = &argument;
    }
    return places;
}();

// As `==`, which asks the C library for the few bytes.
bool are_same(std::string_view a, std::string_view b) {
    constexpr size_t kWord = sizeof(uint64_t);
    const size_t bytes = a.size();
    if (bytes != b.size() || bytes > 2 * kWord) return a == b;
    const auto differ = [&](size_t at, auto word) {
        auto other = word;
        std::memcpy(&word, a.data() + at, sizeof word);
        std::memcpy(&other, b.data() + at, sizeof other);
        return word != other;
    };
    if (bytes >= kWord) return !differ(0, uint64_t{}) && !differ(bytes - kWord, uint64_t{});
    if (bytes >= 4) return !differ(0, uint32_t{}) && !differ(bytes - 4, uint32_t{});
    return std::equal(a.begin(), a.end(), b.begin());
}

const Argument* argument(std::string_view key) {
    if (key.empty()) return nullptr;
    size_t place = place_of(key);
    while (kPlaceOfArgument[place] != nullptr && !are_same(kPlaceOfArgument[place]->key, key))
        place = (place + 1) % kPlaces;
    return kPlaceOfArgument[place];
}

void read_arguments(JsonScanner& json, ValueReader& values, KinetoEvent& event) {
    if (json.peek() != '{') {
        json.skip();
        return;
    }
    std::string_view key;
    json.enter('{');
    while (json.next_member(key)) {
        if (const Argument* known = argument(key))
            std::visit([&](const auto field) { values.read(event.*field); }, known->field);
        else
            json.skip();
    }
}

// The members outside `args` that only say what the element is.
struct Outer {
    std::string_view phase, start, duration, pid, tid;
};

// As `==`, which asks the C library for the few bytes.
template <size_t n>
bool is(std::string_view key, const char (&word)[n]) {
    return key.size() == n - 1 && std::memcmp(key.data(), word, n - 1) == 0;
}

void read_members(JsonScanner& json, ValueReader& values, Outer& outer, KinetoEvent& event) {
    std::string_view key;
    json.enter('{');
    while (json.next_member(key)) {
        if (is(key, "ph"))
            values.read(outer.phase);
        else if (is(key, "cat"))
            values.read(event.category);
        else if (is(key, "name"))
            values.read(event.name);
        else if (is(key, "ts"))
            outer.start = values.plain();
        else if (is(key, "dur"))
            outer.duration = values.plain();
        else if (is(key, "pid"))
            outer.pid = values.plain();
        else if (is(key, "tid"))
            outer.tid = values.plain();
        else if (is(key, "args"))
            read_arguments(json, values, event);
        else
            json.skip();
    }
}

bool is_wanted(KinetoKind kind, const KinetoOptions& options) {
    if (kind == KinetoKind::python_function) return options.python_functions;
    return kind != KinetoKind::cpu_op || options.cpu_ops;
}

KinetoSkip read_times(const Outer& outer, KinetoEvent& event) {
    const auto start = scaled(outer.start, kMicroToNano);
    if (!start) return KinetoSkip::bad_time;
    event.start_ns = *start;
    if (event.kind == KinetoKind::memory) return KinetoSkip::none;
    const auto duration = scaled(outer.duration, kMicroToNano);
    int64_t end_ns = 0;
    if (!duration || *duration < 0) return KinetoSkip::bad_duration;
    if (__builtin_add_overflow(*start, *duration, &end_ns)) return KinetoSkip::bad_duration;
    event.duration_ns = *duration;
    return KinetoSkip::none;
}

KinetoSkip as_name(KinetoEvent& event) {
    if (event.label.empty()) return KinetoSkip::metadata;
    if (event.name == "process_name")
        event.kind = KinetoKind::process_name;
    else if (event.name == "thread_name")
        event.kind = KinetoKind::thread_name;
    else
        return KinetoSkip::metadata;
    return KinetoSkip::none;
}

KinetoSkip as_timed(const Outer& outer, const KinetoOptions& options, KinetoEvent& event) {
    const bool is_instant = outer.phase != "X";
    const auto kind = kineto_kind(event.category, event.name);
    if (is_instant != (kind == KinetoKind::memory))
        return is_instant ? KinetoSkip::instant : KinetoSkip::unknown_category;
    if (!kind) return KinetoSkip::unknown_category;
    event.kind = *kind;
    if (!is_wanted(*kind, options)) return KinetoSkip::not_asked_for;
    name_tells_memory(event);
    return read_times(outer, event);
}

KinetoSkip as_event(const Outer& outer, const KinetoOptions& options, KinetoEvent& event) {
    const char phase = outer.phase.size() == 1 ? outer.phase[0] : '\0';
    switch (phase) {
        case 'X':
        case 'i':
        case 'I':
            return as_timed(outer, options, event);
        case 'M':
            return as_name(event);
        case 's':
        case 't':
        case 'f':
            return KinetoSkip::flow;
        case 'C':
            return KinetoSkip::counter;
        default:
            return KinetoSkip::other_phase;
    }
}

constexpr std::string_view kSkipNames[] = {
    "none",          "not asked for", "flow arrows",      "metadata",     "instants",
    "counters",      "other phases",  "unknown category", "no good time", "no good duration",
    "not an object", "malformed",     "too large",
};
static_assert(std::size(kSkipNames) == static_cast<size_t>(KinetoSkip::kCount));

}  // namespace

std::string_view kineto_skip_name(KinetoSkip why) { return kSkipNames[static_cast<size_t>(why)]; }

void read_element(JsonScanner& json, const KinetoOptions& options, KinetoElement& element) {
    element = {};
    Outer outer;
    ValueReader values(json);
    read_members(json, values, outer, element.event);
    element.skip = as_event(outer, options, element.event);
    if (element.skip == KinetoSkip::none) {
        element.event.pid = integer(outer.pid);
        element.event.tid = integer(outer.tid);
    }
    element.values_ignored = values.ignored();
}

}  // namespace gpushim::analysis
