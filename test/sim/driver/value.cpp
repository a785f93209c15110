// Stream memory operations: a stream writes a word, or waits until a word has a value. The word lies in
// device or pinned memory. What a stream of the box wrote is seen at the time of that write; what the host
// wrote, when the box next looks: at any synchronising call or query, and every 2 ms.
#include <algorithm>
#include <atomic>
#include <map>

#include "engine/clock.h"
#include "engine/knobs.h"
#include "engine/mover.h"
#include "memory.h"
#include "work.h"

namespace gpusim::driver {
namespace {

constexpr unsigned kComparison = CU_STREAM_WAIT_VALUE_NOR;  // the bits that hold it

template <class T>
std::atomic_ref<T> memory(CUdeviceptr address) {
    return std::atomic_ref(*reinterpret_cast<T*>(address));
}

struct Word {
    CUdeviceptr address = 0;
    uint64_t value = 0;
    bool wide = false;
    unsigned flags = 0;
    uint64_t now() const {
        return wide ? memory<uint64_t>(address).load() : memory<uint32_t>(address).load();
    }
};

bool is_wait(CUstreamBatchMemOpType type) {
    return type == CU_STREAM_MEM_OP_WAIT_VALUE_32 || type == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}
bool is_write(CUstreamBatchMemOpType type) {
    return type == CU_STREAM_MEM_OP_WRITE_VALUE_32 || type == CU_STREAM_MEM_OP_WRITE_VALUE_64;
}

Word word_of(const CUstreamBatchMemOpParams& p) {
    const bool wide =
        p.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || p.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    const auto of = [wide](const auto& one) {
        return Word{one.address, wide ? one.value64 : one.value, wide, one.flags};
    };
    return is_wait(p.operation) ? of(p.waitValue) : of(p.writeValue);
}

// "At least" is cyclic, so that counters may run over.
bool satisfied(const Word& word) {
    const uint64_t seen = word.now();
    switch (word.flags & kComparison) {
        case CU_STREAM_WAIT_VALUE_GEQ:
            return word.wide ? static_cast<int64_t>(seen - word.value) >= 0
                             : static_cast<int32_t>(static_cast<uint32_t>(seen - word.value)) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ:
            return seen == word.value;
        case CU_STREAM_WAIT_VALUE_AND:
            return (seen & word.value) != 0;
        default:
            return word.wide ? ~(seen | word.value) != 0 : static_cast<uint32_t>(~(seen | word.value)) != 0;
    }
}

// The last write of each word by a stream: its bytes may be in place before their time has come.
struct Write {
    uint64_t number = 0;
    uint64_t value = 0;
    Ns end_ns = 0;
};

uint64_t last_write = 0;

std::map<CUdeviceptr, Write>& writes() {
    static auto* const made = new std::map<CUdeviceptr, Write>;
    return *made;
}

class WriteValue : public Behaviour {
  public:
    explicit WriteValue(const Word& word) : word_(word) {}
    void arrive(Ns ready_ns) override {
        ready_ns_ = ready_ns;
        writes()[word_.address] = {++last_write, word_.value, ready_ns};
    }
    std::optional<Outcome> outcome() override { return Outcome{ready_ns_, ready_ns_, 0}; }
    Ns not_before() const override { return ready_ns_; }
    int64_t bytes() const override { return word_.wide ? 8 : 4; }
    void move() override {
        if (word_.wide)
            memory<uint64_t>(word_.address).store(word_.value);
        else
            memory<uint32_t>(word_.address).store(static_cast<uint32_t>(word_.value));
    }

  private:
    Word word_;
    Ns ready_ns_ = 0;
};

class WaitValue : public Behaviour {
  public:
    explicit WaitValue(const Word& word) : word_(word) {}
    void arrive(Ns ready_ns) override { ready_ns_ = ready_ns; }
    std::optional<Outcome> outcome() override {
        if (!satisfied(word_)) {
            looked_in_vain_ = true;
            if (mover::done(mover::newest())) seen_writes_ = last_write;
            return std::nullopt;
        }
        const Ns end = std::max(ready_ns_, since());
        return Outcome{end, end, 0};
    }
    // While the word is not there, the wait certainly lasts until something else happens.
    Ns not_before() const override {
        return satisfied(word_) ? ready_ns_ : std::max(ready_ns_, clock::now() + 1);
    }

  private:
    // A write by a stream that was in place at a look in vain is not what brought the value.
    Ns since() const {
        const auto write = writes().find(word_.address);
        const bool by_stream =
            write != writes().end() && write->second.number > seen_writes_ &&
            (word_.wide ? write->second.value : write->second.value & UINT32_MAX) == word_.now();
        if (by_stream) return write->second.end_ns;
        return looked_in_vain_ ? clock::now() : ready_ns_;
    }

    Word word_;
    Ns ready_ns_ = 0;
    bool looked_in_vain_ = false;
    uint64_t seen_writes_ = 0;
};

Point issue_one(const CUstreamBatchMemOpParams& parameters, const Place& place, const Point& after) {
    const bool waits = is_wait(parameters.operation);
    if (!waits && !is_write(parameters.operation)) return after;  // barriers: everything is in order anyway
    Operation op;
    op.op = "memop";
    op.device = place.context->device->ordinal;
    op.stream = place.stream_id;
    op.earliest_ns = place.issued_ns + (place.in_graph || waits ? 0 : knobs().latency_ns);
    op.fault = place.context->fault;
    op.silent = waits;
    const Word word = word_of(parameters);
    if (find_range(word.address) == nullptr)  // freed since it was described
        op.error = CUDA_ERROR_ILLEGAL_ADDRESS;
    else if (waits)
        op.behaviour = std::make_shared<WaitValue>(word);
    else
        op.behaviour = std::make_shared<WriteValue>(word);
    return engine::issue(std::move(op), {&after});
}

CUresult check_word(const CUstreamBatchMemOpParams& parameters) {
    const Word word = word_of(parameters);
    const size_t bytes = word.wide ? 8 : 4;
    const unsigned allowed = is_wait(parameters.operation)
                                 ? kComparison | static_cast<unsigned>(CU_STREAM_WAIT_VALUE_FLUSH)
                                 : static_cast<unsigned>(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
    const MemoryRange* range = find_range(word.address);
    const bool placed = range != nullptr && range->holds(word.address, bytes) && word.address % bytes == 0;
    return placed && (word.flags & ~allowed) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check(const CUstreamBatchMemOpParams& parameters) {
    switch (parameters.operation) {
        case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        case CU_STREAM_MEM_OP_WRITE_VALUE_64:
            return check_word(parameters);
        case CU_STREAM_MEM_OP_BARRIER:
        case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult submit_values(CUstream handle, const CUstreamBatchMemOpParams* operations, unsigned count) {
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    for (unsigned i = 0; i < count; ++i) RETURN_IF_FAILED(check(operations[i]));
    return submit(*stream, ValueWork{{operations, operations + count}});
}

CUresult batch(CUstream handle, unsigned count, const CUstreamBatchMemOpParams* operations, unsigned flags) {
    constexpr unsigned kMostOperations = 256;
    if (flags != 0 || count > kMostOperations || (operations == nullptr && count > 0))
        return CUDA_ERROR_INVALID_VALUE;
    return submit_values(handle, operations, count);
}

CUresult one(CUstream handle, CUstreamBatchMemOpType type, CUdeviceptr address, uint64_t value,
             unsigned flags) {
    CUstreamBatchMemOpParams parameters{};
    parameters.operation = type;
    const auto fill = [&](auto& word) { word.address = address, word.value64 = value, word.flags = flags; };
    if (is_wait(type))
        fill(parameters.waitValue);
    else
        fill(parameters.writeValue);
    return submit_values(handle, &parameters, 1);
}

}  // namespace

Point issue_work(const ValueWork& work, const Place& place, const Point& after) {
    Point end = after;
    for (const auto& parameters : work.operations) end = issue_one(parameters, place, end);
    return end;
}

}  // namespace gpusim::driver

using namespace gpusim::driver;

API(cuStreamWaitValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
API(cuStreamWaitValue32)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
API(cuStreamWaitValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
API(cuStreamWaitValue64)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags);
}
API(cuStreamWriteValue32_v2)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
API(cuStreamWriteValue32)(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
API(cuStreamWriteValue64_v2)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
API(cuStreamWriteValue64)(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
    return one(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags);
}
API(cuStreamBatchMemOp_v2)
(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags) {
    return batch(stream, count, operations, flags);
}
API(cuStreamBatchMemOp)
(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags) {
    return batch(stream, count, operations, flags);
}
