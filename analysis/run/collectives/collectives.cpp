#include "collectives.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collective_run.h"
#include "inferred_group.h"

namespace gpushim::analysis {

namespace {

void keep_longest(std::vector<LaunchWait>& waits) {
    std::sort(waits.begin(), waits.end(), [](const LaunchWait& a, const LaunchWait& b) {
        return std::pair(a.enter_ns, -a.wait_ns) < std::pair(b.enter_ns, -b.wait_ns);
    });
    const auto same = [](const LaunchWait& a, const LaunchWait& b) { return a.enter_ns == b.enter_ns; };
    waits.erase(std::unique(waits.begin(), waits.end(), same), waits.end());
}

}  // namespace

struct Collectives::Impl {
    Impl(const std::filesystem::path& folder, size_t in_memory)
        : of_traces(std::in_place, folder, in_memory), of_instances(folder, in_memory) {}

    std::optional<Aside> of_traces;  // until they are matched
    Aside of_instances;
    CollectiveRun all;
    SeatsByName seats;                                           // until they are matched
    std::unordered_map<int64_t, std::vector<LaunchWait>> waits;  // by rank_id, by enter

    void make_room_for_waits();
    void take_waits(const RunCommunicator& comm);
};

Collectives::Collectives(const std::filesystem::path& folder, size_t in_memory)
    : impl_(std::make_unique<Impl>(folder, in_memory)) {}
Collectives::~Collectives() = default;

void Collectives::put_aside(std::vector<CommSeat>& read) {
    for (CommSeat& seat : read) {
        seat.calls.put(*impl_->of_traces);
        seat.launches.put(*impl_->of_traces);
    }
}

void Collectives::add(const TraceFacts& facts, std::vector<CommSeat> read) {
    CollectiveRun& all = impl_->all;
    all.traces.push_back(&facts);
    all.clocks.add(facts);
    for (CommSeat& seat : read) {
        const int64_t of_trace = seat.has_place ? kNotRecorded : facts.rank_id;
        impl_->seats[{seat.uid, of_trace}].push_back(std::move(seat));
    }
}

void Collectives::match() {
    CollectiveRun& all = impl_->all;
    infer_group_of_all(all.traces, impl_->seats, *impl_->of_traces);
    for (auto& [key, seats] : impl_->seats)
        all.communicators.push_back(
            match_communicator(std::move(seats), all.clocks, *impl_->of_traces, impl_->of_instances));
    impl_->seats.clear();
    for (const RunCommunicator& comm : all.communicators)
        for (const CollectiveInstance& instance : comm.instances)
            all.clocks.learn(instance, comm.clock_of_rank);
    all.clocks.settle();
    all.step_shifts = find_step_shifts(all);
    impl_->make_room_for_waits();
    for (RunCommunicator& comm : all.communicators) {
        impl_->take_waits(comm);
        for (CommSeat& seat : comm.seats) seat.launches = {};
    }
    for (auto& [rank, waits] : impl_->waits) keep_longest(waits);
    impl_->of_traces.reset();
    impl_->of_instances.rest();
}

// For as many as there can be: growing step by step would take twice the room.
void Collectives::Impl::make_room_for_waits() {
    std::unordered_map<int64_t, size_t> most;
    for (const RunCommunicator& comm : all.communicators)
        for (const CommSeat& seat : comm.seats) most[seat.facts->rank_id] += seat.launches.size();
    for (const auto& [rank, launches] : most) waits[rank].reserve(launches);
}

// The wait lies at the beginning: where there are several kernels, the first ones have it. Of messages that
// share a kernel the one that waited longest says how long the kernel did.
void Collectives::Impl::take_waits(const RunCommunicator& comm) {
    const auto error_ns = clock_error_ns(comm, all.clocks);
    for (const CollectiveInstance& instance : comm.instances) {
        const InstanceTimes times = times_of(comm, instance, all.clocks, error_ns);
        for (size_t i = 0; i < instance.parts.size(); ++i) {
            if (!times.wait_ns[i]) continue;
            const CommSeat& seat = comm.seat(instance.parts[i]);
            const CommCall& call = comm.call(instance.parts[i]);
            const int64_t until_ns = instance.parts[i].device->start_ns + *times.wait_ns[i];
            of_traces->count_read(call.launches * sizeof(CommLaunch));
            for (size_t k = call.launch; k < call.launch + size_t{call.launches}; ++k) {
                const CommLaunch& launch = seat.launches[k];
                const int64_t wait_ns = std::min(launch.device.end_ns, until_ns) - launch.device.start_ns;
                waits[seat.facts->rank_id].push_back({launch.enter_ns, std::max<int64_t>(0, wait_ns)});
            }
        }
    }
}

const CollectiveRun& Collectives::all() const { return impl_->all; }

LaunchWaits Collectives::waits_of(int64_t rank_id) const {
    const auto rank = impl_->waits.find(rank_id);
    return rank == impl_->waits.end() ? LaunchWaits() : LaunchWaits(rank->second);
}

void Collectives::write(RunDb& run) {
    impl_->waits = {};
    const CollectiveRun& all = impl_->all;
    CollectiveSums sums;
    write_instances(all, run, sums);
    write_custom(all, run, sums);
    write_sums(sums, run);
    const std::vector<CommLink> links = communicator_links(all);
    write_communicators(all, links, run);
    write_stats(all, links, run);
    write_allreduce_check(all, run);
}

}  // namespace gpushim::analysis
