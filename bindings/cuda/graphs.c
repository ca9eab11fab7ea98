/* graphs.c - lists of launches as graphs of the driver: a node for each launch, after the one
 * before. What a library launches is captured into a graph of its own, a child of the list's. */
#include "parts.h"

#include <stddef.h>

struct mc_cuda_graph {
    CUgraph graph; /* its nodes name those of exec */
    CUgraphExec exec;
    CUstream capture;
    int n;
    CUgraphNode node[];
};

/* What `launch` gives to a stream, as a graph. */
static CUresult captured(const mc_cuda *cu, CUstream s, const mc_cuda_node *l, CUgraph *out)
{
    CUresult code = cu->cuStreamBeginCapture(s, CAPTURE_RELAXED);
    if (code != CUDA_OK) return code;
    const int rc = l->launch(l->state, s);
    code = cu->cuStreamEndCapture(s, out);
    return rc ? CUDA_INVALID : code;
}

void mc_cuda_graph_free(const mc_cuda *cu, mc_cuda_graph *g)
{
    if (!g) return;
    if (g->exec) cu->cuGraphExecDestroy(g->exec);
    if (g->graph) cu->cuGraphDestroy(g->graph);
    if (g->capture) cu->cuStreamDestroy(g->capture);
    mc_cuda_release(g);
}

static CUresult add(const mc_cuda *cu, mc_cuda_graph *g, const mc_cuda_node *l)
{
    const CUgraphNode *before = g->n ? &g->node[g->n - 1] : NULL;
    CUgraph child = NULL;
    CUresult code;
    if (!l->launch)
        return cu->cuGraphAddKernelNode(&g->node[g->n], g->graph, before, before != NULL,
                                        &l->kernel);
    code = captured(cu, g->capture, l, &child);
    if (code == CUDA_OK)
        code =
            cu->cuGraphAddChildGraphNode(&g->node[g->n], g->graph, before, before != NULL, child);
    if (child) cu->cuGraphDestroy(child); /* the node has a copy */
    return code;
}

mc_cuda_graph *mc_cuda_graph_new(const mc_cuda *cu, int n, mc_cuda_node *(*list)(void *, int),
                                 void *state, CUresult *code)
{
    mc_cuda_graph *g = mc_cuda_alloc(sizeof *g + sizeof(CUgraphNode) * (size_t)n);
    *code = g ? cu->cuGraphCreate(&g->graph, 0) : CUDA_NO_MEMORY;
    if (*code == CUDA_OK) *code = cu->cuStreamCreate(&g->capture, STREAM_NON_BLOCKING);
    for (; *code == CUDA_OK && g->n < n; g->n++) *code = add(cu, g, list(state, g->n));
    if (*code == CUDA_OK) *code = cu->cuGraphInstantiate(&g->exec, g->graph, 0);
    if (*code == CUDA_OK) return g;
    mc_cuda_graph_free(cu, g);
    return NULL;
}

CUresult mc_cuda_graph_set(const mc_cuda *cu, mc_cuda_graph *g, int k, const mc_cuda_node *l)
{
    CUgraph child = NULL;
    CUresult code;
    if (!l->launch) return cu->cuGraphExecKernelNodeSetParams(g->exec, g->node[k], &l->kernel);
    code = captured(cu, g->capture, l, &child);
    if (code == CUDA_OK) code = cu->cuGraphExecChildGraphNodeSetParams(g->exec, g->node[k], child);
    if (child) cu->cuGraphDestroy(child);
    return code;
}

CUresult mc_cuda_graph_run(const mc_cuda *cu, mc_cuda_graph *g, CUstream s)
{
    return cu->cuGraphLaunch(g->exec, s);
}
