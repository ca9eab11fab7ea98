/* mc_registry.c - ops that are added while the program runs, numbered behind those of the table.
 * They stay until the process ends. */
#include "ops/mc_ops.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define MOST 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of those who add */
static const mci_op *added[MOST];
static atomic_int count;

const mci_op *mci_op_added(int id)
{
    int k = id - mci_nop;
    return k >= 0 && k < count ? added[k] : NULL;
}

const mci_op *mci_op_named(const char *name)
{
    for (int id = 0; id < mci_nop + count; id++)
        if (!strcmp(mci_op_at(id)->name, name))
            return mci_op_at(id);
    return NULL;
}

int mci_op_add(mci_op *op)
{
    int rc = MC_OK;
    pthread_mutex_lock(&lock);
    if (mci_op_named(op->name))
        rc = mci_error(MC_EINVAL,
                       "%s: there is an op of this name already; give the row another name",
                       op->name);
    else if (count == MOST)
        rc = mci_error(MC_EINVAL, "%s: %d ops were added already, which is the most", op->name,
                       MOST);
    else {
        op->id = (int16_t)(mci_nop + count);
        op->family = MCI_FAMILY_ADDED;
        op->kernel = -1;
        added[count] = op;
        count++;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}
