// Whole commands over files that are not what they seem: traces, runs, exports of nsys, Kineto and XPlane
// files. What is read goes through all of the analysis and the report.
#include <algorithm>
#include <string>
#include <vector>

#include "analysis/command/command.h"
#include "base.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

void command(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    run_command(pointers);
}

std::string beside(const std::string& file) { return file.substr(0, file.rfind('/')) + "/made.run.db"; }

void analyse(const std::string& file) { command({"analyze", file, "-o", beside(file)}); }

void import_kineto(const std::string& file) { command({"import", "kineto", file, "-o", beside(file)}); }

void import_nsys(const std::string& file) { command({"import", "nsys", file, "-o", beside(file)}); }

void import_xplane(const std::string& file) { command({"import", "xplane", file, "-o", beside(file)}); }

void report(const std::string& file) {
    command({"report", file});
    command({"report", file, "--json", "--redact"});
    command({"report", file, "--markdown", "--all", "--html", file + ".html"});
}

void read_trace(std::string_view script) {
    static fuzz::Base base("trace.db");
    static const fuzz::InputFile file("trace.db");
    file.write(base.patched(script));
    fuzz::may_fail(file.path(), analyse);
}

void read_run(std::string_view script) {
    static fuzz::Base base("run.db");
    static const fuzz::InputFile file("gpushim.run.db");
    file.write(base.patched(script));
    fuzz::may_fail(file.path(), report);
}

void read_nsys(std::string_view script) {
    static fuzz::Base base("nsys.db");
    static const fuzz::InputFile file("nsys.sqlite");
    file.write(base.patched(script));
    fuzz::may_fail(file.path(), import_nsys);
}

void read_kineto(std::string_view bytes) {
    static const fuzz::InputFile file("kineto.json");
    file.write(bytes);
    fuzz::may_fail(file.path(), import_kineto);
}

void read_xplane(std::string_view bytes) {
    static const fuzz::InputFile file("made.xplane.pb");
    file.write(bytes);
    fuzz::may_fail(file.path(), import_xplane);
}

constexpr int kDearer = 100;  // each makes a database, or writes three reports

const fuzz::Registration kTrace({"analyze", "a trace, analysed", read_trace, kDearer});
const fuzz::Registration kRun({"report", "a run database, reported in every form", read_run, kDearer});
const fuzz::Registration kNsys({"nsys", "an export of nsys, imported and analysed", read_nsys, kDearer});
const fuzz::Registration kKineto({"import", "a Kineto file, imported and analysed", read_kineto, kDearer});
const fuzz::Registration kXplane({"xplane_import", "an XPlane file, imported and analysed", read_xplane,
                                  kDearer});

}  // namespace
