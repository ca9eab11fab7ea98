# One file, every habit is a target. `make help` lists them.
#
# build/            what is built: mascon, libmascon.so, plugins/, lua/ (generated), gen/ (generated C)
# MODE=release      or debug (assertions), asan (sanitizers), each in its own build-MODE;  V=1 shows commands;  WERROR=1

SHELL := /bin/bash
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
MODE ?= release
B ?= $(if $(filter release,$(MODE)),build,build-$(MODE))
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
LUAJIT ?= luajit
PREFIX ?= /usr/local
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Wshadow -Wconversion
FLAGS.release := -O2 -g
FLAGS.debug := -O1 -g -DMC_DEBUG
FLAGS.asan := -O1 -g -DMC_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS ?= $(FLAGS.$(MODE))
CSTD := -std=c11 $(if $(WERROR),-Werror -Wvla) -D_GNU_SOURCE -fPIC -fvisibility=hidden -ffp-contract=off $(WARN)
DEFS := $(if $(filter asan,$(MODE)),,-Wl,-z,defs)
# lines, but no variables of kernels in a release: the same code, and a fifth of the compiler's time less
KFLAGS := $(if $(filter release,$(MODE)),-g1,-g) -O3 -fno-math-errno -fno-trapping-math $(if $(filter asan,$(MODE)),-fsanitize=address -DMC_DEBUG)
INC := -Iruntime -Ikernels -I$(B)/gen
LJ_CFLAGS = $(shell pkg-config --cflags luajit 2>/dev/null)
LJ_LIBS = $(shell pkg-config --libs luajit 2>/dev/null)

RUNTIME := $(filter-out runtime/host/%,$(wildcard runtime/*/*.c))
HOST := $(wildcard runtime/host/*.c)
KERNELS := $(wildcard kernels/cpu/*.c)
WORKFLOWS := $(patsubst kernels/workflows/%/rows.lua,%,$(wildcard kernels/workflows/*/rows.lua))
# the lint reads the build as it is
ifeq ($(MAKECMDGOALS),lint)
LEVELS ?= $(or $(file <$(B)/gen/.levels),v3)
else
LEVELS ?= v2 v3 v4
endif
export LEVELS
PLUGINS := $(foreach d,$(wildcard bindings/*),$(if $(wildcard $(d)/$(notdir $(d)).c),$(notdir $(d))))
GENK := mck_gen_table mck_gen_casts $(foreach i,1 2 3 4 5 6 7 8 9 10 11 12,mck_gen_ewise$(i)) $(foreach i,1 2 3 4 5 6,mck_gen_special$(i))
OBJ.runtime := $(RUNTIME:%.c=$(B)/obj/%.o) $(B)/obj/gen/mc_gen_ops.o $(B)/obj/gen/mc_gen_device.o
OBJ.kernels := $(foreach l,$(LEVELS),$(KERNELS:%.c=$(B)/obj/$(l)/%.o) $(GENK:%=$(B)/obj/$(l)/gen/%.o))
OBJ.host := $(HOST:%.c=$(B)/obj/%.o)
GEN := $(B)/gen/.stamp

.PHONY: all run test deps check debug lint bench bench-peers docs install dist clean help fuzz long cuda
.DEFAULT_GOAL := all

# One build at a time per folder (flock). Everything that is there gets built; a plug-in whose library is missing is left out with a word.
all: deps-check
	@mkdir -p $(B)
	@flock $(B)/.lock $(MAKE) --no-print-directory built
.PHONY: built
built: $(B)/mascon $(B)/libmascon.so plugins workflows bundle

help:
	@grep -E '^# make ' Makefile | sed 's/^# //'

# ---- packages ---------------------------------------------------------------------------------------------------------
# make deps      install the system packages (Debian; root or sudo)
DEBS := gcc make pkg-config luajit libluajit-5.1-dev libopenblas-pthread-dev libfftw3-dev zlib1g-dev libhdf5-dev libyaml-dev libedit-dev librsvg2-dev fonts-dejavu-core lua-busted lua-check ocl-icd-opencl-dev pocl-opencl-icd libblas3 liblapack3
NEED := gcc:gcc pkg-config:pkg-config luajit:luajit busted:lua-busted

deps:
	@miss=$$(for p in $(DEBS); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -z "$$miss" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
	  echo "mascon needs these packages (Debian names) and finds no apt-get to install them:" $$miss; \
	  echo "Install their counterparts, then run make again."; exit 1; fi; \
	sudo=; [ "$$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo=sudo || { \
	  echo "mascon needs these packages; as root run: apt-get install" $$miss; exit 1; }; }; \
	echo "installing:" $$miss; \
	($$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$miss) >$${TMPDIR:-/tmp}/mascon-deps.log 2>&1 \
	  || { tail -n 20 $${TMPDIR:-/tmp}/mascon-deps.log; exit 1; }

.PHONY: deps-check
deps-check:
	@command -v $(LUAJIT) >/dev/null && pkg-config --exists luajit 2>/dev/null || { \
	  echo "mascon: LuaJIT (luajit, libluajit-5.1-dev) or pkg-config is missing; run: make deps"; exit 1; }

# ---- generated sources ------------------------------------------------------------------------------------------------
# arguments of the kernels of a family: compiled code calls none of those
FAMILY_HEADERS := $(patsubst %,kernels/mck_%.h,attention below conv dct dot ewise fft filter interp levinson matmul partial random recurrence reduce segment select sequence small softmax sort patch standardise)
# what code compiled at run time includes: shipped as text
NATIVE_HEADERS := $(filter-out $(FAMILY_HEADERS),$(wildcard kernels/mck*.h kernels/native/*.h)) runtime/base/mc_def.h
# what programs of devices include: text in the library
DEVICE_TEXTS := $(wildcard kernels/device/*.[ch]) $(filter-out $(FAMILY_HEADERS),$(wildcard kernels/mck_*.h))
# what the FFI declares
CDEF_HEADERS := runtime/mc_lua.h runtime/mascon.h runtime/base/mc_types.h runtime/formats/mc_formats.h runtime/formats/mc_files.h
# LEVELS=v3 builds one ISA level, for the time in which kernels are written
$(B)/gen/.levels: FORCE
	$(Q)mkdir -p $(@D) && { [ "$$(cat $@ 2>/dev/null)" = "$(LEVELS)" ] || echo "$(LEVELS)" > $@; }
.PHONY: FORCE
$(GEN): $(wildcard runtime/ops/*.lua runtime/ops/*/*.lua) $(CDEF_HEADERS) $(NATIVE_HEADERS) $(DEVICE_TEXTS) $(B)/gen/.levels | deps-check
	$(Q)mkdir -p $(B)/gen $(B)/lua/mascon/gen
	$(Q)$(LUAJIT) runtime/ops/gen/gen.lua . $(B) '$(LEVELS)' '$(DEVICE_TEXTS)'
	$(Q){ echo '-- generated by make from runtime/mc_lua.h'; echo 'return [=['; \
	  $(CC) -E -P -DMC_CDEF $(INC) runtime/mc_lua.h | sed -e '/^typedef struct mc_tensor {/,/^} mc_tensor;/{/^ /s/\([a-z]\+\)\([];,[]\)/_\1\2/g}; s/double _payload\[\];/double _payload[?];/'; echo ']=]'; } > $(B)/lua/mascon/gen/cdef.lua
	$(Q){ echo '-- generated by make: a hash of the headers that compiled groups include'; \
	  echo "return '$$(cat $(NATIVE_HEADERS) | sha256sum | cut -c1-32)'"; } > $(B)/lua/mascon/gen/headers.lua
	$(Q)touch $@
# the generator rewrites a file only when its text changed, so objects hang on the files, not on the stamp
$(GENK:%=$(B)/gen/%.c) $(B)/gen/mc_gen_ops.c $(B)/gen/mc_gen_device.c: $(GEN) ;
$(B)/gen/mc_gen_enums.h $(B)/gen/mc_gen_kernels.h: $(GEN) ;

# ---- objects ----------------------------------------------------------------------------------------------------------
$(B)/obj/runtime/host/%.o: runtime/host/%.c | $(GEN)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(INC) $(LJ_CFLAGS) -MMD -MP -c $< -o $@
$(B)/obj/runtime/%.o: runtime/%.c | $(GEN)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(INC) -MMD -MP -c $< -o $@
$(B)/obj/gen/%.o: $(B)/gen/%.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(INC) -MMD -MP -c $(B)/gen/$*.c -o $@
define kernel_rules
$(B)/obj/$(1)/kernels/%.o: kernels/%.c | $(GEN)
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(CSTD) $(KFLAGS) -march=x86-64-$(1) -DMC_ISA=$(1) $(INC) -MMD -MP -c $$< -o $$@
$(B)/obj/$(1)/gen/%.o: $(B)/gen/%.c
	$(Q)mkdir -p $$(@D)
	$(Q)$(CC) $(CSTD) -Wno-conversion -Wno-cast-function-type -Wno-shadow $(KFLAGS) -march=x86-64-$(1) -DMC_ISA=$(1) $(INC) -MMD -MP -c $$< -o $$@
endef
$(foreach l,$(LEVELS),$(eval $(call kernel_rules,$(l))))

$(B)/libmascon.so: $(OBJ.runtime) $(OBJ.kernels) $(B)/gen/.levels runtime/ops/gen/kernels.lua
	$(Q)$(LUAJIT) runtime/ops/gen/kernels.lua $(filter %.o,$^)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libmascon.so $(DEFS) -Wl,-z,now -o $@ $(filter %.o,$^) -ldl -lpthread -lm
$(B)/mascon: $(OBJ.host)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LJ_LIBS) -Wl,-E -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib' -ldl -lm

# ---- bytecode of the Lua modules: a start parses nothing ----------------------------------------------------------------
.PHONY: bundle
bundle: $(B)/lua/mascon/gen/bundle
LUA_TEXTS := $(shell find lua -name '*.lua')
$(B)/lua/mascon/gen/bundle: $(B)/mascon $(GEN) $(LUA_TEXTS) runtime/host/bundle.lua | workflows
	$(Q){ find $(B)/lua -name '*.lua' -printf 'g %P %s %T@ %p\n'; find lua -name '*.lua' -printf 'l %P %s %T@ %p\n'; } | \
	  $(B)/mascon runtime/host/bundle.lua $@

# ---- plug-ins: one per neighbour, left out when its library is missing --------------------------------------------------
LIBS.fftw := -lfftw3 -lfftw3f
LIBS.openblas := -lopenblas
# the library is the one that MASCON_BLAS names when it is opened: calls stay open until then
LIBS.blas := -Wl,-z,lazy -ldl
MORE.blas := bindings/openblas/gemm.c bindings/openblas/lapack.c
LIBS.gomp := -fopenmp
LIBS.zlib := -lz
LIBS.libedit := -ledit
LIBS.cuda := -ldl
LIBS.opencl := -lOpenCL
LIBS.rsvg = $(shell pkg-config --libs librsvg-2.0 2>/dev/null || echo -lrsvg-2)
INC.rsvg = $(shell pkg-config --cflags librsvg-2.0 2>/dev/null)
LIBS.hdf5 = $(shell pkg-config --libs hdf5-serial 2>/dev/null || pkg-config --libs hdf5 2>/dev/null || echo -lhdf5)
INC.hdf5 = $(shell pkg-config --cflags hdf5-serial 2>/dev/null || pkg-config --cflags hdf5 2>/dev/null)
LIBS.yaml = $(shell pkg-config --libs yaml-0.1 2>/dev/null || echo -lyaml)
INC.yaml = $(shell pkg-config --cflags yaml-0.1 2>/dev/null)
INC.openblas = $(shell pkg-config --cflags openblas 2>/dev/null)
INC.blas = $(INC.openblas)
.PHONY: plugins
plugins: $(PLUGINS:%=$(B)/plugins/mc_%.so)
$(B)/plugins/mc_%.so: | $(GEN)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(INC) $(INC.$*) $(if $(filter gomp,$*),-fopenmp) -MMD -MP -MF $@.d -shared -o $@ $(wildcard bindings/$*/*.c) $(MORE.$*) $(LIBS.$*) 2>$@.log \
	  || { echo "mascon: plug-in $* is left out (see $@.log)"; rm -f $@; }
# ---- workflows: rows, driver and kernels of each, built into a plug-in of its own ------------------------------------------
# kernels/workflows/NAME/: rows.lua, drivers *.c, kernels cpu/*.c (once per level); kernels of the library that those call are linked in.
# device/: headers by name, then programs: one text for mc.kernel
DEVICE_WORKFLOWS := $(patsubst kernels/workflows/%/device,%,$(wildcard kernels/workflows/*/device))
WORKFLOW_KERNELS := $(wildcard kernels/workflows/*/cpu/*.c)
.PHONY: workflows
workflows: $(WORKFLOWS:%=$(B)/plugins/mc_wf_%.so) $(WORKFLOWS:%=$(B)/lua/workflows/%/rows.lua) $(DEVICE_WORKFLOWS:%=$(B)/lua/workflows/%/device_text.lua)
# a driver names the levels it dispatches to
$(B)/obj/kernels/workflows/%.o: kernels/workflows/%.c $(B)/gen/.levels | $(GEN)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CSTD) $(CFLAGS) $(INC) $(LEVELS:%=-DMC_HAS_%) -MMD -MP -c $< -o $@
$(B)/lua/workflows/%/rows.lua: kernels/workflows/%/rows.lua
	$(Q)mkdir -p $(@D) && cp $< $@
define device_rules
$(B)/lua/workflows/$(1)/device_text.lua: $(wildcard kernels/workflows/$(1)/device/*.h) $(wildcard kernels/workflows/$(1)/device/*.c)
	$$(Q)mkdir -p $$(@D)
	$$(Q){ echo '-- generated by make from kernels/workflows/$(1)/device'; echo 'return [==['; \
	  sed '/^#include/d' $(sort $(wildcard kernels/workflows/$(1)/device/*.h)) $(wildcard kernels/workflows/$(1)/device/*.c); echo ']==]'; } > $$@
endef
$(foreach w,$(DEVICE_WORKFLOWS),$(eval $(call device_rules,$(w))))
$(B)/obj/kernels.%.a:
	$(Q)rm -f $@ && ar qcs $@ $^
$(foreach l,$(LEVELS),$(eval $(B)/obj/kernels.$(l).a: $(KERNELS:%.c=$(B)/obj/$(l)/%.o)))
define workflow_rules
$(B)/plugins/mc_wf_$(1).so: $$(patsubst %.c,$(B)/obj/%.o,$$(wildcard kernels/workflows/$(1)/*.c)) \
  $$(foreach l,$(LEVELS),$$(patsubst %.c,$(B)/obj/$$(l)/%.o,$$(wildcard kernels/workflows/$(1)/cpu/*.c))) $(LEVELS:%=$(B)/obj/kernels.%.a)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS) -shared $(DEFS) -Wl,-z,now -o $$@ $$^ -lm
endef
$(foreach w,$(WORKFLOWS),$(eval $(call workflow_rules,$(w))))

# a plug-in is every .c of its folder, compiled together: the list of headers that gcc writes covers the last file only
$(foreach p,$(PLUGINS),$(eval $(B)/plugins/mc_$(p).so: $(wildcard bindings/$(p)/*.[ch]) $(MORE.$(p)) runtime/device/mc_backend.h kernels/mck.h))

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# ---- people -----------------------------------------------------------------------------------------------------------
# make run       install what is missing, build, run the main job (INPUT=file for your own recording); replaces pac-results
run: deps
	@$(MAKE) --no-print-directory all
	@$(B)/mascon scripts/pac.lua $(if $(INPUT),'$(INPUT)',--demo) --overwrite $(ARGS)

# make test      install what is missing, build, run every test; the last line counts them (ONLY='index fft': the specs so named, ONLY=changed: those of changed files)
ifdef ONLY
test: all
	@bad=0; only='$(ONLY)'; [ "$$only" != changed ] || only=$$(tests/changed.sh) || exit 1; \
	for word in $$only; do MASCON_CACHE=$(B)/cache $(B)/mascon tests/run.lua $$word || bad=1; done; exit $$bad
else
test: deps
	@$(MAKE) --no-print-directory tests-c
	@JOBS=$(JOBS) tests/run.sh $(B)
endif

# make test-device  every row of the op table on a device, beside the CPU (DEVICE=opencl:0, cuda:0; standin: the binding of CUDA without a card)
.PHONY: test-device
STANDIN := LD_LIBRARY_PATH=$(abspath $(B))/standin STANDIN_CACHE=$(abspath $(B))/standin/cache MASCON_TEST_DEVICE=cuda:0
# SANITIZE=1 with DEVICE=standin: under the address and undefined behaviour sanitizers, for at most SECONDS (600)
STANDIN_CHECKED := LD_PRELOAD="$(shell gcc -print-file-name=libasan.so) $(shell gcc -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0 STANDIN_SANITIZE=1 MASCON_CACHE=off timeout $(or $(SECONDS),600)
test-device: all
ifeq ($(DEVICE),standin)
	@$(B)/mascon tests/run.lua cuda_adapter >/dev/null; $(STANDIN) $(if $(SANITIZE),$(STANDIN_CHECKED)) $(B)/mascon tests/run.lua $(or $(ONLY),device_)
else
	@POCL_CACHE_DIR=$(abspath $(B))/pocl MASCON_TEST_DEVICE=$(or $(DEVICE),opencl:0) $(B)/mascon tests/run.lua device_
endif

# The C tests: tests/c/build.sh makes their rules from what the tests say about themselves.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_PARTS := tests/fuzz/host.c $(filter-out runtime/formats/mc_hdf5%,$(wildcard runtime/formats/*.c)) runtime/base/mc_error.c runtime/base/mc_crc.c bindings/zlib/zlib.c
FUZZ_FLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_LIBS := -lz -lm
.PHONY: tests-c tests-c-built
tests-c: all
	@flock $(B)/.lock $(MAKE) --no-print-directory tests-c-built
ifneq ($(filter tests-c-built,$(MAKECMDGOALS)),)
include $(B)/tests/rules.mk
endif
$(B)/tests/rules.mk: tests/c/build.sh $(wildcard tests/c/*.c tests/fuzz/*.c)
	$(Q)mkdir -p $(@D) && tests/c/build.sh > $@.new && mv $@.new $@

# make soak      long jobs of tests/soak, each for SECONDS (3600); goes on where it stopped. JOBS_OF_SOAK='calls kills' picks, SEED=n draws others
.PHONY: soak
soak: all
	@SEED=$(SEED) tests/soak/run.sh $(B) 100 $(or $(SECONDS),3600) $(JOBS_OF_SOAK)

# make array-api SUITE=DIR  the public test suite of the Python array API (a checkout with its submodule) over the bridge of tests/array_api
.PHONY: array-api
array-api: all
	@tests/array_api/run.sh $(B) "$(SUITE)" $(or $(EXAMPLES),20) $(ONLY)

# make test-bare the specs without any optional plug-in: what needs one names its package, and is skipped
.PHONY: test-bare
test-bare: all
	@+tests/check.sh bare

# make check     everything else: lint, asserts, sanitizers, threads, ISA, JIT off, forced collection, fuzzing (STEPS='lint asan')
check: deps
	@$(MAKE) --no-print-directory DEBS='$(DEBS_CHECK)' deps
	@$(MAKE) --no-print-directory tests-c
	@+tests/check.sh $(STEPS)

# make floors    the floors of runtime/ and lua/, and what they name, as text
.PHONY: floors
floors: all
	@$(LUAJIT) tests/lint/draw.lua

# make lint      luacheck, cppcheck, room arrows (of the objects of runtime/, which it compiles), words with one meaning, shape of files
DEBS_CHECK := lua-check cppcheck clang libclang-rt-dev libblis4-pthread
lint: $(OBJ.runtime) $(OBJ.host)
	@bad=0; \
	luacheck -q lua runtime scripts tests bench || bad=1; \
	$(LUAJIT) tests/lint/rooms.lua built || bad=1; \
	$(LUAJIT) tests/lint/words.lua || bad=1; \
	$(LUAJIT) tests/lint/shape.lua || bad=1; \
	if command -v cppcheck >/dev/null; then cppcheck -q --std=c11 --enable=warning,performance,portability --inline-suppr -j$(JOBS) \
	  -D__GNUC__=12 -DMC_ISA=v3 $(INC) --suppress=missingIncludeSystem --suppressions-list=tests/lint/cppcheck.txt --error-exitcode=1 \
	  runtime bindings kernels && echo "cppcheck: nothing found" || bad=1; \
	else echo "cppcheck is not installed; make check installs it"; bad=1; fi; exit $$bad

# make debug     a build with assertions in build-debug
debug:
	@$(MAKE) --no-print-directory MODE=debug all

# make cuda      every device program through NVRTC for each capability of ARCHS (7 minutes of a processor for each; what was done is not done again)
ARCHS ?= 75 80 86 89 90 100 120
cuda: programs
	@$(B)/mascon tests/run.lua cuda_adapter >/dev/null
	@$(STANDIN) MASCON_CACHE=off STANDIN_KEEP=1 STANDIN_CACHE=$(abspath $(B))/programs.tmp/texts $(B)/mascon tests/run.lua device_fused >/dev/null
	@$(B)/mascon tests/cuda.lua $(B)/programs.tmp/texts --jobs $(JOBS) --archs "$(ARCHS)" --ptx $(B)/programs.tmp/code

# make programs  packs every device program as PTX for cards without a compiler (5 minutes, then only what changed; needs NVRTC)
.PHONY: programs
programs: all
	@mkdir -p $(B)/programs
	@$(B)/mascon tests/programs.lua $(B)/programs/cuda.pack || [ $$? = 3 ]

# make fuzz      fuzzes each file parser for SECONDS (default 60) with clang
fuzz: all
	@B=$(B) tests/fuzz/run.sh $(or $(SECONDS),60)
# make long      tensors of more than 2^31 elements, then every f32 through the unary functions (40 minutes a level; what was done is not done again)
long: tests-c
	@$(B)/mascon tests/huge.lua
	@mkdir -p $(B)/long
	@for l in $(LEVELS); do at=$(B)/tests/ulp.$$l; [ -x $$at ] || continue; \
	  for f in $$($$at -l); do log=$(B)/long/ulp.$$l.$$f; \
	    if [ ! $$log -nt $$at ]; then $$at -a $$f > $$log.new || { cat $$log.new; exit 1; }; mv $$log.new $$log; fi; cat $$log; done || exit 1; done

# make bench     our benchmarks beside the machine's limits, compared with the last run (FILTER=part of a name, BASE=rows of another run)
BASE ?= $(firstword $(wildcard bench/stored/last.jsonl bench/stored/baseline.jsonl))
$(B)/bench/liblimits.so: bench/limits.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c11 $(WARN) -O3 -march=native -fopenmp -fPIC -fvisibility=hidden -shared -o $@ $< $(INC.openblas) -lopenblas -lfftw3 -lfftw3f
bench: all
	@$(MAKE) --no-print-directory $(B)/bench/liblimits.so
	@$(B)/mascon bench/run.lua $(FILTER) --save $(B)/bench/rows.jsonl $(if $(BASE),--compare $(BASE))
	@$(if $(FILTER),,cp $(B)/bench/rows.jsonl bench/stored/last.jsonl)

# make bench-report  small benchmarks beside bench/stored/ci.jsonl, for CI: 15 s, never fails on time (STORE=1 stores them anew, on an idle machine)
.PHONY: bench-report
bench-report: all
	@$(MAKE) --no-print-directory $(B)/bench/liblimits.so
	@$(B)/mascon bench/run.lua --family small,reduce,order --least 0.02 --within 12 --save $(B)/bench/ci.jsonl --report bench/stored/ci.jsonl
	@$(if $(STORE),cp $(B)/bench/ci.jsonl bench/stored/ci.jsonl)

# make bench-peers  the same work through NumPy, PyTorch, JAX, Tensorpac, gPAC in one run; writes bench/RESULTS.md (PEERS=folder of their venv)
PEERS ?= $(B)/peers
bench-peers: all
	@$(MAKE) --no-print-directory $(B)/bench/liblimits.so
	@$(B)/mascon bench/peers.lua --venv $(PEERS)

# make golden-check  repeats the golden files of networks with the PyTorch of PEERS, and checks layers on configurations drawn anew
.PHONY: golden-check
golden-check: all
	@$(PEERS)/bin/python tests/golden/check.py $(B)/golden
	@NETWORK_MODULES=$(B)/golden/network_modules_more.npz $(B)/mascon tests/run.lua network_modules

# make docs      the reference in build/reference; fails on a public name without docstring
docs: all
	@mkdir -p $(B)/reference && $(B)/mascon runtime/ops/gen/docs.lua $(B)/reference

# make accuracy  measures the accuracy table (C sweeps and golden cases, every ISA level here) into runtime/ops/gen/accuracy.tsv, which docs shows
.PHONY: accuracy
accuracy: tests-c
	@mkdir -p $(B)/accuracy
	@for l in $(LEVELS); do if [ -x $(B)/tests/ulp.$$l ]; then $(B)/tests/ulp.$$l > $(B)/accuracy/ulp.$$l.log || exit 1; fi; done
	@$(B)/mascon tests/accuracy.lua $(B)/accuracy runtime/ops/gen/accuracy.tsv
	@$(MAKE) --no-print-directory docs

# make install   into PREFIX (default /usr/local; DESTDIR is honoured)
DEST = $(DESTDIR)$(PREFIX)
install: all
	rm -rf $(DEST)/include/mascon
	install -d $(DEST)/bin $(DEST)/lib/mascon/plugins $(DEST)/share/mascon $(DEST)/include/mascon/formats
	install -m 755 $(B)/mascon $(DEST)/bin/
	install -m 644 $(B)/libmascon.so $(DEST)/lib/mascon/
	install -d $(DEST)/lib/pkgconfig
	printf 'prefix=%s\nlibdir=$${prefix}/lib/mascon\nincludedir=$${prefix}/include/mascon\n\nName: mascon\nDescription: tensors, kernels and workflows for scientific analyses\nVersion: %s\nLibs: -L$${libdir} -lmascon -Wl,-rpath,$${libdir}\nCflags: -I$${includedir}\n' \
	  '$(PREFIX)' '$(VERSION)' > $(DEST)/lib/pkgconfig/mascon.pc
	install -m 644 $(B)/plugins/*.so $(DEST)/lib/mascon/plugins/
	[ ! -e $(B)/programs/cuda.pack ] || install -D -m 644 $(B)/programs/cuda.pack $(DEST)/lib/mascon/programs/cuda.pack
	rm -rf $(DEST)/share/mascon/lua && cp -pR lua $(DEST)/share/mascon/ && cp -pR $(B)/lua/. $(DEST)/share/mascon/lua/
	install -d $(DEST)/include/mascon/base
	install -m 644 runtime/mascon.h runtime/mc_plugin.h $(B)/gen/mc_gen_enums.h $(DEST)/include/mascon/ && install -m 644 runtime/base/mc_def.h runtime/base/mc_types.h $(DEST)/include/mascon/base/
	install -m 644 runtime/formats/mc_files.h $(DEST)/include/mascon/formats/
	rm -rf $(DEST)/share/mascon/kernels && install -d $(DEST)/share/mascon/kernels/native $(DEST)/share/mascon/runtime/base
	install -m 644 kernels/native/*.h $(DEST)/share/mascon/kernels/native/
	install -m 644 kernels/mck*.h $(DEST)/share/mascon/kernels/ && install -m 644 runtime/base/mc_def.h $(DEST)/share/mascon/runtime/base/
	install -d $(DEST)/share/mascon/kernels/device && install -m 644 kernels/device/dialect.h $(DEST)/share/mascon/kernels/device/
	for extra in scripts docs LICENSE README.md; do [ ! -e $$extra ] || cp -R $$extra $(DEST)/share/mascon/; done

# make uninstall removes what make install PREFIX=... put there
.PHONY: uninstall
uninstall:
	rm -rf $(DEST)/bin/mascon $(DEST)/lib/mascon $(DEST)/share/mascon $(DEST)/include/mascon $(DEST)/lib/pkgconfig/mascon.pc

# make dist      a relocatable folder and .tar.xz in build/dist; WITH_TESTS=1 adds tests and bench
VERSION := $(shell sed -n "s/^T\.version = '\(.*\)'/\1/p" runtime/ops/ops.lua)
dist: $(if $(WITH_TESTS),tests-c,all) programs
	@WITH_TESTS=$(WITH_TESTS) .ci/dist $(B) $(VERSION)

# make clean     removes every build folder
clean:
	rm -rf $(B) build-debug build-asan build-bare
