#include "nvtx.h"

#include <bit>

#include "../base/system.h"
#include "../calls/resolve.h"
#include "../lifecycle.h"
#include "../ring/recorder.h"
#include "capture_range.h"
#include "markers.h"
#include "nvtx_given.h"

namespace gpushim::shim {
namespace {

constexpr NvtxText kOwnDomain = {"gpushim", 7};
constexpr NvtxText kOwnStep = {"step", 4};
constexpr NvtxText kTorchStep = {"ProfilerStep#", 13};

thread_local constinit int32_t depths[kDomains] __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<uint64_t> last_range = 0;

// The newest step that is a range: its end is recorded as its beginning was.
struct StepRange {
    size_t domain = kDomains;  // none
    int32_t depth = 0;
};
thread_local constinit StepRange step_range __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<uint64_t> step_id = 0;

// --- the event --------------------------------------------------------------------------------------------

bool is(NvtxText a, NvtxText b) { return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0; }

bool begins(NvtxText text, NvtxText with) {
    return text.length >= with.length && memcmp(text.bytes, with.bytes, with.length) == 0;
}

bool begins_step(Span span, size_t domain, NvtxText text) {
    if (span != Span::push && span != Span::range_start && span != Span::mark) return false;
    if (span != Span::mark && begins(text, kTorchStep)) return true;
    return is(text, kOwnStep) && is(name_of_domain(domain), kOwnDomain);
}

// The name of the domain and the text lie together behind the event.
void append_texts(ThreadState& thread, NvtxText domain, NvtxText text) {
    char joined[kLongestDomain + kLongest];
    if (domain.length != 0) memcpy(joined, domain.bytes, domain.length);
    if (text.length != 0) memcpy(joined + domain.length, text.bytes, text.length);
    append_text(thread, joined, domain.length + text.length);
}

void write(Span span, size_t domain, uint64_t value, const Said& what) {
    ThreadState& thread = thread_state;
    const NvtxText name = name_of_domain(domain);
    const size_t length = name.length + what.text.length;
    close_poll(thread);
    if (!has_room(thread, 1 + (length + kTextBytes - 1) / kTextBytes)) return;
    Slot* slot = open_slot(thread, kNoApi, EventKind::span, 0);
    if (slot == nullptr) return;
    put_words(*slot, event::span{span_word(span, what.has_payload, name.length, what.category), value, length,
                                 std::bit_cast<uint64_t>(what.payload)});
    slot->exit = slot->enter;
    if (length != 0) append_texts(thread, name, what.text);
    complete_slot(slot);
}

// Steps are recorded also while the rest is not: they are counted. What the one before did ends with the
// event, what this one does begins with it.
void record_step(Span span, size_t domain, uint64_t value, const Said& what) {
    const bool was_resting = resting();
    if (was_resting) step_begins();
    write(span, domain, value, what);
    if (!was_resting) step_begins();
}

// Whether it was a step.
bool record(Span span, size_t domain, uint64_t value, const Said& what) {
    if (!recording() && !resting()) return false;
    if (begins_step(span, domain, what.text)) [[unlikely]] {
        record_step(span, domain, value, what);
        return true;
    }
    if (recording()) write(span, domain, value, what);
    return false;
}

int push(size_t domain, const Said& what) {
    const int32_t depth = depths[domain]++;
    if (record(Span::push, domain, static_cast<uint64_t>(depth), what)) step_range = {domain, depth};
    return depth;
}

// What was never pushed ends nothing: no event, and below 0 is NVTX's word for it.
int pop(size_t domain) {
    if (depths[domain] <= 0) return -1;
    const int32_t depth = --depths[domain];
    const bool ends_step = step_range.domain == domain && step_range.depth == depth;
    if (recording() || (ends_step && resting())) write(Span::pop, domain, static_cast<uint64_t>(depth), {});
    if (ends_step) step_range = {};
    return depth;
}

nvtxRangeId_t start(size_t domain, const Said& what) {
    const uint64_t id = last_range.fetch_add(1, std::memory_order_relaxed) + 1;
    if (record(Span::range_start, domain, id, what)) step_id.store(id, std::memory_order_relaxed);
    return id;
}

void end(size_t domain, nvtxRangeId_t id) {
    const bool ends_step = step_id.load(std::memory_order_relaxed) == id;
    if (recording() || (ends_step && resting())) write(Span::range_end, domain, id, {});
}

void name_category(size_t domain, uint32_t category, NvtxText text) {
    record(Span::category, domain, category, {text, category, false, 0});
}

// --- what NVTX calls --------------------------------------------------------------------------------------

Said plain(NvtxText text) { return {text, 0, false, 0}; }

void mark_ex(const nvtxEventAttributes_t* given) {
    Room room;
    record(Span::mark, kDefaultDomain, 0, said(given, room));
}
void mark_a(const char* text) { record(Span::mark, kDefaultDomain, 0, plain(text_of(text))); }
void mark_w(const wchar_t* text) {
    Room room;
    record(Span::mark, kDefaultDomain, 0, plain(text_of(text, room)));
}
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* given) {
    Room room;
    return start(kDefaultDomain, said(given, room));
}
nvtxRangeId_t start_a(const char* text) { return start(kDefaultDomain, plain(text_of(text))); }
nvtxRangeId_t start_w(const wchar_t* text) {
    Room room;
    return start(kDefaultDomain, plain(text_of(text, room)));
}
void end_range(nvtxRangeId_t id) { end(kDefaultDomain, id); }
int push_ex(const nvtxEventAttributes_t* given) {
    Room room;
    return push(kDefaultDomain, said(given, room));
}
int push_a(const char* text) { return push(kDefaultDomain, plain(text_of(text))); }
int push_w(const wchar_t* text) {
    Room room;
    return push(kDefaultDomain, plain(text_of(text, room)));
}
int pop_default() { return pop(kDefaultDomain); }
void name_category_a(uint32_t category, const char* text) {
    name_category(kDefaultDomain, category, text_of(text));
}
void name_category_w(uint32_t category, const wchar_t* text) {
    Room room;
    name_category(kDefaultDomain, category, text_of(text, room));
}

void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* given) {
    Room room;
    record(Span::mark, domain_of(domain), 0, said(given, room));
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* given) {
    Room room;
    return start(domain_of(domain), said(given, room));
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) { end(domain_of(domain), id); }
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* given) {
    Room room;
    return push(domain_of(domain), said(given, room));
}
int domain_pop(nvtxDomainHandle_t domain) { return pop(domain_of(domain)); }
void domain_name_category_a(nvtxDomainHandle_t domain, uint32_t category, const char* text) {
    name_category(domain_of(domain), category, text_of(text));
}
void domain_name_category_w(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* text) {
    Room room;
    name_category(domain_of(domain), category, text_of(text, room));
}
nvtxStringHandle_t register_a(nvtxDomainHandle_t, const char* text) { return registered(text_of(text)); }
nvtxStringHandle_t register_w(nvtxDomainHandle_t, const wchar_t* text) {
    Room room;
    return registered(text_of(text, room));
}
nvtxDomainHandle_t create_a(const char* text) { return domain_named(text_of(text, kLongestDomain)); }
nvtxDomainHandle_t create_w(const wchar_t* text) {
    Room room;
    return domain_named(text_of(text, room));
}

// --- handing them out -------------------------------------------------------------------------------------

struct Ours {
    NvtxCallbackModule module;
    unsigned int id;
    NvtxFunctionPointer function;
};

template <class Type>
NvtxFunctionPointer as(Type function) {
    return reinterpret_cast<NvtxFunctionPointer>(function);
}

#define OURS(module, name, function) \
    { NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, as<nvtx##name##_impl_fntype>(function) }

}  // namespace

bool attach_to_nvtx(GetNvtxTable get_table) {
    const auto* callbacks =
        get_table == nullptr ? nullptr
                             : static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return false;
    // What is not here — names of streams and threads, resources — NVTX leaves out at no cost.
    const Ours ours[] = {
        OURS(CORE, MarkEx, mark_ex),
        OURS(CORE, MarkA, mark_a),
        OURS(CORE, MarkW, mark_w),
        OURS(CORE, RangeStartEx, start_ex),
        OURS(CORE, RangeStartA, start_a),
        OURS(CORE, RangeStartW, start_w),
        OURS(CORE, RangeEnd, end_range),
        OURS(CORE, RangePushEx, push_ex),
        OURS(CORE, RangePushA, push_a),
        OURS(CORE, RangePushW, push_w),
        OURS(CORE, RangePop, pop_default),
        OURS(CORE, NameCategoryA, name_category_a),
        OURS(CORE, NameCategoryW, name_category_w),
        OURS(CORE2, DomainMarkEx, domain_mark),
        OURS(CORE2, DomainRangeStartEx, domain_start),
        OURS(CORE2, DomainRangeEnd, domain_end),
        OURS(CORE2, DomainRangePushEx, domain_push),
        OURS(CORE2, DomainRangePop, domain_pop),
        OURS(CORE2, DomainNameCategoryA, domain_name_category_a),
        OURS(CORE2, DomainNameCategoryW, domain_name_category_w),
        OURS(CORE2, DomainRegisterStringA, register_a),
        OURS(CORE2, DomainRegisterStringW, register_w),
        OURS(CORE2, DomainCreateA, create_a),
        OURS(CORE2, DomainCreateW, create_w),
    };
    for (const Ours& row : ours) {
        NvtxFunctionTable table = nullptr;
        unsigned int count = 0;
        if (callbacks->GetModuleFunctionTable(row.module, &table, &count) == 0 || table == nullptr) continue;
        if (row.id < count && table[row.id] != nullptr) *table[row.id] = row.function;
    }
    return true;
}

}  // namespace gpushim::shim

void gpushim_range_push(const char* text) {
    using namespace gpushim::shim;
    push(kDefaultDomain, plain(text_of(text)));
}

void gpushim_range_pop() {
    using namespace gpushim::shim;
    pop(kDefaultDomain);
}

uint64_t gpushim_range_start(const char* text) {
    using namespace gpushim::shim;
    return start(kDefaultDomain, plain(text_of(text)));
}

void gpushim_range_end(uint64_t number) {
    using namespace gpushim::shim;
    end(kDefaultDomain, number);
}

int InitializeInjectionNvtx2(gpushim::shim::GetNvtxTable get_table) {
    using namespace gpushim::shim;
    const KeepErrno keep;
    return !disabled() && is_preloaded() && attach_to_nvtx(get_table) ? 1 : 0;
}
