-- earlier.lua - what the page said before, for the families that a run left out.
--
-- A machine that has no rows of a family cannot write its tables anew; they are taken over from the page, with the date
-- and commit of their run. Reads the page.
local M = {}

local function cells(line)
  local out = {}
  for cell in line:gmatch '|([^|]*)' do out[#out + 1] = cell:match '^%s*(.-)%s*$' end
  out[#out] = nil -- behind the last bar
  return out
end

--- The tables of a text, one list of lines (of cells) for all, without heads.
local function lines_of(text)
  local out = {}
  for line in (text or ''):gmatch '[^\n]+' do
    if line:sub(1, 2) == '| ' then out[#out + 1] = cells(line) end
  end
  return out
end

--- A page by its sections: { stamp, peers, sections = { title = text } }; nil when there is none.
---@param path string
function M.read(path)
  local f = io.open(path)
  if not f then return nil end
  local text = f:read '*a'
  f:close()
  local date, commit, machine = text:match 'Written by [^\n]- on (%S+);.-commit (%w+), ([^\n]-) on both sides%.'
  local page = { stamp = date and ('From the run of %s at commit %s (%s).'):format(date, commit, machine),
    peers = text:match '\nPeers: ([^\n]-)%.\n', sections = {} }
  for title, body in (text .. '\n## '):gmatch '%f[^\n%z]## ([^\n]*)\n(.-)%f[#]%f[^\n%z]' do
    page.sections[title] = body:match '^%s*(.-)%s*$'
  end
  return page
end

--- A section as it was, with the run it comes from; nil when it was not there.
function M.section(page, title)
  local body = page and page.sections[title]
  if not body then return nil end
  if body:find '^From the run of ' or not page.stamp then return body end
  return page.stamp .. '\n\n' .. body
end

--- The lines of a section's tables, as lists of cells.
function M.lines(page, title) return lines_of(page and page.sections[title]) end

return M
