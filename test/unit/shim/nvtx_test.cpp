// What NVTX is handed, called as NVTX would; the texts it is told once; which end belongs to which beginning.
#include "shim/program/nvtx.h"

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "rings.h"
#include "shim/program/nvtx_given.h"
#include "trace.h"

namespace nvtx_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

// An NVTX copy: two tables of places for functions.
struct Copy {
    static constexpr unsigned kPlaces = 32;
    static inline std::array<NvtxFunctionPointer, kPlaces> core, core2;
    static inline std::array<NvtxFunctionPointer*, kPlaces> core_table, core2_table;
    static inline unsigned places = kPlaces;

    static int get_functions(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* count) {
        if (module != NVTX_CB_MODULE_CORE && module != NVTX_CB_MODULE_CORE2) return 0;
        *table = module == NVTX_CB_MODULE_CORE ? core_table.data() : core2_table.data();
        *count = places;
        return 1;
    }
    static const void* get_table(uint32_t id) {
        static const NvtxExportTableCallbacks callbacks = {sizeof callbacks, get_functions};
        return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
    }
    Copy() {
        core = core2 = {};
        places = kPlaces;
        for (unsigned i = 1; i < kPlaces; ++i) {
            core_table[i] = &core[i];
            core2_table[i] = &core2[i];
        }
        REQUIRE(attach_to_nvtx(get_table));
    }
};

template <class Type>
Type as(NvtxFunctionPointer function) {
    REQUIRE(function != nullptr);
    return reinterpret_cast<Type>(function);
}
#define CORE(name) as<nvtx##name##_impl_fntype>(Copy::core[NVTX_CBID_CORE_##name])
#define CORE2(name) as<nvtx##name##_impl_fntype>(Copy::core2[NVTX_CBID_CORE2_##name])

std::vector<rings::Sink::Row> spans(rings::Sink& sink) {
    sink.take();
    std::vector<rings::Sink::Row> found;
    for (const auto& row : sink.rows)
        if (row.kind == EventKind::span) found.push_back(row);
    return found;
}

Span span_of(const rings::Sink::Row& row) { return static_cast<Span>(row.value & 0xff); }

}  // namespace

TEST_CASE("NVTX's functions become events, and answer as documented", "[nvtx]") {
    const Copy copy;
    const rings::Recording recording;
    rings::Sink sink;
    CHECK(CORE(RangePushA)("outer") == 0);
    CHECK(CORE(RangePushW)(L"ümlaut") == 1);
    CHECK(CORE(RangePop)() == 1);
    CHECK(CORE(RangePop)() == 0);
    CHECK(CORE(RangePop)() < 0);
    const nvtxRangeId_t id = CORE(RangeStartA)("started");
    CHECK(id != CORE(RangeStartA)("another"));
    CORE(RangeEnd)(id);
    CORE(MarkA)("mark");
    const auto rows = spans(sink);
    REQUIRE(rows.size() == 8);
    const std::vector<Span> expected = {Span::push,        Span::push,        Span::pop,       Span::pop,
                                        Span::range_start, Span::range_start, Span::range_end, Span::mark};
    for (size_t i = 0; i < rows.size(); ++i) CHECK(span_of(rows[i]) == expected[i]);
    CHECK(rows[0].text == "outer");
    CHECK(rows[1].text == "ümlaut");
    CHECK(rows[2].text.empty());
    CHECK(rows[7].text == "mark");
}

TEST_CASE("nothing is recorded outside of recording, and depths count on", "[nvtx]") {
    const Copy copy;
    CHECK(CORE(RangePushA)("dark") == 0);
    const nvtxDomainHandle_t domain = CORE2(DomainCreateA)("made in the dark");
    const nvtxStringHandle_t text = CORE2(DomainRegisterStringA)(domain, "registered in the dark");
    const rings::Recording recording;
    rings::Sink sink;
    CHECK(CORE(RangePushA)("light") == 1);
    nvtxEventAttributes_t said = {};
    said.size = sizeof said;
    said.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    said.message.registered = text;
    CHECK(CORE2(DomainRangePushEx)(domain, &said) == 0);
    const auto rows = spans(sink);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text == "light");
    CHECK(rows[1].text == "made in the darkregistered in the dark");
    CHECK((rows[1].value >> 16 & 0xffff) == std::strlen("made in the dark"));
}

TEST_CASE("threads count their depths for themselves, domains too", "[nvtx][alone]") {
    const Copy copy;
    const nvtxDomainHandle_t domain = CORE2(DomainCreateA)("a domain");
    const nvtxEventAttributes_t nothing = {};
    CHECK(CORE(RangePushA)("here") == 0);
    CHECK(CORE2(DomainRangePushEx)(domain, &nothing) == 0);
    CHECK(CORE2(DomainRangePushEx)(domain, &nothing) == 1);
    int there = -9;
    std::thread([&] { there = CORE(RangePushA)("there"); }).join();
    CHECK(there == 0);
    CHECK(CORE2(DomainCreateA)("a domain") == domain);
}

TEST_CASE("a range inside a call does not end it", "[nvtx]") {
    //   call ├──────────────────────┤
    //   range    ├──┤       looked at ^ before the call is over
    const Copy copy;
    const rings::Recording recording;
    rings::Sink sink;
    Slot* call = rings::open_event();
    CORE(RangePushA)("by a tool behind us");
    CORE(RangePop)();
    sink.take();
    rings::close_event(call);
    sink.take();
    REQUIRE(sink.count(EventKind::copy) == 1);
    for (const auto& row : sink.rows) CHECK(row.exit_ns >= row.enter_ns);
}

TEST_CASE("an NVTX of another size gets what it has a place for", "[nvtx]") {
    const Copy copy;
    Copy::core = Copy::core2 = {};
    Copy::places = NVTX_CBID_CORE_RangePushA + 1;
    CHECK(attach_to_nvtx(Copy::get_table));
    CHECK(Copy::core[NVTX_CBID_CORE_RangePushA] != nullptr);
    CHECK(Copy::core[NVTX_CBID_CORE_RangePop] == nullptr);
    CHECK_FALSE(attach_to_nvtx(nullptr));
    CHECK_FALSE(attach_to_nvtx([](uint32_t) -> const void* { return nullptr; }));
}

TEST_CASE("a long text ends with a whole character", "[nvtx]") {
    Room room;
    const std::string ascii = std::string(kLongest - 1, 'x') + "ü";
    CHECK(text_of(ascii.c_str()).length == kLongest - 1);
    const std::wstring wide(kLongest, L'€');
    CHECK(text_of(wide.c_str(), room).length == kLongest / 3 * 3);
    const NvtxText odd = text_of(L"\xd800 \x7fffffff", room);
    CHECK(std::string(odd.bytes, odd.length) == "\xef\xbf\xbd \xef\xbf\xbd");
}

TEST_CASE("texts that are told once", "[nvtx]") {
    const auto texts = std::make_unique<NvtxTexts<4, 8>>();
    const auto index = [&](const char* text) { return texts->index_of({text, std::strlen(text)}); };
    const auto text = [&](size_t at) { return std::string(texts->text(at).bytes, texts->text(at).length); };
    const size_t a = index("a"), b = index("b");
    CHECK(a != b);
    CHECK(index("a") == a);
    CHECK(text(index("longer than it")) == "longer t");
    CHECK(text(index("")) == "");
    SECTION("a full table has no more, and keeps what it has") {
        CHECK(index("one too many") == texts->kNone);
        CHECK(texts->handle(texts->kNone) == nullptr);
        CHECK(text(index("b")) == "b");
    }
    SECTION("only what was handed out is a handle") {
        const char* handle = static_cast<const char*>(texts->handle(a));
        CHECK(texts->index_of_handle(handle) == a);
        CHECK(texts->index_of_handle(handle + 1) == texts->kNone);
        CHECK(texts->index_of_handle(nullptr) == texts->kNone);
        CHECK(texts->index_of_handle(&a) == texts->kNone);
        NvtxTexts<4, 8> empty;
        CHECK(empty.index_of_handle(empty.handle(0)) == empty.kNone);
    }
}

TEST_CASE("threads that tell the same texts get the same entries", "[nvtx]") {
    const auto texts = std::make_unique<NvtxTexts<64, 16>>();
    std::array<std::array<size_t, 32>, 4> found;
    std::vector<std::thread> threads;
    for (auto& mine : found)
        threads.emplace_back([&] {
            for (size_t i = 0; i < mine.size(); ++i) {
                const std::string text = "text " + std::to_string(i);
                mine[i] = texts->index_of({text.data(), text.size()});
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& mine : found) CHECK(mine == found[0]);
}

// --- rows -------------------------------------------------------------------------------------------------

namespace {

// Ranges of one thread in the default domain, said in one line each.
class Lines : public trace::Events {
  public:
    void push(int64_t at, uint64_t depth, const char* text, const trace::Options& more = {}) {
        add(Span::push, at, depth, text, more);
    }
    void pop(int64_t at, uint64_t depth, const trace::Options& more = {}) {
        add(Span::pop, at, depth, "", more);
    }
    void add(Span span, int64_t at, uint64_t value, const std::string& text, trace::Options more = {},
             double payload = 0, uint64_t category = 0) {
        more.text = text;
        event(kNoApi, EventKind::span, at, at,
              {span_word(span, payload != 0, 0, category), value, text.size(),
               std::bit_cast<uint64_t>(payload)},
              more);
    }
};

const char* const kRanges = "SELECT name, depth, start_ns, dur_ns FROM v_range ORDER BY start_ns, depth";

}  // namespace

TEST_CASE("ends find their beginnings", "[nvtx]") {
    //   1: a ├─────────────────┤
    //        b  ├──┤  b ├──┤        c ├── … still open
    //   2:    d ├────┤
    trace::Trace trace;
    Lines events;
    events.push(10, 0, "a");
    events.push(20, 1, "b");
    events.pop(30, 1);
    events.push(40, 1, "b");
    events.pop(50, 1);
    SECTION("at once") {}
    SECTION("across transactions") { trace.write(events); }
    SECTION("across a failure, after which the file is read again") {
        trace.write(events);
        trace.open();
    }
    events.pop(60, 0);
    events.push(70, 0, "c");
    events.push(25, 0, "d", {.thread = 2});
    events.pop(45, 0, {.thread = 2});
    trace.write(events);
    CHECK(trace.ask(kRanges) == "a|0|10|50 ; b|1|20|10 ; d|0|25|20 ; b|1|40|10 ; c|0|70|-");
    CHECK(trace.ledger() == "9|9|0|0|0|0");
}

TEST_CASE("a lost end spoils no other range", "[nvtx]") {
    //   a ├────────────────────┤
    //   b  ├──(lost)  c ├──┤
    //                           e ├────────┤
    //                             f ├──(lost)
    trace::Trace trace;
    Lines events;
    events.push(10, 0, "a");
    events.push(20, 1, "b");
    events.push(40, 1, "c");
    events.pop(50, 1);
    events.pop(60, 0);
    events.pop(70, 0);
    events.push(80, 0, "e");
    events.push(85, 1, "f");
    events.pop(90, 0);
    trace.write(events, {2});
    CHECK(trace.ask(kRanges) == "a|0|10|50 ; c|1|40|10 ; e|0|80|10 ; f|1|85|-");
    CHECK(trace.ask("SELECT count(*) FROM v_marker WHERE kind = 'pop' AND dur_ns IS NULL") == "1");
    CHECK(trace.ledger() == "11|9|0|2|0|0");
}

TEST_CASE("ranges that are started end on any thread", "[nvtx]") {
    trace::Trace trace;
    Lines events;
    events.add(Span::range_start, 10, 71, "first", {}, 2.5, 4);
    events.add(Span::range_start, 20, 72, "second");
    trace.write(events);
    trace.open();
    events.add(Span::range_end, 30, 71, "", {.thread = 2});
    events.add(Span::range_end, 40, 99, "");
    events.add(Span::category, 50, 4, "fourth", {}, 0, 4);
    events.add(Span::mark, 60, 0, "between");
    trace.write(events);
    CHECK(trace.ask("SELECT kind, name, value FROM v_marker WHERE enter_ns >= 50") ==
          "category|fourth|- ; mark|between|-");
    CHECK(trace.ask("SELECT name, kind, dur_ns, payload, category_name FROM v_range ORDER BY start_ns") ==
          "first|process|20|2.5|fourth ; second|process|-|-|-");
}

TEST_CASE("a call of NVTX in which the process was killed is a row of its own", "[nvtx]") {
    trace::Trace trace;
    Lines events;
    events.push(10, 0, "cut off", {.unfinished = true});
    trace.write(events);
    CHECK(trace.ask("SELECT kind, name, value FROM v_marker") == "unfinished|-|-");
    CHECK(trace.ledger() == "1|0|0|0|1|0");
}

}  // namespace nvtx_test
