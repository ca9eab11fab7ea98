-- exponential.lua - the exponential of matrices, where their values are known and where they are not.
--
-- Scaling and squaring decide by norms. Where values are known Lua decides; in a function that is compiled or
-- vectorised the body decides by mc.switch and a loop, with the same ops in the same order. A recording sees one call.
-- Its derivatives are those of the body forwards, in both directions: the adjoint of the derivative of exp at a is the
-- derivative at the adjoint of a.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local stack = require 'mascon.array.stacks'
local methods, F = tensor.methods, op.functions
local M = {}

-- Largest 1-norms at which the approximant of a degree reaches the precision: Higham 2005, table 2.3 (f64) and its f32
-- column
local DEGREES = {
  f64 = { { 3, 1.495585217958292e-2 }, { 5, 2.539398330063230e-1 }, { 7, 9.504178996162932e-1 },
    { 9, 2.097847961257068 }, { 13, 5.371920351148152 } },
  f32 = { { 3, 4.258730016922831e-1 }, { 5, 1.880152677804762 }, { 7, 3.925724783138660 } },
}
DEGREES.c64, DEGREES.c128 = DEGREES.f32, DEGREES.f64
local COEFFICIENTS = {
  [3] = { 120, 60, 12, 1 },
  [5] = { 30240, 15120, 3360, 420, 30, 1 },
  [7] = { 17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1 },
  [9] = { 17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1 },
  [13] = {
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
  },
}
local LARGEST = 1100 -- squarings: the largest f64 needs fewer; infinity must not ask for more

--- Odd part u and even part v of the approximant's numerator; coefficients relative to the first, so that f32 does not
--- overflow.
local function numerator(a, degree, eye)
  local b, c = COEFFICIENTS[degree], {}
  for k = 1, degree + 1 do c[k - 1] = b[k] / b[1] end
  local a2 = F.matmul(a, a)
  local u, v
  if degree == 13 then
    local a4 = F.matmul(a2, a2)
    local a6 = F.matmul(a4, a2)
    u = F.matmul(a6, a6 * c[13] + a4 * c[11] + a2 * c[9]) + a6 * c[7] + a4 * c[5] + a2 * c[3] + eye * c[1]
    v = F.matmul(a6, a6 * c[12] + a4 * c[10] + a2 * c[8]) + a6 * c[6] + a4 * c[4] + a2 * c[2] + eye
  else
    local power = a2
    u, v = eye * c[1] + a2 * c[3], eye + a2 * c[2]
    for k = 4, degree, 2 do
      power = F.matmul(power, a2)
      u, v = u + power * c[k + 1], v + power * c[k]
    end
  end
  return F.matmul(a, u), v
end

--- One squaring of the matrices that want it: number k.
local function squared(y, steps, k)
  local s = F.matmul(y, y)
  return steps.ndim == 0 and s or F.where(stack.factor(F.ge(steps, k)), s, y)
end

--- The 1-norm of each matrix, and how often it is to be halved before the approximant of the largest degree serves.
local function halvings(a, most)
  local norms = F.max(F.sum(F.abs(a), -2), -1)
  return norms, F.minimum(F.maximum(F.ceil(F.log2(norms / most)), 0), LARGEST)
end

local function by_values(a, eye)
  local list = DEGREES[a.dtype]
  local degree, most = unpack(list[#list])
  local norms, steps = halvings(a, most)
  local top, squarings = F.max(norms):item(), 0
  for i = #list, 1, -1 do if top <= list[i][2] then degree = list[i][1] end end
  if top > most then
    squarings = F.max(steps):item()
    a = a * stack.factor(F.exp2(-steps))
  end
  local u, v = numerator(a, degree, eye)
  local y = F.solve(v - u, v + u)
  for k = 1, squarings do y = squared(y, steps, k) end
  return y
end

--- The same decisions as ops.
local function by_ops(a, eye)
  local list = DEGREES[a.dtype]
  local norms, steps = halvings(a, list[#list][2])
  local top, degrees, place = methods.to(F.max(norms), 'f64'), {}, nil
  for i, d in ipairs(list) do
    degrees[i] = function(x) return numerator(x, d[1], eye) end
    local above = i < #list and methods.to(F.gt(top, d[2]), 'i64')
    place = place and above and place + above or place or above
  end
  local u, v = require('mascon.transform.branch').switch(place + 1, degrees, a * stack.factor(F.exp2(-steps)))
  return require('mascon.transform.loop').fori_loop(1, methods.to(F.max(steps), 'i64'),
    function(k, y) return squared(y, steps, k) end, F.solve(v - u, v + u))
end

local Exponential
--- The call that stands for the exponential in a recording.
local function kind()
  local transform = require 'mascon.transform'
  local region = require 'mascon.transform.region'
  local K = region.kind 'expm'
  --- The derivative at a in the direction t: the same steps, whose number is held.
  local function along(self, a, t)
    if not self.graph then
      local _, moved = transform.jvp(function(x) return by_values(x, self.eye) end, { a }, { t })
      return { moved }
    end
    local _, moved = region.forward(self.graph, { a:is_contiguous() and a or a:copy() }, { t })
    return moved
  end
  function K:run(ins) return { M.expm(ins[1]) } end
  function K:batch(ins) return { M.expm(ins[1]) } end
  function K:forward(t, x) return along(self, x[1], t[1]) end
  function K:back(g, x) return along(self, stack.adjoint(x[1]), g[1]) end
  return K
end

--- Exponential of square matrices: sum of a^k / k!, by scaling, a Pade approximant and squaring.
---
--- a: f32|f64|c64|c128 [..., n, n]; each matrix of a batch has its own number of squarings. Errors: NaN or infinity
--- (inside mc.compile and mc.vmap the result is NaN then).
--- Source: The scaling and squaring method for the matrix exponential revisited, 2005, algorithm 2.3.
---     mc.linalg.expm { { 0, 1 }, { 0, 0 } }  --> f64[2,2]@cpu { { 1, 1 }, { 0, 1 } }
---@param a mc.tensor
---@return mc.tensor
function M.expm(a)
  local n
  a, n = stack.square('expm', a)
  if a:numel() == 0 then return methods.copy(a) end
  stack.finite('expm', a)
  if n == 1 then return F.exp(a) end
  local eye = stack.eye(n, a.dtype, a)
  if not tensor.recorded(a) then return by_values(a, eye) end
  Exponential = Exponential or kind()
  local prim = setmetatable({ title = 'expm', eye = eye }, Exponential)
  if not tensor.known(a) then
    local region = require 'mascon.transform.region'
    prim.graph = region.trace('expm', function(x) return { by_ops(x, eye) } end, { a })
    region.close { prim.graph }
  end
  return prim:call({ a })[1]
end

return M
