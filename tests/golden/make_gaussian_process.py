"""gaussian_process.npz: answers of scikit-learn's Gaussian process regression.

What it is for: tests/spec/gp_spec.lua, which builds the same kernels. What it owns: data, kernels and their hyperparameters.
What it may not know: how mascon computes them.

Per kernel NAME: NAME_K (covariance of X with Z), NAME_values (hyperparameters in the order of the spec), NAME_gradient (of the log marginal
likelihood in their logarithms), NAME_likelihood, NAME_mean, NAME_std, NAME_cov at Z (white noise included, as scikit-learn does);
fitted_likelihood: the best log marginal likelihood found from 20 starts.
"""

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern, RationalQuadratic, WhiteKernel

import golden_file

rng = np.random.default_rng(7)
X = rng.uniform(0, 4, (18, 2))
Z = rng.uniform(0, 4, (7, 2))
y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.05 * rng.standard_normal(18)
x1, z1 = X[:, :1], Z[:, :1]
KERNELS = {
    'rbf': (RBF(0.7), [0.7]), 'ard': (RBF([0.7, 1.9]), [0.7, 1.9]), 'matern_half': (Matern(1.3, nu=0.5), [1.3]),
    'matern_three': (Matern([0.8, 2.0], nu=1.5), [0.8, 2.0]), 'matern_five': (Matern(1.1, nu=2.5), [1.1]),
    'rational': (RationalQuadratic(0.9, 0.6), [0.9, 0.6]), 'periodic': (ExpSineSquared(0.8, 3.1), [0.8, 3.1]),
    'mixture': (ConstantKernel(2.5) * RBF([0.7, 1.9]) + ConstantKernel(0.3) * Matern(1.5, nu=1.5), [2.5, 0.7, 1.9, 0.3, 1.5]),
}
arrays = {'X': X, 'Z': Z, 'y': y}
for name, (kernel, values) in KERNELS.items():
    a, b = (x1, z1) if name == 'periodic' else (X, Z)
    arrays[f'{name}_K'] = kernel(a, b)
    full = kernel + WhiteKernel(0.02)
    gp = GaussianProcessRegressor(full, optimizer=None, alpha=0.0).fit(a, y)
    value, gradient = gp.log_marginal_likelihood(gp.kernel_.theta, eval_gradient=True)
    mean, cov = gp.predict(b, return_cov=True)
    _, std = gp.predict(b, return_std=True)
    names = [p.name for p in gp.kernel_.hyperparameters]
    theta = dict(zip(names, range(len(names)))) if len(values) + 1 == len(names) else None
    order = list(range(len(values) + 1))
    if name == 'rational':  # scikit-learn sorts alpha before length_scale
        order = [1, 0, 2]
    if name != 'mixture':
        assert np.allclose(np.exp(gp.kernel_.theta)[order], values + [0.02]), (name, names, theta)
    arrays.update({f'{name}_values': np.array(values + [0.02]), f'{name}_gradient': gradient[order], f'{name}_likelihood': np.array(value),
                   f'{name}_mean': mean, f'{name}_std': std, f'{name}_cov': cov})
best = max((GaussianProcessRegressor(ConstantKernel(1.0) * Matern([1.0, 1.0], nu=2.5) + WhiteKernel(1e-2, (1e-8, 10)), alpha=0.0, normalize_y=True,
                                     n_restarts_optimizer=20, random_state=k).fit(X, y) for k in range(2)), key=lambda g: g.log_marginal_likelihood_value_)
arrays['fitted_likelihood'] = np.array(best.log_marginal_likelihood_value_)
print(best.kernel_)
golden_file.save('gaussian_process', {'script': 'make_gaussian_process.py', 'sklearn': sklearn.__version__}, arrays)
