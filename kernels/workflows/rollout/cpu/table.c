/* table.c - the table of this level. */
#include "body.h"

extern const mck_rollout_ops MCK(rollout);
const mck_rollout_ops MCK(rollout) = { { MCK(ro_block_f32), MCK(ro_block_f64) },
                                       { MCK(ro_state_f32), MCK(ro_state_f64) },
                                       { MCK(ro_power_f32), MCK(ro_power_f64) },
                                       { MCK(ro_cross_f32), MCK(ro_cross_f64) },
                                       { MCK(ro_flow_f32), MCK(ro_flow_f64) },
                                       MCK(ro_state_work),
                                       MCK(ro_cross_work) };
