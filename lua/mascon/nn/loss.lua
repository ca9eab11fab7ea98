-- loss.lua - losses of classification, regression, distributions and embeddings.
--
-- Every loss has `reduction`: 'mean', 'sum' or 'none'. Class labels are values, from 0 as in files. Cross entropy
-- works on logits with their logarithm of sums, so that no probability is ever rounded to 0.
local create = require 'mascon.array.create'
local manipulate = require 'mascon.array.manipulate'
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local half = require 'mascon.nn.half'
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

local REDUCTION = { 'mean', { 'mean', 'sum', 'none' } }

local function reduced(t, how)
  if how == 'mean' then return F.mean(t) end
  return how == 'sum' and F.sum(t) or t
end

--- Two operands of one shape in f32 where they have 16 bits, and the dtype of the result (half.lua).
local function pair(fname, a, b, level)
  a, b = op.beside(fname, a, b, level + 1), op.beside(fname, b, a, level + 1)
  local fits = a.ndim == b.ndim
  for i = 1, fits and a.ndim or 0 do fits = fits and a.shape[i] == b.shape[i] end
  if not fits then
    error(('%s: input is %s and target is %s; give equal shapes'):format(fname, tensor.describe(a),
      tensor.describe(b)), level)
  end
  return half.wide(a), half.wide(b), half.result(a, b)
end

--- A loss of two tensors of one shape, element by element.
local function elementwise(name, f, spec)
  local fname, options = 'nn.' .. name, { reduction = REDUCTION }
  for k, v in pairs(spec or {}) do options[k] = v end
  return function(x, target, opts)
    local dtype
    x, target, dtype = pair(fname, x, target, 3)
    local o = check.opts(fname, opts, options, 3)
    return half.narrow(reduced(f(x, target, o), o.reduction), dtype)
  end
end

--- Squared differences.
---@param x any f32|f64, any shape
---@param target any of the shape of x
---@param opts? table reduction: 'mean', 'sum', 'none' ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: PyTorch nn.functional.mse_loss.
---     mc.nn.mse_loss(mc.tensor{ 1, 2 }, mc.tensor{ 1, 4 })  --> f64[]@cpu 2
M.mse_loss = elementwise('mse_loss', function(x, t) return F.square(x - t) end)
--- Absolute differences; the derivative at 0 is 0.
---@param x any f32|f64, any shape
---@param target any of the shape of x
---@param opts? table reduction ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: PyTorch nn.functional.l1_loss.
---     mc.nn.l1_loss(mc.tensor{ 1, 2 }, mc.tensor{ 1, 4 })  --> f64[]@cpu 1
M.l1_loss = elementwise('l1_loss', function(x, t) return F.abs(x - t) end)

local function huber(x, t, delta)
  local r = F.abs(x - t)
  local inside = F.minimum(r, delta)
  return inside * (r - inside * 0.5)
end
--- r^2 / 2 where |r| <= delta, delta (|r| - delta / 2) elsewhere, r = x - target.
---@param x any f32|f64, any shape
---@param target any of the shape of x
---@param opts? table delta (1) · reduction ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: Robust estimation of a location parameter, 1964.
---     mc.nn.huber_loss(mc.tensor{ 3, 0.5 }, mc.zeros{ 2 }, { reduction = 'none' })  --> f64[2]@cpu { 2.5000, 0.1250 }
M.huber_loss = elementwise('huber_loss', function(x, t, o)
  return huber(x, t, o.delta)
end, { delta = { 1, 'number > 0' } })
--- nn.huber_loss with delta = beta, divided by beta.
---@param x any f32|f64, any shape
---@param target any of the shape of x
---@param opts? table beta (1) · reduction ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: Fast R-CNN, 2015.
---     mc.nn.smooth_l1_loss(mc.tensor{ 3 }, mc.zeros{ 1 })  --> f64[]@cpu 2.5
M.smooth_l1_loss = elementwise('smooth_l1_loss', function(x, t, o)
  return huber(x, t, o.beta) / o.beta
end, { beta = { 1, 'number > 0' } })

--- log x, at least -100, whose derivative is 0 where it was cut.
local function log_above(x) return F.maximum(F.log(x), -100) end
--- Cross entropy of probabilities x with targets in [0, 1]; logarithms are cut at -100.
---@param x any f32|f64 in [0, 1], any shape
---@param target any of the shape of x
---@param opts? table reduction ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: PyTorch nn.functional.binary_cross_entropy.
---     mc.nn.binary_cross_entropy(mc.tensor{ 0 }, mc.tensor{ 1 })  --> f64[]@cpu 100
M.binary_cross_entropy = elementwise('binary_cross_entropy', function(x, t)
  return -(t * log_above(x) + (1 - t) * log_above(1 - x))
end)
--- Cross entropy of the probabilities 1 / (1 + exp(-x)) with targets in [0, 1], without overflow.
---@param x any f32|f64 logits, any shape
---@param target any of the shape of x
---@param opts? table pos_weight: a number or tensor that multiplies the term of target 1 (1) · reduction ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: PyTorch nn.functional.binary_cross_entropy_with_logits.
---     mc.nn.binary_cross_entropy_with_logits(mc.tensor{ 1000 }, mc.tensor{ 0 })  --> f64[]@cpu 1000
M.binary_cross_entropy_with_logits = elementwise('binary_cross_entropy_with_logits', function(x, t, o)
  return F.softplus(-x) * t * half.wide(o.pos_weight) + F.softplus(x) * (1 - t)
end, { pos_weight = { 1, 'any' } })

-- ---------------------------------------------------------------- classes

local CLASSES = {
  weight = { nil, 'tensor' }, ignore_index = { -100, 'integer' }, label_smoothing = { 0, 'number >= 0' },
    reduction = REDUCTION,
}

--- Rows of logits [m, k], in f32 where they have 16 bits.
local function rows_of(fname, x, level)
  if x.ndim == 0 then error(('%s: logits are %s; give [..., classes]'):format(fname, tensor.describe(x)), level) end
  local m = 1
  for i = 1, x.ndim - 1 do m = m * x.shape[i] end
  return methods.reshape(half.wide(x), { m, x.shape[x.ndim] })
end

--- Labels as rows: counted entries, their places from 1, and weights.
local function labels(fname, x, target, o, level)
  local fits = target.ndim == x.ndim - 1
  for i = 1, fits and target.ndim or 0 do fits = fits and target.shape[i] == x.shape[i] end
  if not fits then
    local second = target.ndim == x.ndim - 1 and x.ndim > 2 -- classes on axis 2, as PyTorch has them
    for i = 1, second and target.ndim or 0 do second = second and target.shape[i] == x.shape[i == 1 and 1 or i + 1] end
    error(('%s: logits are %s and target is %s; give a class for each row of logits, or probabilities in their '
      .. 'shape%s'):format(fname, tensor.describe(x), tensor.describe(target), second and '. The last axis of logits '
      .. 'holds the classes: mc.moveaxis(logits, 2, -1)' or ''), level)
  end
  local flat, k = methods.reshape(target, { -1 }), x.shape[x.ndim]
  if flat.dtype ~= 'i64' and flat.dtype ~= 'i32' then flat = methods.to(flat, 'i64') end -- ignore_index has to fit
  local counted = F.ne(flat, o.ignore_index)
  local label = F.where(counted, flat, 0)
  if label._device == 0 and not tensor.recorded(label) and label:numel() > 0 then
    local lo, hi = F.min(label):item(), F.max(label):item()
    if lo < 0 or hi >= k then
      error(('%s: label %s is outside the %d %s of %s; labels count from 0'):format(fname,
        tostring(tonumber(lo < 0 and lo or hi)), k, k == 1 and 'class' or 'classes', tensor.describe(x)), level)
    end
  end
  return counted, F.where(F.lt(label, 0), k, label) + 1 -- no label counts from the end
end

local function weight_of(fname, o, k, level)
  if o.weight and (o.weight.ndim ~= 1 or o.weight.shape[1] ~= k) then
    error(('%s: weight is %s for %d classes; give one number for each'):format(fname, tensor.describe(o.weight), k),
      level)
  end
  return o.weight
end

--- log_softmax(x) at one place of each row, [m, 1]; its gradient g (one_hot - softmax(x)) takes one pass over memory.
local function log_probability(x, spot)
  local custom = require 'mascon.transform.custom'
  local function result(t, at)
    local logs = F.log_softmax(t, 2)
    return F.take_along_axis(logs, at, { axis = 2 }), { logs, at }
  end
  return custom.custom_vjp(function(t, at) return (result(t, at)) end, {
    forward = result,
    backward = function(kept, g)
      local logs, at = kept[1], kept[2]
      local place = create.arange(1, logs.shape[2], 1, { dtype = 'i32', device = logs.device })
      return F.where(F.eq(place, at:to 'i32'), g, 0) - F.exp(logs) * g
    end,
  })(x, spot)
end

--- Cross entropy of logits with class labels or with distributions over classes; the last axis holds the classes.
---
--- Labels: -log p[target], times the weight of the class; the mean divides by the weights of the labels that count.
--- Distributions: -sum target log p, the mean divides by the number of rows. label_smoothing e mixes targets with the
--- uniform distribution: (1 - e) target + e / classes. If no label counts, the sum is 0 and the mean NaN.
---@param x any f32|f64 logits [..., classes]
---@param target any integers from 0 [...], or probabilities [..., classes]
---@param opts? table weight: [classes] (none) · ignore_index: a label that does not count (-100) · label_smoothing
--- (0), at most 1 · reduction ('mean')
---@return any a number, or the shape of target (of its rows)
--- Errors: shapes that do not belong together, labels outside the classes.
--- Source: PyTorch nn.functional.cross_entropy, whose classes are on axis 2.
---     mc.nn.cross_entropy(mc.tensor{ { 1000, 0 } }, mc.tensor({ 1 }, { dtype = 'i64' }))  --> f64[]@cpu 1000
function M.cross_entropy(x, target, opts)
  local fname = 'nn.cross_entropy'
  x, target = op.beside(fname, x, target, 2), op.beside(fname, target, x, 2)
  local o = check.opts(fname, opts, CLASSES, 3)
  local flat = rows_of(fname, x, 3)
  local k = flat.shape[2]
  local weight, e = half.wide(weight_of(fname, o, k, 3)), o.label_smoothing
  if e > 1 then error(('%s: label_smoothing is %g; give a number from 0 to 1'):format(fname, e), 2) end
  local kind = tensor.kind[target.dtype]
  if kind == 'f' and target.ndim == x.ndim - 1 then
    error(("%s: logits are %s and target is %s; class labels are integers, target:to 'i64', and probabilities of "
      .. 'classes have the shape of the logits'):format(fname, tensor.describe(x), tensor.describe(target)), 2)
  end
  local logs = (kind == 'f' or e > 0) and F.log_softmax(flat, 2)
  local dtype = half.result(x, o.weight, kind == 'f' and target or nil)
  local each, total
  if kind == 'f' then
    target = select(2, pair(fname, x, target, 3))
    local p = methods.reshape(target, { -1, k })
    if e > 0 then p = p * (1 - e) + e / k end
    each = -F.sum(p * (weight and logs * weight or logs), 2)
  else
    local counted, at = labels(fname, x, target, o, 3)
    local spot = methods.expand_dims(at, 2)
    local own = methods.squeeze(logs and F.take_along_axis(logs, spot, { axis = 2 }) or log_probability(flat, spot), 2)
    local w = weight and F.take(weight, at)
    each = -(w and own * w or own)
    if e > 0 then
      each = each * (1 - e) - F.sum(weight and logs * weight or logs, 2) * (e / k)
    end
    each = F.where(counted, each, 0)
    total = F.sum(F.where(counted, w or 1, 0):to(flat.dtype))
  end
  if o.reduction == 'sum' then return half.narrow(F.sum(each), dtype) end
  if o.reduction == 'mean' then return half.narrow(total and F.sum(each) / total or F.mean(each), dtype) end
  local shape = {}
  for i = 1, x.ndim - 1 do shape[i] = x.shape[i] end
  return half.narrow(methods.reshape(each, shape), dtype)
end

--- Negative log likelihood of class labels, from logarithms of probabilities.
---@param x any f32|f64 logarithms of probabilities [..., classes]
---@param target any integers from 0 [...]
---@param opts? table weight: [classes] (none) · ignore_index (-100) · reduction ('mean')
---@return any a number, or the shape of target
--- Errors: as cross_entropy. Source: PyTorch nn.functional.nll_loss.
---     mc.nn.nll_loss(mc.tensor{ { -0.5, -1 } }, mc.tensor({ 1 }, { dtype = 'i64' }))  --> f64[]@cpu 1
function M.nll_loss(x, target, opts)
  local fname = 'nn.nll_loss'
  x, target = op.beside(fname, x, target, 2), op.beside(fname, target, x, 2)
  local o = check.opts(fname, opts, { weight = CLASSES.weight, ignore_index = CLASSES.ignore_index,
    reduction = REDUCTION }, 3)
  local flat = rows_of(fname, x, 3)
  local weight, dtype = half.wide(weight_of(fname, o, flat.shape[2], 3)), half.result(x, o.weight)
  local counted, at = labels(fname, x, target, o, 3)
  local own = methods.squeeze(F.take_along_axis(flat, methods.expand_dims(at, 2), { axis = 2 }), 2)
  local w = weight and F.take(weight, at)
  local each = F.where(counted, -(w and own * w or own), 0)
  if o.reduction == 'sum' then return half.narrow(F.sum(each), dtype) end
  if o.reduction == 'mean' then
    return half.narrow(F.sum(each) / F.sum(F.where(counted, w or 1, 0):to(flat.dtype)), dtype)
  end
  return half.narrow(methods.reshape(each, target.shape), dtype)
end

--- Cross entropy that weighs easy examples down: -alpha (1 - p)^gamma log p of the target class.
---@param x any f32|f64 logits [..., classes]
---@param target any integers from 0 [...]
---@param opts? table alpha (1) · gamma (2) · ignore_index (-100): a label that does not count · reduction ('mean', over
---   those that count)
---@return any a number, or the shape of target
--- Errors: as cross_entropy. Source: Focal loss for dense object detection, 2017.
---     mc.nn.focal_loss(mc.zeros{ 1, 1 }, mc.tensor({ 0 }, { dtype = 'i64' }))  --> f64[]@cpu 0
function M.focal_loss(x, target, opts)
  local fname = 'nn.focal_loss'
  x, target = op.beside(fname, x, target, 2), op.beside(fname, target, x, 2)
  local o = check.opts(fname, opts, { alpha = { 1, 'number' }, gamma = { 2, 'number >= 0' },
    ignore_index = CLASSES.ignore_index, reduction = REDUCTION }, 3)
  local counted, at = labels(fname, x, target, o, 3)
  local logs = F.log_softmax(rows_of(fname, x, 3), 2)
  local own = methods.squeeze(F.take_along_axis(logs, methods.expand_dims(at, 2), { axis = 2 }), 2)
  local each = F.where(counted, own * F.pow(-F.expm1(own), o.gamma) * -o.alpha, 0)
  if o.reduction == 'mean' then return half.narrow(F.sum(each) / F.sum(counted:to(each.dtype)), half.result(x)) end
  return half.narrow(reduced(methods.reshape(each, target.shape), o.reduction), half.result(x))
end

-- ---------------------------------------------------------------- distributions and embeddings

--- Kullback-Leibler divergence of targets P from distributions Q: P (log P - log Q), 0 where P is 0.
---@param x any f32|f64 logarithms of Q, any shape
---@param target any P, of the shape of x
---@param opts? table reduction: 'mean' (of elements), 'batchmean' (divided by the first axis: the divergence), 'sum',
--- 'none' ('mean')
---@return any a number, or the shape of x
--- Errors: shapes that differ. Source: PyTorch nn.functional.kl_div.
---     mc.nn.kl_div_loss(mc.zeros{ 1, 2 }, mc.tensor{ { 0, 1 } }, { reduction = 'batchmean' })  --> f64[]@cpu 0
function M.kl_div_loss(x, target, opts)
  local dtype
  x, target, dtype = pair('nn.kl_div_loss', x, target, 3)
  local o = check.opts('nn.kl_div_loss', opts, { reduction = { 'mean', { 'mean', 'batchmean', 'sum', 'none' } } }, 3)
  local some = F.gt(target, 0)
  local each = F.where(some, target * (F.log(F.where(some, target, 1)) - x), 0)
  if o.reduction == 'batchmean' then return half.narrow(F.sum(each) / (x.ndim > 0 and x.shape[1] or 1), dtype) end
  return half.narrow(reduced(each, o.reduction), dtype)
end

--- Cosine of the angle between vectors along an axis; norms count as at least eps.
---@param a any f32|f64 [..., n]
---@param b any broadcasts with a
---@param opts? table axis (-1) · eps (1e-8)
---@return any without the axis
--- Source: PyTorch nn.functional.cosine_similarity.
---     mc.nn.cosine_similarity(mc.tensor{ 1, 0 }, mc.tensor{ 0, 2 })  --> f64[]@cpu 0
function M.cosine_similarity(a, b, opts)
  a, b = op.beside('nn.cosine_similarity', a, b, 2), op.beside('nn.cosine_similarity', b, a, 2)
  local o = check.opts('nn.cosine_similarity', opts, { axis = { -1, 'integer' }, eps = { 1e-8, 'number >= 0' } }, 3)
  local dtype = half.result(a, b)
  a, b = half.wide(a), half.wide(b)
  if tostring(a.shape) ~= tostring(b.shape) then a, b = unpack(manipulate.broadcast_arrays(a, b)) end
  local function norm(t) return F.maximum(F.sqrt(F.sum(F.square(t), o.axis)), o.eps) end
  return half.narrow(F.sum(a * b, o.axis) / (norm(a) * norm(b)), dtype)
end

--- 1 - cos for pairs that belong together (target 1), max(0, cos - margin) for others (target -1).
---@param a any f32|f64 [..., n]
---@param b any of the shape of a
---@param target any 1 or -1 [...]
---@param opts? table margin (0) · reduction ('mean')
---@return any a number, or the shape of target
--- Errors: shapes that differ. Source: PyTorch nn.functional.cosine_embedding_loss.
---     mc.nn.cosine_embedding_loss(mc.tensor{ { 1, 0 } }, mc.tensor{ { 0, 2 } }, mc.tensor{ 1 })  --> f64[]@cpu 1
function M.cosine_embedding_loss(a, b, target, opts)
  local fname = 'nn.cosine_embedding_loss'
  local dtype
  a, b, dtype = pair(fname, a, b, 3)
  target = op.operand(fname, target, 2)
  local o = check.opts(fname, opts, { margin = { 0, 'number' }, reduction = REDUCTION }, 3)
  local cos = M.cosine_similarity(a, b)
  return half.narrow(reduced(F.where(F.gt(target, 0), 1 - cos, F.maximum(cos - o.margin, 0)), o.reduction), dtype)
end

local LOG_SCALE, HIGHEST = math.log(1 / 0.07), math.log(100)

--- Row i of a belongs to row i of b: the mean cross entropy of finding it among all rows of b, and the other way round.
---
--- Logits are the cosines of all pairs times exp(log_scale), a scale of at most 100.
---@param a any f32|f64 [n, d]
---@param b any of the shape of a
---@param opts? table log_scale: a number, or a 0-d tensor to be learned (ln(1 / 0.07))
---@return any a number
--- Errors: shapes that differ, or are not [n, d].
--- Source: Learning transferable visual models from natural language supervision, 2021, figure 3.
---     mc.nn.contrastive_loss(mc.eye(2), mc.eye(2), { log_scale = 50 })  --> f64[]@cpu 0
function M.contrastive_loss(a, b, opts)
  local fname = 'nn.contrastive_loss'
  local dtype
  a, b, dtype = pair(fname, a, b, 3)
  if a.ndim ~= 2 then error(('%s: input is %s; give rows, [n, d]'):format(fname, tensor.describe(a)), 2) end
  local scale = check.opts(fname, opts, { log_scale = { LOG_SCALE, 'number | tensor' } }, 3).log_scale
  scale = tensor.is(scale) and F.exp(F.minimum(scale, HIGHEST)) or math.exp(math.min(scale, HIGHEST))
  local function unit(t) return t / F.maximum(F.sqrt(F.sum(F.square(t), { -1, keepdim = true })), 1e-12) end
  local fit = methods.matmul(unit(a), unit(b).mT) * scale
  local own = methods.to(create.arange(0, a.shape[1] - 1, 1, { dtype = 'i64' }), { device = a.device })
  return half.narrow((M.cross_entropy(fit, own) + M.cross_entropy(fit.mT, own)) / 2, dtype)
end

--- max(0, |a - positive + eps|_p - |a - negative + eps|_p + margin) of vectors along the last axis.
---@param anchor any f32|f64 [..., n]
---@param positive any of its shape
---@param negative any of its shape
---@param opts? table margin (1) · p (2) · eps (1e-6), added to every component · reduction ('mean')
---@return any a number, or without the last axis
--- Errors: shapes that differ. Source: PyTorch nn.functional.triplet_margin_loss.
---     mc.nn.triplet_margin_loss(mc.zeros{ 1, 2 }, mc.zeros{ 1, 2 }, mc.zeros{ 1, 2 })  --> f64[]@cpu 1
function M.triplet_margin_loss(anchor, positive, negative, opts)
  local fname = 'nn.triplet_margin_loss'
  local dtype, own
  anchor, positive, dtype = pair(fname, anchor, positive, 3)
  own, negative = half.result(op.operand(fname, negative, 2)), select(2, pair(fname, anchor, negative, 3))
  local o = check.opts(fname, opts, {
    margin = { 1, 'number' }, p = { 2, 'number > 0' }, eps = { 1e-6, 'number >= 0' }, reduction = REDUCTION,
  }, 3)
  local function distance(b)
    local d = F.abs(anchor - b + o.eps)
    local sum = F.sum(o.p == 2 and F.square(d) or F.pow(d, o.p), -1)
    local apart = F.gt(sum, 0) -- the root has no slope at 0
    local root = F.where(apart, sum, 1)
    return F.where(apart, o.p == 2 and F.sqrt(root) or F.pow(root, 1 / o.p), 0)
  end
  local each = F.maximum(distance(positive) - distance(negative) + o.margin, 0)
  return half.narrow(reduced(each, o.reduction), own and dtype)
end

return M
