-- native/init.lua - fused groups of a plan become compiled code once it is there.
--
-- A group is known by the name of its function (the hash of its text); what this process has opened serves every plan with the same group, what
-- the cache on disk has is opened, what is missing is compiled beside us from the second call of a plan on, and put into the plan at the
-- beginning of a later call. Without compiler everything goes on in the vector machine. Owns the functions and who waits for them. May not know
-- how plans come about.
local lib = require 'mascon.ffi'
local cache = require 'mascon.compile.native.cache'
local codegen = require 'mascon.compile.native.codegen'
local compiler = require 'mascon.compile.native.compiler'
local door = require 'mascon.compile.native.door'
local log = require 'mascon.compile.log'

local M = {}

local MODULE = 16 -- functions per source file

local opened = {}   -- isa/name -> function
local waiting = {}  -- isa/name -> list of sites
local compiling = {} -- isa/name -> true
local failed = {}   -- key of a source -> why
local loaded = {}   -- key of a source of its own -> code
local stats = { compiled = 0, hits = 0, failures = 0, seconds = 0 }
M.stats = stats

local function id(f) return lib.isa() .. '/' .. f.name end

--- The key of a source: everything its result depends on.
function M.key(source, cc)
  return lib.sha256(table.concat({ source, require 'mascon.gen.headers', lib.version(), table.concat(compiler.flags(), ' '), cc.identity }, '\0'))
end

--- A place where a function is wanted. Whoever waits does not keep the plan alive.
local function site_of(plan, part, step, f)
  return { step = step, f = f, plan = setmetatable({ plan, part }, { __mode = 'v' }) }
end

local function install(site, fn)
  local plan, part = site.plan[1], site.plan[2]
  if not plan or not part then return end
  door.bind(part.plan, site.step, fn, site.f.one)
  plan.native = plan.native + 1
end

local function register(code, functions)
  local isa = functions.isa
  for _, f in ipairs(functions) do
    local fn, why = door.find(code, f.name)
    if not fn then return nil, why end
    local key = isa .. '/' .. f.name
    opened[key] = fn
    for _, site in ipairs(waiting[key] or {}) do
      if isa == lib.isa() then install(site, fn) end
    end
    waiting[key] = nil
  end
  return true
end

local function give_up(functions, why)
  stats.failures = stats.failures + 1
  for _, f in ipairs(functions) do waiting[functions.isa .. '/' .. f.name] = nil end
  log.say('%d group%s stay%s in the vector machine: %s', #functions, #functions > 1 and 's' or '', #functions > 1 and '' or 's', why)
end

--- Writes a source where a person looks for it.
local function keep(source, key, folder)
  folder = folder or os.getenv 'MASCON_KEEP_SOURCE'
  if not folder or folder == '' then return end
  local ok, why = require('mascon.file').write(('%s/fused-%s.c'):format(folder, key:sub(1, 12)), source)
  if not ok then log.say('the source is not kept: %s', why) end
end

--- One source file: from the cache, or to be compiled.
---@return table|nil order what is to be compiled
local function fetch(functions, options)
  local cc, why = compiler.find()
  functions.isa = lib.isa()
  if not cc then return give_up(functions, why) end
  local source = codegen.source(functions)
  local key = M.key(source, cc)
  if failed[key] then return give_up(functions, failed[key]) end
  keep(source, key, options.keep_source)
  local began = lib.clock_seconds()
  local path, bad = cache.find(key)
  if bad then log.say('cache: %s', bad) end
  local code = path and door.open(path)
  if code and register(code, functions) then
    stats.hits = stats.hits + 1
    log.say('%d group%s from the cache in %.1f ms (%s)', #functions, #functions > 1 and 's' or '', 1e3 * (lib.clock_seconds() - began), key:sub(1, 12))
    return nil
  end
  return { functions = functions, source = source, key = key, cc = cc }
end

--- Into the cache, if that can be.
local function store(key, job, info)
  local f = io.open(job.library, 'rb')
  local bytes = f and f:read '*a'
  if f then f:close() end
  if not bytes then return end
  local _, trouble = cache.store(key, bytes, info, job.folder:match '[^/]*$')
  if trouble then log.say('not kept in the cache: %s', trouble) end
end

local function compile(order)
  local functions = order.functions
  for _, f in ipairs(functions) do compiling[id(f)] = true end
  compiler.submit(order.source, function(code, why, job, seconds)
    for _, f in ipairs(functions) do compiling[functions.isa .. '/' .. f.name] = nil end
    local ok, reason = code, why
    if code then ok, reason = register(code, functions) end
    if not ok then
      failed[order.key] = reason
      return give_up(functions, reason)
    end
    stats.compiled, stats.seconds = stats.compiled + 1, stats.seconds + seconds
    log.say('%d group%s compiled in %.0f ms by %s (%s)', #functions, #functions > 1 and 's' or '', 1e3 * seconds, order.cc.words[#order.cc.words], order.key:sub(1, 12))
    store(order.key, job, ('%s %s, %d function%s, %s'):format(lib.version(), functions.isa, #functions, #functions > 1 and 's' or '', table.concat(order.cc.words, ' ')))
  end)
end

--- Looks for compiled code of a plan's groups. What is there is put in at once; the rest is an order for start().
---@param plan table of plan.make: plan (C), program (steps), layout (headers), parts (plans of its loops and choices)
---@param options table keep_source
function M.attach(plan, options)
  local missing, asked = {}, {}
  plan.native, plan.groups, plan.functions = 0, 0, {}
  local function look(part)
    for k, step in ipairs(part.program) do
      if step.kind == 'fused' then
        plan.groups = plan.groups + 1
        local leaves, results = {}, {}
        for i, h in ipairs(step.ins) do leaves[i] = part.layout[h] end
        for i, h in ipairs(step.outs) do results[i] = part.layout[h] end
        local n = 1
        for _, s in ipairs(results[1].shape) do n = n * s end
        local f, why = nil, 'one element is quicker without'
        if n > 1 then f, why = codegen.emit(step, leaves, results) end
        if f then
          plan.functions[#plan.functions + 1] = f
          local key, site = id(f), site_of(plan, part, k, f)
          if opened[key] then install(site, opened[key])
          else
            if not asked[key] then missing[#missing + 1], asked[key] = f, true end
            waiting[key] = waiting[key] or {}
            table.insert(waiting[key], site)
          end
        else
          log.say('step %d stays in the vector machine: %s', k, why)
        end
      end
    end
    for _, inner in ipairs(part.parts) do look(inner) end
  end
  look(plan)
  plan.orders = {}
  for first = 1, #missing, MODULE do
    local functions = {}
    for i = first, math.min(first + MODULE - 1, #missing) do functions[#functions + 1] = missing[i] end
    plan.orders[#plan.orders + 1] = fetch(functions, options)
  end
end

--- Starts compiling what attach() found missing and nobody else has asked for since.
function M.start(plan, options)
  local orders = plan.orders
  plan.orders = {}
  for _, order in ipairs(orders) do
    local rest = {}
    for _, f in ipairs(order.functions) do
      local key = id(f)
      if not opened[key] and not compiling[key] then rest[#rest + 1] = f end
    end
    if #rest > 0 and #rest < #order.functions then order = fetch(rest, options) end
    if order and #rest > 0 then compile(order) end
  end
end

--- To be called where calls begin.
function M.poll()
  if compiler.pending() > 0 then compiler.poll() end
end

--- Opened code of a source of its own (a user's kernel), waiting for the compiler if need be; nil and why not.
---@param source string
---@param what string for the log
function M.load(source, what)
  local cc, why = compiler.find()
  if not cc then return nil, why end
  local key = M.key(source, cc)
  if loaded[key] then return loaded[key] end
  if failed[key] then return nil, failed[key] end
  keep(source, key)
  local path = cache.find(key)
  local code = path and door.open(path)
  if code then
    stats.hits = stats.hits + 1
    log.say('%s from the cache (%s)', what, key:sub(1, 12))
  else
    local done = false
    compiler.submit(source, function(made, reason, job, seconds)
      done, code, why = true, made, reason
      if not made then return end
      stats.compiled, stats.seconds = stats.compiled + 1, stats.seconds + seconds
      log.say('%s compiled in %.0f ms (%s)', what, 1e3 * seconds, key:sub(1, 12))
      store(key, job, ('%s %s, %s, %s'):format(lib.version(), lib.isa(), what, table.concat(cc.words, ' ')))
    end)
    compiler.wait(function() return not done end)
  end
  if code then loaded[key] = code else failed[key] = why end
  return code, why
end

M.pending, M.wait = compiler.pending, compiler.wait

return M
