// The rows of the .def files, in the order in which they are tried.
#include "kernel_class.h"

namespace gpushim::analysis {

namespace {

// `...` is a text of a NamePattern, and may have its `also` behind it.
#define NAME_ROW(facts, match, ...) NameRow{NamePattern{Match::match, __VA_ARGS__}, KernelClass{facts}},
#define FAMILY(value, ...) NAME_ROW(.family = KernelFamily::value, __VA_ARGS__)
#define OPERATION(value, ...) NAME_ROW(.comm_operation = CommOperation::value, __VA_ARGS__)
#define PRECISION(value, ...) NAME_ROW(.precision = Precision::value, __VA_ARGS__)
#define TENSOR_CORE(value, ...) NAME_ROW(.tensor_core = TensorCore::value, __VA_ARGS__)
#define ALIGNMENT(value, ...) NAME_ROW(.alignment = Alignment::value, __VA_ARGS__)
#define LIBRARY(value, ...) NAME_ROW(.library = KernelLibrary::value, __VA_ARGS__)
#define PURPOSE(value, ...) NAME_ROW(.purpose = KernelPurpose::value, __VA_ARGS__)
#define TRITON(...) NAME_ROW(.is_triton = true, __VA_ARGS__)
// Rows with two facts: a communicating family and whose it is; a precision and which.
#define COMM(value, match, ...)                     \
    NameRow{NamePattern{Match::match, __VA_ARGS__}, \
            KernelClass{.family = KernelFamily::comm, .comm_source = CommSource::value}},
#define MIXED(value, match, ...)                    \
    NameRow{NamePattern{Match::match, __VA_ARGS__}, \
            KernelClass{.precision = Precision::mixed, .mixed = value}},

constexpr NameRow kRows[] = {
#include "fused.def"
//
#include "comm.def"
//
#include "family.def"
//
#include "precision.def"
//
#include "tensor_core.def"
//
#include "library.def"
//
#include "purpose.def"
};

}  // namespace

std::span<const NameRow> name_rows() { return kRows; }

}  // namespace gpushim::analysis
