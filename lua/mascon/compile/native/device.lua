-- device.lua - a fused group as a program of devices: one kernel, a lane for each element.
--
-- The formulas are those of the ops' own kernels (runtime/ops/emit.lua, dialect `device`), so the bits are the same
-- where the math is ours. Dtypes are in the text, layouts are not: where a leaf lies (MCF_AT_k) and how many
-- buffers, numbers and axes there are is put in front when the group is bound (mc_step_device.c). Leaves that are
-- numbers travel in the launch. Holds the text.
local codegen = require 'mascon.compile.native.codegen'
local emit = require 'mascon.gen.emit'
local lib = require 'mascon.core.ffi'

local M = {}

--- Leaves and results of a group on a device: each is a buffer argument of its kernel, and one more holds what ops
--- refuse (MC_LAUNCH_BUFFERS).
M.OPERANDS = 14

local EWISE, by_id, by_code = lib.gen.elementwise, lib.by_id, codegen.by_code
local E = emit.new('device', codegen.by_name, lib.gen.ops)
M.emitter = E

--- The headers that lines of C call into: those of the long special functions take a second to compile.
---@param lines string[]
---@param special boolean they call special functions
---@return string
function M.headers(lines, special)
  local text = table.concat(lines, '\n')
  local complex = text:find 'mck_c%d' or text:find '_c64%f[^%w_]' or text:find '_c128%f[^%w_]'
  local cast = text:find 'mck_[a-z0-9]+_to_'
  if special then
    return '#include "mck_special.h"\n#include "mck_class.h"\n#include "mck_int.h"\n#include "mck_cast.h"\n'
  end
  local list = {}
  if complex then
    list[1] = '#include "mck_class.h"\n'
  else
    list[1] = '#define MCK_REAL\n#include "mck_math.h"\n#include "mck_class.h"\n'
  end
  list[#list + 1] = '#include "mck_int.h"\n'
  if cast then list[#list + 1] = '#include "mck_cast.h"\n' end
  return table.concat(list)
end

local GUARD = 'if (%s) ATOMIC_MIN(AT(uint32_t, guards, j.at[%d]) + j.guard[%d], '
  .. '(uint32_t)(i < 0xfffffffe ? i + 1 : 0xfffffffe));'

--- The program of a fused step, or nil and why there is none.
---@param group table code, want, result (of a step with a program)
---@param leaves table[] headers: dtype (code), weak
---@param results table[] headers: dtype
---@return table|nil { text, guards = { number of an op } }
---@return string|nil reason
function M.emit(group, leaves, results)
  local lines, register, guards, special, arguments, numbers = {}, {}, {}, false, {}, 0
  for k = 1, #results do arguments[k] = ('GLOBAL char *y%d'):format(k) end
  for k, h in ipairs(leaves) do
    local v, from, want = ('v%d'):format(k), by_code[h.dtype], by_code[group.want[k]]
    register[k - 1] = v
    if h.weak then
      lines[k] = ('const %s %s = MCD_NUMBER_%s(j.num + %d);'):format(want.c, v, want[1], 2 * numbers)
      numbers = numbers + 1
    else
      arguments[#arguments + 1] = ('GLOBAL const char *x%d'):format(k)
      local x = ('AT(const %s, x%d, j.at[%d])[MCF_AT_%d]'):format(from.c, k, #arguments - 1, k)
      lines[k] = ('const %s %s = %s;'):format(want.c, v, from == want and x or E.cast('(' .. x .. ')', from, want))
    end
  end
  local at = #arguments -- of the numbers of the guards
  for k, c in ipairs(group.code) do
    local var, d, rd, uses = ('t%d'):format(k), by_code[c.dtype], by_code[c.rdtype], {}
    for i, r in ipairs(c.src) do uses[i] = register[r] end
    local value
    if c.op < 0 then
      value = E.cast(uses[1], d, rd)
    else
      local row = by_id[c.op]
      if not row or not EWISE[row.family] then return nil, 'an op that is no elementwise one' end
      local e = E.element(row, d, uses)
      special = special or e.special == true
      if e.forbidden then
        lines[#lines + 1] = GUARD:format(e.forbidden, at, #guards)
        guards[#guards + 1] = c.op
      end
      value = e.careful
    end
    lines[#lines + 1] = ('const %s %s = %s;'):format(rd.c, var, value)
    register[c.dst] = var
  end
  for k, h in ipairs(results) do
    local c = by_code[h.dtype].c
    lines[#lines + 1] = ('AT(%s, y%d, j.at[%d])[i] = %s;'):format(c, k, k - 1, register[group.result[k]])
  end
  arguments[#arguments + 1] = 'GLOBAL char *guards'
  local text = { M.headers(lines, special), '#include "fused.h"\nKERNEL fused(', table.concat(arguments, ', '),
    ', const mcf_job j)\n{\n    const int64_t i = GLOBAL_LANE;\n    if (i < j.n) {\n        MCF_PLACES\n        ',
    table.concat(lines, '\n        '), '\n    }\n}\n' }
  return { text = table.concat(text), guards = guards }
end

return M
