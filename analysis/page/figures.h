// Figures of the report's JSON as a page shows them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "../chart/table.h"
#include "../report/all_steps.h"
#include "../report/gpu_label.h"
#include "../report/section.h"
#include "../text/json.h"
#include "part.h"

namespace gpushim::analysis {

constexpr const char* kNotThere = "–";

// Why `key` is null in it, of a text that has it for several: "one, two: this; three: that". Without such
// names it is for all.
std::string why_of(const Json& object, std::string_view key);
// By one of text/units.h or the like; kNotThere: not recorded.
std::string shown_by(std::string (*text)(double), const Json& amount);
TableCell cell_by(std::string (*text)(double), const std::optional<double>& amount);
TableCell cell_by(std::string (*text)(double), const Json& amount);
std::string duration_of(const Json& ns);
std::string saved_of(const Json& straggler);  // of a step
std::string share_of_json(const Json& share);
std::string count_of_json(const Json& count);
// "1.30x": an amount over another; none: one of them is not recorded, or 0.
std::optional<double> times_of(const Json& amount, const Json& other);
std::string times_text(double times);
std::string count_axis(double count);
std::string share_axis(double share);
// Of which steps what comes "a step" is the mean, where the page's other figures are of other ones.
Markup of_steps(const std::optional<AllSteps>& steps);
// Its times are another tool's, and so is what they cost: gpushim had no events in it.
bool is_imported(const Report& report);
// "rank 3", of an object that has a rank; else "a process".
std::string rank_of(const Json& object);

// Of objects with a gpu_id: "rank 3", "process 4711", with the GPU's number where the process has several.
class GpuNames {
  public:
    explicit GpuNames(const Database& run) : labels_(gpu_labels(run)) {}
    std::string of(const Json& object) const;

  private:
    std::map<int64_t, GpuLabel> labels_;
};

}  // namespace gpushim::analysis
