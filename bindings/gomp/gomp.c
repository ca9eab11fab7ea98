/* gomp.c - the libgomp neighbour: the one thread pool, behind mc_threads_api.
 *
 * The pool is libgomp's and lives until the process ends. Tasks are handed out one by one, since
 * they are already coarse (the runtime cuts by shape) and their costs differ. A call from inside
 * a parallel region, or for one thread or one task, runs on the calling thread as worker 0, so
 * nesting neither multiplies threads nor deadlocks. Decides where workers may run: never on the
 * processor of the thread that calls them, because a sleeping worker is often woken there and
 * the two then take turns for tens of milliseconds (measured on Linux 6.18, two virtual cores:
 * 256^3 in 475 us that way, 190 us apart). Whoever sets OMP_PROC_BIND or OMP_PLACES decides
 * alone. */
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KNOWN 256 /* workers whose place is looked after */

/* The team of one calling thread. A worker enters itself in its first region; those of the last
 * region are alive, since libgomp ends threads only at the start of a smaller one. */
typedef struct team {
    pid_t worker[KNOWN];
    int threads; /* of the last region */
    int avoided; /* processor + 1 that the workers keep away from; 0: none yet */
} team;

static _Thread_local team own;
static _Thread_local const team *joined; /* by this worker */
static int bound; /* the user placed the threads; set once by mc_plugin_open */

/* Where workers may run while the caller is on processor `cpu`. 0 when nothing would be left. */
static int elsewhere(int cpu, cpu_set_t *set)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof *set, set)) return 0;
    CPU_CLR((size_t)cpu, set);
    return CPU_COUNT(set) > 0;
}

/* Moves the workers known so far out of the caller's way, when it has moved since the last region. */
static void separate(team *t)
{
    const int cpu = sched_getcpu();
    cpu_set_t set;
    if (bound || t->avoided == cpu + 1 || !elsewhere(cpu, &set)) return;
    t->avoided = cpu + 1;
    for (int i = 1; i < t->threads && i < KNOWN; i++)
        (void)sched_setaffinity(t->worker[i], sizeof set, &set);
}

/* A worker that the team does not know yet: it enters itself and leaves the caller's processor. */
static void enlist(team *t, int worker)
{
    cpu_set_t set;
    if (joined == t || worker >= KNOWN) return;
    joined = t;
    t->worker[worker] = (pid_t)syscall(SYS_gettid);
    if (t->avoided && elsewhere(t->avoided - 1, &set)) (void)sched_setaffinity(0, sizeof set, &set);
}

/* ---- threads that the system may refuse ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int proven = 1; /* threads that have been there at one time */

static void *pass(void *arg)
{
    (void)pthread_mutex_lock(arg);
    (void)pthread_mutex_unlock(arg);
    return NULL;
}

/* libgomp ends the process when it cannot start a thread. So as many as are wanted are started and ended once before the pool grows;
 * the answer is how many there can be. */
static int granted(int threads)
{
    pthread_t probe[KNOWN];
    int n = 0;
    if (threads <= proven) return threads;
    if (threads > KNOWN) threads = KNOWN;
    (void)pthread_mutex_lock(&gate);
    while (n < threads - 1 && pthread_create(&probe[n], NULL, pass, &gate) == 0) n++;
    (void)pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++) (void)pthread_join(probe[i], NULL);
    if (n + 1 > proven) proven = n + 1;
    return n + 1 < threads ? n + 1 : threads;
}

static void run(int64_t tasks, int threads, mc_range_fn fn, void *arg)
{
    if (threads > tasks) threads = (int)tasks;
    if (threads > 1 && !omp_in_parallel()) threads = granted(threads);
    if (threads <= 1 || omp_in_parallel()) {
        for (int64_t i = 0; i < tasks; i++) fn(arg, i, i + 1, 0);
        return;
    }
    team *t = &own;
    separate(t);
    t->threads = threads;
#pragma omp parallel num_threads(threads)
    {
        const int worker = omp_get_thread_num();
        if (worker > 0) enlist(t, worker);
#pragma omp for schedule(dynamic, 1) nowait
        for (int64_t i = 0; i < tasks; i++) fn(arg, i, i + 1, worker);
    }
}

MC_API int mc_plugin_open(const mc_host_api *host, void *api);

int mc_plugin_open(const mc_host_api *host, void *api)
{
    mc_threads_api *t = api;
    if (host->abi != MC_BACKEND_ABI || t->abi != MC_BACKEND_ABI)
        return host->error(
            9, "threads: the plug-in belongs to another version of mascon; build both together");
    const char *places = getenv("OMP_PLACES");
    bound = omp_get_proc_bind() != omp_proc_bind_false || (places && *places);
    t->run = run;
    own.threads = 0; /* memory of the thread that opens us, while there is some */
    return 0;
}
