#include "advice_words.h"

#include <stdexcept>

namespace gpushim::analysis {

namespace {

constexpr AdviceRow kRows[] = {
#define ADVICE(key, who, text) {key, Who::who, text},
#include "advice.def"
#undef ADVICE
};

}  // namespace

std::span<const AdviceRow> advice_rows() { return kRows; }

std::string advice_for(const Ecosystem& program, std::initializer_list<std::string_view> keys) {
    std::string text;
    for (const std::string_view key : keys) {
        bool is_there = false;
        for (const AdviceRow& row : kRows) {
            if (row.key != key) continue;
            is_there = true;
            if (program.is(row.who)) text.append(text.empty() ? "" : " ").append(row.text);
        }
        if (!is_there) throw std::logic_error("no advice is called " + std::string(key));
    }
    return text;
}

}  // namespace gpushim::analysis
