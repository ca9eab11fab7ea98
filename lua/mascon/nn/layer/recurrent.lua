-- recurrent.lua - recurrent layers: a cell run along time by mc.scan, several layers, both directions.
--
-- Names and order of gates are PyTorch's (LSTM i, f, g, o; GRU r, z, n), so that its files load; the batch comes first,
-- time second.
local tensor = require 'mascon.core.tensor'
local check = require 'mascon.core.check'
local op = require 'mascon.core.op'
local create = require 'mascon.array.create'
local scan = require 'mascon.transform.scan'
local module = require 'mascon.nn.module'
local dropout = require 'mascon.nn.dropout'
local linear = require('mascon.nn.linear').linear
local error = check.error
local methods, F = tensor.methods, op.functions
local M = {}

--- How a cell goes on: gates (how many), step(a, p, h, c). a = x W_ih^T + b_ih + h W_hh^T + b_hh; of a cell that is
--- apart a is what the input gives and p what the state gives.
local KINDS = {
  tanh = { gates = 1, step = function(a) return F.tanh(a) end },
  relu = { gates = 1, step = function(a) return F.relu(a) end },
  lstm = { gates = 4, cell = true, step = function(a, _, _, c)
    local g = methods.split(a, 4, 2)
    c = F.logistic(g[2]) * c + F.logistic(g[1]) * F.tanh(g[3])
    return F.logistic(g[4]) * F.tanh(c), c
  end },
  gru = { gates = 3, apart = true, step = function(a, p, h)
    local x, g = methods.split(a, 3, 2), methods.split(p, 3, 2)
    local r, z = F.logistic(x[1] + g[1]), F.logistic(x[2] + g[2])
    local n = F.tanh(x[3] + r * g[3])
    return (1 - z) * n + z * h
  end },
}

--- What a step takes: a, p of KINDS from what the input adds and w = W_hh^T, b = b_hh where the cell is apart.
local function operands_of(kind, x, h, w, b)
  local p = methods.matmul(h, w)
  if not kind.apart then return x + p, nil end
  return x, b and p + b or p
end

--- The cell along time: { y, h, c } and, where asked to keep them, the operands of each step.
---
--- W_hh is turned once: the products of a few rows then read it as it lies (32 x 256 by 1024: 102 us instead of 125).
local function along(kind, a, reverse, keep)
  local w = methods.copy(a.w.mT)
  local last, rows = scan.scan(function(s, x)
    local sum, p = operands_of(kind, x, s.h, w, a.b)
    local h, c = kind.step(sum, p, s.h, s.c)
    return { h = h, c = c }, keep and { y = h, a = not kind.apart and sum or nil, p = p, h = s.h, c = s.c } or { y = h }
  end, { h = a.h, c = a.c }, a.x, { reverse = reverse })
  return { y = rows.y, h = last.h, c = last.c }, rows
end

--- The same with a rule for derivatives: operands of the steps are kept, and the gradient of W_hh is one product over
--- all of them.
---
--- Operands: x [time, batch, gates hidden], what the input adds; w: W_hh; b: b_hh of a cell that is apart; h, c: the
--- state at the start.
local function recurrence(kind, operands, reverse)
  local vjp = require 'mascon.transform'.vjp
  local function step(t)
    local h, c = kind.step(t.a, t.p, t.h, t.c)
    return { h = h, c = c }
  end
  return require 'mascon.transform.custom'.custom_vjp(function(a) return (along(kind, a, reverse)) end, {
    forward = function(a)
      local out, rows = along(kind, a, reverse, true)
      return out, { a = a, sum = rows.a, p = rows.p, h = rows.h, c = rows.c }
    end,
    backward = function(kept, g)
      local a, apart = kept.a, kind.apart
      local first, rows = scan.scan(function(s, r)
        local _, way = vjp(step, { a = r.a, p = r.p, h = r.h, c = r.c })
        local d = way { h = s.h + r.g, c = s.c }
        local h = methods.matmul(apart and d.p or d.a, a.w)
        return { h = apart and d.h + h or h, c = d.c }, { a = d.a, p = d.p }
      end, { h = g.h, c = g.c }, { a = apart and a.x or kept.sum, p = kept.p, h = apart and kept.h or nil, c = kept.c,
        g = g.y }, { reverse = not reverse })
      local flat = methods.reshape(apart and rows.p or rows.a, -1, a.w.shape[1])
      return { x = rows.a, w = methods.matmul(flat.mT, methods.reshape(kept.h, -1, a.w.shape[2])),
        b = a.b and F.sum(flat, 1), h = first.h, c = first.c }
    end,
  })(operands)
end

local OPTS = module.options {
  layers = { 1, 'integer >= 1' }, bias = { true, 'bool' }, bidirectional = { false, 'bool' },
    dropout = { 0, 'number >= 0' },
  nonlinearity = { 'tanh', { 'tanh', 'relu' } }, forget_bias = { 0, 'number' },
}

--- Parameters of one layer in one direction, named with a suffix.
local function register(self, o, inputs, suffix, at)
  local hidden, gates = self.hidden, self.kind.gates
  local init = { 'uniform', bound = 1 / math.sqrt(hidden) }
  self:parameter('weight_ih' .. suffix, { gates * hidden, inputs }, init, module.own(o, at))
  self:parameter('weight_hh' .. suffix, { gates * hidden, hidden }, init, module.own(o, at + 1))
  if not o.bias then return end
  local forget = { { hidden + 1, 2 * hidden } }
  self:parameter('bias_ih' .. suffix, { gates * hidden }, init, module.own(o, at + 2, o.forget_bias ~= 0
    and function(b) b[forget] = b[forget] + o.forget_bias end or nil))
  self:parameter('bias_hh' .. suffix, { gates * hidden }, init, module.own(o, at + 3))
end

--- What the input of a layer adds, W_hh, and b_hh where the cell is apart; elsewhere it is added with b_ih, once.
local function weights(self, suffix)
  local wi, bi, bh = self['weight_ih' .. suffix], self['bias_ih' .. suffix], self['bias_hh' .. suffix]
  local apart = self.kind.apart
  if bi and not apart then bi = bi + bh end
  return function(x) return linear(x, wi, bi) end, self['weight_hh' .. suffix], apart and bh or nil
end

local function zeros(x, batch, hidden)
  return create.zeros({ batch, hidden }, { dtype = tensor.kind[x.dtype] == 'f' and x.dtype or 'f32',
    device = x.device })
end

local function layers(name, kind)
  local fname = 'nn.' .. name
  local Layer = module.Module(name)
  function Layer:init(inputs, hidden, opts)
    local o = check.opts(fname, opts, OPTS, 4)
    check.arg(fname, 'inputs', inputs, 'integer >= 1', 4)
    check.arg(fname, 'hidden', hidden, 'integer >= 1', 4)
    rawset(self, 'kind', KINDS[kind or o.nonlinearity])
    self.inputs, self.hidden, self.layers, self.bidirectional, self.dropout = inputs, hidden, o.layers, o.bidirectional,
      o.dropout
    local at = 1
    for l = 0, o.layers - 1 do
      local width = l == 0 and inputs or hidden * (o.bidirectional and 2 or 1)
      for _, way in ipairs(o.bidirectional and { '', '_reverse' } or { '' }) do
        register(self, o, width, '_l' .. l .. way, at)
        at = at + 4
      end
    end
  end

  function Layer:forward(x, state)
    if not tensor.is(x) or x.ndim ~= 3 or x.shape[3] ~= self.inputs then
      error(('%s: input is %s; give [batch, time, %d]'):format(fname, tensor.is(x) and tensor.describe(x)
        or check.show(x),
        self.inputs), 2)
    end
    local kinds, ways = self.kind, self.bidirectional and 2 or 1
    local h0, c0 = state, nil
    if kinds.cell and state then h0, c0 = state[1], state[2] end
    for what, t in pairs { h = h0, c = c0 } do
      if not tensor.is(t) or t.ndim ~= 3 or t.shape[1] ~= self.layers * ways or t.shape[2] ~= x.shape[1]
        or t.shape[3] ~= self.hidden then
        error(('%s: the state %s is %s; give [%d, %d, %d]: layers times directions, batch, hidden'):format(fname, what,
          tensor.is(t) and tensor.describe(t) or check.show(t), self.layers * ways, x.shape[1], self.hidden), 2)
      end
    end
    local last_h, last_c, y = {}, {}, methods.permute_dims(x, 2, 1, 3)
    for l = 0, self.layers - 1 do
      local out = {}
      for d = 1, ways do
        local at = l * ways + d
        local input, w, b = weights(self, '_l' .. l .. (d == 2 and '_reverse' or ''))
        local made = recurrence(kinds, { x = input(y), w = w, b = b,
          h = h0 and h0[at] or zeros(x, x.shape[1], self.hidden),
          c = kinds.cell and (c0 and c0[at] or zeros(x, x.shape[1], self.hidden)) or nil }, d == 2)
        last_h[at], last_c[at], out[d] = made.h, made.c, made.y
      end
      y = ways == 2 and F.concat(out, 3) or out[1]
      if self.dropout > 0 and l < self.layers - 1 and self:is_training() then
        y = dropout.dropout(y, self.dropout, self:next_key())
      end
    end
    local last = F.stack(last_h, 1)
    if kinds.cell then last = { last, F.stack(last_c, 1) } end
    return methods.permute_dims(y, 2, 1, 3), last
  end
  function Layer:describe()
    return ('%d, %d%s%s'):format(self.inputs, self.hidden, self.layers > 1 and (', %d layers'):format(self.layers)
      or '',
      self.bidirectional and ', both directions' or '')
  end
  function Layer:operations(_, x)
    local ways, total = self.bidirectional and 2 or 1, 0
    for l = 1, self.layers do
      total = total + ways * ((l == 1 and self.inputs or self.hidden * ways) + self.hidden)
    end
    return 2 * self.kind.gates * self.hidden * total * x.shape[1] * x.shape[2]
  end
  return Layer
end
local RNN, LSTM, GRU = layers 'RNN', layers('LSTM', 'lstm'), layers('GRU', 'gru')

--- Recurrent layers h' = tanh(x W_ih^T + b_ih + h W_hh^T + b_hh): x [batch, time, inputs].
---
--- Called as rnn(x, state): gives y [batch, time, hidden] ([..., 2 hidden] in both directions) and the last state
--- [layers x directions, batch, hidden]. The state starts as zeros.
---@param inputs integer
---@param hidden integer
---@param opts? table layers (1) · bidirectional (false) · dropout between layers (0) · bias (true) · nonlinearity
---   ('tanh', 'relu') · dtype (f32) · device · key
---@return mascon.Module
--- Source: Finding structure in time, 1990; PyTorch nn.RNN with batch_first.
---     mc.nn.RNN(3, 5)(mc.zeros{ 2, 4, 3, dtype = 'f32' }).shape  --> {2, 4, 5}
function M.RNN(inputs, hidden, opts) return RNN(inputs, hidden, opts) end

--- Long short-term memory: gates i, f, g, o; c' = f c + i tanh(g), h' = o tanh(c').
---
--- Called as lstm(x, { h, c }): gives y [batch, time, hidden] and the last { h, c }, each [layers x directions, batch,
--- hidden].
---@param inputs integer
---@param hidden integer
---@param opts? table layers (1) · bidirectional (false) · dropout between layers (0) · bias (true) · forget_bias: added
---   to that of the forget gate at the start (0) · dtype (f32) · device · key
---@return mascon.Module
--- Source: Long short-term memory, 1997; PyTorch nn.LSTM with batch_first.
---     mc.nn.LSTM(3, 5)(mc.zeros{ 2, 4, 3, dtype = 'f32' }).shape  --> {2, 4, 5}
function M.LSTM(inputs, hidden, opts) return LSTM(inputs, hidden, opts) end

--- Gated recurrent units: r, z, n = tanh(a_n + r (h W_hn^T + b_hn)), h' = (1 - z) n + z h.
---@param inputs integer
---@param hidden integer
---@param opts? table as RNN, without nonlinearity
---@return mascon.Module
--- Source: Learning phrase representations using RNN encoder-decoder, 2014; PyTorch nn.GRU with batch_first.
---     mc.nn.GRU(3, 5)(mc.zeros{ 2, 4, 3, dtype = 'f32' }).shape  --> {2, 4, 5}
function M.GRU(inputs, hidden, opts) return GRU(inputs, hidden, opts) end

-- ---------------------------------------------------------------- one step

local CELL = module.options { bias = OPTS.bias, nonlinearity = OPTS.nonlinearity, forget_bias = OPTS.forget_bias }
local function cell(name, kind)
  local fname = 'nn.' .. name
  local Cell = module.Module(name)
  function Cell:init(inputs, hidden, opts)
    local o = check.opts(fname, opts, CELL, 4)
    check.arg(fname, 'inputs', inputs, 'integer >= 1', 4)
    check.arg(fname, 'hidden', hidden, 'integer >= 1', 4)
    rawset(self, 'kind', KINDS[kind or o.nonlinearity])
    self.inputs, self.hidden = inputs, hidden
    register(self, o, inputs, '', 1)
  end
  function Cell:forward(x, h, c)
    if not tensor.is(x) or x.ndim ~= 2 or x.shape[2] ~= self.inputs then
      error(('%s: input is %s; give [batch, %d]'):format(fname, tensor.is(x) and tensor.describe(x) or check.show(x),
        self.inputs), 2)
    end
    local input, w, b = weights(self, '')
    h = h or zeros(x, x.shape[1], self.hidden)
    if self.kind.cell and not c then c = zeros(x, x.shape[1], self.hidden) end
    local a, p = operands_of(self.kind, input(x), h, w.mT, b)
    return self.kind.step(a, p, h, c)
  end
  function Cell:describe() return ('%d, %d'):format(self.inputs, self.hidden) end
  return Cell
end
local RNNCell, LSTMCell, GRUCell = cell 'RNNCell', cell('LSTMCell', 'lstm'), cell('GRUCell', 'gru')

--- One step of nn.RNN: cell(x, h) gives h; x [batch, inputs].
---@param inputs integer
---@param hidden integer
---@param opts? table bias (true) · nonlinearity ('tanh') · dtype (f32) · device · key
---@return mascon.Module
--- Source: PyTorch nn.RNNCell.
---     mc.nn.RNNCell(3, 5)(mc.zeros{ 2, 3, dtype = 'f32' }).shape  --> {2, 5}
function M.RNNCell(inputs, hidden, opts) return RNNCell(inputs, hidden, opts) end
--- One step of nn.LSTM: cell(x, h, c) gives h and c.
---@param inputs integer
---@param hidden integer
---@param opts? table bias (true) · forget_bias (0) · dtype (f32) · device · key
---@return mascon.Module
--- Source: PyTorch nn.LSTMCell.
---     mc.nn.LSTMCell(3, 5)(mc.zeros{ 2, 3, dtype = 'f32' }).shape  --> {2, 5}
function M.LSTMCell(inputs, hidden, opts) return LSTMCell(inputs, hidden, opts) end
--- One step of nn.GRU: cell(x, h) gives h.
---@param inputs integer
---@param hidden integer
---@param opts? table bias (true) · dtype (f32) · device · key
---@return mascon.Module
--- Source: PyTorch nn.GRUCell.
---     mc.nn.GRUCell(3, 5)(mc.zeros{ 2, 3, dtype = 'f32' }).shape  --> {2, 5}
function M.GRUCell(inputs, hidden, opts) return GRUCell(inputs, hidden, opts) end

return M
