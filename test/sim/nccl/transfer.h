// One operation as a program asked for it, and what follows from its kind alone: who sends, who receives what
// from where, how long it takes. Plain values; any thread.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>

#include "engine/clock.h"

namespace gpusim::nccl {

enum class Kind {
#define KIND(name, ...) name,
#include "kinds.def"
#undef KIND
};

const char* word_of(Kind kind);  // as kernels' names say it

// An operator: one of nccl.h's own five, or a sum of scaled values.
struct Reduction {
    ncclRedOp_t op = ncclSum;
    bool scaled = false;
    ncclDataType_t scalar_type = ncclInt8;
    const void* device_scalar = nullptr;  // read when the operation runs; null: `scalar` holds it
    alignas(8) std::byte scalar[8]{};
};

struct Transfer {
    Kind kind = Kind::all_reduce;
    const void* send = nullptr;
    void* recv = nullptr;
    size_t count = 0;
    ncclDataType_t type = ncclInt8;
    Reduction reduction;
    int peer = 0;  // the root, or the other side of a send or recv

    bool is_message() const { return kind == Kind::send || kind == Kind::recv; }
    bool reduces() const;
    bool is_plain_sum() const { return reduction.op == ncclSum && !reduction.scaled; }
    size_t part_bytes() const;
};

// The same for all ranks of an operation, or it is a mistake of the program's.
uint64_t meaning(const Transfer& t);

// One operation seen by rank `rank` of `nranks`.
struct Share {
    const Transfer& transfer;
    int rank;
    int nranks;

    bool sends() const;
    bool receives() const;
    bool reduces() const { return transfer.reduces(); }
    size_t contribution_bytes() const;  // 0: it sends nothing
    int64_t whole_bytes() const;        // S of the formulas
    Ns duration_ns() const;             // on the wire, without the latency

    // Where a receiver's bytes come from: `sources` contributions, starting with rank `first_source`, of
    // which it takes the part at `source_offset` and puts it at its place. Reduced ones are one, whoever has
    // it.
    int sources() const;
    int first_source() const;
    size_t source_offset() const;
};

}  // namespace gpusim::nccl
