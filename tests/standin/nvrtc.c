/* nvrtc.c - a stand-in for NVRTC: the same texts, compiled by cc for the processor.
 *
 * What it gives for a cubin is the path of a shared object. Each kernel gets a function that takes
 * an array of pointers to its arguments, as the driver does, and a list of their sizes. Objects are
 * kept in the folder STANDIN_CACHE (default /tmp/mascon-standin) under the hash of their text
 * and the wrappers' number; with STANDIN_KEEP the texts too, as HASH.cu. STANDIN_NVRTC: the version
 * it says, none: it does not work. STANDIN_SANITIZE: with address and undefined behaviour
 * sanitizers. */
#include "../../bindings/cuda/parts.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { COMPILATION = 6, INVALID = 3 };

struct nvrtcProgram_st {
    char *source, *log, path[512];
};

API const int standin_nvrtc = 1; /* tells it from the real one */

static const int archs[] = { 75, 80, 86, 89, 90, 100, 103, 110, 120, 121 };

static const char *const before =
    "#define MCD_HOST\n#include <math.h>\n#include <stdint.h>\n"
    "struct mcd_lane *mcd_lane;\nconst int mcd_wrappers = 2;\n"
    "static char group_first[8] __attribute__((section(\"mcd_group\"), used, aligned(64)));\n"
    "extern char __start_mcd_group[], __stop_mcd_group[];\n"
    "void mcd_group_memory(char **from, char **end)\n"
    "{ *from = __start_mcd_group; *end = __stop_mcd_group; }\n";

/* The wrapper of the kernel whose name and arguments begin at `at`. */
static void wrap(FILE *f, const char *at)
{
    char name[128];
    int n = (int)strcspn(at, "(");
    snprintf(name, sizeof name, "%.*s", n, at);
    const char *end = strchr(at, ')');
    char list[2048], *parts[32], *p = list;
    int count = 0;
    snprintf(list, sizeof list, "%.*s", (int)(end - (at + n + 1)), at + n + 1);
    for (char *word = strtok_r(list, ",", &p); word && count < 32; word = strtok_r(NULL, ",", &p))
        parts[count++] = word;
    fprintf(f, "void %.*s);\n", (int)(end - at), at);
    int pointers = 0;
    for (int i = 0; i < count; i++) pointers += strchr(parts[i], '*') != NULL;
    for (int i = 0; i < count; i++) { /* the last word is the name */
        char *q = parts[i] + strlen(parts[i]);
        while (q > parts[i] && (isalnum((unsigned char)q[-1]) || q[-1] == '_')) q--;
        *q = 0;
    }
    fprintf(f, "const int mcd_pointers_%s = %d;\n", name, pointers);
    fprintf(f, "const int mcd_sizes_%s[] = {", name);
    for (int i = 0; i < count; i++) fprintf(f, "(int)sizeof(%s), ", parts[i]);
    fprintf(f, "0};\nvoid mcd_call_%s(void **a)\n{ %s(", name, name);
    for (int i = 0; i < count; i++) fprintf(f, "%s*(%s *)a[%d]", i ? ", " : "", parts[i], i);
    fprintf(f, "); }\n");
}

/* What CUDA C++ of users finds, as far as it is C. */
static const char *const cuda =
    "struct mcd_lane { int lane, lanes; int64_t group[3]; void (*barrier)(int line); };\n"
    "struct mcd_dim { unsigned x, y, z; };\n"
    "#define __global__\n#define __device__ static\n"
    "#define __shared__ static __attribute__((section(\"mcd_group\")))\n"
    "#define __syncthreads() mcd_lane->barrier(__LINE__)\n"
    "#define threadIdx ((struct mcd_dim){ mcd_lane->lane, 0, 0 })\n"
    "#define blockDim ((struct mcd_dim){ mcd_lane->lanes, 1, 1 })\n"
    "#define blockIdx ((struct mcd_dim){ mcd_lane->group[0], mcd_lane->group[1], "
    "mcd_lane->group[2] })\n#line 1 \"mascon.cu\"\n";

static int write_source(const char *path, const char *text)
{
    static const char entry[] = "extern \"C\" __global__ void ";
    FILE *f = fopen(path, "w");
    if (!f) return -1;
    fputs(before, f);
    if (!strstr(text, "#define MCD_CUDA\n")) {
        for (const char *at = text; (at = strstr(at, entry)); at += strlen(entry))
            wrap(f, at + strlen(entry));
        fputs(cuda, f);
    }
    while (*text) {
        const char *end = strchr(text, '\n');
        const size_t n = end ? (size_t)(end + 1 - text) : strlen(text);
        if (strncmp(text, entry, strlen(entry)) == 0) { /* C has no extern "C" */
            fprintf(f, "void %.*s", (int)(n - strlen(entry)), text + strlen(entry));
            text += n;
            continue;
        }
        if (strncmp(text, "KERNEL ", 7) == 0) wrap(f, text + 7);
        fwrite(text, 1, n, f);
        text += n;
    }
    return fclose(f);
}

API int nvrtcVersion(int *major, int *minor)
{
    const char *s = getenv("STANDIN_NVRTC");
    *major = 13;
    *minor = 0;
    return s && sscanf(s, "%d.%d", major, minor) != 2;
}

API const char *nvrtcGetErrorString(int code)
{
    return code == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR";
}

API int nvrtcGetNumSupportedArchs(int *n)
{
    *n = (int)(sizeof archs / sizeof *archs);
    return 0;
}

API int nvrtcGetSupportedArchs(int *out)
{
    memcpy(out, archs, sizeof archs);
    return 0;
}

API int nvrtcCreateProgram(nvrtcProgram *p, const char *source, const char *name, int n,
                           const char **headers, const char **names)
{
    (void)name;
    (void)headers;
    (void)names;
    const char *version = getenv("STANDIN_NVRTC");
    if (n != 0 || (version && !strcmp(version, "none"))) return INVALID;
    *p = calloc(1, sizeof **p);
    if (*p) (*p)->source = strdup(source);
    return *p && (*p)->source ? 0 : 1;
}

API int nvrtcCompileProgram(nvrtcProgram p, int n, const char *const *options)
{
    const char *folder = getenv("STANDIN_CACHE"),
               *checks = getenv("STANDIN_SANITIZE")
                             ? "-g -fsanitize=address,undefined -fno-sanitize-recover=undefined "
                               "-fsanitize-sections=mcd_group -fno-omit-frame-pointer"
                             : "";
    char command[4096], base[400], line[512];
    int fmad = 1;
    uint64_t hash = 1469598103934665603u;
    for (int i = 0; i < n; i++) fmad &= strcmp(options[i], "--fmad=false") != 0;
    if (fmad) return INVALID; /* the bits of the CPU need it off */
    for (const char *c = "wrappers 2"; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    for (const char *c = checks; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    for (const char *c = p->source; *c; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    if (!folder || !*folder) folder = "/tmp/mascon-standin";
    mkdir(folder, 0700);
    snprintf(base, sizeof base, "%s/%016llx", folder, (unsigned long long)hash);
    snprintf(p->path, sizeof p->path, "%s.so", base);
    if (getenv("STANDIN_KEEP")) { /* for the real compiler */
        snprintf(line, sizeof line, "%s.cu", base);
        FILE *f = fopen(line, "w");
        if (!f || fputs(p->source, f) < 0 || fclose(f)) return INVALID;
    }
    if (getenv("STANDIN_DRY") || access(p->path, R_OK) == 0) return 0; /* nothing is launched */
    snprintf(line, sizeof line, "%s.%d.c", base, (int)getpid());
    if (write_source(line, p->source)) return INVALID;
    snprintf(command, sizeof command,
             "gcc -shared -fPIC -O1 -w -std=gnu11 -ffp-contract=off -fno-strict-aliasing %s "
             "-o '%s.%d.so' '%s' -lm 2>'%s.%d.log' && mv '%s.%d.so' '%s'",
             checks, base, (int)getpid(), line, base, (int)getpid(), base, (int)getpid(), p->path);
    const int rc = system(command);
    unlink(line);
    snprintf(line, sizeof line, "%s.%d.log", base, (int)getpid());
    if (rc != 0) {
        FILE *f = fopen(line, "r");
        p->log = calloc(1, 4096);
        if (f && p->log) (void)!fread(p->log, 1, 4095, f);
        if (f) fclose(f);
    }
    unlink(line);
    return rc == 0 ? 0 : COMPILATION;
}

API int nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes)
{
    *bytes = p->log ? strlen(p->log) + 1 : 1;
    return 0;
}

API int nvrtcGetProgramLog(nvrtcProgram p, char *log)
{
    strcpy(log, p->log ? p->log : "");
    return 0;
}

API int nvrtcGetCUBINSize(nvrtcProgram p, size_t *bytes)
{
    *bytes = strlen(p->path) + 1;
    return 0;
}

API int nvrtcGetCUBIN(nvrtcProgram p, char *code)
{
    strcpy(code, p->path);
    return 0;
}

API int nvrtcGetPTXSize(nvrtcProgram p, size_t *bytes)
{
    return nvrtcGetCUBINSize(p, bytes);
}

API int nvrtcGetPTX(nvrtcProgram p, char *code)
{
    return nvrtcGetCUBIN(p, code);
}

API int nvrtcDestroyProgram(nvrtcProgram *p)
{
    free((*p)->source);
    free((*p)->log);
    free(*p);
    *p = NULL;
    return 0;
}
