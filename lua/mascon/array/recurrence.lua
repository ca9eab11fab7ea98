-- recurrence.lua - rows of samples through a recursion: the op `iir` with its states, as filters and their derivatives
-- call it.
local lib = require 'mascon.core.ffi'
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local F, methods = op.functions, tensor.methods
local M = {}

local IIR = op.rows.iir.id
local function run(out, x, coef, state, last, P) return lib.op_multi(IIR, { out, last }, { x, coef, state }, P) end

--- Rows x[m, n] through coef f64 [sections, 2 (order + 1)] from state f64 [m, sections * order], into x itself when
--- `inplace`.
---@return any y [m, n]
---@return any state after the last sample
function M.recurse(x, coef, state, reverse, level, inplace)
  local P = lib.params()
  P.naxes, P.axes[0], P.i[0] = 1, 1, reverse and 1 or 0
  local last = tensor.header(0)
  local y = op.run('signal.filter', (level or 2) + 1, inplace and { out = x } or nil, 0, run, x, coef, state, last, P)
  return y, last._storage ~= nil and tensor.finish(last) or last
end

--- States of rows that begin at rest, where the coefficients are.
function M.rest(m, coef)
  local there = coef._device ~= 0 and { device = coef.device } or nil
  return create.zeros({ m, coef.shape[1] * (coef.shape[2] / 2 - 1) }, there)
end

--- Rows through plain taps h f64 [k], from rest.
function M.fir_rows(x, h)
  local k = h.shape[1]
  local coef = F.concat({ methods.reshape(h, { 1, k }), create.zeros({ 1, k }, { device = h.device }) }, 2)
  coef[{ 1, k + 1 }] = 1
  return (M.recurse(x, coef, M.rest(x.shape[1], coef), false, 3))
end

return M
