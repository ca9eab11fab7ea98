--- interpolate.lua - stub
return {}
