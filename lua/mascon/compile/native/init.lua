-- native/init.lua - fused groups of a plan become compiled code once it is there.
--
-- A group is known by the name of its function (the hash of its text); what this process has opened serves every plan
-- with the same group. What the cache on disk has is opened at the second call of a plan. What is missing is compiled
-- beside us once calls of the plan have taken some time, and put into the plan at the beginning of a later call.
-- Without compiler everything goes on in the vector machine. Holds the functions and who waits for them.
local lib = require 'mascon.core.ffi'
local cache = require 'mascon.compile.native.cache'
local codegen = require 'mascon.compile.native.codegen'
local compiler = require 'mascon.compile.native.compiler'
local handles = require 'mascon.compile.native.handles'
local log = require 'mascon.compile.log'
local tiles = require 'mascon.compile.native.tiles'

local M = {}

local MODULE = 8 -- functions per source file: the first are there while the others are made

local opened = {}   -- isa/name -> function
local waiting = {}  -- isa/name -> list of sites
local compiling = {} -- isa/name -> true
local failed = {}   -- key of a source -> why
local loaded = {}   -- key of a source of its own -> code
local stats = { compiled = 0, hits = 0, failures = 0, seconds = 0 }
M.stats = stats

local function id(f) return lib.isa() .. '/' .. f.name end

--- The key of a source: everything its result depends on.
function M.key(source, cc, bare)
  -- wherever it is installed
  local flags = table.concat(compiler.flags(source, bare), ' '):gsub(cc.headers, function() return '' end)
  return lib.sha256(table.concat({ source, require 'mascon.gen.headers', lib.version(), flags, cc.identity }, '\0'))
end

--- A place where a function is wanted: a step of a plan, or of a plan inside it. Whoever waits does not keep the plan
--- alive.
local function site_of(plan, inner, step, f)
  return { step = step, f = f, plan = setmetatable({ plan, inner }, { __mode = 'v' }) }
end

local function install(site, fn)
  local plan, inner = site.plan[1], site.plan[2]
  if not plan or not inner then return end
  if site.f.by_rows then handles.bind_rows(inner.plan, site.step, fn, site.f)
  else handles.bind(inner.plan, site.step, fn, site.f.one) end
  plan.native = plan.native + 1
end

--- The function of step k of a plan, or nil and why there is none.
local function function_of(plan, step)
  local leaves, results, n = {}, {}, 1
  for i, h in ipairs(step.ins) do leaves[i] = plan.layout[h] end
  for i, h in ipairs(step.outs) do results[i] = plan.layout[h] end
  if step.like then results = { plan.layout[step.like] } end -- what a reduction reads
  for _, s in ipairs(results[1].shape) do n = n * s end
  if n == 1 then return nil, 'one element is quicker without' end
  return codegen.emit(step, leaves, results)
end

--- visit(plan, k, f, why) for every step with a program, in the branches and bodies of loops too; steps of tiles as one
--- function where that can be.
local function each_group(plan, visit)
  local k, program = 1, plan.program
  while k <= #program do
    local step = program[k]
    local f = step.kind == 'tiles' and tiles.emit(step, { unpack(program, k + 1, k + step.count) }, plan.layout)
    if f then
      visit(plan, k, f)
      k = k + step.count
    elseif step.code then
      visit(plan, k, function_of(plan, step))
    end
    for _, part in ipairs(step.loop and step.loop.parts or {}) do each_group(part, visit) end
    k = k + 1
  end
end

local function register(code, functions)
  local isa = functions.isa
  for _, f in ipairs(functions) do
    local fn, why = handles.find(code, f.name)
    for name, kernel in pairs(f.kernels) do
      local given, trouble = handles.give(code, name, kernel.row.id, kernel.dtype.code, isa)
      if not given then fn, why = nil, trouble end
    end
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
  log.say('%d group%s stay%s in the vector machine: %s', #functions, #functions > 1 and 's' or '',
    #functions > 1 and '' or 's', why)
end

--- Writes a source where a person looks for it.
local function keep(source, key, folder)
  folder = folder or os.getenv 'MASCON_KEEP_SOURCE'
  if not folder or folder == '' then return end
  local ok, why = require('mascon.base.file').write(('%s/fused-%s.c'):format(folder, key:sub(1, 12)), source)
  if not ok then log.say('the source is not kept: %s', why) end
end

--- One source file: from the cache, or to be compiled.
---@return table|nil order what is to be compiled
local function fetch(functions, options)
  local cc, why = compiler.find()
  functions.isa = lib.isa()
  if not cc then return give_up(functions, why) end
  local source, bare = codegen.source(functions)
  local key = M.key(source, cc, bare)
  if failed[key] then return give_up(functions, failed[key]) end
  keep(source, key, options.keep_source)
  local began = lib.clock_seconds()
  local path, bad = cache.find(key)
  if bad then log.say('cache: %s', bad) end
  local code = path and handles.open(path)
  if code and register(code, functions) then
    stats.hits = stats.hits + 1
    log.say('%d group%s from the cache in %.1f ms (%s)', #functions, #functions > 1 and 's' or '',
      1e3 * (lib.clock_seconds() - began), key:sub(1, 12))
    return nil
  end
  return { functions = functions, source = source, bare = bare, key = key, cc = cc }
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
    log.say('%d group%s compiled in %.0f ms by %s (%s)', #functions, #functions > 1 and 's' or '', 1e3 * seconds,
      order.cc.words[#order.cc.words], order.key:sub(1, 12))
    store(order.key, job, ('%s %s, %d function%s, %s'):format(lib.version(), functions.isa, #functions,
      #functions > 1 and 's' or '', table.concat(order.cc.words, ' ')))
  end, order.bare)
end

--- Looks for compiled code of a plan's groups. What is there is put in at once; the rest is an order for start().
---@param plan table of plan.make: plan (C), program (steps), layout (headers)
---@param options table keep_source
function M.attach(plan, options)
  local missing, asked = {}, {}
  plan.native, plan.groups, plan.functions, plan.orders = 0, 0, {}, {}
  if plan.options and plan.options.device then return end -- its groups are programs of the device
  each_group(plan, function(inner, k, f, why)
    if not f then return log.say('step %d stays in the vector machine: %s', k, why) end
    plan.groups = plan.groups + 1
    plan.functions[#plan.functions + 1] = f
    local key, site = id(f), site_of(plan, inner, k, f)
    if opened[key] then return install(site, opened[key]) end
    if not asked[key] then missing[#missing + 1], asked[key] = f, true end
    waiting[key] = waiting[key] or {}
    table.insert(waiting[key], site)
  end)
  plan.orders = {}
  for _, special in ipairs { false, true } do -- the long special functions apart: their headers take time
    local functions = {}
    local function close()
      if #functions > 0 then plan.orders[#plan.orders + 1] = fetch(functions, options) end
      functions = {}
    end
    for _, f in ipairs(missing) do
      if f.special == special then
        functions[#functions + 1] = f
        if #functions == MODULE then close() end
      end
    end
    close()
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
  local key = M.key(source, cc, false)
  if loaded[key] then return loaded[key] end
  if failed[key] then return nil, failed[key] end
  keep(source, key)
  local path = cache.find(key)
  local code = path and handles.open(path)
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
    end, false)
    compiler.wait(function() return not done end)
  end
  if code then loaded[key] = code else failed[key] = why end
  return code, why
end

M.pending, M.wait = compiler.pending, compiler.wait

return M
