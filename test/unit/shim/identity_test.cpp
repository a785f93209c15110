#include "shim/machine/identity.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "shim/base/performance_variables.h"

namespace identity_test {

using namespace gpushim::shim;

namespace {

TraceIdentity identified() {
    TraceIdentity identity;
    identify(identity, default_config());
    return identity;
}

}  // namespace

TEST_CASE("who this process is", "[identity]") {
    const TraceIdentity identity = identified();
    char host[65] = {};
    gethostname(host, sizeof host - 1);
    CHECK(std::string(identity.host) == host);
    CHECK(identity.pid == getpid());
    CHECK(identity.parent_pid == getppid());
    CHECK(identity.start_ticks > 0);
    CHECK(std::string(identity.executable) == "unit");
    const uint8_t nothing[16] = {};
    CHECK(memcmp(identity.boot_id, nothing, 16) != 0);
    CHECK(memcmp(identity.trace_uuid, nothing, 16) != 0);
    CHECK(memcmp(identity.trace_uuid, identified().trace_uuid, 16) != 0);
    CHECK(memcmp(identity.boot_id, identified().boot_id, 16) == 0);
}

TEST_CASE("nothing is known without a launcher", "[identity]") {
    const TraceIdentity identity = identified();
    CHECK(identity.rank == -1);
    CHECK(identity.local_rank == -1);
    CHECK(identity.world_size == -1);
    CHECK(identity.restart == -1);
    CHECK(identity.job[0] == '\0');
    // Who launched us, and when.
    const std::string key = identity.run_key;
    CHECK(key.find(":" + std::to_string(getppid()) + ":") != std::string::npos);
    CHECK(key == identified().run_key);
}

TEST_CASE("torchrun", "[identity]") {
    setenv("RANK", "9", 1);
    setenv("LOCAL_RANK", "1", 1);
    setenv("WORLD_SIZE", "16", 1);
    setenv("TORCHELASTIC_RUN_ID", "job-a", 1);
    setenv("TORCHELASTIC_RESTART_COUNT", "2", 1);
    setenv("SLURM_PROCID", "3", 1);
    const TraceIdentity identity = identified();
    CHECK(identity.rank == 9);
    CHECK(identity.local_rank == 1);
    CHECK(identity.world_size == 16);
    CHECK(identity.restart == 2);
    CHECK(std::string(identity.run_key) == "job-a");
}

TEST_CASE("an id of \"none\" and ranks that are no numbers are not known", "[identity]") {
    setenv("TORCHELASTIC_RUN_ID", "none", 1);
    setenv("RANK", "first", 1);
    setenv("OMPI_COMM_WORLD_RANK", "4", 1);
    const TraceIdentity identity = identified();
    CHECK(identity.rank == 4);
    CHECK(identity.job[0] == '\0');
    CHECK(std::string(identity.run_key).find("none") == std::string::npos);
}

TEST_CASE("Slurm: the job, and each of its steps is a run", "[identity][alone]") {
    setenv("SLURM_PROCID", "2", 1);
    setenv("SLURM_LOCALID", "0", 1);
    setenv("SLURM_NTASKS", "4", 1);
    setenv("SLURM_JOB_ID", "1234", 1);
    setenv("SLURM_STEP_ID", "5", 1);
    const TraceIdentity identity = identified();
    CHECK(identity.rank == 2);
    CHECK(identity.local_rank == 0);
    CHECK(identity.world_size == 4);
    CHECK(std::string(identity.job) == "1234");
    CHECK(std::string(identity.run_key) == "1234.5");
}

TEST_CASE("each launch by Open MPI is a run, on all hosts, in a job or without one", "[identity][alone]") {
    setenv("OMPI_MCA_orte_precondition_transports", "731984e2567cc301-f5d1e7ae882ad058", 1);
    setenv("OMPI_COMM_WORLD_RANK", "1", 1);
    CHECK(std::string(identified().run_key) == "731984e2567cc301-f5d1e7ae882ad058");
    // The ranks beside mpirun are in no step; those on other hosts are in that of its daemons.
    setenv("SLURM_JOB_ID", "1234", 1);
    const std::string beside = identified().run_key;
    setenv("SLURM_STEP_ID", "0", 1);
    CHECK(identified().run_key == beside);
    CHECK(beside == "1234.731984e2567cc301-f5d1e7ae882ad058");
}

TEST_CASE("what a user calls a job is one run, whatever launches its parts", "[identity][alone]") {
    setenv("JOB_ID", "mine", 1);
    setenv("OMPI_MCA_orte_precondition_transports", "731984e2567cc301-f5d1e7ae882ad058", 1);
    CHECK(std::string(identified().run_key) == "mine");
}

TEST_CASE("each task of an array of jobs is a run", "[identity][alone]") {
    setenv("JOB_ID", "77", 1);
    setenv("SGE_TASK_ID", "3", 1);
    CHECK(std::string(identified().run_key) == "77.3");
    setenv("LSB_JOBID", "88", 1);
    setenv("LSB_JOBINDEX", "4", 1);
    CHECK(std::string(identified().run_key) == "88.4");
    CHECK(std::string(identified().job) == "88");
}

TEST_CASE("variables that change performance are stored, no others and no secrets", "[identity]") {
    CHECK(is_performance_variable("NCCL_ALGO=ring"));
    CHECK(is_performance_variable("OMP_NUM_THREADS=3"));
    CHECK(is_performance_variable("NVIDIA_TF32_OVERRIDE=0"));
    for (const char* entry : {"HOME=/root", "OMP_NUM_THREADS_=1", "OMP_NUM_THREAD=1", "XNCCL_A=1",
                              "NCCL_AUTH_TOKEN=a", "NCCL_API_KEY=a", "nothing"})
        CHECK(!is_performance_variable(entry));

    setenv("NCCL_ALGO", "tree=yes", 1);
    setenv("SHIM_TEST_PASSWORD", "geheim", 1);
    const TraceIdentity identity = identified();
    std::map<std::string, std::string> stored;
    for (const Variable& variable : identity.variables) stored[variable.name] = variable.value;
    CHECK(stored.at("NCCL_ALGO") == "tree=yes");
    CHECK(stored.count("SHIM_TEST_PASSWORD") == 0);
    CHECK(stored.count("PATH") == 0);
}

}  // namespace identity_test
