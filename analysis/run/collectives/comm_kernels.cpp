#include "comm_kernels.h"

#include <algorithm>
#include <set>
#include <string>

#include "../../../shim/schema/flags.h"
#include "comm_calls.h"

namespace gpushim::analysis {

namespace {

struct Launch {
    int64_t group, enter_ns, stream_id, device_id;
    std::optional<Interval> device;
    int32_t kernel;
    bool captured;
};

struct CallPlace {
    int64_t group;
    size_t seat, call;
};

const Lane* lane_of(const TraceFacts& facts, int64_t stream_id) {
    for (const Lane& lane : facts.lanes)
        if (lane.stream_id == stream_id) return &lane;
    return nullptr;
}

std::string launches_sql(const std::string& from) {
    return "SELECT l.group_id, l.enter_ns, l.stream_id, l.shape_id, " + sql_bit(kRowCaptured, "l") +
           ", d.start_offset_ns, d.dur_ns"
           " FROM " +
           from +
           " LEFT JOIN launch_device d ON d.enter_ns = l.enter_ns"
           " WHERE l.enter_ns >= ?1 AND l.group_id IS NOT NULL AND " +
           kSucceeded.sql("l");
}

std::vector<Launch> read_launches(const TraceFacts& facts, const std::string& from) {
    std::vector<Launch> launches;
    Query query = facts.trace->base.prepare(launches_sql(from));
    query.bind(1, facts.trace->from_ns);
    while (query.step()) {
        const int64_t stream = query.maybe(2).value_or(-1);
        const Lane* lane = lane_of(facts, stream);
        const Shape* shape = facts.shapes.find(query.maybe(3).value_or(-1));
        Launch launch = {query.number(0),
                         query.number(1),
                         stream,
                         lane != nullptr ? lane->device_id : -1,
                         {},
                         shape == nullptr ? -1 : shape->kernel,
                         query.number(4) != 0};
        if (!query.is_null(5) && query.number(6) > 0) {
            const int64_t start_ns = launch.enter_ns + query.number(5);
            launch.device = {start_ns, start_ns + query.number(6)};
        }
        launches.push_back(launch);
    }
    const auto is_before = [](const Launch& a, const Launch& b) {
        return std::pair(a.group, a.enter_ns) < std::pair(b.group, b.enter_ns);
    };
    // Groups are numbered as they are made, so they nearly always are.
    if (!std::is_sorted(launches.begin(), launches.end(), is_before))
        std::sort(launches.begin(), launches.end(), is_before);
    const auto same = [](const Launch& a, const Launch& b) { return a.enter_ns == b.enter_ns; };
    launches.erase(std::unique(launches.begin(), launches.end(), same), launches.end());
    return launches;
}

std::vector<CallPlace> calls_by_group(const std::vector<CommSeat>& seats) {
    std::vector<CallPlace> places;
    size_t calls = 0;
    for (const CommSeat& seat : seats) calls += seat.calls.size();
    places.reserve(calls);
    for (size_t seat = 0; seat < seats.size(); ++seat)
        for (size_t call = 0; call < seats[seat].calls.size(); ++call)
            places.push_back({seats[seat].calls[call].call.group, seat, call});
    const auto is_before = [](const CallPlace& a, const CallPlace& b) { return a.group < b.group; };
    if (!std::is_sorted(places.begin(), places.end(), is_before))
        std::stable_sort(places.begin(), places.end(), is_before);
    return places;
}

// Both by group.
bool all_have_kernels(const std::vector<CallPlace>& places, const std::vector<Launch>& launches) {
    auto launch = launches.begin();
    return std::all_of(places.begin(), places.end(), [&](const CallPlace& place) {
        while (launch != launches.end() && launch->group < place.group) ++launch;
        return launch != launches.end() && launch->group == place.group;
    });
}

// Kernels are launched inside the call, and a range of rows for each call is quick; only those of groups, and
// of communicators that have threads of their own, are somewhere else.
std::vector<Launch> launches_of_groups(const TraceFacts& facts, const std::vector<CallPlace>& places) {
    std::vector<Launch> launches = read_launches(
        facts, "collective c CROSS JOIN launch l ON l.enter_ns BETWEEN c.enter_ns AND c.enter_ns + c.dur_ns");
    if (!all_have_kernels(places, launches)) launches = read_launches(facts, "launch l");
    return launches;
}

using Launches = std::vector<const Launch*>;

Launches kernels_of(const TraceFacts& facts, const CommSeat& seat, const CommCall& call,
                    std::span<const Launch> of_group) {
    const auto those = [&](auto is_one) {
        Launches found;
        for (const Launch& launch : of_group)
            if (is_one(launch)) found.push_back(&launch);
        return found;
    };
    if (call.lane != kNoLane) {
        const int64_t stream = facts.lanes[static_cast<size_t>(call.lane)].stream_id;
        Launches found = those([&](const Launch& launch) { return launch.stream_id == stream; });
        if (!found.empty()) return found;
    }
    return those([&](const Launch& launch) {
        return seat.device_id < 0 || launch.device_id < 0 || launch.device_id == seat.device_id;
    });
}

// From the first start to the last end; none: one of them is not timed.
std::optional<Interval> span_of(const Launches& launches) {
    if (launches.empty()) return {};
    Interval span = {INT64_MAX, INT64_MIN};
    for (const Launch* launch : launches) {
        if (!launch->device) return {};
        span.start_ns = std::min(span.start_ns, launch->device->start_ns);
        span.end_ns = std::max(span.end_ns, launch->device->end_ns);
    }
    return span;
}

void keep_launches(CommSeat& seat, CommCall& call, Launches launches) {
    std::sort(launches.begin(), launches.end(),
              [](const Launch* a, const Launch* b) { return a->device->start_ns < b->device->start_ns; });
    call.launch = static_cast<uint32_t>(seat.launches.size());
    call.launches = static_cast<uint16_t>(std::min<size_t>(launches.size(), UINT16_MAX));
    for (size_t i = 0; i < call.launches; ++i)
        seat.launches.push_back({launches[i]->enter_ns, *launches[i]->device});
}

// A call that is alone in its group: what it could have launched is its own.
void link_alone(const TraceFacts& facts, std::span<const Launch> of_group, CommSeat& seat, CommCall& call) {
    const Launches kernels = kernels_of(facts, seat, call, of_group);
    if (kernels.empty()) return;
    call.kernel = kernels.front()->kernel;
    if (call.captured) return;
    call.call.device = span_of(kernels);
    if (call.call.device) keep_launches(seat, call, kernels);
}

void link_group(const TraceFacts& facts, std::span<const CallPlace> places, std::span<const Launch> of_group,
                std::vector<CommSeat>& seats) {
    if (places.size() == 1) {
        CommSeat& seat = seats[places.front().seat];
        return link_alone(facts, of_group, seat, seat.calls[places.front().call]);
    }
    std::map<const Launch*, std::set<size_t>> claimed;  // by which seats
    std::vector<Launches> kernels;
    for (const CallPlace& place : places) {
        CommSeat& seat = seats[place.seat];
        kernels.push_back(kernels_of(facts, seat, seat.calls[place.call], of_group));
        for (const Launch* launch : kernels.back()) claimed[launch].insert(place.seat);
    }
    std::map<size_t, size_t> kept;  // by seat, of which call: all of a group mostly have the same kernels
    for (size_t i = 0; i < places.size(); ++i) {
        CommSeat& seat = seats[places[i].seat];
        CommCall& call = seat.calls[places[i].call];
        const bool own = std::all_of(kernels[i].begin(), kernels[i].end(),
                                     [&](const Launch* launch) { return claimed[launch].size() == 1; });
        if (kernels[i].empty() || !own) continue;
        call.kernel = kernels[i].front()->kernel;
        if (call.captured) continue;
        call.call.device = span_of(kernels[i]);
        if (!call.call.device) continue;
        const auto before = kept.find(places[i].seat);
        if (before != kept.end() && kernels[before->second] == kernels[i]) {
            const CommCall& first = seat.calls[places[before->second].call];
            call.launch = first.launch;
            call.launches = first.launches;
            continue;
        }
        keep_launches(seat, call, kernels[i]);
        kept[places[i].seat] = i;
    }
}

}  // namespace

std::map<int64_t, int64_t> link_kernels(const TraceFacts& facts, std::vector<CommSeat>& seats) {
    std::map<int64_t, int64_t> captured;
    const std::vector<CallPlace> places = calls_by_group(seats);
    if (places.empty() || !facts.trace->base.has("launch_device")) return captured;
    const std::vector<Launch> launches = launches_of_groups(facts, places);
    for (const Launch& launch : launches)
        if (launch.captured) ++captured[launch.group];
    auto launch = launches.begin();
    for (auto from = places.begin(); from != places.end();) {
        const int64_t group = from->group;
        const auto to =
            std::find_if(from, places.end(), [&](const CallPlace& p) { return p.group != group; });
        while (launch != launches.end() && launch->group < group) ++launch;
        auto end = launch;
        while (end != launches.end() && end->group == group) ++end;
        link_group(facts, {from, to}, {launch, end}, seats);
        launch = end;
        from = to;
    }
    return captured;
}

}  // namespace gpushim::analysis
