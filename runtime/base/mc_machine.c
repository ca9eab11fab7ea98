/* mc_machine.c - how many threads and how much memory this process has been given, and by whom.
 *
 * The environment (our own variables, OpenMP's, those of Slurm), the processors the process may
 * run on, and the limits of its cgroup (version 2, every folder up to the root; version 1 at its
 * usual places). Reads these. What cannot be used counts as absent here; the program refuses it
 * by name before it starts. */
#include "base/mc_machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 1024
#define ROOT "/sys/fs/cgroup"

/* The first number of a text, 0 when it is none that counts. */
static double number(const char *s)
{
    char *end;
    double v = s ? strtod(s, &end) : 0;
    return s && end != s && v >= 1 && v < 9e18 ? v : 0;
}

int64_t mci_machine_bytes(const char *s)
{
    char *end;
    double v = s ? strtod(s, &end) : 0;
    if (!s || end == s || !(v > 0))
        return 0;
    switch (*end) {
    case 'k': case 'K': v *= 1024.0; end++; break;
    case 'm': case 'M': v *= 1048576.0; end++; break;
    case 'g': case 'G': v *= 1073741824.0; end++; break;
    case 't': case 'T': v *= 1099511627776.0; end++; break;
    default: break;
    }
    if (strcmp(end, "") != 0 && strcmp(end, "B") != 0 && strcmp(end, "iB") != 0)
        return 0;
    return v < 9e18 ? (int64_t)v : 0;
}

static int first_line(const char *path, char *out, int room)
{
    FILE *f = fopen(path, "re");
    int ok = f && fgets(out, room, f) != NULL;
    if (f)
        fclose(f);
    if (ok)
        out[strcspn(out, "\n")] = 0;
    return ok;
}

/* Calls use(line) for a control file in each folder of the process's cgroup (version 2), innermost
 * first. */
static void each_group(const char *file, void (*use)(const char *line, double *least),
                       double *least)
{
    char line[ROOM], group[ROOM] = "", path[2 * ROOM + 64];
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "0::", 3) == 0)
            snprintf(group, sizeof group, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
    if (f)
        fclose(f);
    for (;;) {
        snprintf(path, sizeof path, ROOT "%s/%s", strcmp(group, "/") == 0 ? "" : group, file);
        if (first_line(path, line, sizeof line))
            use(line, least);
        char *slash = strrchr(group, '/');
        if (!slash)
            break;
        *slash = 0;
    }
}

static void use_bytes(const char *line, double *least)
{
    double v = number(line);
    if (v > 0 && (*least == 0 || v < *least))
        *least = v;
}

static void use_quota(const char *line, double *least)
{
    char *end;
    double quota = strtod(line, &end), period = quota > 0 ? number(end) : 0,
           v = period > 0 ? quota / period : 0;
    if (v > 0 && (*least == 0 || v < *least))
        *least = v;
}

int mci_machine_threads(const char **source)
{
    char line[ROOM];
    double n = number(getenv("MASCON_NUM_THREADS"));
    *source = "MASCON_NUM_THREADS";
    if (n >= 1)
        return n > 1024 ? 1024 : (int)n;
    n = number(getenv("OMP_NUM_THREADS"));
    *source = "OMP_NUM_THREADS";
    if (n >= 1)
        return n > 1024 ? 1024 : (int)n;
    cpu_set_t set;
    n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    *source = "processors of the process";
    double slurm = number(getenv("SLURM_CPUS_PER_TASK")), group = 0;
    if (slurm >= 1 && slurm < n) {
        n = slurm;
        *source = "SLURM_CPUS_PER_TASK";
    }
    each_group("cpu.max", use_quota, &group);
    if (group == 0 && first_line(ROOT "/cpu/cpu.cfs_quota_us", line, sizeof line) &&
        number(line) > 0) {
        double quota = number(line);
        if (first_line(ROOT "/cpu/cpu.cfs_period_us", line, sizeof line) && number(line) > 0)
            group = quota / number(line);
    }
    if (group > 0 && group < n) { /* part of a processor more is one more thread */
        n = (double)(int)(group + 0.999);
        *source = "cgroup";
    }
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

int64_t mci_machine_memory(const char **source)
{
    char line[ROOM];
    int64_t own = mci_machine_bytes(getenv("MASCON_MEMORY_LIMIT"));
    *source = "MASCON_MEMORY_LIMIT";
    if (own > 0)
        return own;
    double least = 0, node = number(getenv("SLURM_MEM_PER_NODE")) * 1048576.0,
           cpu = number(getenv("SLURM_MEM_PER_CPU")) * 1048576.0, group = 0;
    *source = "none";
    if (cpu > 0) {
        double cpus = number(getenv("SLURM_CPUS_ON_NODE"));
        cpus = cpus >= 1 ? cpus : number(getenv("SLURM_CPUS_PER_TASK"));
        least = cpu * (cpus >= 1 ? cpus : 1);
        *source = "SLURM_MEM_PER_CPU";
    }
    if (node > 0 && (least == 0 || node < least)) {
        least = node;
        *source = "SLURM_MEM_PER_NODE";
    }
    each_group("memory.max", use_bytes, &group);
    if (group == 0 && first_line(ROOT "/memory/memory.limit_in_bytes", line, sizeof line) &&
        number(line) < 1e15)
        group = number(line);
    if (group > 0 && (least == 0 || group < least)) {
        least = group;
        *source = "cgroup";
    }
    /* a tenth stays for what no counter sees: the program, its neighbours, the page tables */
    return (int64_t)(0.9 * least);
}
