// What to do next, with what it is predicted to save and the rows it was read from.
#include <algorithm>
#include <limits>
#include <map>

#include "../chart/frame.h"
#include "../chart/page.h"
#include "../report/facts.h"
#include "../text/units.h"
#include "evidence_links.h"
#include "figures.h"
#include "part.h"

namespace gpushim::analysis::part_findings {

namespace {

constexpr size_t kMostRows = 12;  // of evidence, of a table

// "SELECT * FROM gap WHERE rowid IN (3, 4)", for each table.
std::vector<std::string> evidence_of(const Json& finding) {
    std::map<std::string, std::vector<std::string>> by_table;
    for (const Json& row : finding["evidence"].items())
        by_table[row["table"].words()].push_back(count_axis(row["rowid"].amount().value_or(0)));
    std::vector<std::string> queries;
    for (const auto& [table, rows] : by_table) {
        std::string list;
        for (size_t i = 0; i < rows.size() && i < kMostRows; ++i) {
            std::string digits;
            for (const char c : rows[i])
                if (c != ',') digits += c;
            list += (list.empty() ? "" : ", ") + digits;
        }
        queries.push_back("SELECT * FROM " + table + " WHERE rowid IN (" + list + ")");
    }
    return queries;
}

// Links to the parts that show a finding's rows, and to their spans in the timeline.
Markup places_of(const PageInput& input, const Json& finding) {
    Markup links;
    for (const EvidenceLink& link : evidence_links(input, finding)) {
        Attributes attributes = {{"href", "#" + link.part}};
        if (!link.find.empty()) attributes.push_back({"data-find", link.find});
        links += " ";
        links += element("a", attributes, link.words);
    }
    if (links.empty()) return {};
    Markup all = "See";
    all += links;
    return paragraph(all, "see");
}

Markup gain_of(const Json& finding, const std::string& per) {
    const auto low = finding["gain_low_ns"].amount(), high = finding["gain_high_ns"].amount();
    if (!low || !high) return element("span", {{"class", "gain"}}, kNotThere);
    return element("span", {{"class", "gain"}}, times_text(*low, *high) + " of a " + per);
}

// What follows a number or a colon in a terminal stands alone here. A name stays as it is.
std::string sentence(std::string text) {
    const auto is_small = [](char letter) { return letter >= 'a' && letter <= 'z'; };
    const auto end = std::find_if_not(text.begin(), text.end(), is_small);
    if (end != text.begin() && end != text.end() && *end == ' ')
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

Markup finding_of(const PageInput& input, const Json& finding, const std::string& per) {
    Markup head = finding["heading"].words() + ": predicted gain ";
    head += gain_of(finding, per);
    Markup all = element("h3", {}, head);
    all += paragraph(sentence(finding["title"].words()) + " [" + finding["id"].words() + "]");
    all += paragraph("Try: " + finding["try"].words());
    all += places_of(input, finding);
    Markup evidence;
    for (const std::string& query : evidence_of(finding)) evidence += paragraph(element("code", {}, query));
    char confidence[48];
    std::snprintf(confidence, sizeof confidence, "Evidence; confidence %.2f",
                  finding["confidence"].amount().value_or(0));
    if (!evidence.empty()) all += folded(confidence, evidence);
    return element("li", {}, all);
}

Markup rest_of(const PageInput& input, const char* kind, const char* heading) {
    Markup items;
    for (const Json& finding : input.of("findings").items()) {
        if (finding["kind"].words() != kind) continue;
        const std::string advice = finding["try"].words();
        Markup item = sentence(finding["title"].words()) + " [" + finding["id"].words() + "]" +
                      (advice.empty() ? "" : ": " + advice);
        item += places_of(input, finding);
        items += element("li", {}, item);
    }
    if (items.empty()) return {};
    Markup all = element("h3", {}, heading);
    all += element("ul", {}, items);
    return all;
}

bool is_by_gain(const PageInput& input) {
    double last = std::numeric_limits<double>::infinity();
    for (const Json& finding : input.of("findings").items()) {
        if (finding["kind"].words() != "gain") continue;
        const double sum =
            finding["gain_low_ns"].amount().value_or(0) + finding["gain_high_ns"].amount().value_or(0);
        if (sum > last) return false;
        last = sum;
    }
    return true;
}

Markup write(const PageInput& input) {
    if (!input.of("findings_why").is_null())
        return element("p", {{"class", "missing"}}, input.of("findings_why").words());
    const std::string per = input.of("gains_per").words();
    Markup gains;
    for (const Json& finding : input.of("findings").items())
        if (finding["kind"].words() == "gain") gains += finding_of(input, finding, per);
    Markup all;
    if (!is_by_gain(input))
        all += paragraph(
            "Of gains that are alike, what is changed more easily comes first: input, one GPU, its kernels, "
            "then several GPUs.",
            "soft");
    all += gains.empty() ? paragraph("Nothing that is worth 3 % of a " + per + " was found.")
                         : element("ol", {{"class", "findings"}}, gains);
    all += rest_of(input, "no_gain", "No gain expected");
    all += rest_of(input, "note", "Notes");
    return all;
}

constexpr ReportPart kPart = {"findings", "What to do", write};
const ReportPartRegistration kRegistration(kPart);

}  // namespace

}  // namespace gpushim::analysis::part_findings
