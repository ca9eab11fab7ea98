--- mascon.meeg: recordings of the brain's electric and magnetic fields: sensors, positions, interpolation between sensors.
--
-- The public table; every part is a file of its own and loads when touched. Owns nothing.
return require('mascon.lazy').table('mc.meeg', {}, {
  montage = 'mascon.meeg.montage', scalp = 'mascon.meeg.scalp', sphere = 'mascon.meeg.sphere', spline = 'mascon.meeg.spline',
})
