# gpushim. `make help` lists the targets; README.md says what they need.
#
#   make                        everything, into build/
#   make CXX=clang++-14         the same by another compiler, into build/clang++-14/
#   make SAN=address,undefined  the same under sanitizers, into build/san-address-undefined/
#   make CXX=aarch64-linux-gnu-g++ SYSROOT=FOLDER  for another processor (test/systems/arm64)

MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc) # one given on the command line wins
endif
.DELETE_ON_ERROR:
.SUFFIXES:
comma := ,

SAN     ?=
# The C library that what people run needs; empty: that of this machine.
LIBC_FLOOR ?= 2.28
VARIANT := $(filter-out g++,$(notdir $(CXX))) $(if $(SAN),san-$(subst $(comma),-,$(SAN)))
BUILD   := $(subst $() ,/,$(strip build $(VARIANT)))
OBJ     := $(BUILD)/obj

# Where the CUDA, NVML and NCCL headers are: CUDA_INCLUDE, EXTRA_INCLUDE. scripts/deps finds or fetches them.
WITHOUT_DEPS := help clean deps uninstall
ifneq ($(filter-out $(WITHOUT_DEPS),$(or $(MAKECMDGOALS),all)),)
include build/deps.mk
endif

# What sanitizers add takes the optimiser three times as long as the rest of a compilation. -g1 is enough for
# stacks and lines and takes a fifth less time and half of the room; `make OPT='-O0 -g'` is for a debugger.
OPT      ?= $(if $(SAN),-O0,-O2) -g1
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Werror
ifneq ($(and $(SAN),$(filter g++,$(notdir $(CXX)))),)
WARNINGS += -Wno-maybe-uninitialized # g++ 12 sees some in the standard library once it is instrumented
endif
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
INCLUDES := -I. -Itest -Itest/sim -Itest/unit $(addprefix -isystem ,$(EXTRA_INCLUDE) $(CUDA_INCLUDE))
# The same files give the same program in whichever folder they lie.
ANYWHERE := -ffile-prefix-map=$(CURDIR)=.
# What is compiled for another processor is linked with what stands in a root of its kind, and run by
# whatever RUN is: an emulator.
RUN      ?= $(if $(SYSROOT),QEMU_LD_PREFIX=$(SYSROOT))
CROSS    ?= $(if $(SYSROOT),$(patsubst %g++,%,$(notdir $(CXX))))
IN_ROOT  := $(if $(SYSROOT),--sysroot=$(SYSROOT))
COMPILE  := $(CXX) $(IN_ROOT) -std=c++20 $(OPT) $(WARNINGS) $(SANFLAGS) -fPIC -pthread $(ANYWHERE) \
            $(INCLUDES) $(CXXFLAGS)
LINK     := $(CXX) $(IN_ROOT) $(OPT) $(SANFLAGS) -pthread -Wl,--as-needed $(LDFLAGS)
# A sanitizer's runtime lives in the executable, so a library of such a build has undefined names left.
NO_HOLES := $(if $(SAN),,-Wl$(comma)-z$(comma)defs)

VISIBILITY := hidden
objects = $(patsubst %.cpp,$(OBJ)/%.o,$(1))
files   = $(sort $(wildcard $(1)))
sources = $(call files,$(addsuffix /*.cpp,$(1)))

.PHONY: all tests FORCE
all:

# The optimiser takes three quarters of a compilation. What runs once for a report, and the simulated box, is
# compiled with half of its work, at which g++ 12 takes some std::optional for uninitialized.
COLD_LEVEL    := $(if $(filter -O2,$(OPT)),-O1 $(if $(findstring clang,$(CXX)),,-Wno-maybe-uninitialized))
COLD_ANALYSIS := $(shell sed -n 's/^\([a-z]\+\) cold$$/\1/p' analysis/rooms.list 2>/dev/null)
$(addprefix $(OBJ)/,test/sim/%.o shim/base/log.o $(COLD_ANALYSIS:%=analysis/%/%.o)): LEVEL := $(COLD_LEVEL)

# What an attacker, or a mistake of ours, runs into (x86 has the last one); sanitizers have their own.
HARDENED := $(if $(or $(SAN),$(filter -O0,$(OPT))),,-fstack-protector-strong -U_FORTIFY_SOURCE \
              -D_FORTIFY_SOURCE=2 $(if $(filter x86_64%,$(shell $(CXX) -dumpmachine)),-fcf-protection))

# Holds the text given; its time changes only when the text does, so what depends on it is rebuilt when
# flags or lists of files change.
define stamp
$(1): FORCE
	@mkdir -p $$(@D)
	@echo '$(2)' | cmp -s - $$@ || echo '$(2)' > $$@
endef
$(eval $(call stamp,$(BUILD)/compile.flags,$(subst $(CURDIR),,$(COMPILE) $(HARDENED))))
$(eval $(call stamp,$(BUILD)/link.flags,$(LINK) $(LIBC_FLOOR)))

$(OBJ)/%.o: %.cpp $(BUILD)/compile.flags
	@mkdir -p $(@D)
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) $(PRECOMPILED) $(LEVEL) $(FILE_FLAGS) -fvisibility=$(VISIBILITY) -MMD -MP -c $< -o $@

# [n/N]: of the objects that were missing, or were made with other flags, when make began, so many are
# compiled or being compiled. `make` expands recipes one after the other, so the count needs no lock. What is
# compiled because a file of its changed has no number.
PART_OF_ALL   = $(filter tests product demo-product,$(MAKECMDGOALS))
IN_GOAL       = $(if $(PART_OF_ALL),$(addprefix $(OBJ)/,shim/% analysis/% test/sim/% \
                $(if $(filter tests,$(PART_OF_ALL)),test/unit/%)),%)
NOT_IN_GOAL   = $(if $(filter demo-product,$(MAKECMDGOALS)),$(NOT_IN_DEMO))
GOAL_OBJECTS  = $(filter $(IN_GOAL),$(filter-out $(NOT_IN_GOAL),$(OBJECTS)))
UP_TO_DATE    = $(shell find $(OBJ) -name '*.o' -newer $(BUILD)/compile.flags 2>/dev/null)
MISSING       = $(eval MISSING := $(filter-out $(UP_TO_DATE),$(GOAL_OBJECTS)))$(MISSING)
counted       = $(if $(filter $@,$(MISSING)),$(eval BEGUN += x) [$(words $(BEGUN))/$(words $(MISSING))])

# A damaged file may say any number: sums of them wrap around, and what is wrong stays a figure.
ANALYZER_FLAGS := -fwrapv $(HARDENED)

# QUICK=yes reads the common headers once for each room (half of a compilation is headers) and compiles a
# library of the box, and a dozen files of a cold room of the shim or of a folder of the analyzer or of unit
# tests, as one unit: the templates that they share are compiled once. No two files of a folder have one
# name for different things, therefore; a rule, a section, a check, a command or a file of tests has a
# namespace of its own.
# Neither shows an include that is missing: `make includes` does, and QUICK=no, which compiles file by file.
# cuda.h is not precompiled: its includer says first which names it wants of it. g++ takes the shim's headers
# for the analyzer, too; clang wants those of its very flags.
QUICK          ?= yes
COMMON_HEADERS := algorithm array atomic cmath cstdint cstdio cstdlib cstring filesystem functional map \
                  memory optional set span string string_view thread unordered_map vector sqlite3.h
# precompiled(name, visibility, more headers, flags)
define precompiled
$(OBJ)/common-$(1).h.gch: $(BUILD)/compile.flags
	@mkdir -p $$(@D)
	@printf '#include <%s>\n' $(COMMON_HEADERS) $(3) > $$(@:.gch=)
	@$(COMPILE) $(4) -fvisibility=$(2) -x c++-header $$(@:.gch=) -o $$@
endef
# room(name of the precompiled headers, objects): what these are compiled with, where that is wanted
define room
$(if $(filter yes,$(QUICK)),$(2): PRECOMPILED = -include $(OBJ)/common-$(1).h $(FROM_PRECOMPILED))
$(if $(filter yes,$(QUICK)),$(2): | $(OBJ)/common-$(1).h.gch)
endef
# What g++ 12 says of bounds inside a precompiled std::string is not so (its own headers are no longer told
# from ours); file by file it says nothing of the kind.
FROM_PRECOMPILED := $(if $(findstring clang,$(CXX)),,-Winvalid-pch \
                    $(addprefix -Wno-,array-bounds restrict stringop-overflow stringop-overread))
FOR_ANALYZER     := $(if $(findstring clang,$(CXX)),analysis,shim)
$(if $(findstring clang,$(CXX)),$(eval $(call precompiled,analysis,hidden,,$(ANALYZER_FLAGS))))
$(eval $(call precompiled,shim,hidden,,$(SHIM_FLAGS) $(HARDENED)))
$(eval $(call precompiled,unit,hidden,catch2/catch.hpp,-O0))

# The engine is what the box's other libraries stand on: its names are visible to them.
$(OBJ)/test/sim/engine/%.o: CXXFLAGS += -fvisibility=default

# --- units: several files compiled as one --------------------------------------------------------------
# Of a folder's files, in order, so many are one unit where that is quick, but for those that have flags of
# their own, or that something else is made of, too.
IN_NO_UNIT        = %/catch_main.cpp $(IMAGE_MAKER) $(FLOOR_ALONE) $(SHIM_ALONE)
DOZENS           := $(shell for i in $$(seq 1 12 240); do echo $$i-$$((i + 11)); done)
part_of           = $(wordlist $(firstword $(subst -, ,$(2))),$(lastword $(subst -, ,$(2))),\
                      $(filter-out $(IN_NO_UNIT),$(call sources,$(1))))
# unit(folder, from-until, list that it is one of)
define unit
$(3) += $(OBJ)/$(1)/files-$(2).o
$(call stamp,$(OBJ)/$(1)/files-$(2).list,$(call part_of,$(1),$(2)))
$(OBJ)/$(1)/files-$(2).cpp: $(OBJ)/$(1)/files-$(2).list
	@printf '#include "%s"\n' $(call part_of,$(1),$(2)) >$$@
endef
units_of = $(foreach dozen,$(DOZENS),$(if $(call part_of,$(1),$(dozen)),\
               $(eval $(call unit,$(1),$(dozen),$(2)))))
# g++ takes what is in a file that is included for a header's.
IN_A_UNIT        := $(if $(findstring clang,$(CXX)),,-Wno-subobject-linkage)
define compile_unit
@echo "  CXX    $(@:$(OBJ)/%.o=%) (as one)$(counted)"
@$(COMPILE) $(PRECOMPILED) $(LEVEL) $(FILE_FLAGS) $(IN_A_UNIT) -fvisibility=hidden -MMD -MP -c $< -o $@
endef
$(OBJ)/shim/%.o: $(OBJ)/shim/%.cpp $(BUILD)/compile.flags
	$(compile_unit)
$(OBJ)/analysis/%.o: $(OBJ)/analysis/%.cpp $(BUILD)/compile.flags
	$(compile_unit)
$(OBJ)/test/unit/%.o: $(OBJ)/test/unit/%.cpp $(BUILD)/compile.flags
	$(compile_unit)

# --- the C library's floor: what people run needs no newer one ---------------------------------------------
# Linked with what this machine's had in that version, whatever the compiler; `LIBC_FLOOR=` does without. A
# sanitizer's runtime has functions of its own in the place of the floor's.
FLOOR_ALONE   := $(call files,shim/base/*_floor.cpp shim/base/libc_start.cpp)
FLOOR         := $(if $(and $(LIBC_FLOOR),$(FLOOR_ALONE),$(if $(SAN),,yes)),$(BUILD)/floor/libc.so)
ON_FLOOR      := $(if $(FLOOR),-L$(BUILD)/floor)
# With the system's libstdc++, which may be older than the compiler's.
ON_OLD_CXX    := $(if $(FLOOR),$(call objects,shim/base/cxx_floor.cpp) $(ON_FLOOR))
# Programs that test and measure the product run where it does (test/systems): they bring their libstdc++
# along. That of this system, which the box needs, may need a newer C library.
ON_ANY_SYSTEM := $(if $(FLOOR),$(ON_FLOOR) -static-libstdc++ \
                   -Wl$(comma)--exclude-libs$(comma)ALL$(comma)--allow-shlib-undefined)
FLOOR_OBJECTS := $(call objects,$(FLOOR_ALONE))
OBJECTS       += $(if $(FLOOR),$(FLOOR_OBJECTS))
$(BUILD)/floor/libc.so: scripts/libc-floor scripts/libc-floor.awk $(FLOOR_OBJECTS) $(BUILD)/link.flags
	@echo "  FLOOR  $(@D)"
	@CXX='$(strip $(CXX) $(IN_ROOT))' scripts/libc-floor $(LIBC_FLOOR) $(@D) \
	    $(filter %/libc_floor.o %/libc_start.o,$^)

# --- the simulated box: one shared library from each folder of test/sim ---------------------------------
# Its code is compiled with everything visible, and a list of names says what each library exports: the
# folder's own exports.map, or one made here from patterns. Not -Bsymbolic: the box calls itself through its
# exported names, as the driver does, and a preload may stand in between.
SIM := $(BUILD)/sim
$(OBJ)/test/sim/%.o: VISIBILITY := default

CXX_KINDS    := gpusim::* $(addsuffix ?for?gpusim::*,vtable typeinfo typeinfo?name guard?variable)
ENGINE_NAMES := gpusim_*; gpushim_test_*; extern "C++" { $(CXX_KINDS:%=%;) };
DRIVER_NAMES := $(shell sed -n 's/^EXPORT.//p' test/sim/exports.def 2>/dev/null | sed 's/,.*/;/')

# What a library of the box is compiled from: all its files as one unit where that is quick, and where their
# names allow it, else each by itself. Clang wants NVML's to say that they are exported before they are there.
ONE_UNIT_EACH = engine driver nccl cupti $(if $(findstring clang,$(CXX)),,nvml)
AS_ONE_UNIT = $(if $(filter yes,$(QUICK)),$(filter $(ONE_UNIT_EACH),$(1)))
sim_objects = $(if $(call AS_ONE_UNIT,$(1)),$(OBJ)/test/sim/$(1)/all.o,$(call sim_files,$(1)))
sim_files   = $(call objects,$(call sources,test/sim/$(1)))
.PRECIOUS: $(OBJ)/test/sim/%/all.cpp
$(OBJ)/test/sim/%/all.cpp: $(OBJ)/test/sim/%.list
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(call sources,test/sim/$*) >$@
$(OBJ)/test/sim/%/all.o: $(OBJ)/test/sim/%/all.cpp $(BUILD)/compile.flags
	@echo "  CXX    test/sim/$* (its files as one)$(counted)"
	@$(COMPILE) $(PRECOMPILED) -fvisibility=$(VISIBILITY) -MMD -MP -c $< -o $@

# sim_library(folder, file, plain name, libraries of the box it links, what it exports)
define sim_library
ifneq ($(call sources,test/sim/$(1)),)
SIM_LIBRARIES += $(SIM)/$(2)
OBJECTS       += $(call sim_objects,$(1))
all: $(SIM)/$(2)
$(call stamp,$(OBJ)/test/sim/$(1).list,$(call sources,test/sim/$(1)))
$(call stamp,$(OBJ)/test/sim/$(1).map,{ global: $(5) local: *; };)
$(SIM)/$(2): $(call sim_objects,$(1)) $(FLOOR) $(OBJ)/test/sim/$(1).list $(BUILD)/link.flags \
             $(filter $(addprefix $(SIM)/,$(4)),$(SIM_LIBRARIES)) $(call map,$(1))
	@mkdir -p $$(@D)
	@echo "  LINK   $$@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,$(2) -Wl,-rpath,'$$$$ORIGIN' -o $$@ \
	    -Wl,--version-script=$(call map,$(1)) $(call sim_objects,$(1)) \
	    $(ON_OLD_CXX) -L$(SIM) $(addprefix -l:,$(filter $(4),$(notdir $(SIM_LIBRARIES)))) -ldl
	@$(if $(3),ln -sf $(2) $(SIM)/$(3))
endif
endef
map = $(or $(wildcard test/sim/$(1)/exports.map),$(OBJ)/test/sim/$(1).map)
$(eval $(call sim_library,engine,libgpusim.so,,,$(ENGINE_NAMES)))
$(eval $(call sim_library,driver,libcuda.so.1,libcuda.so,libgpusim.so,$(DRIVER_NAMES)))
$(eval $(call sim_library,nccl,libnccl.so.2,libnccl.so,libgpusim.so,nccl*; pnccl*;))
$(eval $(call sim_library,cublaslt,libcublasLt.so.12,libcublasLt.so,libgpusim.so,))
$(eval $(call sim_library,cublas,libcublas.so.12,libcublas.so,libcublasLt.so.12,))
$(eval $(call sim_library,cupti,libcupti.so.13,libcupti.so,libgpusim.so,cupti*;))
$(eval $(call sim_library,nvml,libnvidia-ml.so.1,libnvidia-ml.so,libgpusim.so,nvml*;))
$(eval $(call sim_library,cudart,libcudart.so.13,libcudart.so,,cuda*; __cuda*;))

# The driver behind a loader, as on WSL2: two/ comes before the others in the loader's path.
SIM_LOADER    := $(call sim_files,loader)
TWO           := $(if $(SIM_LOADER),$(addprefix $(SIM)/two/,libcuda.so.1 libcuda_behind.so.1))
OBJECTS       += $(SIM_LOADER)
all tests: $(TWO)
$(SIM)/two/libcuda.so.1: $(SIM_LOADER)
$(SIM)/two/libcuda_behind.so.1: $(call sim_objects,driver)
$(SIM)/two/libcuda.so.1 $(SIM)/two/libcuda_behind.so.1: $(SIM)/libgpusim.so $(OBJ)/test/sim/driver.map \
                                                        $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ \
	    -Wl,--version-script=$(OBJ)/test/sim/driver.map $(filter %.o,$^) $(ON_OLD_CXX) \
	    -L$(SIM) -l:libgpusim.so -ldl

# --- the shim ----------------------------------------------------------------------------------------------
# Runs inside somebody else's process: it needs nothing but libc, exports what the hook tables say and nothing
# else, and what runs in the program's own threads (the hot rooms) has neither exceptions nor RTTI.
SHIM         := $(BUILD)/libgpushim.so
SHIM_ROOMS   := $(shell sed -n 's/^\([a-z]\+\).*/\1/p' shim/rooms.list 2>/dev/null)
HOT_ROOMS    := $(shell sed -n 's/^\([a-z]\+\) hot$$/\1/p' shim/rooms.list 2>/dev/null)
SHIM_SOURCES := $(filter-out $(FLOOR_ALONE),$(call sources,shim \
                $(addprefix shim/,$(filter-out schema all,$(SHIM_ROOMS)))))
SHIM_HOT     := $(filter $(HOT_ROOMS:%=shim/%/%) shim/lifecycle.cpp,$(SHIM_SOURCES))
# Linked into something without the others, or with flags of their own.
SHIM_ALONE   := $(addprefix shim/,$(addsuffix .cpp,base/log base/no_libm sqlite/schema \
                writer/drain writer/dead_ring))
COLD_ROOMS   := $(filter-out schema all $(HOT_ROOMS),$(SHIM_ROOMS))
$(foreach room,$(COLD_ROOMS),$(call units_of,shim/$(room),SHIM_UNITS))
SHIM_OBJECTS := $(if $(filter yes,$(QUICK)),$(SHIM_UNITS) \
                $(call objects,$(SHIM_HOT) $(filter $(SHIM_ALONE),$(SHIM_SOURCES))), \
                $(call objects,$(SHIM_SOURCES)))
OBJECTS      += $(SHIM_OBJECTS)
SHIM_FLAGS   := -fasynchronous-unwind-tables -fno-semantic-interposition \
                $(if $(findstring clang,$(CXX)),,-fno-gnu-unique)
HOT_FLAGS    := -fno-exceptions -fno-rtti -fno-threadsafe-statics
# Calls nothing: a sanitizer's start-up comes through here before its own hooks work.
BARE_FLAGS   := -fno-sanitize=all -fno-lto -fno-stack-protector -fno-builtin \
                $(if $(findstring clang,$(CXX)),,-fno-tree-loop-distribute-patterns)
# WITHOUT=name compiles a protection of shim/base/protections.def away; test/faults/mutants says which files.
WITHOUT      ?=
SHIM_FLAGS   += $(if $(WITHOUT),-DGPUSHIM_WITHOUT=$(WITHOUT))
$(OBJ)/shim/%.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED)
$(call objects,$(SHIM_HOT)): FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) $(HOT_FLAGS)
$(call objects,shim/hooks/dlsym.cpp $(addprefix shim/calls/,elf.cpp next.cpp)): FILE_FLAGS := \
    $(SHIM_FLAGS) $(HARDENED) $(HOT_FLAGS) $(BARE_FLAGS)
# Every call goes through these: a guard of the stack, on which they have nothing but numbers, is 5 % of it.
$(call objects,$(filter shim/calls/% shim/hooks/%,$(SHIM_SOURCES))): FILE_FLAGS += \
    $(if $(HARDENED),-fno-stack-protector)
$(OBJ)/shim/base/log.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) -DFMT_HEADER_ONLY
# What a trace begins with: its SQL, and then as the SQLite that is linked makes it.
TRACE_SCHEMA := $(addprefix $(OBJ)/shim/schema/,tables.sql views.sql totals.sql)
$(firstword $(TRACE_SCHEMA)): shim/schema/tables.awk shim/schema/tables.def
	@mkdir -p $(@D)
	@awk -f $^ > $@.new && mv -f $@.new $@
$(wordlist 2,3,$(TRACE_SCHEMA)): $(OBJ)/%.sql: shim/schema/views.awk shim/schema/flags.h %.sql
	@mkdir -p $(@D)
	@awk -f $^ > $@.new && mv -f $@.new $@
$(OBJ)/shim/sqlite/schema.o: $(TRACE_SCHEMA)
$(OBJ)/shim/sqlite/schema.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) -Wa,-I$(OBJ)/shim/schema
SCHEMA_IMAGE := $(OBJ)/shim/schema/image
ifneq ($(SHIM_SOURCES),)
OBJECTS      += $(OBJ)/shim/schema/make_image.o
SHIM_OBJECTS += $(SCHEMA_IMAGE).o
endif
$(SCHEMA_IMAGE).cpp: $(OBJ)/shim/schema/make_image.o $(OBJ)/shim/sqlite/schema.o $(BUILD)/link.flags
	@$(LINK) -o $(SCHEMA_IMAGE).make $(filter %.o,$^) -l:libsqlite3.a -lm -ldl
	@$(RUN) $(SCHEMA_IMAGE).make > $@.new && mv -f $@.new $@
$(SCHEMA_IMAGE).o: $(SCHEMA_IMAGE).cpp shim/sqlite/schema_image.h $(BUILD)/compile.flags
	@$(COMPILE) $(FILE_FLAGS) -fvisibility=hidden -c $< -o $@

SHIM_LINK    := -Wl,-z,now,-z,relro $(if $(filter nodelete,$(WITHOUT)),,-Wl$(comma)-z$(comma)nodelete)

# The names of the hook tables, one per line: what the library exports, and what the checks compare it with.
HOOKED := $(OBJ)/shim/hooked.names
$(HOOKED): $(addprefix shim/calls/,$(addsuffix .def,all cuda nccl cublas))
	@mkdir -p $(@D)
	@printf '#define HOOK(export, ...) export;\n#include "%s"\n' $< | $(CXX) -E -P -I. -x c++ - | \
	    tr ';' '\n' | sed 's/ //g;/^$$/d' > $@
$(OBJ)/shim/exports.map: $(HOOKED)
	@{ echo '{ global: dlsym; dlvsym; gpushim_*; InitializeInjectionNvtx2;'; sed 's/$$/;/' $<; \
	   echo 'local: *; };'; } > $@

$(eval $(call stamp,$(OBJ)/shim.list,$(SHIM_SOURCES)))
all: $(SHIM)
$(SHIM): $(SHIM_OBJECTS) $(FLOOR) $(OBJ)/shim/exports.map $(OBJ)/shim.list $(BUILD)/link.flags
	@echo "  LINK   $@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,libgpushim.so $(SHIM_LINK) \
	    -Wl,--version-script=$(OBJ)/shim/exports.map -Wl,--exclude-libs,ALL $(ON_FLOOR) \
	    -static-libstdc++ -static-libgcc -o $@.new $(SHIM_OBJECTS) -l:libsqlite3.a
	@mv -f $@.new $@ # programs that run with the old one keep it

# --- the analyzer: one program, `gpushim` ------------------------------------------------------------------
ANALYZER         := $(BUILD)/gpushim
IMAGE_MAKER      := analysis/run/sql/make_images.cpp
ANALYZER_SOURCES := $(filter-out $(IMAGE_MAKER),$(call sources,analysis analysis/* analysis/*/*))
$(OBJ)/analysis/%.o: FILE_FLAGS := $(ANALYZER_FLAGS)
# The run's SQL, folder by folder and file by file, as one array of texts; then what the metrics come to.
RUN_SQL          := $(foreach folder,tables temporary ranks views fill derive summary, \
                      $(call files,analysis/run/sql/$(folder)/*.sql))
RUN_SQL_SOURCE   := $(OBJ)/analysis/run_sql.cpp
METRICS          := $(call files,analysis/metric/*.sql)
METRIC_ROWS      := analysis/metric/to_sql.awk $(call files,analysis/run/sql/metric/*.sql)
$(eval $(call stamp,$(OBJ)/run_sql.list,$(RUN_SQL) $(METRICS)))
$(RUN_SQL_SOURCE): $(RUN_SQL) $(METRICS) $(METRIC_ROWS) analysis/run/sql/run_db.h $(OBJ)/run_sql.list
	@mkdir -p $(@D)
	@{ echo '#include "analysis/run/sql/run_db.h"'; echo 'namespace gpushim::analysis {'; \
	   echo 'const SqlFile kRunSql[] = {'; \
	   for file in $(RUN_SQL); do printf '{"%s", R"sql(' "$${file#analysis/run/sql/}"; cat "$$file"; \
	   printf ')sql"},\n'; done; \
	   awk -f $(firstword $(METRIC_ROWS)) $(METRICS) || exit 1; \
	   echo '}; const size_t kRunSqlFiles = sizeof kRunSql / sizeof *kRunSql; }'; } > $@
$(OBJ)/analysis/run_sql.o: $(RUN_SQL_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What a trace is made of: the shim's own schema, and what only importers have.
TRACE_SCHEMA_SOURCE := $(OBJ)/analysis/trace_schema.cpp
IMPORTED_TABLES     := analysis/importer/imported_tables.sql
$(TRACE_SCHEMA_SOURCE): $(TRACE_SCHEMA) $(IMPORTED_TABLES)
	@mkdir -p $(@D)
	@{ echo 'namespace gpushim::analysis { extern const char kTraceSchema[], kImportedSchema[];'; \
	   echo 'const char kTraceSchema[] ='; \
	   for file in $(TRACE_SCHEMA); do printf 'R"sql('; cat "$$file"; printf ')sql"\n'; done; \
	   printf '; const char kImportedSchema[] = R"sql('; cat $(IMPORTED_TABLES); echo ')sql"; }'; } > $@
$(OBJ)/analysis/trace_schema.o: $(TRACE_SCHEMA_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What imported traces and runs begin with: these and the run's tables and views, as the SQLite that is linked
# makes them.
IMAGES           := $(OBJ)/analysis/images
ifneq ($(ANALYZER_SOURCES),)
OBJECTS          += $(OBJ)/$(IMAGE_MAKER:.cpp=.o)
endif
$(IMAGES).cpp: $(OBJ)/$(IMAGE_MAKER:.cpp=.o) $(OBJ)/analysis/run_sql.o $(OBJ)/analysis/trace_schema.o \
               $(BUILD)/link.flags
	@$(LINK) -o $(IMAGES).make $(filter %.o,$^) -l:libsqlite3.a -lm -ldl
	@$(RUN) $(IMAGES).make > $@.new && mv -f $@.new $@
$(IMAGES).o: $(IMAGES).cpp analysis/sqlite/database_image.h $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What stands in every page: a style sheet and a script.
PAGE_TEXTS       := $(addprefix analysis/chart/page.,css js)
PAGE_TEXT_SOURCE := $(OBJ)/analysis/page_texts.cpp
$(PAGE_TEXT_SOURCE): $(PAGE_TEXTS)
	@mkdir -p $(@D)
	@{ echo 'namespace gpushim::analysis { extern const char kPageStyle[], kPageScript[];'; \
	   echo 'const char kPageStyle[] = R"text('; cat $(filter %.css,$^); echo ')text";'; \
	   echo 'const char kPageScript[] = R"text('; cat $(filter %.js,$^); echo ')text"; }'; } > $@
$(OBJ)/analysis/page_texts.o: $(PAGE_TEXT_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What `gpushim help` says of a finding: its row in the rules' table.
RULE_WORDS       := $(OBJ)/analysis/rule_words.cpp
$(RULE_WORDS): analysis/rule/README.md
	@mkdir -p $(@D)
	@{ echo '#include "analysis/advice/rule.h"'; echo 'namespace gpushim::analysis {'; \
	   echo 'const RuleWords kRuleWords[] = {'; \
	   sed -n 's/^| `\([a-z_]*\)` | \(.*\) | \(.*\) | \(.*\) |$$/{"\1", R"(\2)", R"(\3)", R"(\4)"},/p' $<; \
	   echo '}; const size_t kRulesInWords = sizeof kRuleWords / sizeof *kRuleWords; }'; } > $@
$(OBJ)/analysis/rule_words.o: $(RULE_WORDS) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
ANALYZER_TEXTS   := run_sql.o trace_schema.o images.o page_texts.o rule_words.o
$(foreach folder,$(sort $(dir $(filter-out analysis/main.cpp,$(ANALYZER_SOURCES)))),\
    $(call units_of,$(folder:/=),ANALYZER_UNITS))
OF_NO_UNIT       := $(filter $(if $(filter yes,$(QUICK)),analysis/main.cpp,%),$(ANALYZER_SOURCES))
ANALYZER_OBJECTS := $(call objects,$(OF_NO_UNIT)) $(if $(filter yes,$(QUICK)),$(ANALYZER_UNITS)) \
                    $(if $(ANALYZER_SOURCES),$(addprefix $(OBJ)/analysis/,$(ANALYZER_TEXTS)))
OBJECTS          += $(ANALYZER_OBJECTS)
$(eval $(call stamp,$(OBJ)/analysis.list,$(ANALYZER_SOURCES)))
$(if $(ANALYZER_SOURCES),$(eval all: $(ANALYZER)))
$(ANALYZER): $(ANALYZER_OBJECTS) $(FLOOR) $(OBJ)/analysis.list $(BUILD)/link.flags
	@echo "  LINK   $@"
	@$(LINK) -pie -Wl,-z,now,-z,relro $(ON_FLOOR) -static-libstdc++ -static-libgcc -o $@ \
	    $(ANALYZER_OBJECTS) -l:libsqlite3.a -l:libz.a -lm -ldl

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

# Which room reads its common headers from where: each costs 90 MB, so only where many files do. Hot files
# have other flags and hardly any header; Catch2 is told by its main file, first, what its header is to hold.
UNIT_ROOM := $(filter $(OBJ)/test/unit/%,$(OBJECTS))
$(eval $(call room,$(FOR_ANALYZER),$(filter $(OBJ)/analysis/%,$(OBJECTS))))
$(eval $(call room,shim,$(filter-out $(call objects,$(SHIM_HOT) shim/base/log.cpp), \
    $(SHIM_OBJECTS) $(OBJ)/shim/schema/make_image.o)))
$(eval $(call room,unit,$(filter-out %/main.o %/catch_main.o,$(UNIT_ROOM))))
-include $(OBJECTS:.o=.d)

# --- what people type ------------------------------------------------------------------------------------
.PHONY: help deps test test-more check clean bench accuracy soak faults mutants fuzz gpu-programs gpu-check
.PHONY: gpu-bundle real-driver real-traces realistic
deps:
	@scripts/deps

build/deps.mk: scripts/deps
	@scripts/deps

test:
	@scripts/deps browser # without one its tests are skipped
	@$(MAKE) --no-print-directory $(if $(SAN),tests,all)
	@GPUSHIM_BUILD=$(BUILD) test/run "$(ONLY)"

# What takes longer than .ci/run may: some hours.
test-more:
	@test/more

# Each file of the product and of the box by itself, so that no include goes missing. Nothing is made of them.
.PHONY: includes
includes:
	@COMPILE='$(COMPILE)' test/includes

check:
	@scripts/deps check
	@$(MAKE) --no-print-directory all
	@GPUSHIM_BUILD=$(BUILD) test/check/run

bench:
	@scripts/deps bench || scripts/deps # rows whose packages are missing say that they were not tried
	@$(MAKE) --no-print-directory product $(BENCH_FILES)
	@GPUSHIM_BUILD=$(BUILD) test/bench/run "$(ONLY)"

accuracy:
	@scripts/deps
	@$(MAKE) --no-print-directory product $(ACCURACY)
	@GPUSHIM_BUILD=$(BUILD) test/accuracy/run "$(ONLY)"
	@$(if $(ONLY),,GPUSHIM_BUILD=$(BUILD) test/accuracy/pairs.py)

# What is said of jobs as people have them, drawn from seeds: SEEDS of them, from FIRST_SEED on.
realistic:
	@scripts/deps
	@$(MAKE) --no-print-directory product
	@GPUSHIM_BUILD=$(BUILD) SEEDS=$(SEEDS) FIRST_SEED=$(FIRST_SEED) test/realistic/run

faults:
	@scripts/deps
	@$(MAKE) --no-print-directory all
	@GPUSHIM_BUILD=$(BUILD) FULL=$(FULL) test/faults/run $(ONLY)

mutants:
	@scripts/deps
	@$(MAKE) --no-print-directory all
	@GPUSHIM_BUILD=$(BUILD) test/faults/mutants $(ONLY)

soak:
	@scripts/deps
	@$(MAKE) --no-print-directory product
	@GPUSHIM_BUILD=$(BUILD) test/soak/run

fuzz:
	@scripts/deps fuzz
	@$(MAKE) --no-print-directory product $(BUILD)/damage
	@$(MAKE) --no-print-directory CXX=clang++-14 SAN=fuzzer-no-link,address,undefined \
	    OPT='-O1 -gline-tables-only' $(FUZZED)
	@FUZZ_PROGRAM=$(FUZZED) test/fuzz/run "$(ONLY)"

# NVIDIA's own drivers and libraries, which it fetches, without a GPU.
real-driver:
	@scripts/deps
	@$(MAKE) --no-print-directory $(SHIM) $(SIM_LIBRARIES)
	@GPUSHIM_BUILD=$(BUILD) FULL=$(FULL) test/real/run "$(ONLY)"

# What other tools recorded of other people's programs, where somebody has such traces.
real-traces:
	@scripts/deps
	@$(MAKE) --no-print-directory product
	@GPUSHIM_BUILD=$(BUILD) GPUSHIM_PEERS=$(BUILD)/peers test/real_traces/run "$(ONLY)"

gpu-check:
	@$(MAKE) --no-print-directory product gpu-programs $(BUILD)/examples/linked
	@GPUSHIM_BUILD=$(BUILD) scripts/gpu-check $(GPU_CHECK) "$(ONLY)"

# What it needs of build/, small enough to be carried to a machine with a GPU: without what debuggers read.
GPU_BUNDLE := $(BUILD)/gpu-bundle
gpu-bundle:
	@$(MAKE) --no-print-directory product gpu-programs $(BUILD)/examples/linked
	@rm -rf $(GPU_BUNDLE) && mkdir -p $(addprefix $(GPU_BUNDLE)/,sim gpu examples)
	@cd $(BUILD) && for file in gpushim libgpushim.so sim/*.so* gpu/* examples/linked; do \
	    cp -P "$$file" "gpu-bundle/$$file" && { [ -L "$$file" ] || strip "gpu-bundle/$$file"; } || exit 1; \
	done
	@git describe --always --dirty >$(GPU_BUNDLE)/version 2>/dev/null || echo unknown >$(GPU_BUNDLE)/version
	@du -shL $(GPU_BUNDLE)

clean:
	rm -rf build

# What people run, without the tests.
.PHONY: product demo-product demo demo-serve install uninstall
product: $(SIM_LIBRARIES) $(TWO) $(SHIM) $(ANALYZER)

# The demo's program asks the driver itself, and nothing of it asks CUPTI.
NOT_IN_DEMO := $(OBJ)/test/sim/cudart/% $(OBJ)/test/sim/cupti/%
demo-product: $(filter-out %/libcudart.so.13 %/libcupti.so.13,$(SIM_LIBRARIES)) $(SHIM) $(ANALYZER)
demo:
	@scripts/deps demo
	@$(MAKE) --no-print-directory demo-product
	@GPUSHIM_BUILD=$(BUILD) scripts/demo
demo-serve:
	@scripts/deps demo
	@$(MAKE) --no-print-directory demo-product
	@GPUSHIM_BUILD=$(BUILD) scripts/demo --serve

# Spark, which it fetches into build/fleet; where that cannot be had, a line says why and nothing is done.
.PHONY: fleet-demo fleet-test
fleet-demo fleet-test:
	@scripts/deps
	@scripts/deps fleet || echo "fleet: going on with what is there" >&2
	@$(MAKE) --no-print-directory product
	@GPUSHIM_BUILD=$(BUILD) $(if $(filter fleet-demo,$@),scripts/fleet/demo,test/fleet/run $(ONLY))

# Each launcher's recipe, with the launchers of Debian.
.PHONY: recipes
recipes:
	@scripts/deps launchers || scripts/deps # those that are missing are skipped
	@$(MAKE) --no-print-directory product
	@GPUSHIM_BUILD=$(BUILD) test/run test_recipes

# Other preloads, and what stands between a caller and a program. `make neighbours GOLDEN=write` rewrites the
# table in the manual.
.PHONY: neighbours
neighbours:
	@scripts/deps neighbours || scripts/deps # those that are missing are skipped
	@$(MAKE) --no-print-directory product
	@GOLDEN=$(GOLDEN) GPUSHIM_BUILD=$(BUILD) test/run test_neighbours

.PHONY: golden
golden: product $(BUILD)/test/unit
	@GOLDEN=write GPUSHIM_BUILD=$(BUILD) test/run test_golden "to the letter"
	@GOLDEN=write GPUSHIM_BUILD=$(BUILD) test/run test_the_readme_has_every_question

# The reference in analysis/manual.md is what the program prints.
.PHONY: manual
manual: $(ANALYZER)
	@scripts/manual $(BUILD)/gpushim >$(BUILD)/manual.md && cat $(BUILD)/manual.md >analysis/manual.md

# What `gpushim top` and a page look like, of jobs on the simulated box: for the manual. A page
# needs Chromium.
.PHONY: screenshot
screenshot: product
	@scripts/deps
	@scripts/screenshot-top $(BUILD)/gpushim >$(BUILD)/top.svg && cat $(BUILD)/top.svg >examples/top.svg
	@scripts/screenshot-page $(BUILD) examples/page.png

PREFIX    ?= /usr/local
install: $(SHIM) $(ANALYZER)
install uninstall:
	@GPUSHIM_BUILD=$(BUILD) CROSS='$(CROSS)' RUN='$(RUN)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' \
	    scripts/install $@

.PHONY: deb tarball wheel
deb tarball wheel: $(SHIM) $(ANALYZER) $(SIM_LIBRARIES)
	@GPUSHIM_BUILD=$(BUILD) CROSS='$(CROSS)' RUN='$(RUN)' scripts/package $@

help:
	@echo "make | demo | demo-serve | test [ONLY=part of a name] | test-more | check | bench | accuracy | soak"
	@echo "     | deps | clean | gpu-check [ONLY=part of a row's name] | gpu-bundle | faults [ONLY=row] [FULL=1]"
	@echo "     | mutants [ONLY=name] | fuzz [ONLY=target] | real-driver [ONLY=row or driver] [FULL=1]"
	@echo "     | real-traces [ONLY=file] | realistic [SEEDS=n] [FIRST_SEED=n]"
	@echo "     | fleet-demo | fleet-test [ONLY=test] | recipes | neighbours | screenshot"
	@echo "     | golden | includes | manual | install PREFIX=… DESTDIR=… | uninstall | deb | tarball | wheel"
