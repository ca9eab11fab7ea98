-- kernels.lua - kernels against rows: one that a row names and nobody wrote, and one that nobody names, stop the build.
--
-- usage: luajit kernels.lua OBJECT...    (from the top of the tree; the objects of the library, read with nm)
-- What is missing is said with its row. Plain loops, mck_..._ref_..., are the oracle of the C tests.
local defined, wanted = {}, {}

-- Kernels that no other object of a level may name, each with its reason.
local OWN_FILE = 'v2 has no vector sort: sort.c calls it itself'
local APART = {
  mck_random_bits_u32 = 'C tests: words of the generator against the published vectors',
  mck_random_bits_u64 = 'the same, in pairs',
  mck_sort_mapped_i32 = OWN_FILE, mck_sort_mapped_i64 = OWN_FILE,
  mck_sort_radix_i32 = OWN_FILE, mck_sort_radix_i64 = OWN_FILE,
}

local pipe = assert(io.popen('nm -g -A ' .. table.concat(arg, ' ')))
for line in pipe:lines() do
  local path, kind, name = line:match '^([^:]+):.*(%a)%s+(mck_[%w_]+)$'
  if kind == 'U' then wanted[name] = wanted[name] or path
  elseif name then defined[name] = path end
end
pipe:close()

--- The row that a kernel belongs to, as text.
local function row_of(name)
  local T = dofile((arg[0]:match '^(.*)/[^/]*/[^/]*$') .. '/ops.lua')
  local best
  for _, r in ipairs(T.ops) do
    if name:find('^mck_' .. r[1]:gsub('%p', '%%%0') .. '_') and (not best or #r[1] > #best) then best = r[1] end
  end
  return best and ('the row %s of runtime/ops/rows'):format(best) or 'the table of kernels (runtime/ops/ops.lua)'
end

local function sorted(set, fine)
  local list = {}
  for name in pairs(set) do if fine(name) then list[#list + 1] = name end end
  table.sort(list)
  return list
end

local faults = 0
for _, name in ipairs(sorted(wanted, function(name) return not defined[name] end)) do
  faults = faults + 1
  local text = 'kernels: %s names %s, which is not there; write it in kernels/cpu, or take its dtype off the row\n'
  io.stderr:write(text:format(row_of(name), name))
end
local function stray(name)
  return not wanted[name] and not name:find '_ref_' and not APART[name:gsub('_v%d$', '')]
end
for _, name in ipairs(sorted(defined, stray)) do
  faults = faults + 1
  local file = defined[name]:match '([^/]*/[^/]*)%.o$'
  local text = 'kernels: %s of kernels/%s.c is named by no row and by no driver; add it to its row, or remove it\n'
  io.stderr:write(text:format(name, file))
end
os.exit(faults == 0 and 0 or 1)
