// Names and descriptions of errors. The names are the enumeration's; descriptions are the box's own words.
#include <string>

#include "engine/intern.h"
#include "entry.h"

namespace {

const char* name_of(CUresult error) {
    switch (error) {
#define ERROR_CODE(name) \
    case name:           \
        return #name;
#include "errors.def"
#undef ERROR_CODE
        default:
            return nullptr;
    }
}

// CUDA_ERROR_INVALID_VALUE becomes "invalid value".
std::string in_words(std::string_view name) {
    constexpr std::string_view kPrefix = "CUDA_ERROR_";
    if (!name.starts_with(kPrefix)) return "no error";
    std::string words(name.substr(kPrefix.size()));
    for (char& c : words) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return words;
}

}  // namespace

API(cuGetErrorName)(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *text = name_of(error);
    return *text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
API(cuGetErrorString)(CUresult error, const char** text) {
    if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const char* name = name_of(error);
    *text = name != nullptr ? gpusim::intern(in_words(name)) : nullptr;
    return name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
