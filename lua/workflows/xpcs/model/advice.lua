-- advice.lua - options in sentences, as the reader gives them: on the command line, or in Lua.
--
-- Sentences on a fit are written with options of the program (--scaling individual). Where the data came by the library
-- they name what a script gives (scaling = 'individual'): data that the program opened have reader = 'program'.
local M = {}

--- Names of a list NAME=VALUE,... as the inside of a table.
local function pairs_of(list) return (list:gsub('=', ' = '):gsub(',', ', ')) end

--- option, pattern of the value it may have, what a script gives in its place: a text, or a function of the value.
local OPTIONS = {
  { 'scaling', '%l+', function(v) return ("scaling = '%s'"):format(v) end, 'scaling' },
  { 'static-mode', nil, nil, "mode = 'static'" },
  { 'laminar-flow', nil, nil, "mode = 'laminar_flow'" },
  { 'multi-start', '%d+', function(v) return ('mc.xpcs.search.multi_start, n_starts = %s'):format(v) end,
    'mc.xpcs.search.multi_start' },
  { 'bounds', '[%w_]+=[^%s:]+:[%w%.+-]*[%w]', function(v)
    local name, low, high = v:match '^([^=]+)=([^:]+):(.+)$'
    return ('bounds = { %s = { %s, %s } }'):format(name, low, high)
  end, 'bounds' },
  { 'fixed', '[%w_]+=[%w_=,.+-]*[%w]', function(v) return ('fixed = { %s }'):format(pairs_of(v)) end, 'fixed' },
  { 'sigma', '%d[%d.,e+-]*%d', function(v)
    return v:find ',' and ('sigma = { %s }'):format((v:gsub(',', ', '))) or ('sigma = %s'):format(v)
  end, 'sigma' },
  { 'profile', '[%d.]*%d', function(v) return ('mc.xpcs.intervals.profile(r, nil, %s)'):format(v) end,
    'mc.xpcs.intervals.profile' },
  { 'method', '%l+', function() return 'mc.xpcs.posterior.run(r)' end, 'mc.xpcs.posterior.run' },
  { 'max-iterations', nil, nil, 'max_nfev' },
  { 'initial-d0 and its kin', nil, nil, 'initial = { D0 = VALUE, ... }' },
  { 'initial-d0, --initial-alpha, ...', nil, nil, 'initial = { D0 = VALUE, ... }' },
  { 'q', '%d[%d.e-]*%d', function(v) return ('q = %s'):format(v) end, 'q' },
  { 'mask-frames', '%d[%d,-]*', function(v)
    local list = v:gsub('[^,]+', function(one)
      return ('{ %s, %s }'):format(one:match '^%d+', one:match '%d+$')
    end)
    return ('mask_frames = { %s }'):format((list:gsub('},', '}, ')))
  end, 'mask_frames' },
  { 'strict-q', nil, nil, 'strict_q = true' },
  { 'one-q', nil, nil, 'one_q = true' },
  { 'full-matrices', nil, nil, 'full_matrices = true' },
  { 'gap', nil, nil, 'gap = VALUE' },
  { 'dt', nil, nil, 'dt = VALUE' },
  { 'mask', nil, nil, 'mask = FILE' },
  { 'shared', nil, nil, 'shared = { NAME, ... }' },
  { 'tie', nil, nil, 'tied = { NAME = f }' },
  { 'joint', nil, nil, 'mc.xpcs.joint.fit' },
  { 'p0', nil, nil, 'p0' },
  { 'n-samples', nil, nil, 'draws' },
  { 'n-warmup', nil, nil, 'warmup' },
}

--- Whether an option has its form in Lua here.
---@param name string without dashes
---@return boolean
function M.knows(name)
  for _, row in ipairs(OPTIONS) do
    for one in ('--' .. row[1]):gmatch '%-%-(%l[%w-]*)' do if one == name then return true end end
  end
  return false
end

local function literal(s) return (s:gsub('%p', '%%%0')) end

--- A sentence for a reader of Lua.
---@param s string
---@return string
function M.in_lua(s)
  s = s:gsub('report%.html and rates%.csv', 'mc.xpcs.rates.of(r)'):gsub('rates%.csv', 'mc.xpcs.rates.of(r)')
  s = s:gsub('the same command without %-%-joint', 'mc.xpcs.fit')
  if not s:find('--', 1, true) then return s end
  for _, row in ipairs(OPTIONS) do
    local name = literal('--' .. row[1])
    if row[2] then s = s:gsub(name .. ' (' .. row[2] .. ')', row[3]) end
    s = s:gsub(row[1]:find '%w$' and name .. '%f[^%w-]' or name, (row[4]:gsub('%%', '%%%%')))
  end
  s = s:gsub(', or parameter_space%.bounds of a configuration', '')
  s = s:gsub('%-%-(%l[%w-]*)', function(name) return (name:gsub('%-', '_')) end)
  return (s:gsub('%f[%w_]([%w_]+) %(%1%)', '%1'):gsub('(mode = %S+) (bounds = )', '%1, %2'))
end

--- Whether sentences on a result are read beside a command line.
local function of_program(r)
  local data = r.problem and r.problem.data or r.data or r.fits and r.fits[1] and r.fits[1].problem.data
  return data ~= nil and data.reader == 'program'
end

--- A sentence in the words of who reads it.
---@param s string
---@param r table result of a fit
---@return string
function M.worded(s, r) return of_program(r) and s or M.in_lua(s) end

--- The same for all sentences of a verdict.
---@param said table sentences, findings, conclusion
---@param r table
function M.reword(said, r)
  if of_program(r) then return end
  for i, s in ipairs(said.sentences or {}) do said.sentences[i] = M.in_lua(s) end
  for _, f in ipairs(said.findings or {}) do f.text = M.in_lua(f.text) end
  said.conclusion = M.in_lua(said.conclusion)
end

return M
