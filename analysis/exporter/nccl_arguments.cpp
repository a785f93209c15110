#include "nccl_arguments.h"

#include "event_text.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostGroups = 4096;
constexpr const char* kMixed = "coalesced";

enum class Elements : uint8_t { none, one, rank };
struct Word {
    std::string_view api, word;
    Elements in, out;
};
constexpr Word kWords[] = {
#define WORD(api, word, in, out) {#api, word, Elements::in, Elements::out},
#include "nccl_words.def"
#undef WORD
};
// ncclDataType_t in PyTorch's words, and where it has none in NCCL's.
constexpr std::string_view kTypes[] = {"Char", "Byte",  "Int",    "UInt32",   "Long",          "UInt64",
                                       "Half", "Float", "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};

int64_t elements(Elements kind, int64_t count, int64_t ranks) {
    if (count == kNoNumber || kind == Elements::none) return kNoNumber;
    if (kind == Elements::one) return count;
    return ranks == kNoNumber ? kNoNumber : count * ranks;
}

// "[0, 1, 2]"; a large one as the profiler shortens it.
std::string all_ranks(int64_t count) {
    constexpr int64_t kMostShown = 64;
    std::string list = "[";
    for (int64_t rank = 0; rank < count; ++rank) {
        if (count > kMostShown && rank == kMostShown / 2) {
            list += ", ...";
            rank = count - kMostShown / 2;
        }
        list += (rank == 0 ? "" : ", ") + std::to_string(rank);
    }
    return list + "]";
}

int64_t sum(int64_t a, int64_t b) { return a == kNoNumber || b == kNoNumber ? kNoNumber : a + b; }

}  // namespace

void NcclArguments::add(Asked& all, const Asked& one) {
    if (all.api != one.api) all.api = kMixed;
    if (all.type != one.type) all.type = kNoNumber;
    if (all.peer != one.peer) all.peer = kNoNumber;
    if (all.communicator != one.communicator) all.communicator.clear();
    all.count = sum(all.count, one.count);
    all.bytes = sum(all.bytes, one.bytes);
    all.number = one.number;
    ++all.calls;
}

void NcclArguments::asked(const ExportRow& row) {
    if (!row.ran() || row.group == kNoNumber) return;
    const Key key(row.group, row.device, row.stream);
    const Asked one = {std::string(row.name), std::string(row.what), row.number(0),
                       row.number(1),         row.number(2),         row.number(3),
                       row.number(4),         row.number(5),         row.number(6)};
    const auto [found, is_new] = asked_.try_emplace(key, one);
    if (!is_new) return add(found->second, one);
    oldest_.push_back(key);
    if (oldest_.size() <= kMostGroups) return;
    asked_.erase(oldest_.front());
    oldest_.pop_front();
}

void NcclArguments::tell(const ExportRow& kernel, EventText& event) {
    const auto found = asked_.find({kernel.group, kernel.device, kernel.stream});
    if (found == asked_.end()) return;
    const Asked is = found->second;
    asked_.erase(found);
    const Word* word = nullptr;
    for (const Word& known : kWords)
        if (known.api == is.api) word = &known;
    const bool sends = is.api == "ncclSend", receives = is.api == "ncclRecv";
    event.arg("Collective name", word == nullptr ? std::string_view(is.api) : word->word);
    if (word != nullptr) {
        event.arg("In msg nelems", elements(word->in, is.count, is.ranks));
        event.arg("Out msg nelems", elements(word->out, is.count, is.ranks));
        event.arg("In msg size", elements(word->in, is.bytes, is.ranks));
    }
    event.arg("Group size", is.ranks);
    const bool has_type = is.type >= 0 && is.type < static_cast<int64_t>(std::size(kTypes));
    if (has_type) event.arg("dtype", kTypes[static_cast<size_t>(is.type)]);
    event.arg("Process Group Name", is.communicator);
    const bool of_all = world_size_ && is.ranks == *world_size_;
    if (of_all) event.arg("Process Group Description", "default_pg");
    if (of_all) event.arg("Process Group Ranks", all_ranks(is.ranks));
    event.arg("Rank", is.rank);
    if (sends) event.arg("Dst Rank", is.peer);
    if (receives) event.arg("Src Rank", is.peer);
    if (!sends && !receives) event.arg("Root", is.peer).arg("Seq", is.number);
    if (is.calls > 1) event.arg("calls", is.calls);
}

}  // namespace gpushim::analysis
