-- advice.lua - what a sentence on a fit tells to do, as the reader gives it: an option of the program, or what a script
-- of Lua says.
--
-- In sentences of findings {OPTION VALUE} or {OPTION} stands for an advice, {A & B} for two that are given together,
-- and {? ...} around words for a part that is left out where all the advice in it was given before: the first line on a
-- fit comes first, then its sentences in their order. Data that the program opened have reader = 'program'.
local M = {}

--- Names of a list NAME=VALUE,... as the inside of a table.
local function pairs_of(list) return (list:gsub('=', ' = '):gsub(',', ', ')) end

--- What a script says for an option with a value (a function of it) or without one (bare); where the program does not
--- say --OPTION VALUE, its words; and key, where two are the same advice.
local FORMS = {
  ['scaling'] = { function(v) return ("scaling = '%s'"):format(v) end },
  ['static-mode'] = { bare = "mode = 'static'" },
  ['laminar-flow'] = { bare = "mode = 'laminar_flow'" },
  ['multi-start'] = { function(v) return ('mc.xpcs.search.multi_start, n_starts = %s'):format(v) end },
  ['bounds'] = { function(v) return ('bounds = { %s = { %s, %s } }'):format(v:match '^([^=]+)=([^:]+):(.+)$') end },
  ['any-bounds'] = { bare = 'bounds = { NAME = { LOW, HIGH } }',
    program = '--bounds NAME=LOW:HIGH, or parameter_space.bounds of a configuration' },
  ['fixed'] = { function(v) return ('fixed = { %s }'):format(pairs_of(v)) end },
  ['sigma'] = { function(v)
    return (v:find ',' and 'sigma = { %s }' or 'sigma = %s'):format((v:gsub(',', ', ')))
  end, bare = 'sigma' },
  ['profile'] = { function(v) return ('mc.xpcs.intervals.profile(r, nil, %s)'):format(v) end },
  ['method'] = { function() return 'mc.xpcs.posterior.run(r)' end },
  ['max-iterations'] = { bare = 'max_nfev' },
  ['starts'] = { bare = 'initial = { D0 = VALUE, ... }', program = '--initial-d0, --initial-alpha, ...' },
  ['p0'] = { bare = 'p0' },
  ['q'] = { function(v) return ('q = %s'):format(v) end },
  ['strict-q'] = { bare = 'strict_q = true' },
  ['gap'] = { bare = 'gap = VALUE' },
  ['mask-frames'] = { function(v)
    local list = v:gsub('[^,]+', function(one) return ('{ %s, %s }'):format(one:match '^%d+', one:match '%d+$') end)
    return ('mask_frames = { %s }'):format((list:gsub('},', '}, ')))
  end, bare = 'mask_frames' },
  ['shared'] = { bare = 'shared = { NAME, ... }' },
  ['alone'] = { bare = 'mc.xpcs.fit', program = 'the same command without --joint' },
  ['rates'] = { bare = 'mc.xpcs.rates.of(r)', program = 'rates.csv' },
  ['all-rates'] = { bare = 'mc.xpcs.rates.of(r)', program = 'report.html and rates.csv', key = 'rates' },
}

--- Pieces of advice in the inside of braces: a list of { option, value }; nil where these are no advice.
---@param body string
---@return table[]|nil
local function read(body)
  local out = {}
  for part in (body .. ' & '):gmatch '(.-) & ' do
    local option, value = part:match '^(%l[%w-]*)%s*(.*)$'
    local form = FORMS[option]
    if not form or not form[value == '' and 'bare' or 1] then return nil end
    out[#out + 1] = { option = option, value = value ~= '' and value or nil }
  end
  return out
end

--- Whether an advice of this option can be given.
---@param option string
---@return boolean
function M.knows(option) return FORMS[option] ~= nil end

local function key_of(one)
  return (FORMS[one.option].key or one.option) .. ' ' .. (one.value or '')
end

local function in_lua(one)
  local form = FORMS[one.option]
  return one.value and form[1](one.value) or form.bare
end

local function in_program(one)
  return FORMS[one.option].program or '--' .. one.option .. (one.value and ' ' .. one.value or '')
end

--- All advice in a sentence, that of parts too.
---@param s string
---@return table[] list of { option, value }
function M.of(s)
  local out = {}
  for whole in s:gmatch '%b{}' do
    local body = whole:sub(2, -2)
    for _, one in ipairs(body:sub(1, 1) == '?' and M.of(body:sub(2)) or read(body) or {}) do out[#out + 1] = one end
  end
  return out
end

--- A sentence in the words of who reads it; '' where all of it was given before. What it tells is noted.
---@param s string
---@param program boolean
---@param given table what was told: set of keys
---@return string
function M.words(s, program, given)
  return (s:gsub('%b{}', function(whole)
    local body = whole:sub(2, -2)
    if body:sub(1, 1) == '?' then
      local list = M.of(body:sub(2))
      local new = #list == 0
      for _, one in ipairs(list) do new = new or not given[key_of(one)] end
      return new and M.words(body:sub(2), program, given) or ''
    end
    local list = read(body)
    if not list then return nil end
    for i, one in ipairs(list) do
      given[key_of(one)] = true
      list[i] = program and in_program(one) or in_lua(one)
    end
    return table.concat(list, program and ' ' or ', ')
  end))
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
function M.worded(s, r) return M.words(s, of_program(r), {}) end

--- The first line and the sentences of a verdict in the words of who reads them, and what each finding tells to do
--- (advice). Findings that tell nothing new go.
---@param said table sentences, findings, conclusion
---@param r table
function M.reword(said, r)
  local program, given, sentences, findings = of_program(r), {}, {}, {}
  said.conclusion = M.words(said.conclusion, program, given)
  if r.joint and not r.fits then given = {} end -- the first line of one set of a joint fit is not shown
  for _, f in ipairs(said.findings or {}) do
    f.template = f.template or f.text
    f.advice = M.of(f.template)
    local text = M.words(f.template, program, given)
    if text ~= '' then
      f.text = text
      findings[#findings + 1], sentences[#sentences + 1] = f, text
    end
  end
  said.findings, said.sentences = findings, sentences
end

return M
