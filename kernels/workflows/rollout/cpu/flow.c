/* flow.c - whether a state goes on along its slopes: correlations of its differences with the next
 * state. The body's instances. */
#include "body.h"

#include "f32.h"
#include "flow_body.h"
#include "f64.h"
#include "flow_body.h"
