-- device.lua - what devices compile, as text in the library: files of kernels, conversions, elementwise rows.
--
-- Called by gen.lua; gives the C text of mc_gen_device.c. A program is a few #define lines and one #include
-- (runtime/device/mc_program.c). Light elementwise rows share a program for each number of operands and dtype, with a
-- switch; the others have one each, so that nobody waits for what he does not use.
local emit = require 'mascon.gen.emit'

local M = {}
local LETTERS = { 'a', 'b', 'c' }

local function literal(text)
  local out = {}
  for line in text:gmatch '[^\n]*\n?' do
    if line ~= '' then out[#out + 1] = '    "' .. line:gsub('\\', '\\\\'):gsub('"', '\\"'):gsub('\n', '\\n') .. '"' end
  end
  return table.concat(out, '\n')
end

local function read(path)
  local f = assert(io.open(path, 'rb'))
  local text = f:read '*a'
  f:close()
  return text
end

---@param env table files: their paths; order: rows by number; DT: dtypes; ewise: operands by family; compute:
--- function(row, dtype) -> name of the dtype of the arithmetic
function M.text(env)
  local DT = env.DT
  local E = emit.new('device', DT, env.order)
  local o = { env.header, '#include "device/mc_program.h"\n#include "family/mc_launch.h"\n\n' }
  o[#o + 1] = 'const mci_text mci_device_texts[] = {\n'
  for _, path in ipairs(env.files) do
    o[#o + 1] = ('    {"%s",\n%s},\n'):format(path:match '[^/]*$', literal(read(path)))
  end
  o[#o + 1] = '    {0, 0},\n};\n\n'

  local types = {}
  for i, d in ipairs(DT) do types[i] = ('"%s"'):format(d.c) end
  o[#o + 1] = ('const char *const mci_device_types[MC_NDTYPE] = {%s};\n\n'):format(table.concat(types, ', '))
  o[#o + 1] = 'const char *const mci_device_casts[MC_NDTYPE] = {\n'
  for _, to in ipairs(DT) do
    local cases = {}
    for _, from in ipairs(DT) do
      if from ~= to then
        local v = E.cast(('AT(const %s, in, j.at[1])[off[1]]'):format(from.c), from, to)
        cases[#cases + 1] = ('case %d: v = %s; break;'):format(from.code, v)
      end
    end
    local head = '#include "mck_cast.h"\n#include "mck_math_c.h"\n#define TO %s\n#define NUMBER MCD_NUMBER_%s\n'
    local body = '#define CASTS %s\n#include "copy.c"\n'
    o[#o + 1] = literal((head .. body):format(to.c, to[1], table.concat(cases, ' '))) .. ',\n'
  end
  o[#o + 1] = '};\n\n'

  -- elementwise rows: which program and which number in its switch, for each dtype of the operands
  local sources, groups, rows = {}, {}, {}
  for _, r in ipairs(env.order) do
    local n = env.ewise[r.family]
    local row = {}
    for _, s in ipairs(DT) do -- as operands lie
      if n and r.set[s[1]] then
        local d = DT[env.compute(r, s)]
        local e = E.element(r, d, { unpack(LETTERS, 1, n) })
        local rd, od = e.dtype, emit.result(r, s, DT)
        local light = not e.heavy and not e.test and not e.forbidden
        local half = s.compute and ('#define LOAD(x) mck_%s_to_f32(x)\n'):format(s[1]) or '#define LOAD(x) (x)\n'
        local back = od.compute and ('#define STORE(x) mck_f32_to_%s(x)\n'):format(od[1]) or '#define STORE(x) (x)\n'
        local need = {}
        if e.special then need[#need + 1] = '#include "mck_special.h"\n'
        elseif d.kind == 'c' then need[#need + 1] = '#include "mck_class.h"\n'
        elseif d.kind == 'f' then need[#need + 1] = '#define MCK_REAL\n#include "mck_math.h"\n#include "mck_class.h"\n'
        else need[#need + 1] = '#include "mck_int.h"\n' end
        if s.compute or od.compute then need[#need + 1] = '#include "mck_cast.h"\n' end
        local form = '#define S %s\n#define T %s\n#define R %s\n#define O %s\n#define NIN %d\n'
        local head = (form .. '#define NUMBER MCD_NUMBER_%s\n%s%s%s'):format(
          s.c, d.c, rd.c, od.c, n, d[1], r.family == 'where' and '#define C uint8_t\n' or '', half, back)
        local key
        if light then
          key = head .. '@' .. table.concat(need)
          local g = groups[key]
          if not g then
            g = { list = {} }
            groups[key] = g
            sources[#sources + 1] = { head = head, need = need, group = g }
            g.at = #sources - 1
          end
          g.list[#g.list + 1] = ('case %d: return %s;'):format(#g.list, e.careful)
          row[s.code] = { g.at, #g.list - 1, od.code }
        else
          if e.forbidden then head = head .. ('#define GUARD (%s)\n'):format(e.forbidden) end
          sources[#sources + 1] = { head = head .. ('#define APPLY %s\n'):format(e.careful), need = need }
          row[s.code] = { #sources - 1, 0, od.code }
        end
      end
    end
    rows[#rows + 1] = row
  end
  o[#o + 1] = 'const char *const mci_device_formulas[] = {\n'
  for _, s in ipairs(sources) do
    local text = table.concat(s.need) .. s.head -- headers first: letters are macros behind them
    if s.group then
      local list = s.group.list
      list[#list] = list[#list]:gsub('^case %d+:', 'default:')
      text = text .. '#define SWITCH ' .. table.concat(list, ' ') .. '\n'
    end
    o[#o + 1] = literal(text .. '#include "ewise.c"\n') .. ',\n'
  end
  o[#o + 1] = '    0,\n};\n\nconst mci_formula mci_device_ewise[][MC_NDTYPE] = {\n'
  for i, row in ipairs(rows) do
    local cells = {}
    for _, d in ipairs(DT) do
      local c = row[d.code]
      cells[#cells + 1] = c and ('{%d, %d, %d}'):format(c[1], c[2], c[3]) or '{-1, 0, 0}'
    end
    o[#o + 1] = ('    {%s}, /* %s */\n'):format(table.concat(cells, ', '), env.order[i][1])
  end
  o[#o + 1] = '};\n'
  return table.concat(o)
end

return M
