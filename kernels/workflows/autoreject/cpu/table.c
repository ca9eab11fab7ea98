/* table.c - the table of kernels for epochs of one ISA level. */
#include "tile.h"

const mck_autoreject_ops MCK(autoreject) = {
    .range = MCK(ar_range),
    .mix = MCK(ar_mix),
    .mix_work = MCK(ar_mix_work),
    .sums = MCK(ar_sums),
    .sums_work = MCK(ar_sums_work),
    .losses = MCK(ar_losses),
    .losses_work = MCK(ar_losses_work),
    .levels = MCK(ar_levels),
    .levels_work = MCK(ar_levels_work),
    .predict = MCK(ar_predict),
    .predict_work = MCK(ar_predict_work),
    .weights = MCK(ar_weights),
    .weights_work = MCK(ar_weights_work),
    .network = MCK(ar_network),
};
