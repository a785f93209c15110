#include "contradictions.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../run/sql/run_db.h"
#include "../text/escape.h"
#include "counted.h"

namespace gpushim::analysis {

namespace {

// What v_contradiction asks, for asking it of what stands before other views: a view of a file sees its file
// alone.
std::string words_of_view() {
    constexpr std::string_view kFile = "views/80_contradiction.sql", kHead = "CREATE VIEW v_contradiction AS";
    const SqlFile* const file =
        std::find_if(kRunSql, kRunSql + kRunSqlFiles, [&](const SqlFile& one) { return one.name == kFile; });
    if (file == kRunSql + kRunSqlFiles) throw std::logic_error("no view of contradictions");
    const std::string_view text = file->text;
    const size_t begin = text.find(kHead) + kHead.size();
    return std::string(text.substr(begin, text.rfind(';') - begin));
}

}  // namespace

const std::vector<Contradiction>& contradictions_of(const ReportSource& source) {
    if (source.asked_contradictions) return *source.asked_contradictions;
    std::vector<Contradiction> all;
    if (source.run.has("v_contradiction")) {
        counted_steps(source);  // its sums are what the view's own words read then
        Query row = source.run.prepare("SELECT name, sections, who, text FROM (" + words_of_view() + ")");
        while (row.step()) all.push_back({row.text(0), row.text(1), row.text(2), row.text(3)});
    }
    source.asked_contradictions = std::make_shared<const std::vector<Contradiction>>(std::move(all));
    return *source.asked_contradictions;
}

bool is_withheld(std::string_view section, const std::vector<Contradiction>& all) {
    const std::string word = " " + std::string(section) + " ";
    return std::any_of(all.begin(), all.end(), [&](const Contradiction& one) {
        return (" " + one.sections + " ").find(word) != std::string::npos;
    });
}

Report withheld(std::string_view section, const Report& written) {
    Report report;
    std::string label(section);
    std::transform(label.begin(), label.end(), label.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    label.resize(std::max<size_t>(label.size() + 1, 11), ' ');
    if (!written.blocks.empty()) report.line(label + "contradictory: see above, not shown");
    for (const std::string& key : written.json.keys()) report.json.set(key, nullptr);
    return report;
}

namespace section_contradictions {

namespace {

constexpr size_t kMost = 5;

void list(const std::vector<Contradiction>& all, Report& report) {
    for (size_t i = 0; i < all.size() && i < kMost; ++i)
        report.line("        " + for_terminal(all[i].who) + ": " + for_terminal(all[i].text));
    if (all.size() > kMost)
        report.line("        … and " + std::to_string(all.size() - kMost) + " more: --json has them all");
}

void write_proven(const std::vector<Contradiction>& all, Report& report) {
    Json rows = Json::array();
    for (const Contradiction& one : all)
        rows.push(Json::object(
            {{"name", one.name}, {"who", one.who}, {"text", one.text}, {"not_shown", one.sections}}));
    report.json.set("contradictions", std::move(rows));
    if (all.empty()) return;
    report.line(
        "WRONG   figures of this run contradict each other: what hangs on them is not shown. The file was "
        "changed, or");
    report.line("        gpushim has a fault; please report it");
    list(all, report);
}

void write_doubts(const std::vector<Contradiction>& all, Report& report) {
    Json rows = Json::array();
    for (const Contradiction& one : all)
        rows.push(Json::object({{"name", one.name}, {"who", one.who}, {"text", one.text}}));
    report.json.set("doubts", std::move(rows));
    if (all.empty()) return;
    report.line("DOUBT   figures lie outside of bounds that are estimates, since no such GPU is known to be");
    report.line("        calibrated: one of the two is wrong, and both are shown");
    list(all, report);
}

void write(const ReportSource& source, Report& report) {
    std::vector<Contradiction> doubts, proven;
    for (const Contradiction& one : contradictions_of(source))
        (one.sections.empty() ? doubts : proven).push_back(one);
    write_proven(proven, report);
    write_doubts(doubts, report);
}

constexpr Section kSection = {"contradictions", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace section_contradictions

}  // namespace gpushim::analysis
