/* mc_family.c - the families that are split into infer and exec, and the run of an op of one. */
#include "family/mc_launch.h"

/* The CPU's form of families whose driver computes into results that are there. */
static int drive(const mci_job *job, const mci_result *r, mc_tensor *const *out)
{
    mc_tensor *list[MCI_RESULTS];
    for (int i = 0; i < r->nout; i++) list[i] = out[i];
    return job->op->run(job->op, r->nout, list, job->nin, job->in, job->params);
}

const mci_family mci_families[MCI_FAMILIES] = {
    [MCI_FAMILY_EWISE] = { "ewise", mci_ewise_infer, mci_ewise_exec, mci_ewise_launches },
    [MCI_FAMILY_REDUCE] = { "reduce", mci_reduce_infer, mci_reduce_exec, mci_reduce_launches,
                            mci_reduce_rows },
    [MCI_FAMILY_SOFTMAX] = { "softmax", mci_softmax_infer, drive, mci_softmax_launches,
                             mci_softmax_rows },
    [MCI_FAMILY_SCAN] = { "scan", mci_scan_infer, drive, mci_scan_launches },
    [MCI_FAMILY_CROSS] = { "cross", mci_cross_infer, drive, mci_cross_launches },
    [MCI_FAMILY_LAYOUT] = { "layout", mci_layout_infer, drive, mci_layout_launches },
    [MCI_FAMILY_RECURRENCE] = { "recurrence", mci_recurrence_infer, drive,
                                mci_recurrence_launches },
    [MCI_FAMILY_MATMUL] = { "matmul", mci_matmul_infer, drive, mci_matmul_launches },
    [MCI_FAMILY_DOT] = { "dot", mci_dot_infer, drive, mci_dot_launches },
    [MCI_FAMILY_SELECT] = { "select", mci_select_infer, drive, mci_select_launches },
    [MCI_FAMILY_SORT] = { "sort", mci_sort_infer, drive, mci_sort_launches },
    [MCI_FAMILY_PAD] = { "pad", mci_pad_infer, drive, mci_pad_launches },
    [MCI_FAMILY_GATHER] = { "gather", mci_gather_infer, drive, mci_gather_launches },
    [MCI_FAMILY_FILTER] = { "filter", mci_filter_infer, drive, mci_filter_launches },
    [MCI_FAMILY_STANDARDISE] = { "standardise", mci_standardise_infer, drive, NULL },
    [MCI_FAMILY_ATTENTION] = { "attention", mci_attention_infer, drive, NULL },
    [MCI_FAMILY_CONV] = { "conv", mci_conv_infer, drive, mci_conv_launches },
    [MCI_FAMILY_RANDOM] = { "random", mci_random_infer, drive, mci_random_launches },
    [MCI_FAMILY_SEQUENCE] = { "sequence", mci_sequence_infer, drive, mci_sequence_launches },
    [MCI_FAMILY_SEGMENT] = { "segment", mci_segment_infer, drive, mci_segment_launches },
    [MCI_FAMILY_INTERP] = { "interp", mci_interp_infer, drive, mci_interp_launches },
    [MCI_FAMILY_TRIDIAGONAL] = { "tridiagonal", mci_tridiagonal_infer, drive,
                                 mci_tridiagonal_launches },
    [MCI_FAMILY_FFT] = { "fft", mci_fft_infer, drive, mci_fft_launches },
    [MCI_FAMILY_DCT] = { "dct", mci_dct_infer, drive, mci_dct_launches },
    [MCI_FAMILY_LINALG] = { "linalg", mci_linalg_infer, drive, mci_linalg_launches },
    [MCI_FAMILY_ADDED] = { "added", mci_added_infer, drive, mci_added_launches },
    [MCI_FAMILY_PUT] = { "put", NULL, mci_put_exec, mci_put_launches },
    /* into a result that is there: nothing to infer */
    [MCI_FAMILY_COPY] = { "copy", NULL, mci_copy_exec, mci_copy_launches },
};

int mc_op_launches(int op)
{
    const mci_op *o = mci_op_at(op);
    if (!o || (o->family == MCI_FAMILY_LINALG && !mci_linalg_launched(o)) ||
        (o->family == MCI_FAMILY_RANDOM && !mci_random_launched(o)) ||
        (o->family == MCI_FAMILY_REDUCE && !mci_reduce_launched(o)))
        return 0;
    return mci_families[o->family].launches != NULL;
}
