-- rerun.lua - `mascon rerun RESULT [--out DIR] [--overwrite]`: repeats a result from its manifest and compares.
--
-- Decides the order: read the record, compare inputs, versions and machine with it and say what differs, run the script
-- with the recorded arguments in its recorded folder into DIR (RESULT-rerun, which is replaced; another folder that
-- holds results needs --overwrite), compare stage hashes and files.
-- Exit status 0 when identical, 1 when not.
local host = require 'mascon.host'

local M = {}

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function say(...) io.stdout:write(string.format(...), '\n') end

local function complain(...)
  io.stdout:flush()
  io.stderr:write('mascon rerun: ', string.format(...), '\n')
end

local function working_folder()
  local pipe = io.popen 'pwd -P'
  local path = pipe and pipe:read '*l'
  if pipe then pipe:close() end
  return path or '.'
end

local function absolute(path, folder)
  if path:sub(1, 1) == '/' then return path end
  return (folder or working_folder()) .. '/' .. path
end

local function exists(path)
  local f = io.open(path, 'rb')
  if f then f:close() end
  return f ~= nil
end

local FOLDER = { ['--out'] = true, ['--output-dir'] = true } -- options of scripts that name the folder of the results

--- The recorded arguments with the folder of the results, `--out X` or `--out=X` say, replaced by ours; --out where
--- none is named.
local function redirected(args, dir)
  local out, done, i = {}, false, 1
  while args[i] do
    local word = tostring(args[i])
    local option = word:match '^(%-%-[%w-]+)=' or word
    if FOLDER[option] then
      out[#out + 1], out[#out + 2], done = option, dir, true
      i = i + (option == word and 2 or 1)
    else
      out[#out + 1], i = word, i + 1
    end
  end
  if not done then
    out[#out + 1], out[#out + 2] = '--out', dir
  end
  return out
end

--- What is not as it was: changed or missing inputs and script. Returns the number of things that stop a rerun.
local function check_inputs(record, manifest)
  local stops = 0
  for _, input in ipairs(record.inputs or {}) do
    local path = absolute(input.path, record.folder)
    local hash = manifest.hash_file(path)
    if not hash then
      complain('the input %s is not there; bring it back, or give its folder the old name', path)
      stops = stops + 1
    elseif hash ~= input.sha256 then
      say('input %s has changed since (SHA-256 %s, recorded %s)', path, hash:sub(1, 12), input.sha256:sub(1, 12))
    end
  end
  return stops
end

local function parse(args)
  local o, i = {}, 1
  while args[i] do
    if args[i] == '--out' then
      if not args[i + 1] then return nil, '--out needs a folder' end
      o.out, i = args[i + 1], i + 1
    elseif args[i]:match '^%-%-out=' then o.out = args[i]:sub(7)
    elseif args[i] == '--overwrite' then o.overwrite = true
    elseif args[i]:sub(1, 2) == '--' then
      return nil, ("unknown option '%s'; there are --out DIR and --overwrite"):format(args[i])
    elseif o.result then return nil, 'one result at a time'
    else o.result = args[i] end
    i = i + 1
  end
  if not o.result then return nil, 'it needs the folder of a result, or its manifest.json' end
  return o
end

local function run(record, script, dir, base)
  local words = { quote(host.exe), '--', quote(script) }
  for _, word in ipairs(redirected(record.args or {}, dir)) do words[#words + 1] = quote(word) end
  local device = record.facts.device
  local set = { 'MASCON_RERUN=' .. quote(dir), 'MASCON_RERUN_OF=' .. quote(base) } -- see manifest.redirected
  if type(record.facts.isa) == 'string' and record.facts.isa:match '^v%d$' then
    set[#set + 1] = 'MASCON_ISA=' .. record.facts.isa
  end
  if type(device) == 'string' then set[#set + 1] = 'MASCON_DEVICE=' .. quote(device) end
  local command = ('cd %s && unset MASCON_DEVICE && %s exec %s'):format(quote(record.folder or '.'),
    table.concat(set, ' '), table.concat(words, ' '))
  io.stdout:flush()
  return os.execute(command)
end

--- Whether the folder still holds the files that its manifest names; says which it does not.
local function whole(manifest, record, dir)
  local list = manifest.files_apart(record, dir)
  for _, f in ipairs(list) do say('%s/%s %s since the manifest was written', dir, f[1], f[2]) end
  return #list == 0
end

--- Says how two records compare. Returns true when stages and files agree.
local function compare(manifest, record, new)
  local stage, how, same = manifest.stage_apart(record, new)
  local files, looked = manifest.outputs_apart(record, new)
  if not stage and #files == 0 then
    say('identical: %d stage%s and %d file%s agree', same, same == 1 and '' or 's', looked, looked == 1 and '' or 's')
    return true
  end
  if stage then say('stage %q %s (%d stages before it agree)', stage, how, same) end
  for _, f in ipairs(files) do say('file %s %s', f[1], f[2]) end
  return false
end

local function told(v) return v == nil and 'nothing' or tostring(v) end

---@param args string[]
---@return integer status
function M.main(args)
  local o, why = parse(args)
  if not o then
    complain('%s: mascon rerun RESULT [--out DIR] [--overwrite]', why)
    return 2
  end
  local manifest = require 'mascon.report.manifest'
  local record, message = manifest.read(o.result)
  if not record then
    complain('%s', message)
    return 1
  end
  local script = type(record.script) == 'table' and record.script.path
  if type(script) ~= 'string' then
    complain('the manifest names no script (it was made at the prompt or from -e)')
    return 1
  end
  script = absolute(script, record.folder)
  if not exists(script) then
    complain('the script %s is not there any more', script)
    return 1
  end
  if check_inputs(record, manifest) > 0 then return 1 end
  local kept =
    whole(manifest, record, o.result:match '%.json$' and (o.result:match '^(.*)/' or '.') or o.result:gsub('/+$', ''))
  local base = o.result:gsub('/?manifest%.json$', ''):gsub('/+$', '')
  local dir = absolute(o.out or (base == '' and '.' or base) .. '-rerun')
  local before = dir .. '/manifest.json'
  if exists(before) then
    if o.out and not o.overwrite then
      complain('%s is there already; use --overwrite, or another --out', before)
      return 2
    end
    require 'mascon.report.results'.remove(dir)
    if exists(before) then
      complain('%s cannot be removed; choose another folder with --out DIR', before)
      return 1
    end
  end
  local made = not exists(dir .. '/.')
  require 'mascon.base.file'.make_folder(dir)
  local status = run(record, script, dir, absolute(base == '' and '.' or base))
  if status ~= 0 then
    if made then os.remove(dir) end -- where nothing stands in it
    complain('the script failed; nothing to compare')
    return 1
  end
  local new, bad = manifest.read(dir)
  if not new then
    complain('the script wrote no manifest into %s (%s)', dir, bad)
    return 1
  end
  for _, d in ipairs(manifest.facts_apart(record, new)) do
    if not d[1]:match '^args' and not d[1]:match '^options%.out$' and not d[1]:match '^options%.output_dir$' then
      say('%s: was %s, is %s', d[1], told(d[2]), told(d[3]))
    end
  end
  local same = compare(manifest, record, new)
  if same and not kept then say 'the rerun agrees with the manifest; the files named above do not' end
  return same and kept and 0 or 1
end

return M
