-- nist.lua - the nonlinear regression problems of NIST (tests/golden/nist.npz): models, data, starts, certified values.
--
-- Models are written over tensors x and a list of parameters b, for specs and benches.
local mc = require 'mascon'
local M = {}

local exp, cos, sin, pi = mc.exp, mc.cos, mc.sin, math.pi

local function misra1a(x, b) return b[1] * (1 - exp(-b[2] * x)) end
local function chwirut(x, b) return exp(-b[1] * x) / (b[2] + b[3] * x) end
local function lanczos(x, b) return b[1] * exp(-b[2] * x) + b[3] * exp(-b[4] * x) + b[5] * exp(-b[6] * x) end
local function gauss(x, b)
  return b[1] * exp(-b[2] * x) + b[3] * exp(-((x - b[4]) / b[5]) ^ 2) + b[6] * exp(-((x - b[7]) / b[8]) ^ 2)
end
local function cubic(x, b)
  return (b[1] + x * (b[2] + x * (b[3] + x * b[4]))) / (1 + x * (b[5] + x * (b[6] + x * b[7])))
end

local MODELS = {
  Misra1a = misra1a, BoxBOD = misra1a, Chwirut1 = chwirut, Chwirut2 = chwirut, Lanczos1 = lanczos, Lanczos2 = lanczos,
  Lanczos3 = lanczos, Gauss1 = gauss, Gauss2 = gauss, Gauss3 = gauss, Hahn1 = cubic, Thurber = cubic,
  DanWood = function(x, b) return b[1] * x ^ b[2] end,
  Misra1b = function(x, b) return b[1] * (1 - (1 + b[2] * x / 2) ^ -2) end,
  Misra1c = function(x, b) return b[1] * (1 - (1 + 2 * b[2] * x) ^ -0.5) end,
  Misra1d = function(x, b) return b[1] * b[2] * x / (1 + b[2] * x) end,
  Kirby2 = function(x, b) return (b[1] + x * (b[2] + x * b[3])) / (1 + x * (b[4] + x * b[5])) end,
  Nelson = function(x, b) return b[1] - b[2] * x[1] * exp(-b[3] * x[2]) end,
  MGH17 = function(x, b) return b[1] + b[2] * exp(-x * b[4]) + b[3] * exp(-x * b[5]) end,
  Roszman1 = function(x, b) return b[1] - b[2] * x - mc.atan(b[3] / (x - b[4])) / pi end,
  ENSO = function(x, b)
    local w = 2 * pi * x
    return b[1] + b[2] * cos(w / 12) + b[3] * sin(w / 12) + b[5] * cos(w / b[4]) + b[6] * sin(w / b[4])
      + b[8] * cos(w / b[7]) + b[9] * sin(w / b[7])
  end,
  MGH09 = function(x, b) return b[1] * (x ^ 2 + x * b[2]) / (x ^ 2 + x * b[3] + b[4]) end,
  MGH10 = function(x, b) return b[1] * exp(b[2] / (x + b[3])) end,
  Rat42 = function(x, b) return b[1] / (1 + exp(b[2] - b[3] * x)) end,
  Rat43 = function(x, b) return b[1] / (1 + exp(b[2] - b[3] * x)) ^ (1 / b[4]) end,
  Eckerle4 = function(x, b) return b[1] / b[2] * exp(-0.5 * ((x - b[3]) / b[2]) ^ 2) end,
  Bennett5 = function(x, b) return b[1] * (b[2] + x) ^ (-1 / b[3]) end,
}

M.names = {}
for name in pairs(MODELS) do M.names[#M.names + 1] = name end
table.sort(M.names)

--- The problems by name, from the golden file at `path`.
---@return table<string, { model: function, x: mc.tensor, y: mc.tensor, starts: number[][], b: number[], sd: number[],
---  sum: number, residual_sd: number, dof: integer }>
function M.load(path)
  local g, all = mc.load(path), {}
  for _, name in ipairs(M.names) do
    local y, sums = g[name .. '_y'], g[name .. '_sum']:totable()
    all[name] = { model = MODELS[name], x = g[name .. '_x'], y = name == 'Nelson' and mc.log(y) or y,
      starts = g[name .. '_start']:totable(),
      b = g[name .. '_b']:totable(), sd = g[name .. '_sd']:totable(), sum = sums[1],
      residual_sd = sums[2], dof = sums[3] }
  end
  return all
end

return M
