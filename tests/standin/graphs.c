/* graphs.c - the stand-in's graphs: nodes run in any order that their edges allow, by the seed. A
 * graph that is run or instantiated is copied, so that what is set later does not reach what waits.
 */
#include "work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 1024

struct CUgraphNode_st {
    CUgraph graph, child;
    int at, nafter, after[NODES];
    work w;
};
struct CUgraph_st {
    int n, gone;
    CUgraphNode node[NODES];
};
struct CUgraphExec_st {
    CUgraph from, own;
};

static void *made(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) abort();
    return p;
}

static CUgraphNode node_new(CUgraph g, const CUgraphNode *after, size_t n)
{
    CUgraphNode node = made(sizeof *node);
    if (g->n == NODES || n > NODES) standin_wrong("a graph of more than %d nodes", NODES);
    node->graph = g;
    node->at = g->n;
    for (size_t i = 0; i < n; i++) {
        if (after[i]->graph != g) standin_wrong("a node after one of another graph");
        node->after[node->nafter++] = after[i]->at;
    }
    return g->node[g->n++] = node;
}

static CUgraph copy_of(CUgraph g)
{
    CUgraph copy = made(sizeof *copy);
    copy->n = g->n;
    for (int i = 0; i < g->n; i++) {
        copy->node[i] = made(sizeof *copy->node[i]);
        *copy->node[i] = *g->node[i];
        copy->node[i]->graph = copy;
        if (g->node[i]->child) copy->node[i]->child = copy_of(g->node[i]->child);
    }
    return copy;
}

void standin_graph_free(CUgraph g)
{
    for (int i = 0; i < g->n; i++) {
        if (g->node[i]->child) standin_graph_free(g->node[i]->child);
        free(g->node[i]);
    }
    free(g);
}

void standin_graph_do(CUgraph g)
{
    char done[NODES] = { 0 };
    for (int left = g->n; left > 0; left--) {
        int ready[NODES], n = 0;
        for (int i = 0; i < g->n; i++) {
            int free_to_go = !done[i];
            for (int k = 0; k < g->node[i]->nafter; k++) free_to_go &= done[g->node[i]->after[k]];
            if (free_to_go) ready[n++] = i;
        }
        const int now = ready[standin_random() % (uint64_t)n];
        if (g->node[now]->child)
            standin_graph_do(g->node[now]->child);
        else
            standin_do(&g->node[now]->w);
        done[now] = 1;
    }
}

int standin_graph_wants(CUgraph g, const char *at, size_t bytes)
{
    for (int i = 0; i < g->n; i++)
        if (g->node[i]->child ? standin_graph_wants(g->node[i]->child, at, bytes)
                              : standin_wants(&g->node[i]->w, at, bytes))
            return 1;
    return 0;
}

work *standin_capture(CUgraph g, int kind)
{
    if (kind != COPY && kind != LAUNCH && kind != CALL)
        standin_wrong("a stream that is captured is asked for what no graph can hold");
    work *w = &node_new(g, g->n ? &g->node[g->n - 1] : NULL, g->n > 0)->w;
    w->kind = kind;
    return w;
}

/* ---- the driver's entries ---- */

API CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
    ENTER(1);
    if (mode != CAPTURE_RELAXED || s->capture) return 1;
    s->capture = made(sizeof *s->capture);
    return CUDA_OK;
}

API CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
    *g = NULL;
    if (!s->capture) return 1;
    CUgraph captured = s->capture;
    s->capture = NULL;
    const CUresult code = standin_enters(__func__, 1);
    if (code == CUDA_OK)
        *g = captured;
    else
        standin_graph_free(captured);
    return code;
}

API CUresult cuGraphCreate(CUgraph *g, unsigned flags)
{
    ENTER(1);
    if (flags) return 1;
    *g = made(sizeof **g);
    return CUDA_OK;
}

API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
                                     size_t n, const CUkernelNode *k)
{
    ENTER(1);
    *node = node_new(g, after, n);
    (*node)->w.kind = LAUNCH;
    return standin_kernel(&(*node)->w, k);
}

API CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph g, const CUgraphNode *after,
                                      size_t n, CUgraph child)
{
    ENTER(1);
    *node = node_new(g, after, n);
    (*node)->child = copy_of(child);
    return CUDA_OK;
}

API CUresult cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags)
{
    ENTER(1);
    if (flags) return 1;
    *e = made(sizeof **e);
    (*e)->from = g;
    (*e)->own = copy_of(g);
    if (getenv("STANDIN_TRACE")) fprintf(stderr, "standin: a graph of %d nodes is made\n", g->n);
    return CUDA_OK;
}

/* The node of exec that stands for one of the graph that it was made of. */
static CUgraphNode node_of(CUgraphExec e, CUgraphNode node)
{
    if (e->from->gone || node->graph != e->from)
        standin_wrong("a node is set that is not of the graph, or of one that is gone");
    if (getenv("STANDIN_TRACE")) fprintf(stderr, "standin: node %d is set\n", node->at);
    return e->own->node[node->at];
}

API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode node,
                                               const CUkernelNode *k)
{
    ENTER(1);
    CUgraphNode own = node_of(e, node);
    return own->child ? 1 : standin_kernel(&own->w, k);
}

API CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec e, CUgraphNode node, CUgraph child)
{
    ENTER(1);
    CUgraphNode own = node_of(e, node);
    if (!own->child || own->child->n != child->n) return 1;
    standin_graph_free(own->child);
    own->child = copy_of(child);
    return CUDA_OK;
}

API CUresult cuGraphLaunch(CUgraphExec e, CUstream s)
{
    ENTER(1);
    if (getenv("STANDIN_TRACE")) fprintf(stderr, "standin: a graph of %d nodes runs\n", e->own->n);
    standin_give(s, GRAPH)->graph = copy_of(e->own);
    return CUDA_OK;
}

API CUresult cuGraphExecDestroy(CUgraphExec e)
{
    ENTER(1);
    standin_graph_free(e->own);
    free(e);
    return CUDA_OK;
}

/* Its memory stays, for node_of. */
API CUresult cuGraphDestroy(CUgraph g)
{
    ENTER(1);
    if (g->gone) standin_wrong("a graph is destroyed twice");
    g->gone = 1;
    return CUDA_OK;
}
