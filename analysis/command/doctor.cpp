#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "../doctor/check.h"
#include "../doctor/topology.h"
#include "../failure.h"
#include "../process/child.h"
#include "../process/library.h"
#include "../report/section.h"
#include "../terminal/style.h"
#include "../terminal/terminal.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/device_source.h"
#include "../trace/ended.h"
#include "../trace/losses.h"
#include "../trace/recovery.h"
#include "../trace/unknown_abi.h"
#include "command.h"
#include "doctor_pid.h"

namespace gpushim::analysis::command_doctor {

namespace {

namespace fs = std::filesystem;

constexpr Option kOptions[] = {
    {"hooks", nullptr, "list every hooked function and, with a program, how often it was recorded"},
    {"topo", nullptr, "show how the devices of this machine are connected"},
    {"pid", "PID", "say what a running process and its children are doing, and whether their run hangs"},
    {"json", nullptr, "print one JSON object"},
};

constexpr const char* kVerdicts[] = {"ok", "LIMITED", "BLIND"};

// What the program did under the shim, seen in traces that are gone afterwards.
struct Tried {
    int exit_code = 0;
    size_t traces = 0, cut_short = 0;
    int64_t unknown_abi = 0;
    Losses losses;
    std::set<std::string> refusals;        // why there are fewer device times
    std::set<std::string> unanswered;      // what is not known
    std::map<std::string, int64_t> calls;  // by exported name
    std::set<std::pair<CheckVerdict, std::string>> pythons;
};

// What the program prints is not our answer: it goes to stderr as long as this lives.
struct StdoutToStderr {
    StdoutToStderr() : before(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    ~StdoutToStderr() {
        dup2(before, STDOUT_FILENO);
        close(before);
    }
    int before;
};

std::string refusal_text(const Query& refusal) {
    std::string text = refusal.text(0);
    if (!refusal.is_null(1)) text += ", " + refusal.text(1);
    if (!refusal.is_null(2)) text += " returned " + std::to_string(refusal.number(2));
    return text;
}

// Traces of before do not have it.
void add_unanswered(const Database& base, std::set<std::string>& unanswered) {
    if (base.columns_of("unanswered").empty()) return;
    Query questions = base.prepare("SELECT unknown, asked, error FROM unanswered");
    while (questions.step())
        unanswered.insert(refusal_text(questions) + (questions.is_null(2) ? " is not there" : ""));
}

// The interpreter of a process, if lines of it were asked for; sums are in the newest row.
void add_python(const Database& base, std::set<std::pair<CheckVerdict, std::string>>& pythons) {
    if (base.columns_of("python_source").empty()) return;
    Query rows = base.prepare(
        "SELECT version, refused, samples, missing, left_out FROM python_source ORDER BY mono_ns DESC LIMIT "
        "1");
    if (!rows.step()) return;
    if (!rows.is_null(1))
        return void(pythons.insert({CheckVerdict::limited, rows.text(1) + ": its lines are not read"}));
    std::string text = "CPython " + (rows.is_null(0) ? "of unknown version" : rows.text(0)) + ": " +
                       count_text(rows.number(2)) + " samples of lines";
    if (rows.number(3) != 0) text += ", " + count_text(rows.number(3)) + " more that moved meanwhile";
    if (rows.number(4) != 0) text += ", " + count_text(rows.number(4)) + " more without a place in the trace";
    pythons.insert({CheckVerdict::fine, text});
}

Tried try_program(std::span<char* const> command) {
    const TemporaryFolder folder;
    const StdoutToStderr elsewhere;
    Tried tried;
    const int status = run_child(command, {{"GPUSHIM_OUT", folder.path().string() + "/%p.db"},
                                           {"LD_PRELOAD", preload_with(library_path())}});
    tried.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const std::string where = folder.path().string();
    const Recovery recovery({&where, 1});
    for (const fs::path& path : databases_in(where)) {
        const Database base(path);
        if (base.schema_version() == 0) continue;
        ++tried.traces;
        tried.cut_short += was_recovered(base);
        tried.unknown_abi += unknown_abi_of(base).value_or(0);
        add_losses(base, tried.losses);
        if (const auto note = device_source_note(base)) tried.refusals.insert(*note);
        Query refusals = base.prepare("SELECT why, api, error FROM refusal");
        while (refusals.step()) tried.refusals.insert(refusal_text(refusals));
        add_unanswered(base, tried.unanswered);
        add_python(base, tried.pythons);
        Query query = base.prepare("SELECT api, calls FROM v_api_total");
        while (query.step()) tried.calls[query.text(0)] += query.number(1);
    }
    return tried;
}

CheckFinding verdict_of(const Tried& tried) {
    int64_t calls = 0;
    for (const auto& [name, count] : tried.calls) calls += count;
    const std::string ended = "ended with " + std::to_string(tried.exit_code);
    if (tried.traces == 0)
        return {CheckVerdict::blind, "tried",
                ended +
                    " and left no trace: it made no CUDA context and no NCCL communicator that was seen, "
                    "or a line above says why (gpushim: …; not tracing)"};
    return {CheckVerdict::fine, "tried",
            ended + "; " + count_text(calls) + " calls of " +
                count_text(static_cast<int64_t>(tried.calls.size())) + " functions in " +
                count_text(static_cast<int64_t>(tried.traces)) + " processes"};
}

void print(const std::vector<CheckFinding>& findings, const Arguments& arguments, const Tried& tried) {
    const std::vector<Hook> rows = arguments.has("hooks") ? hooks() : std::vector<Hook>();
    const auto calls_of = [&](const Hook& hook) {
        const auto found = tried.calls.find(hook.name);
        return arguments.command_.empty() ? std::nullopt
                                          : std::optional(found == tried.calls.end() ? 0 : found->second);
    };
    if (!arguments.has("json")) {
        const bool coloured = has_colours(STDOUT_FILENO);
        for (const CheckFinding& finding : findings) {
            const std::string verdict = kVerdicts[static_cast<int>(finding.verdict)];
            const std::string fill(8 - verdict.size(), ' ');
            std::printf("%s%s %-8s %s\n", (coloured ? styled_line(verdict) : verdict).c_str(), fill.c_str(),
                        finding.what.c_str(), for_terminal(finding.text).c_str());
        }
        for (const Hook& hook : rows)
            std::printf("%-44s %-14s %s\n", hook.name.c_str(), hook.kind.c_str(),
                        calls_of(hook) ? count_text(*calls_of(hook)).c_str() : "");
        if (arguments.has("topo"))
            for (const std::string& line : lines_of(look_at_topology())) std::printf("%s\n", line.c_str());
        return;
    }
    Json answer = Json::object(), list = Json::array(), hook_list = Json::array();
    for (const CheckFinding& finding : findings)
        list.push(Json::object({{"verdict", kVerdicts[static_cast<int>(finding.verdict)]},
                                {"what", finding.what},
                                {"text", finding.text}}));
    for (const Hook& hook : rows)
        hook_list.push(Json::object({{"name", hook.name}, {"kind", hook.kind}, {"calls", calls_of(hook)}}));
    answer.set("findings", std::move(list));
    if (arguments.has("topo")) answer.set("topology", json_of(look_at_topology()));
    if (arguments.has("hooks")) answer.set("hooks", std::move(hook_list));
    std::printf("%s\n", answer.text().c_str());
}

// Each state in which the library has recorded less than it would.
void explain(const Tried& tried, std::vector<CheckFinding>& findings) {
    if (tried.cut_short > 0)
        findings.push_back({CheckVerdict::limited, "end",
                            count_text(static_cast<int64_t>(tried.cut_short)) +
                                (tried.cut_short == 1 ? " process" : " processes") +
                                " ended before all was written: calls were recovered, what was refused last "
                                "may not be known"});
    if (tried.unknown_abi > 0)
        findings.push_back({CheckVerdict::limited, "versions", unknown_abi_text(tried.unknown_abi)});
    for (const auto& [reason, events] : tried.losses)
        findings.push_back({CheckVerdict::limited, "lost", loss_text(reason, events)});
    for (const std::string& why : tried.refusals) findings.push_back({CheckVerdict::limited, "times", why});
    for (const auto& [verdict, text] : tried.pythons) findings.push_back({verdict, "python", text});
    for (const std::string& what : tried.unanswered)
        findings.push_back({CheckVerdict::limited, "unknown", what});
}

int run(const Arguments& arguments) {
    if (!arguments.words_.empty())
        throw Failure("write the program after `--`: gpushim doctor -- " + arguments.words_[0] + " …");
    if (const auto pid = arguments.value("pid")) return look_at_process(*pid, arguments.has("json"));
    Examined examined;
    examined.program.assign(arguments.command_.begin(), arguments.command_.end());
    std::vector<CheckFinding> findings = run_checks(examined);
    const auto is_blind = [](const CheckFinding& finding) { return finding.verdict == CheckVerdict::blind; };
    Tried tried;
    if (!examined.program.empty() && std::none_of(findings.begin(), findings.end(), is_blind)) {
        tried = try_program(arguments.command_);
        findings.push_back(verdict_of(tried));
        explain(tried, findings);
    }
    print(findings, arguments, tried);
    return std::any_of(findings.begin(), findings.end(), is_blind) ? kIncomplete : kFine;
}

constexpr Command kDoctor = {
    "doctor",
    "[--hooks] [--topo] [--pid PID] [-- CMD…]",
    "say what would be seen on this machine and what not, and why",
    "With a program, it runs the program once and explains its traces. Where nothing would "
    "be seen, the program is not run.",
    -1,
    kOptions,
    run,
    true};
const Registration kRegistration(kDoctor);

}  // namespace

}  // namespace gpushim::analysis::command_doctor
