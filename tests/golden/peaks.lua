-- peaks.lua - bytes, written by tests/spec/peaks_spec.lua (MASCON_TEST_PEAKS=write)
return {
  ["chain of ops, 1M f32"] = 20972640,
  ["the same compiled"] = 21042208,
  ["gradient of a network, 1024 x 64"] = 6427200,
  ["median by row, 1000 x 1000 f64"] = 8438432,
  ["sort by row, 1000 x 1000 f64"] = 16794048,
  ["transforms, 512 x 2048 f64"] = 17899968,
  ["filter forth and back, 64 x 20000"] = 31512928,
  ["least squares, 4096 x 32"] = 2262688,
  ["coupling, 8 x 2048, 50 surrogates"] = 1307952,
}
