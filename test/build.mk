# What tests, measures and explores the product. Included by the Makefile, behind all else.

# --- tests: one Catch2 binary; test/run runs each of its cases in a process of its own ---------------------
# Catch2 takes about half the time to compile when nothing optimises it.
$(OBJ)/test/unit/%.o: LEVEL := -O0
# UNITS="shim driver": of these folders alone; without `analysis` the analyzer is not compiled for them.
UNITS        ?= $(notdir $(patsubst %/,%,$(wildcard test/unit/*/)))
# Debian has Catch2's own code compiled; elsewhere catch_main.cpp is as much. With it, optimised, and without
# relocations (-no-pie) each of 1,500 processes starts in 0.17 s under a sanitizer, not in 0.24 s.
CATCH        := $(firstword $(wildcard $(addsuffix /libCatch2WithMain.a,\
                $(addprefix $(SYSROOT),/usr/lib /usr/lib/*))))
UNIT_FOLDERS := test/unit $(UNITS:%=test/unit/%)
UNIT_SOURCES := $(filter-out $(if $(CATCH),%/catch_main.cpp),$(call sources,$(UNIT_FOLDERS)))
$(foreach folder,$(UNIT_FOLDERS),$(call units_of,$(folder),UNIT_UNITS))
UNIT_OBJECTS := $(call objects,$(filter $(if $(filter yes,$(QUICK)),%/catch_main.cpp,%),$(UNIT_SOURCES))) \
                $(if $(filter yes,$(QUICK)),$(UNIT_UNITS))
OBJECTS      += $(UNIT_OBJECTS)
$(eval $(call stamp,$(OBJ)/test/unit.list,$(UNIT_SOURCES)))
all tests: $(BUILD)/test/unit
# The shim's parts are tested without its doors: the test program is no shim.
NOT_UNIT  := shim/base/no_libm.cpp $(addprefix shim/hooks/,dlsym.cpp exports.cpp doors.cpp proc_address.cpp)
UNIT_SHIM := $(filter-out $(call objects,$(NOT_UNIT)),$(SHIM_OBJECTS))
UNIT_ANALYZER := $(filter-out $(call objects,analysis/main.cpp),$(ANALYZER_OBJECTS))
$(BUILD)/test/unit: $(UNIT_OBJECTS) $(UNIT_SHIM) $(SIM_LIBRARIES) \
                    $(if $(filter analysis,$(UNITS)),$(UNIT_ANALYZER)) $(OBJ)/test/unit.list \
                    $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(LINK) -no-pie $(if $(FLOOR),-Wl$(comma)--wrap=sysconf) \
	    -o $@ $(filter %.o,$^) $(CATCH) $(ON_ANY_SYSTEM) -L$(SIM) \
	    $(addprefix -l:,$(notdir $(SIM_LIBRARIES))) \
	    -l:libsqlite3.a -l:libz.a -lm -ldl -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../sim'

# --- benchmarks: programs on a driver that does nothing; test/bench/run measures with them -----------------
BENCH          := $(BUILD)/bench
LTTNG          := $(firstword $(wildcard $(addsuffix /lttng/tracepoint.h,/usr/include /usr/include/*)))
BENCH_PROGRAMS := call_cost product_cost nccl_cost graph_cost load short start $(if $(LTTNG),lttng_pair)
NULL_LIBRARIES := $(addprefix null/,libcuda.so.1 libcublas.so.12 libcublasLt.so.12)
BENCH_FILES    := $(addprefix $(BENCH)/,$(NULL_LIBRARIES) idle_preload.so $(BENCH_PROGRAMS))
OBJECTS        += $(patsubst %,$(OBJ)/test/bench/%.o,null_driver null_cublas idle_preload $(BENCH_PROGRAMS))
ANALYZER_BENCH := $(addprefix $(BENCH)/,sweep rows_read)
BENCH_FILES    += $(ANALYZER_BENCH)
OBJECTS        += $(ANALYZER_BENCH:$(BENCH)/%=$(OBJ)/test/bench/%.o)
$(ANALYZER_BENCH): $(BENCH)/%: $(OBJ)/test/bench/%.o $(UNIT_ANALYZER) $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@$(LINK) -s -o $@ $(filter %.o,$^) $(ON_ANY_SYSTEM) -l:libsqlite3.a -l:libz.a -lm -ldl
$(BENCH)/null/libcuda.so.1: $(OBJ)/test/bench/null_driver.o
$(BENCH)/null/libcublas.so.12 $(BENCH)/null/libcublasLt.so.12: $(OBJ)/test/bench/null_cublas.o
$(addprefix $(BENCH)/,$(NULL_LIBRARIES)): $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,$(@F) -o $@ $(filter %.o,$^) $(ON_FLOOR)
$(BENCH)/idle_preload.so: $(OBJ)/test/bench/idle_preload.o $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@$(LINK) -shared -Wl,--exclude-libs,ALL $(ON_FLOOR) -static-libstdc++ -static-libgcc -o $@ $<
$(addprefix $(BENCH)/,$(BENCH_PROGRAMS)): $(BENCH)/%: $(OBJ)/test/bench/%.o $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@$(LINK) -o $@ $< $(ON_ANY_SYSTEM) -ldl $(if $(filter lttng%,$*),-llttng-ust)
all: $(BENCH_FILES)

# --- accuracy: programs whose truth the box knows; test/accuracy/run compares what a trace says of them ----
ACCURACY         := $(BUILD)/accuracy/workloads
ACCURACY_OBJECTS := $(call objects,$(call sources,test/accuracy))
OBJECTS          += $(ACCURACY_OBJECTS)
all: $(ACCURACY)
$(ACCURACY): $(ACCURACY_OBJECTS) $(SIM)/libcuda.so.1 $(SIM)/libnccl.so.2 $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(LINK) -o $@ $(ACCURACY_OBJECTS) $(ON_ANY_SYSTEM) -L$(SIM) -Wl,-rpath-link,$(SIM) -lcuda \
	    -l:libnccl.so.2 -ldl

# --- faults: the C host, which goes the way it is told; test/faults/run runs the catalogue ------------------
FAULTS_HOST    := $(BUILD)/faults/host
FAULTS_OBJECTS := $(call objects,$(call sources,test/faults/hosts))
OBJECTS        += $(FAULTS_OBJECTS)
$(eval $(call stamp,$(OBJ)/test/faults.list,$(call sources,test/faults/hosts)))
all: $(FAULTS_HOST)
$(FAULTS_HOST): $(FAULTS_OBJECTS) $(SIM)/libcuda.so.1 $(OBJ)/test/faults.list $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(LINK) -o $@ $(FAULTS_OBJECTS) $(ON_ANY_SYSTEM) -L$(SIM) -Wl,-rpath-link,$(SIM) -lcuda -ldl

# --- the check on a GPU: what it needs compiled, so that it can do without a compiler there ---------------
GPU_PROGRAMS := $(patsubst test/%.cpp,$(BUILD)/%,$(call files,test/gpu/*.cpp))
OBJECTS      += $(GPU_PROGRAMS:$(BUILD)/%=$(OBJ)/test/%.o)
all gpu-programs: $(GPU_PROGRAMS)
$(GPU_PROGRAMS): $(BUILD)/gpu/%: $(OBJ)/test/gpu/%.o $(SIM)/libcuda.so.1 $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@$(LINK) -o $@ $< $(ON_ANY_SYSTEM) -L$(SIM) -Wl,-rpath-link,$(SIM) -lcuda -ldl

# --- examples: one program from each folder that has C++ sources ------------------------------------------
EXAMPLES := $(patsubst examples/%/,%,$(sort $(dir $(wildcard examples/*/*.cpp))))
define example
OBJECTS += $(call objects,$(call sources,examples/$(1)))
all: $(BUILD)/examples/$(1)
$(BUILD)/examples/$(1): $(call objects,$(call sources,examples/$(1))) $(SIM)/libcuda.so.1 $(FLOOR) \
                        $(BUILD)/link.flags
	@mkdir -p $$(@D)
	@echo "  LINK   $$@"
	@$(LINK) -o $$@ $$(filter %.o,$$^) $(ON_ANY_SYSTEM) -L$(SIM) -Wl,-rpath-link,$(SIM) -lcuda -ldl
endef
$(if $(filter %/libcuda.so.1,$(SIM_LIBRARIES)),$(foreach name,$(EXAMPLES),$(eval $(call example,$(name)))))

# --- fuzzing: what reads strangers' bytes, given whatever bytes there are -----------------------------------
FUZZ_TARGETS := $(call files,test/fuzz/target*.cpp) $(addprefix test/fuzz/,base.cpp statements.cpp)
FUZZ_OBJECTS := $(call objects,$(FUZZ_TARGETS))
OBJECTS      += $(FUZZ_OBJECTS) $(call objects,$(addprefix test/fuzz/,damage.cpp explore.cpp))
all: $(BUILD)/damage
$(eval $(call stamp,$(OBJ)/fuzz.list,$(FUZZ_TARGETS)))
$(BUILD)/damage $(BUILD)/fuzz: $(FUZZ_OBJECTS) $(UNIT_ANALYZER) $(UNIT_SHIM) $(OBJ)/fuzz.list \
                               $(FLOOR) $(BUILD)/link.flags
$(BUILD)/damage: $(OBJ)/test/fuzz/damage.o
$(BUILD)/fuzz: $(OBJ)/test/fuzz/explore.o
$(BUILD)/fuzz: FUZZ_FLAGS := -fsanitize=fuzzer
$(BUILD)/damage $(BUILD)/fuzz:
	@echo "  LINK   $@"
	@$(LINK) $(FUZZ_FLAGS) -o $@ $(filter %.o,$^) $(ON_ANY_SYSTEM) -l:libsqlite3.a -l:libz.a -lm -ldl
FUZZED := build/clang++-14/san-fuzzer-no-link-address-undefined/fuzz

# --- the ring in every order: real code, compiled so that each access is announced (test/model) -------------
MODEL          := $(BUILD)/ring_model
MODEL_CODE     := shim/ring/rings shim/writer/drain shim/writer/dead_ring test/model/ring_model
MODEL_TRACED   := $(MODEL_CODE:%=$(OBJ)/traced/%.o)
MODEL_PLAIN    := $(call objects,$(addprefix test/model/,explore.cpp instrument.cpp))
OBJECTS        += $(MODEL_TRACED) $(MODEL_PLAIN)
$(OBJ)/traced/%.o: %.cpp $(BUILD)/compile.flags
	@mkdir -p $(@D)
	@echo "  CXX    $< (each access announced)"
	@$(COMPILE) $(SHIM_FLAGS) -fsanitize=thread -fvisibility=hidden -MMD -MP -c $< -o $@
$(MODEL): $(MODEL_TRACED) $(MODEL_PLAIN) $(FLOOR) $(BUILD)/link.flags $(UNIT_SHIM)
	@echo "  LINK   $@"
	@$(LINK) -o $@ $(filter-out $(MODEL_TRACED:$(OBJ)/traced/%=$(OBJ)/%),$(filter %.o,$^)) $(ON_ANY_SYSTEM) \
	    -l:libsqlite3.a -lm -ldl \
	    $(addprefix -Wl$(comma)--wrap=_ZN7gpushim4shim,10slow_ticksEv 9read_pairENS0_9ClockKindE)
all: $(if $(SAN),,$(MODEL))
