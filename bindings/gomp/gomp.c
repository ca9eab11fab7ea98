/* gomp.c - the libgomp neighbour: the one thread pool, behind mc_threads_api.
 *
 * Owns nothing: the pool is libgomp's and lives until the process ends. Tasks are handed out one by
 * one, since they are already coarse (the runtime cuts by shape) and their costs differ. A call
 * from inside a parallel region, or for one thread or one task, runs on the calling thread as
 * worker 0, so nesting neither multiplies threads nor deadlocks. May not know what a task does. */
#include "../../runtime/mc_backend.h"
#include "../../runtime/mc_def.h"

#include <omp.h>

static void run(int64_t tasks, int threads, mc_range_fn fn, void *arg)
{
    if (threads > tasks) threads = (int)tasks;
    if (threads <= 1 || omp_in_parallel()) {
        for (int64_t i = 0; i < tasks; i++) fn(arg, i, i + 1, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t i = 0; i < tasks; i++) fn(arg, i, i + 1, omp_get_thread_num());
}

MC_API int mc_plugin_open(const mc_host_api *host, void *api);

int mc_plugin_open(const mc_host_api *host, void *api)
{
    mc_threads_api *t = api;
    if (host->abi != MC_BACKEND_ABI || t->abi != MC_BACKEND_ABI)
        return host->error(
            9, "threads: the plug-in belongs to another version of mascon; build both together");
    t->run = run;
    return 0;
}
