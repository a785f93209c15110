// The parts that sum up launches, streams, copies, waits, kernels, threads and loads, and say of steps what
// their phases are and what they spend around collectives; what NVML showed, and curves. Each registers
// itself; by these they are made alone.
#pragma once

#include "../pass/part.h"

namespace gpushim::analysis {

std::unique_ptr<Part> make_api_part(const TraceFacts& facts);         // api_stat
std::unique_ptr<Part> make_comm_paths_part(const TraceFacts& facts);  // collective_path
std::unique_ptr<Part> make_comm_step_part(const TraceFacts& facts);   // comm_step
std::unique_ptr<Part> make_curve_part(const TraceFacts& facts);       // gpu_curve
std::unique_ptr<Part> make_energy_part(const TraceFacts& facts);      // gpu_energy
std::unique_ptr<Part> make_operation_part(
    const TraceFacts& facts);                                     // kernel, histogram, copy_stat, memset_stat
std::unique_ptr<Part> make_launch_part(const TraceFacts& facts);  // launch_stat, histogram
std::unique_ptr<Part> make_load_part(const TraceFacts& facts);    // load_stat
std::unique_ptr<Part> make_nvml_part(const TraceFacts& facts);    // nvml_stat, throttle
std::unique_ptr<Part> make_product_part(const TraceFacts& facts);   // kernel_product and its like
std::unique_ptr<Part> make_range_part(const TraceFacts& facts);     // range_kernel, operator_kernel
std::unique_ptr<Part> make_request_part(const TraceFacts& facts);   // request
std::unique_ptr<Part> make_step_part(const TraceFacts& facts);      // phase
std::unique_ptr<Part> make_stream_part(const TraceFacts& facts);    // stream_stat
std::unique_ptr<Part> make_sync_part(const TraceFacts& facts);      // sync_stat
std::unique_ptr<Part> make_thread_part(const TraceFacts& facts);    // thread_stat
std::unique_ptr<Part> make_torch_part(const TraceFacts& facts);     // torch_step
std::unique_ptr<Part> make_transfer_part(const TraceFacts& facts);  // transfer_pattern

}  // namespace gpushim::analysis
