// Numbers as people write them after an option: 300GB/s, 11.7M, 2.50. Each throws Failure, which says how it
// is to be written, and takes nothing that it does not understand as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "../report/source.h"
#include "../run/pass/facts.h"
#include "command.h"

namespace gpushim::analysis {

int64_t count_from(std::string_view option, std::string_view text);     // 11689512, 1.5M, 7B
double bandwidth_from(std::string_view option, std::string_view text);  // 300GB/s, 25GB, 200e9B; bytes per s
double price_from(std::string_view option, std::string_view text);      // 2.50

ReportOptions report_options(const Arguments& arguments);
void require_steps(const ReportSource& source);  // --from and --to leave any that count
// What a trace's steps are looked for with: --step-marker, --serving, --training.
void read_program(const Arguments& arguments, RunOptions& options);
RunOptions run_options(const Arguments& arguments);  // of these, what traces are analysed with

}  // namespace gpushim::analysis
