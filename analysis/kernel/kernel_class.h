// What a kernel's name says of the kernel: its family, who wrote it, what it computes in, whether it uses
// tensor cores. Names are mangled, demangled or plain. The rows of the .def files are tried in order; of each
// fact the first row that has it wins. What no row says stays unknown: a name that is silent on tensor cores
// is no proof that there are none. All of it is inferred from names; see README.md for what that cannot tell.
// Pure; any thread; some tens of microseconds for each name (100 where it is long), so once for each distinct
// one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace gpushim::analysis {

enum class KernelFamily : uint8_t {
    other,
    gemm,
    convolution,
    attention,
    normalisation,
    softmax,
    elementwise,
    reduction,
    optimizer,
    layout_conversion,  // transpose, permute, NCHW to NHWC and back
    fill,
    copy,
    embedding,  // also gather, scatter and indexing
    random,
    sort,
    pooling,
    rnn,
    sparse,
    comm,
    loss,
    concatenate,
    split,
};
// Families together, as drawings colour them: there are more families than colours that can be told apart.
enum class KernelGroup : uint8_t {
    other,
    gemm,
    convolution,
    attention,
    elementwise,
    reduction,
    comm,
    memory
};
// Whether a family's kernels multiply matrices, which is what tensor cores do.
enum class Products : uint8_t { perhaps, always, never };
enum class CommOperation : uint8_t {
    none,  // not a kernel that communicates
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    reduce,
    all_to_all,
    send_recv,
    other,
};
enum class CommSource : uint8_t { none, nccl, custom };
// `mixed`: of more than one type, or of one of several; KernelClass::mixed says which.
enum class Precision : uint8_t { unknown, fp64, fp32, tf32, fp16, bf16, fp8, int8, int4, fp4, mixed };
enum class TensorCore : uint8_t { unknown, yes, no };
enum class Alignment : uint8_t { unknown, aligned, unaligned };
enum class KernelLibrary : uint8_t {
    unknown,
    cublas,
    cudnn,
    cutlass,
    triton,
    pytorch,
    tensorflow,
    xla,
    cub,  // also thrust
    nccl,
    apex,
    flash_attention,
};

// What it says of its program: it chooses by scores, which servers do, and trainings that count what is
// right; it trains (this one computes gradients); or it serves a language model.
enum class KernelPurpose : uint8_t { unknown, sample, gradient, prefill, decode, either };

struct KernelClass {
    KernelFamily family = KernelFamily::other;
    CommOperation comm_operation = CommOperation::none;
    CommSource comm_source = CommSource::none;
    Precision precision = Precision::unknown;  // of the arithmetic; where there is none, of the data
    std::string_view mixed = {};               // lives for ever
    TensorCore tensor_core = TensorCore::unknown;
    Alignment alignment = Alignment::unknown;  // unaligned: tensor cores fed 8 bytes or fewer at a time
    KernelLibrary library = KernelLibrary::unknown;
    KernelPurpose purpose = KernelPurpose::unknown;
    bool is_triton = false;

    // Whether tensor cores can do this work.
    bool eligible() const;
    friend bool operator==(const KernelClass&, const KernelClass&) = default;
};

[[nodiscard]] KernelClass classify(std::string_view name);

enum class Match : uint8_t { contains, begins, word, prefix };
// Lower case, as names are made before they are compared; `#` is any whole number. A word stands between
// characters that are neither letters nor digits, a prefix behind one. `also` must be somewhere in the name,
// too.
struct NamePattern {
    Match match;
    std::string_view text;
    std::string_view also = {};
};
struct NameRow {
    NamePattern pattern;
    KernelClass facts;  // those that are not at their defaults
};
std::span<const NameRow> name_rows();

KernelGroup group_of(KernelFamily family);
Products products_of(KernelFamily family);
Products products_of(std::string_view family);  // by its name in reports; another name: perhaps

// As reports and JSON have them.
std::string_view name_of(KernelFamily family);
std::string_view name_of(CommOperation operation);
std::string_view name_of(CommSource source);
std::string_view name_of(Precision precision);
std::string_view name_of(TensorCore tensor_core);
std::string_view name_of(Alignment alignment);
std::string_view name_of(KernelLibrary library);

}  // namespace gpushim::analysis
