-- grad_golden_spec.lua - gradients against PyTorch, JAX and mpmath where derivatives have traps
-- (tests/golden/make_grad_elements.py).
--
-- Every case of the file must be named here; a call says how the op is asked for the same thing.
local support = dofile((debug.getinfo(1, 'S').source:match '^@(.*)/spec/[^/]*$' or 'tests') .. '/support/init.lua')
local mc = require 'mascon'
local tol = support.load 'tol'
local op = require 'mascon.core.op'

local FILE = support.folder .. '/golden/grad_elements.npz'

local CALL = {
  prod = function(x) return mc.prod(x, 2) end, cumprod = function(x) return mc.cumprod(x, 2) end,
  cumprod_complex = function(x) return mc.cumprod(x, 1) end, amax = function(x) return mc.max(x, 2) end,
  logcumsumexp = function(x) return mc.logcumsumexp(x, 2) end, logsumexp = mc.logsumexp,
  log_softmax = function(x) return mc.log_softmax(x, { axis = 2 }) end,
  softmax_twice = function(x) return mc.softmax(x, { axis = 2 }) end,
  std = function(x) return mc.std(x, { 2, correction = 1 }) end,
  var_twice = function(x) return mc.square(mc.var(x, 2)) end,
  quantile = function(x) return mc.quantile(x, { 0.2, 0.55 }, 2) end, nanmean = function(x) return mc.nanmean(x, 2) end,
  sort = function(x) return mc.sort(x, { axis = 2, descending = true }) end, sgn_complex = mc.sign,
  divide_complex = mc.divide, vdot_complex = mc.vdot,
}
CALL.cumprod_twice, CALL.polygamma = CALL.cumprod, function(x) return mc.special.polygamma(2, x) end
local HOW = { prod = 'prod', mean = 'mean', amax = 'max' }
local function call(name)
  local how, own = name:match '^scatter_(%l+)_(%d)$'
  if how then
    return function(x, i, v)
      return mc.scatter_reduce(x, i, v, { axis = 2, reduce = HOW[how], include_self = own == '1', base = 0 })
    end
  end
  local plain = name:gsub('_complex$', ''):gsub('_third$', '')
  return CALL[name] or op.functions[plain]
end

-- the answers are f64; some of them and of ours are differences of neighbouring orders, or divisions by small steps of
-- a parameter
local DIGITS_LOST = 2 ^ 8

local function compare(what, got, want)
  assert.equal(tostring(want.shape), tostring(got.shape), what)
  local size = mc.max(mc.where(mc.isfinite(want), mc.abs(want), 0)):item()
  for _, part in ipairs(want.dtype == 'c128' and { 'real', 'imag' } or { 'real' }) do
    local list = mc[part](got):reshape(-1):totable()
    for i, v in ipairs(mc[part](want):reshape(-1):totable()) do
      local wrong = tol.compare('ITERATIVE', 'f64', list[i], v, { bound = 2 ^ -52 * DIGITS_LOST * size })
      if wrong then error(('%s, %s of element %d: %s'):format(what, part, i, wrong), 0) end
    end
  end
end

describe('gradients of other programs', function()
  it('are those of mascon', function()
    local file = mc.load(FILE)
    local names = {}
    for key in pairs(file) do names[#names + 1] = key:match '^(.*)_w$' end
    table.sort(names)
    assert(#names > 50)
    for _, name in ipairs(names) do
      local f, x, wanted = call(name), {}, {}
      assert(f, name .. ' has no call here')
      while file[name .. '_x' .. #x + 1] do
        x[#x + 1] = file[name .. '_x' .. #x + 1]
        if file[name .. '_g' .. #x] then wanted[#wanted + 1] = #x end
      end
      local w = file[name .. '_w']
      local function loss(...)
        local y = f(...)
        return mc.sum(mc.real(mc.conj(w) * y))
      end
      local run = mc.grad(loss, { argnums = wanted })
      local g = run(unpack(x))
      if name:find '_twice$' then
        g = mc.grad(function(...)
          local total = 0
          for _, t in ipairs(run(...)) do total = total + mc.sum(t * t) end
          return total
        end, { argnums = wanted })(unpack(x))
      end
      for k, i in ipairs(wanted) do compare(('%s, operand %d'):format(name, i), g[k], file[name .. '_g' .. i]) end
    end
  end)
end)
