-- epochs.lua - sets of epochs for the specs of mc.autoreject. Loaded with support.load 'epochs'.
--
-- Holds S1 as an Epochs object, made once, and a random set with a few bad cells.
local mc = require 'mascon'
local epochs = require 'mascon.meeg.epochs'
local M = {}

--- Epochs of samples: opts as of meeg.epochs.new beside data.
function M.of(data, opts)
  local o = { data = data, fs = 250 }
  for k, v in pairs(opts or {}) do o[k] = v end
  return epochs.new(o)
end

--- S1; factor scales the data, dtype stores it otherwise.
function M.s1(opts)
  local o = opts or {}
  local s = mc.autoreject.generate.s1()
  local data = o.factor and s.data * o.factor or s.data
  return M.of(o.dtype and data:to(o.dtype) or data,
    { channels = s.names, positions = s.positions, fs = s.fs, bads = o.bads })
end

--- E epochs of C channels on a half sphere, T samples: slow noise shared by all, noise of each, every seventh cell
--- louder.
function M.random(E, C, T, opts)
  local o = opts or {}
  local seed = o.seed or 1
  local place = mc.randn({ C, 3 }, { seed = seed })
  place[{ mc.all, 3 }] = mc.abs(place[{ mc.all, 3 }])
  place = 0.09 * place / mc.sqrt(mc.sum(place * place, { 2, keepdim = true }))
  local shared = mc.cumsum(mc.randn({ E, 3, T }, { seed = seed + 1 }), 3)
  local mix = mc.randn({ C, 3 }, { seed = seed + 2 })
  local x = 1e-6 * (mc.matmul(mix, shared) + 2 * mc.randn({ E, C, T }, { seed = seed + 3 }))
  local loud = mc.lt(mc.rand({ E, C, 1 }, { seed = seed + 4 }), 1 / 7):to 'f64'
  x = x * (1 + 5 * loud)
  return M.of(x,
    { positions = o.positions ~= false and place or nil, types = o.types, bads = o.bads, channels = o.channels })
end

--- The same epochs with their samples behind a reader, as in a file.
function M.behind(e)
  local reads = { count = 0, rows = 0 }
  local fields = { fs = e.fs, tmin = e.tmin, samples = e.samples, channels = e.channels, bads = e.bads }
  return epochs.over('support', fields, {
    count = e:count(), dtype = e:dtype(), read = function(rows, picks)
      reads.count, reads.rows = reads.count + 1, reads.rows + #rows
      return e:read({ epochs = rows, channels = picks }):copy()
    end,
  }), reads
end

--- Rows of a message test: f must raise a message that holds every piece and blames a line of `file`.
function M.refuses(support, file)
  return function(pieces, f, ...)
    local e = support.message(f, ...)
    assert(e:find(file .. ':%d+: '), 'blames ' .. e)
    for _, piece in ipairs(pieces) do assert(e:find(piece, 1, true), ('%q is not in %q'):format(piece, e)) end
  end
end

return M
