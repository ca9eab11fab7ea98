-- tiles.lua - the steps of tiles as one C function that takes row after row through all of them.
--
-- Each elementwise step is the function that codegen.lua makes of it, called for one row; a reduction or softmax among
-- them is a call of the op's own kernel, so that the bits are those of the ops. What passes between steps is a buffer
-- of one row or a variable. Lengths and distances are handed in: a new shape of the same layout is the same text. Holds
-- the text of the walk.
local codegen = require 'mascon.compile.native.codegen'
local lib = require 'mascon.core.ffi'

local M = {}

-- elements of a row: shorter ones go better many at a time, longer ones are summed in pieces
local SHORTEST, LONGEST = 64, 16384
local OPERANDS, OPS = 56, 16
local FULL = { f32 = true, f64 = true }

local function numel(shape)
  local n = 1
  for _, s in ipairs(shape) do n = n * s end
  return n
end

--- How the trailing axes of an operand lie in a space `shape` whose first k axes lead: 'one' value, a 'row', or nil.
local function trailing(h, shape, k, shift)
  local one, row, expected = true, true, 1
  for d = #shape, k + 1, -1 do
    local own = d + shift
    local stride = own >= 1 and h.shape[own] ~= 1 and h.strides[own] or 0
    if shape[d] ~= 1 then
      one, row = one and stride == 0, row and stride == expected
      expected = expected * shape[d]
    end
  end
  return one and 'one' or row and 'row' or nil
end

--- Where the memory of a header begins.
local function memory(h) return h.const and 'const ' .. h.id or ('%s %d'):format(h.where, h.index) end

---@param owner table step `tiles`: lead, row_bytes, shift, slot
---@param members table[] the steps behind it
---@param layout table[] headers
---@return table|nil { name, text, leaves, results (places among the headers of the steps), lengths, slots, members,
---  member_lengths, special, ops, kernels }
---@return string|nil reason
function M.emit(owner, members, layout)
  local k, rows = #owner.lead, numel(owner.lead)
  local leaves, leaf_of, results, lengths, length_of = {}, {}, {}, {}, {}
  local along, along_lengths, ops, kernels, special = {}, {}, {}, {}, false
  local inside, written = {}, {} -- slot or memory -> { text = C address, kind, n, dense header }
  local texts, body, ahead = {}, {}, {}

  local function length(n)
    if not length_of[n] then
      lengths[#lengths + 1] = n
      length_of[n] = #lengths
    end
    return length_of[n]
  end
  --- Rows of an operand are asked for while earlier ones are computed, some of it at every step.
  local function ask(name, n, dtype, writes)
    ahead[#ahead + 1] = ('        AHEAD(%s, @%s, n%d * (int64_t)sizeof(%s), %%d, %d, %d);\n'):format(name, name,
      length(n), codegen.by_code[dtype].c, #members, writes)
  end
  --- What a step reads: its C address and kind, or nil and why not.
  local function read(number, place, shape, n)
    local h, slot = layout[number], owner.slot[place]
    local v
    if slot >= 0 then v = inside[slot] else v = written[memory(h)] end
    if v then
      if v.kind == 'row' and v.n ~= n or (slot < 0 and v.h ~= h) then
        return nil, 'a result is read in another layout'
      end
      return v.text, v.kind
    end
    local kind = n == 1 and 'one' or trailing(h, shape, k, owner.shift[place])
    if not kind then return nil, 'an operand does not lie along the rows' end
    local key = ('%d/%d'):format(number, owner.shift[place])
    if not leaf_of[key] then
      leaves[#leaves + 1] = place
      leaf_of[key] = #leaves
      local own = k + owner.shift[place]
      if kind == 'row' and own >= 1 and h.shape[own] ~= 1 then ask('x' .. #leaves, n, h.dtype, 0) end
    end
    return 'x' .. leaf_of[key], kind
  end
  --- Where a step writes.
  local function write(h, place, n, name)
    local slot, kind = owner.slot[place], n == 1 and 'one' or 'row'
    if slot < 0 then
      results[#results + 1] = place
      written[memory(h)] = { text = 'y' .. #results, kind = kind, n = n, h = h }
      if kind == 'row' then ask('y' .. #results, n, h.dtype, 1) end
      return 'y' .. #results
    end
    local c = codegen.by_code[h.dtype].c
    if kind == 'one' then
      body[#body + 1] = ('        %s %s;\n'):format(c, name)
      inside[slot] = { text = '&' .. name, kind = kind, n = n }
    else
      inside[slot] = { text = 'b' .. slot + 1, kind = kind, n = n }
    end
    return inside[slot].text
  end

  local place = 0
  for number, m in ipairs(members) do
    local first = place
    body[#body + 1] = number -- the place of AHEAD
    place = place + #m.outs + #m.ins
    local shape = layout[m.code and m.outs[1] or m.ins[1]].shape
    local n = numel(shape) / rows
    if n ~= 1 and (n < SHORTEST or n > LONGEST) then return nil, ('rows have %d elements'):format(n) end
    local from, to = {}, {}
    local given, made = {}, {}
    for i, h in ipairs(m.ins) do
      local text, kind = read(h, first + #m.outs + i, shape, n)
      if not text then return nil, kind end
      from[i] = text
      given[i] = kind == 'row' and { dtype = layout[h].dtype, shape = { SHORTEST }, strides = { 1 } }
        or { dtype = layout[h].dtype, shape = {}, strides = {} }
    end
    if m.code then
      for i, h in ipairs(m.outs) do
        to[i] = write(layout[h], first + i, n, ('s%d_%d'):format(number, i))
        made[i] = { dtype = layout[h].dtype, shape = { n == 1 and 1 or SHORTEST } }
      end
      local f, why = codegen.emit(m, given, made)
      if not f then return nil, why end
      special = special or f.special
      for name, id in pairs(f.ops) do ops[name] = id end
      for name, kernel in pairs(f.kernels) do kernels[name] = kernel end
      texts[#texts + 1] = f.text:gsub('^MC_API int64_t [%w_]+', ('static int64_t @%d'):format(number)) .. '\n'
      body[#body + 1] = ([[
        {
            const void *const from[] = { %s };
            void *const to[] = { %s };
            const int64_t bad = @%d(n%d, to, from, op);
            if (bad)
                return (row + r) * n%d + bad;
        }
]]):format(table.concat(from, ', '), table.concat(to, ', '), number, length(n), length_of[n])
    else
      local h = layout[m.ins[1]]
      if not (m.row and #m.ins == 1 and m.row.by_rows and FULL[codegen.by_code[h.dtype][1]]) or m.params.dtype >= 0
        or #m.ins ~= 1 or #m.outs ~= 1 then
        return nil, 'a step that works otherwise'
      end
      local out = layout[m.outs[1]]
      local kept = numel(out.shape) / rows
      if n == 1 or not from[1] or given[1].shape[1] == nil or (kept ~= 1 and kept ~= n) or #along == OPS then
        return nil, 'a step that works otherwise'
      end
      along[#along + 1], along_lengths[#along + 1] = number, length(n)
      body[#body + 1] =
        ('        ops[%d].run(&ops[%d], %s, %s); /* %s */\n'):format(#along - 1, #along - 1, '@to', from[1], m.row[1])
      local at = #body
      to[1] = write(out, first + 1, kept, ('s%d_1'):format(number))
      local call = table.remove(body, at)
      body[#body + 1] = call:gsub('@to', to[1])
    end
  end
  local nl, nr = #leaves, #results
  for i, line in ipairs(body) do
    if type(line) == 'number' then
      local asks = {}
      for j, a in ipairs(ahead) do
        asks[j] = a:format(line - 1):gsub('@([xy])(%d+)',
          function(kind, which) return ('step[%d]'):format(which - 1 + (kind == 'y' and nl or 0)) end)
      end
      body[i] = table.concat(asks)
    end
  end
  if nl + nr > OPERANDS then return nil, 'too many operands' end
  local head = {}
  for i = 1, #lengths do head[#head + 1] = ('    const int64_t n%d = step[%d];\n'):format(i, nl + nr + i) end
  for s = 1, #owner.row_bytes do
    head[#head + 1] = ('    void *const b%d = (char *)in[%d] + step[%d];\n'):format(s, nl + 1, nl + nr + #lengths + s)
  end
  local walk = {}
  for i = 1, nl do
    walk[#walk + 1] = ('        const void *const x%d = (const char *)in[%d] + r * step[%d];\n'):format(i, i - 1, i - 1)
  end
  for i = 1, nr do
    walk[#walk + 1] = ('        void *const y%d = (char *)out[%d] + r * step[%d];\n'):format(i, i - 1, nl + i - 1)
  end
  local text = ([[
%sMC_API int64_t @0(int64_t rows, void *const *out, const void *const *in, int32_t *op)
{
    const int64_t *const step = in[%d];
    const row_op *const ops = in[%d];
    const int64_t row = step[%d];
%s    (void)op, (void)ops, (void)row;
    for (int64_t r = 0; r < rows; r++) {
%s%s    }
    return 0;
}
]]):format(table.concat(texts), nl, nl + 2, nl + nr, table.concat(head), table.concat(walk), table.concat(body))
  local name = 'r_' .. lib.sha256(text):sub(1, 20)
  text = text:gsub('@0', name):gsub('@(%d+)', name .. '_%1')
  return { name = name, text = text, leaves = leaves, results = results, lengths = lengths, slots = owner.row_bytes,
    members = along, member_lengths = along_lengths,
    special = special, ops = ops, kernels = kernels, by_rows = true }
end

return M
