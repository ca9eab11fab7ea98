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
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KNOWN 256 /* workers whose place is looked after */

/* The team of one calling thread. A worker enters itself in its first region; those of the last
 * region are alive, since libgomp ends threads only at the start of a smaller one. */
typedef struct team {
    pid_t worker[KNOWN];
    int threads; /* of the last region */
    int avoided; /* processor + 1 that the workers keep away from; 0: none yet */
} team;

/* Keys, not thread-local variables: the first touch of one of those asks for memory and ends the
 * process where there is none. own: the team of a calling thread; joined: by this worker. */
static pthread_key_t own, joined;
static int bound; /* the user placed the threads; set once by mc_plugin_open */

/* Where workers may run while the caller is on processor `cpu`. 0 when nothing would be left. */
static int elsewhere(int cpu, cpu_set_t *set)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof *set, set)) return 0;
    CPU_CLR((size_t)cpu, set);
    return CPU_COUNT(set) > 0;
}

/* Moves the workers known so far out of the caller's way, when it has moved since the last
 * region. */
static void separate(team *t)
{
    const int cpu = sched_getcpu();
    cpu_set_t set;
    if (bound || t->avoided == cpu + 1 || !elsewhere(cpu, &set)) return;
    t->avoided = cpu + 1;
    for (int i = 1; i < t->threads && i < KNOWN; i++)
        if (t->worker[i]) (void)sched_setaffinity(t->worker[i], sizeof set, &set);
}

/* A worker that the team does not know yet: it enters itself and leaves the caller's processor. */
static void enlist(team *t, int worker)
{
    cpu_set_t set;
    if (pthread_getspecific(joined) == t || worker >= KNOWN) return;
    if (pthread_setspecific(joined, t)) return;
    t->worker[worker] = (pid_t)syscall(SYS_gettid);
    if (t->avoided && elsewhere(t->avoided - 1, &set)) (void)sched_setaffinity(0, sizeof set, &set);
}

/* ---- threads that the system may refuse ---- */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static time_t refused; /* when the system last refused one; 0: never */

static void *pass(void *arg)
{
    (void)pthread_mutex_lock(arg);
    (void)pthread_mutex_unlock(arg);
    return NULL;
}

/* Threads of the process now, 0 when that cannot be seen. */
static int alive(void)
{
    struct stat s;
    return stat("/proc/self/task", &s) == 0 && s.st_nlink > 2 ? (int)s.st_nlink - 2 : 0;
}

/* libgomp ends the process when it cannot start a thread, and ends threads when a smaller team
 * starts. So as many as are wanted are started and ended once before the pool grows; the answer is
 * how many there can be. A thread that was joined still counts for a moment: they are waited for.
 * After a refusal, no more than the last team has until a second has passed. */
static int granted(int threads, int have)
{
    pthread_t probe[KNOWN];
    int n = 0;
    if (threads <= have) return threads;
    if (refused && time(NULL) - refused < 2) return have > 1 ? have : 1;
    if (threads > KNOWN) threads = KNOWN;
    const int before = alive();
    (void)pthread_mutex_lock(&gate);
    while (n < threads - 1 && pthread_create(&probe[n], NULL, pass, &gate) == 0) n++;
    (void)pthread_mutex_unlock(&gate);
    for (int i = 0; i < n; i++) (void)pthread_join(probe[i], NULL);
    for (int i = 0; before && alive() > before && i < 1000; i++) (void)usleep(100);
    if (n + 1 < threads) refused = time(NULL);
    return n + 1 < threads ? n + 1 : threads;
}

static team *team_of_caller(void)
{
    team *t = pthread_getspecific(own);
    if (t || !(t = calloc(1, sizeof *t))) return t;
    if (pthread_setspecific(own, t)) {
        free(t);
        t = NULL;
    }
    return t;
}

static void run(int64_t tasks, int threads, mc_range_fn fn, void *arg)
{
    team *t = NULL;
    if (threads > tasks) threads = (int)tasks;
    if (threads > 1 && !omp_in_parallel() && (t = team_of_caller()) != NULL)
        threads = granted(threads, t->threads);
    if (threads <= 1 || !t) {
        for (int64_t i = 0; i < tasks; i++) fn(arg, i, i + 1, 0);
        return;
    }
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
    if (pthread_key_create(&own, free) || pthread_key_create(&joined, NULL))
        return host->error(4,
                           "threads: the system has no key for thread data; close other programs");
    t->run = run;
    return 0;
}
