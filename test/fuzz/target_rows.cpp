// Values that are not what they should be, in files that are whole otherwise: in memory, which is a hundred
// times as fast as files. Of a trace its calls, one after the other; everything that reads its rows, up to
// the rows of the run; of a run one section of its report, in the form that the script says.
#include <sqlite3.h>

#include "analysis/busy/busy.h"
#include "analysis/failure.h"
#include "analysis/page/part.h"
#include "analysis/report/printed.h"
#include "analysis/report/sections.h"
#include "analysis/run/collectives/collectives.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/pass/trace_pass.h"
#include "analysis/run/ranks/rank_rows.h"
#include "analysis/run/sql/run_db.h"
#include "base.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

// The run that rows are written to, without the rows of the trace before. It has no journal, so nothing in it
// can be taken back.
class EmptyRun {
  public:
    EmptyRun() : file_("run.db"), run_(file_.path()) {
        sqlite3_stmt* next = nullptr;
        const char* sql = "SELECT name FROM sqlite_schema WHERE type = 'table'";
        std::vector<std::string> tables;
        sqlite3_prepare_v2(run_.raw(), sql, -1, &next, nullptr);
        while (sqlite3_step(next) == SQLITE_ROW)
            tables.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(next, 0)));
        sqlite3_finalize(next);
        for (const std::string& table : tables) {
            sqlite3_prepare_v2(run_.raw(), ("DELETE FROM \"" + table + "\"").c_str(), -1, &next, nullptr);
            clear_.push_back(next);
        }
    }
    ~EmptyRun() {
        for (sqlite3_stmt* const statement : clear_) sqlite3_finalize(statement);
    }
    EmptyRun(const EmptyRun&) = delete;
    EmptyRun& operator=(const EmptyRun&) = delete;

    RunDb& cleared() {
        for (sqlite3_stmt* const statement : clear_) {
            fuzz::require(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(run_.raw()));
            sqlite3_reset(statement);
        }
        return run_;
    }

  private:
    fuzz::InputFile file_;
    RunDb run_;
    std::vector<sqlite3_stmt*> clear_;
};

void read_trace(const Trace& trace, RunDb& run) {
    int64_t next_gpu_id = 0;
    TraceFacts facts = make_facts(trace, 0, next_gpu_id, {});
    find_steps(facts);
    Collectives collectives("");  // all in memory
    collectives.add(facts, read_comm_seats(facts));
    collectives.match();
    write_rank(facts, pass_over(facts, collectives.waits_of(facts.rank_id), run), run);
    collectives.write(run);
    write_between_ranks(collectives.all(), run);
}

// What is unchanged has to be read; of what is changed a Failure is an answer.
void read_changed(std::string_view script, void (*read)(const Trace& trace)) {
    static fuzz::Base base("trace.db");
    static const Trace trace = {"trace.db", std::move(base.rows()), 4711, 0, 1, "run", "box", "trainer", 0,
                                ""};
    base.with_values(fuzz::Script(script), [&] {
        try {
            read(trace);
        } catch (const Failure& failure) {
            fuzz::require(!script.empty(), failure.what());
        }
    });
}

void read_calls(std::string_view script) {
    read_changed(script, [](const Trace& trace) {
        for (const DeviceBusy& device : busy_of(trace)) {
            const Figure figure = device.without_us();
            fuzz::require(figure.low >= 0 && figure.high <= 1, "a share that is none");
        }
    });
}

void read_trace_rows(std::string_view script) {
    read_changed(script, [](const Trace& trace) {
        static EmptyRun run;
        read_trace(trace, run.cleared());
    });
}

// Which section, in which form, then what is changed.
void write_section(const Database& run, uint8_t which, uint8_t form) {
    const auto& sections = report_sections();
    ReportSource source = {run};
    source.options.redact = form / 4 % 2 == 1;
    Report report;
    sections[which % sections.size()]->write(source, report);
    if (form % 4 == 0) as_text(report);
    if (form % 4 == 1) as_markdown(report);
    if (form % 4 == 2) report.json.text();
    if (form % 4 == 3) report_page(source, report);
}

void read_run_rows(std::string_view bytes) {
    static fuzz::Base base("run.db");
    fuzz::Script script(bytes);
    const uint8_t which = script.byte(), form = script.byte();
    base.with_values(script, [&] {
        try {
            write_section(base.rows(), which, form);
        } catch (const Failure& failure) {
            fuzz::require(!script.is_over(), failure.what());
        }
    });
}

constexpr int kDearer = 10;  // some forty statements are prepared for each

const fuzz::Registration kCalls({"calls", "the calls of a trace, and how busy its devices were", read_calls});
const fuzz::Registration kTrace({"trace", "the rows of a trace, up to those of the run", read_trace_rows,
                                 kDearer});
const fuzz::Registration kRun({"run", "the rows of a run, as one section of its report", read_run_rows});

}  // namespace
