// What the environment asks to be left out, and the file that switches a running process off.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../process/output_folder.h"
#include "../process/settings.h"
#include "check.h"

namespace gpushim::analysis::check_asked {

namespace {

struct Part {
    const char* variable;
    const char* what;
};
constexpr Part kParts[] = {
    {"GPUSHIM_RANKS", "only these ranks are traced"},
    {"GPUSHIM_STEPS", "only these steps are recorded"},
    {"GPUSHIM_SCHEDULE", "only steps of this schedule are recorded"},
    {"GPUSHIM_DELAY", "recording begins after so many seconds"},
    {"GPUSHIM_DURATION", "recording ends after so many seconds"},
};

std::string value_of(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr ? value : "";
}

void look_at_switches(std::vector<CheckFinding>& findings) {
    // As the library reads it.
    const std::string disabled = value_of("GPUSHIM_DISABLE");
    if (!disabled.empty() && disabled != "0")
        findings.push_back(
            {CheckVerdict::blind, "switch", "GPUSHIM_DISABLE=" + disabled + ": nothing is traced; unset it"});
    const auto off = output_folder(value_of("GPUSHIM_OUT")) / "gpushim.off";
    if (access(off.c_str(), F_OK) == 0)
        findings.push_back(
            {CheckVerdict::limited, "switch",
             off.string() + " exists: only the creation and the end of objects are recorded; remove it"});
}

void look_at_settings(std::vector<CheckFinding>& findings) {
    for (const SettingComplaint& complaint : setting_complaints())
        findings.push_back(
            {CheckVerdict::limited, "settings",
             complaint.name + complaint.said + (complaint.is_name ? "" : "; `gpushim run` refuses it")});
}

void look(const Examined&, std::vector<CheckFinding>& findings) {
    look_at_switches(findings);
    look_at_settings(findings);
    for (const Part& part : kParts)
        if (const std::string value = value_of(part.variable); !value.empty())
            findings.push_back({CheckVerdict::limited, "asked",
                                std::string(part.what) + ": " + part.variable + "=" + value});
    const std::string nccl = value_of("GPUSHIM_NCCL_PROFILER"), plugin = value_of("NCCL_PROFILER_PLUGIN");
    // As a traced parent leaves it, or as it is.
    if ((nccl == "network" || nccl == "all") && !plugin.empty() && plugin != "static_plugin")
        findings.push_back({CheckVerdict::limited, "asked",
                            "what NCCL says of its work is not recorded, for NCCL_PROFILER_PLUGIN=" + plugin +
                                " names another plug-in"});
    if (value_of("GPUSHIM_CUBLAS") == "off")
        findings.push_back({CheckVerdict::limited, "asked",
                            "TFLOP/s of kernels are not known, for products of cuBLAS are not recorded:"
                            " GPUSHIM_CUBLAS=off"});
}

constexpr Check kCheck = {5, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis::check_asked
