#include "identity_rows.h"

#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

#include "../base/version.h"

namespace gpushim::shim {
namespace {

constexpr const char* kClocks[] = {"tsc", "monotonic", "test"};

std::string hex(const uint8_t (&bytes)[16]) {
    std::string text;
    for (const uint8_t byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

void write_facts(Database& base, const TraceIdentity& who) {
    Statement fact = base.prepare("INSERT INTO meta VALUES (?, ?)");
    const auto text = [&](const char* key, std::string_view value) {
        if (!value.empty()) fact.bind(1, key).bind(2, value).step();
    };
    const auto number = [&](const char* key, int64_t value) { fact.bind(1, key).bind(2, value).step(); };
    text("uuid", hex(who.trace_uuid));
    text("gpushim_version", kVersion);
    text("boot_id", hex(who.boot_id));
    text("host", who.host);
    text("job", who.job);
    text("pod", who.pod);
    text("script", who.script);
    text("clock", kClocks[who.clock_kind % std::size(kClocks)]);
    number("started_mono_ns", who.started_mono_ns);
    number("started_real_ns", who.started_real_ns);
    number("rings_survive", who.rings_survive ? 1 : 0);
    number("budget_ppm", who.budget_ppm);
    number("unknown_abi", 0);  // till it is known better
    text("ended", "no");
    if (who.max_bytes != 0) number("max_bytes", who.max_bytes);
    if (who.min_free_bytes != 0) number("min_free_bytes", who.min_free_bytes);
    if (who.samples_per_step != 0) number("samples_per_step", who.samples_per_step);
    if (who.cuda_version != 0) number("cuda_version", who.cuda_version);
    if (who.nccl_version != 0) number("nccl_version", who.nccl_version);
    text("driver_version", who.driver_version);
    text("frameworks", who.frameworks);
}

void write_process(Database& base, const TraceIdentity& who) {
    Statement row = base.prepare("INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    const auto number = [&](int column, int64_t value) { row.bind(column, value < 0 ? kNull : value); };
    const auto text = [&](int column, std::string_view value) {
        value.empty() ? row.bind(column, kNull) : row.bind(column, value);
    };
    number(1, who.pid);
    number(2, who.parent_pid);
    number(3, who.start_ticks);
    text(4, who.executable);
    number(5, who.rank);
    number(6, who.local_rank);
    number(7, who.world_size);
    text(8, who.run_key);
    number(9, who.restart);
    text(10, who.tag);
    row.step();
    Statement variable = base.prepare("INSERT OR IGNORE INTO environment VALUES (?, ?)");
    for (const Variable& v : who.variables)
        variable.bind(1, std::string_view(v.name)).bind(2, std::string_view(v.value)).step();
}

void write_devices(Database& base, std::span<const Device> devices) {
    Statement row = base.prepare("INSERT INTO device VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (const Device& d : devices) {
        const bool has_capability = d.compute_major > 0;
        const std::string capability =
            std::to_string(d.compute_major) + "." + std::to_string(d.compute_minor);
        row.bind(1, int64_t{d.ordinal}).bind(2, std::string_view(d.uuid)).bind(3, std::string_view(d.name));
        row.bind(4, static_cast<int64_t>(d.memory_bytes)).bind(5, std::string_view(d.pci));
        row.bind(6, d.multiprocessors > 0 ? int64_t{d.multiprocessors} : kNull);
        (has_capability ? row.bind(7, std::string_view(capability)) : row.bind(7, kNull)).step();
    }
}

}  // namespace

void write_identity(Database& base, const TraceIdentity& who, std::span<const Device> devices) {
    write_facts(base, who);
    write_process(base, who);
    write_devices(base, devices);
}

}  // namespace gpushim::shim
