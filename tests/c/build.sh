#!/usr/bin/env bash
# build.sh - how each C test is built: prints the make rules that the Makefile includes for tests-c-built.
#
# A test says its kind in its head comment, ` * build: KIND`; those that do not are in the table below.
#   levels    one program per ISA level, NAME.v2 NAME.v3 NAME.v4, compiled like a kernel (KFLAGS, -march, -DMC_ISA) and
#             linked with the kernels of that level and nothing else
#   library   one program, linked with libmascon.so (also what a line that only names libraries means)
#   plugins   one program that opens the plug-ins itself; its argument is their folder
# Fuzz targets (tests/fuzz/fuzz_*.c) are linked with replay.c, which runs the corpus through them under the sanitizers.
# tests/run.sh runs what stands in $(B)/tests/list. May not know what the tests test.
set -euo pipefail
cd "$(dirname "$0")/../.."

kind_of() {
  local kind
  kind=$(sed -n '1,15s/^ \* build: *\([a-z]*\).*/\1/p' "$1" | head -n 1)
  if [ -z "$kind" ]; then
    case $(basename "$1" .c) in
      kernels_* | ulp) kind=levels ;;
      neighbours) kind=plugins ;;
      *) kind=library ;;
    esac
  fi
  case $kind in
    levels | library | plugins) echo "$kind" ;;
    *) echo "$1: build: '$kind' is unknown; choose levels, library or plugins" >&2; exit 1 ;;
  esac
}

echo "# made by tests/c/build.sh: rules of the C tests"
echo 'TEST_CC = $(CC) $(CSTD) -Wno-conversion $(INC) -MMD -MP -MF $@.d -o $@ $<'
# Kernels and their tests know no runtime: the archive holds the kernels alone.
for level in ${LEVELS:-v2 v3 v4}; do
  echo "\$(B)/tests/kernels.$level.a: \$(KERNELS:%.c=\$(B)/obj/$level/%.o) \$(WORKFLOW_KERNELS:%.c=\$(B)/obj/$level/%.o)"
  printf '\t%s\n' '$(Q)mkdir -p $(@D) && rm -f $@ && ar qcs $@ $^'
done

# Programs for v4 are built where they can run; tests/run.sh says that the others were skipped.
built=${LEVELS:-v2 v3 v4}
levels=
for level in $built; do
  [ "$level" = v4 ] && ! grep -qw avx512vl /proc/cpuinfo || levels+=" $level"
done

list=() programs=()
for src in tests/c/*.c; do
  name=$(basename "$src" .c)
  kind=$(kind_of "$src")
  case $kind in
    levels)
      for level in ${LEVELS:-v2 v3 v4}; do
        list+=("$kind $name.$level")
        [[ " $levels " == *" $level "* ]] || continue
        programs+=("$name.$level")
        echo "\$(B)/tests/$name.$level: $src \$(B)/tests/kernels.$level.a"
        printf '\t%s\n' "\$(Q)\$(TEST_CC) \$(KFLAGS) -march=x86-64-$level -DMC_ISA=$level \$(B)/tests/kernels.$level.a -lm"
      done ;;
    library)
      echo "\$(B)/tests/$name: $src \$(B)/libmascon.so"
      printf '\t%s\n' "\$(Q)mkdir -p \$(@D) && \$(TEST_CC) \$(CFLAGS) -Wl,-rpath,'\$\$ORIGIN/..' \$(B)/libmascon.so -lpthread -ldl -lm"
      list+=("$kind $name") programs+=("$name") ;;
    plugins)
      echo "\$(B)/tests/$name: $src \$(GEN)"
      printf '\t%s\n' '$(Q)mkdir -p $(@D) && $(TEST_CC) $(CFLAGS) -lpthread -ldl -lm'
      list+=("$kind $name") programs+=("$name") ;;
  esac
done
# what the targets are linked with is compiled once
echo '$(B)/tests/fuzz/%.o: %.c $(GEN)'
printf '\t%s\n' '$(Q)mkdir -p $(@D) && $(CC) $(CSTD) -Wno-conversion $(INC) $(FUZZ_FLAGS) -MMD -MP -c $< -o $@'
for src in tests/fuzz/fuzz_*.c; do
  name=$(basename "$src" .c)
  echo "\$(B)/tests/$name: $src \$(FUZZ_PARTS:%.c=\$(B)/tests/fuzz/%.o) \$(B)/tests/fuzz/tests/fuzz/replay.o"
  printf '\t%s\n' '$(Q)mkdir -p $(@D) && $(TEST_CC) $(FUZZ_FLAGS) $(filter %.o,$^) $(FUZZ_LIBS)'
  list+=("corpus $name") programs+=("$name")
done
echo "tests-c-built: $(printf ' $(B)/tests/%s' "${programs[@]}") \$(B)/tests/list"
echo '$(B)/tests/list: $(B)/tests/rules.mk'
printf '\t%s\n' "@printf '%s\\n' $(printf "'%s' " "${list[@]}") > \$@"
