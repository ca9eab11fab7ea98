-- runge_kutta.lua - one step of an embedded explicit Runge-Kutta pair, and the polynomial between its ends.
--
-- Holds the tableaux and the arithmetic of a step over a state vector.
--
-- Source: A family of embedded Runge-Kutta formulae, 1980 (RK45); its interpolant: Some practical Runge-Kutta
-- formulas, 1986; A 3(2) pair of Runge-Kutta formulas, 1989 (RK23), interpolated by the cubic through its ends.
local tensor = require 'mascon.core.tensor'
local op = require 'mascon.core.op'
local F, methods = op.functions, tensor.methods
local M = {}

-- c: nodes; a: stages; b: the step; e: b less the embedded weights, last for the slope at the end; p[stage][power]: the
-- interpolant
M.RK45 = {
  order = 5, error_order = 4,
  c = { 0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1 },
  a = {
    {}, { 1 / 5 }, { 3 / 40, 9 / 40 }, { 44 / 45, -56 / 15, 32 / 9 },
    { 19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729 },
    { 9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656 },
  },
  b = { 35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84 },
  e = { -71 / 57600, 0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40 },
  p = {
    { 1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432 },
    { 0, 0, 0, 0 },
    { 0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799 },
    { 0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072 },
    { 0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632 },
    { 0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844 },
    { 0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423 },
  },
}
M.RK23 = {
  order = 3, error_order = 2,
  c = { 0, 1 / 2, 3 / 4 },
  a = { {}, { 1 / 2 }, { 0, 3 / 4 } },
  b = { 2 / 9, 1 / 3, 4 / 9 },
  e = { 5 / 72, -1 / 12, -1 / 9, 1 / 8 },
  p = { { 1, -4 / 3, 5 / 9 }, { 0, 1, -2 / 3 }, { 0, 4 / 3, -8 / 9 }, { 0, -1, 1 } },
}

--- A stepper for states [n] of a dtype on a device (its number): the stages as rows of one tensor, and views of the
--- first ones.
function M.stepper(tableau, n, dtype, device)
  local stages = #tableau.c
  local K = tensor.empty('solve_ivp', { stages + 1, n }, dtype, 3, device):fill_(0)
  local self = { tableau = tableau, K = K, rows = {}, first = {}, stages = stages }
  for i = 1, stages + 1 do self.rows[i] = K[i] end
  for i = 1, stages do self.first[i] = K[{ { 1, i } }] end
  local function row(list) return tensor.moved(methods.to(op.from_table(list), dtype), device, 3) end
  self.a = {}
  for i = 2, stages do self.a[i] = row(tableau.a[i]) end
  self.b, self.e = row(tableau.b), row(tableau.e)
  self.p = F.matrix_transpose(row(tableau.p))
  return self
end

--- y after h; row 1 of K holds the slope at t. The slope at the end comes back too, and stands in the last row.
function M.step(self, f, t, y, h)
  local c = self.tableau.c
  for i = 2, self.stages do
    local dy = F.matmul(self.a[i], self.first[i - 1])
    methods.copy_(self.rows[i], f(t + c[i] * h, F.add(y, F.multiply(dy, h))))
  end
  local new = F.add(y, F.multiply(F.matmul(self.b, self.first[self.stages]), h))
  local slope = f(t + h, new)
  methods.copy_(self.rows[self.stages + 1], slope)
  return new, slope
end

--- What the embedded formula says of the error of the last step.
function M.error(self, h) return F.multiply(F.matmul(self.e, self.K), h) end

--- Coefficients [powers, n] of the interpolant of the last step: y(t + x h) = y + h sum of q[k] x^k.
function M.interpolant(self) return F.matmul(self.p, self.K) end

local function like(list, q) return tensor.moved(methods.to(op.from_table(list), q.dtype), q._device, 3) end

--- The interpolant at times: y [n] at a number, [n, m] at a list of numbers.
function M.at(piece, t)
  local powers = piece.q.shape[1]
  if type(t) == 'number' then
    local x = (t - piece.t) / piece.h
    local row, value = {}, 1
    for k = 1, powers do
      value = value * x
      row[k] = value
    end
    return F.add(piece.y, F.multiply(F.matmul(like(row, piece.q), piece.q), piece.h))
  end
  local rows = {}
  for i, v in ipairs(t) do
    local x, value = (v - piece.t) / piece.h, 1
    rows[i] = {}
    for k = 1, powers do
      value = value * x
      rows[i][k] = value
    end
  end
  local between = F.matmul(like(rows, piece.q), piece.q) -- [m, n]
  return F.matrix_transpose(F.add(F.multiply(between, piece.h), piece.y))
end

return M
