#include "transfer.h"

#include <cmath>

#include "arithmetic.h"
#include "engine/knobs.h"

namespace gpusim::nccl {
namespace {

enum class Who { all, root };
enum class Parts { one, each };
enum class Reduced { no, yes };
enum class Traffic { once, ring, ring2 };

struct KindRow {
    const char* word;
    Who from;
    Parts parts;
    Reduced reduced;
    Who to;
    Traffic traffic;
};

constexpr KindRow kKinds[] = {
#define KIND(name, word, from, parts, reduced, to, traffic) \
    {word, Who::from, Parts::parts, Reduced::reduced, Who::to, Traffic::traffic},
#include "kinds.def"
#undef KIND
};

const KindRow& row(const Transfer& t) { return kKinds[static_cast<size_t>(t.kind)]; }

bool gathers(const KindRow& r) { return r.from == Who::all && r.reduced == Reduced::no; }

double traffic_share(Traffic traffic, int nranks) {
    const double n = nranks;
    switch (traffic) {
        case Traffic::ring:
            return (n - 1) / n;
        case Traffic::ring2:
            return 2 * (n - 1) / n;
        default:
            return 1;
    }
}

void mix(uint64_t& hash, uint64_t value) { hash = (hash ^ value) * 0x100000001b3; }

}  // namespace

const char* word_of(Kind kind) { return kKinds[static_cast<size_t>(kind)].word; }

size_t Transfer::part_bytes() const { return count * type_bytes(type); }

uint64_t meaning(const Transfer& t) {
    uint64_t hash = 0xcbf29ce484222325;
    if (t.is_message()) {
        mix(hash, t.part_bytes());
        return hash;
    }
    mix(hash, static_cast<uint64_t>(t.kind));
    mix(hash, t.count);
    mix(hash, static_cast<uint64_t>(t.type));
    mix(hash, static_cast<uint64_t>(t.peer));
    if (t.reduces()) mix(hash, static_cast<uint64_t>(t.reduction.op));
    return hash;
}

bool Share::sends() const {
    if (transfer.is_message()) return transfer.kind == Kind::send;
    return row(transfer).from == Who::all || rank == transfer.peer;
}

bool Share::receives() const {
    if (transfer.is_message()) return transfer.kind == Kind::recv;
    return row(transfer).to == Who::all || rank == transfer.peer;
}

bool Transfer::reduces() const { return row(*this).reduced == Reduced::yes; }

size_t Share::contribution_bytes() const {
    if (!sends()) return 0;
    return transfer.part_bytes() * (row(transfer).parts == Parts::each ? static_cast<size_t>(nranks) : 1);
}

int64_t Share::whole_bytes() const {
    const KindRow& r = row(transfer);
    const bool many = !transfer.is_message() && (r.parts == Parts::each || gathers(r));
    return static_cast<int64_t>(transfer.part_bytes()) * (many ? nranks : 1);
}

Ns Share::duration_ns() const {
    const double bytes = static_cast<double>(whole_bytes()) * traffic_share(row(transfer).traffic, nranks);
    return static_cast<Ns>(std::llround(bytes / knobs().nccl_gbs));  // 1 GB/s is 1 byte/ns
}

int Share::sources() const { return gathers(row(transfer)) ? nranks : 1; }

int Share::first_source() const { return gathers(row(transfer)) ? 0 : transfer.peer; }

size_t Share::source_offset() const {
    return row(transfer).parts == Parts::each ? transfer.part_bytes() * static_cast<size_t>(rank) : 0;
}

}  // namespace gpusim::nccl
