-- process.lua - scripts run by the program in processes of their own, and the folders they work in.
--
-- Holds the commands of the shell that specs about faults need.
local M = {}

local host = package.loaded['mascon.host']

local function quote(text) return "'" .. tostring(text):gsub("'", "'\\''") .. "'" end

local function shell(command)
  local pipe = assert(io.popen('exec 2>&1; ' .. command .. '\necho "status:$?"'))
  local text = pipe:read '*a'
  pipe:close()
  local body, status = text:match '^(.*)status:(%d+)\n$'
  return { text = body, status = tonumber(status) }
end

M.quote = quote
--- Runs a command line of the shell: { text = both outputs, status }.
M.shell = shell

--- A new private folder.
function M.folder()
  local path = shell('mktemp -d').text:match '%S+'
  return path
end

function M.remove(path) shell('chmod -R u+rwx ' .. quote(path) .. '; rm -rf ' .. quote(path)) end
function M.make(path, mode) shell(('mkdir -p %s && chmod %s %s'):format(quote(path), mode, quote(path))) end
function M.root() return shell('id -u').text:match '%d+' == '0' end
function M.give(path, owner)
  return shell(('chmod 700 %s && chown %s %s'):format(quote(path), owner, quote(path))).status == 0
end
--- The file looks as if it had been used so many minutes ago.
function M.age(path, minutes) shell(("touch -c -d '%d minutes ago' %s"):format(minutes, quote(path))) end
--- A file system of 4 KiB, where the user may make one.
function M.tiny(path)
  return M.root() and shell(('mkdir -p %s && mount -t tmpfs -o size=4k,mode=700 none %s'):format(quote(path),
    quote(path))).status == 0
end
function M.unmount(path) shell('umount ' .. quote(path)) end

function M.read(path)
  local f = assert(io.open(path, 'rb'))
  local text = f:read '*a'
  f:close()
  return text
end

function M.write(path, text)
  local f = assert(io.open(path, 'wb'))
  f:write(text)
  f:close()
end

--- A program of the shell.
function M.program(path, body)
  M.write(path, '#!/bin/sh\n' .. body .. '\n')
  shell('chmod 700 ' .. quote(path))
end

--- Names in a folder.
function M.list(path)
  local names = {}
  for name in shell('ls -1 ' .. quote(path)).text:gmatch '[^\n]+' do names[#names + 1] = name end
  return names
end

local function program(variables, ...)
  local words = {}
  for k, v in pairs(variables or {}) do words[#words + 1] = k .. '=' .. quote(v) end
  table.sort(words)
  table.insert(words, 1, 'env')
  for _, w in ipairs { host.exe, ... } do words[#words + 1] = quote(w) end
  return table.concat(words, ' ')
end

local function command(script, variables) return program(variables, '-e', script) end

--- Runs the program with arguments: { text = both outputs, status }.
function M.run(variables, ...) return shell(program(variables, ...)) end

--- Runs a script: { text = both outputs, status }.
function M.mascon(script, variables) return shell(command(script, variables)) end

--- The same for at most so many seconds; the status is 137 where the process had to be killed.
function M.within(seconds, script, variables)
  return shell(('timeout -s KILL %g %s'):format(seconds, command(script, variables)))
end

--- The same several times at once: a list of results.
function M.together(count, script, variables)
  local at, lines = M.folder(), {}
  for i = 1, count do lines[i] = ('(%s; echo "status:$?") > %s/%d 2>&1 &'):format(command(script, variables), at, i) end
  shell(table.concat(lines, '\n') .. '\nwait')
  local outs = {}
  for i = 1, count do
    local body, status = M.read(at .. '/' .. i):match '^(.*)status:(%d+)\n$'
    outs[i] = { text = body, status = tonumber(status) }
  end
  M.remove(at)
  return outs
end

return M
