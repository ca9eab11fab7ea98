-- public.lua - the table mc.nn for files that it loads: nn/init.lua enters it as `names`.
return { names = {} }
