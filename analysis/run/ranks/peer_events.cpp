#include "peer_events.h"

namespace gpushim::analysis {

namespace {

// Waits, as v_gpu_step has them: no kernel runs beside them.
#define WAITS "a.classes & 257 = 0 AND a.classes & 4 > 0"

constexpr const char* kFind =
    "CREATE TEMP TABLE peer_events AS WITH together AS (SELECT u.gpu_id, u.rank_id FROM gpu u"
    "  WHERE u.level = 'events' AND u.rank_id IN (SELECT c.rank_id FROM collective_instance c"
    "  WHERE c.parts = c.ranks AND c.ranks > 1 AND c.ranks = (SELECT count(*) FROM rank))),"
    " timed AS (SELECT g.gpu_id, g.step, s.dur_ns - g.window_ns AS removed_ns, coalesce((SELECT sum(a.ns)"
    "  FROM activity a WHERE a.gpu_id = g.gpu_id AND a.step = g.step AND " WAITS
    "), 0) AS wait_ns FROM together t JOIN gpu_step g ON g.gpu_id = t.gpu_id"
    "  JOIN step s ON s.rank_id = t.rank_id AND s.step = g.step),"
    " placed AS (SELECT *, row_number() OVER (PARTITION BY step ORDER BY wait_ns, gpu_id) AS place,"
    "  count(*) OVER (PARTITION BY step) AS gpus FROM timed)"
    "SELECT p.gpu_id, p.step, p.wait_ns, min(p.wait_ns, l.removed_ns - p.removed_ns) AS ns"
    " FROM placed p JOIN placed l ON l.step = p.step AND l.place = 1"
    " WHERE p.gpus = (SELECT count(*) FROM together) AND p.wait_ns > 0 AND l.removed_ns <> p.removed_ns";

constexpr const char* kLeaveOut =
    "UPDATE activity AS a SET ns = a.ns - CAST(round(1.0 * p.ns * a.ns / p.wait_ns) AS INTEGER)"
    " FROM temp.peer_events p WHERE p.gpu_id = a.gpu_id AND p.step = a.step AND " WAITS
    ";"
    "UPDATE gpu_step AS g SET window_ns = n.ns, busy_low_ns = busy_low_ns + n.ns - window_ns,"
    " busy_high_ns = busy_high_ns + n.ns - window_ns, busy_likely_low_ns = busy_likely_low_ns + n.ns - "
    "window_ns,"
    " busy_likely_high_ns = busy_likely_high_ns + n.ns - window_ns FROM (SELECT p.gpu_id, p.step, sum(a.ns) "
    "AS ns"
    "  FROM temp.peer_events p JOIN activity a ON a.gpu_id = p.gpu_id AND a.step = p.step"
    "  GROUP BY p.gpu_id, p.step) n WHERE n.gpu_id = g.gpu_id AND n.step = g.step;"
    "DROP TABLE temp.peer_events";

#undef WAITS

}  // namespace

void leave_out_peers_events(RunDb& run) {
    run.run(kFind);
    if (!run.numbers("SELECT 1 FROM temp.peer_events LIMIT 1").empty()) run.forget_written();
    run.run(kLeaveOut);
}

}  // namespace gpushim::analysis
