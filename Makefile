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

# --- what is made of each folder: in this order, for one uses what another has named ---------------------
include test/sim/build.mk shim/build.mk analysis/build.mk test/build.mk

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
