"""Written by `python -m tirax.dev.reference`. Do not edit."""

from typing import Any

from ...handles.relax.call import Call

class builtin:
    @staticmethod
    def alloc_tensor(shape: Any, dtype: Any, runtime_device_index: Any, storage_scope: Any = None) -> Call:
        """A new tensor with memory of its own, its contents undefined."""
    @staticmethod
    def stop_lift_params(x: Any) -> Call:
        """x itself, at which the lifting of what depends on parameters alone ends."""

class ccl:
    @staticmethod
    def allgather(x: Any, num_workers: Any = 1, in_group: Any = True) -> Call:
        """The tensors of all workers, one after the other."""
    @staticmethod
    def allreduce(x: Any, op_type: Any = 'sum', in_group: Any = True) -> Call:
        """The sum, product, least, greatest or average of the tensors of all workers, in each of them."""
    @staticmethod
    def broadcast_from_worker0(x: Any) -> Call:
        """The tensor of the first worker, in each of them."""
    @staticmethod
    def scatter_from_worker0(x: Any, num_workers: Any = 1, axis: Any = 0) -> Call:
        """An equal part of the tensor of the first worker for each of them, along `axis`."""

class fft:
    @staticmethod
    def fft(x: Any, axis: Any = -1, inverse: Any = False, norm: Any = 'backward') -> Call:
        """The transform of complex numbers: sums of x[j] · exp(-2πi · j · k / n); of exp(2πi · …) if `inverse`."""
    @staticmethod
    def irfft(x: Any, length: Any = None, axis: Any = -1, norm: Any = 'backward') -> Call:
        """The `length` real numbers whose transform begins with x, which has length // 2 + 1 complex numbers."""
    @staticmethod
    def rfft(x: Any, axis: Any = -1, norm: Any = 'backward') -> Call:
        """The first n // 2 + 1 numbers of the transform of real numbers; the others are their conjugates."""

class grad:
    @staticmethod
    def avg_pool1d_backward(output_grad: Any, data: Any, pool_size: Any = [1], strides: Any = [1], padding: Any = [0, 0], dilation: Any = [1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCW', out_layout: Any = 'NCW') -> Call:
        """The gradient of `nn.avg_pool1d` by its data: what `output_grad` says goes to all points of each window."""
    @staticmethod
    def avg_pool2d_backward(output_grad: Any, data: Any, pool_size: Any = [1, 1], strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], dilation: Any = [1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCHW', out_layout: Any = 'NCHW') -> Call:
        """The gradient of `nn.avg_pool2d` by its data: what `output_grad` says goes to all points of each window."""
    @staticmethod
    def avg_pool3d_backward(output_grad: Any, data: Any, pool_size: Any = [1, 1, 1], strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], dilation: Any = [1, 1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCDHW', out_layout: Any = 'NCDHW') -> Call:
        """The gradient of `nn.avg_pool3d` by its data: what `output_grad` says goes to all points of each window."""
    @staticmethod
    def end_checkpoint(input: Any) -> Call:
        """The input, marked as an output of a part that is recomputed for the gradient."""
    @staticmethod
    def max_pool1d_backward(output_grad: Any, data: Any, pool_size: Any = [1], strides: Any = [1], padding: Any = [0, 0], dilation: Any = [1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCW', out_layout: Any = 'NCW') -> Call:
        """The gradient of `nn.max_pool1d` by its data: what `output_grad` says goes to the greatest point of each window, the first of equals."""
    @staticmethod
    def max_pool2d_backward(output_grad: Any, data: Any, pool_size: Any = [1, 1], strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], dilation: Any = [1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCHW', out_layout: Any = 'NCHW') -> Call:
        """The gradient of `nn.max_pool2d` by its data: what `output_grad` says goes to the greatest point of each window, the first of equals."""
    @staticmethod
    def max_pool3d_backward(output_grad: Any, data: Any, pool_size: Any = [1, 1, 1], strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], dilation: Any = [1, 1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCDHW', out_layout: Any = 'NCDHW') -> Call:
        """The gradient of `nn.max_pool3d` by its data: what `output_grad` says goes to the greatest point of each window, the first of equals."""
    @staticmethod
    def nll_loss_backward(output_grad: Any, predictions: Any, targets: Any, weights: Any = None, reduction: Any = 'mean', ignore_index: Any = -100) -> Call:
        """The gradient of `nn.nll_loss` with respect to its predictions, given that of its result."""
    @staticmethod
    def no_grad(input: Any) -> Call:
        """The input, with gradients stopped."""
    @staticmethod
    def start_checkpoint(input: Any) -> Call:
        """The input, marked as an input of a part that is recomputed for the gradient instead of being kept."""
    @staticmethod
    def take_backward(output_grad: Any, x: Any, indices: Any, axis: Any = None) -> Call:
        """The gradient of `take` with respect to x: the slices of output_grad are accumulated at `indices`."""

class image:
    @staticmethod
    def affine_grid(data: Any, size: Any, align_corners: Any = True) -> Call:
        """The sampling positions of an affine map `data` for an image of `size` (Jaderberg et al., 2015)."""
    @staticmethod
    def grid_sample(data: Any, grid: Any, method: Any = 'bilinear', layout: Any = 'NCHW', padding_mode: Any = 'zeros', align_corners: Any = False) -> Call:
        """The values of data at the positions of grid: PyTorch's grid_sample, with the coordinates before the extents."""
    @staticmethod
    def resize2d(data: Any, size: Any, roi: Any = None, layout: Any = 'NCHW', method: Any = 'linear', coordinate_transformation_mode: Any = 'half_pixel', rounding_method: Any = 'round', cubic_alpha: Any = -0.5, cubic_exclude: Any = 0, extrapolation_value: Any = 0.0, out_dtype: Any = None) -> Call:
        """data resized to height and width `size`, as ONNX's Resize."""

class linalg:
    @staticmethod
    def cholesky(x: Any, upper: Any = False, check: Any = True) -> Call:
        """The lower triangular L with x = L · Lᵀ (or the upper one, Lᵀ) of a positive definite x, and `info`."""
    @staticmethod
    def det(x: Any) -> Call:
        """The determinant."""
    @staticmethod
    def eig(x: Any) -> Call:
        """The eigenvalues of a matrix in no order, and the eigenvectors as columns: complex numbers."""
    @staticmethod
    def eigh(x: Any, upper: Any = False) -> Call:
        """The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors as columns."""
    @staticmethod
    def eigvalsh(x: Any, upper: Any = False) -> Call:
        """The eigenvalues of a symmetric matrix in ascending order; only the lower (upper) triangle is read."""
    @staticmethod
    def geqrf(x: Any) -> Call:
        """R on and above the diagonal, the Householder vectors of Q below it, and their factors, as LAPACK stores them."""
    @staticmethod
    def inv(x: Any, check: Any = True) -> Call:
        """The inverse, and `info`. Without `check`, a singular matrix gives NaN."""
    @staticmethod
    def ldl(x: Any, check: Any = True) -> Call:
        """L and D of x = P · L · D · Lᵀ · Pᵀ for a symmetric x, in one matrix, the pivots, and `info`."""
    @staticmethod
    def ldl_solve(x: Any, pivots: Any, b: Any) -> Call:
        """The solution of A · result = b by the factors and pivots of `ldl`. A zero in D gives infinities or NaN."""
    @staticmethod
    def lu(x: Any) -> Call:
        """P · L · U with partial pivoting: L (its diagonal of ones left out) below U, the pivots, and `info`."""
    @staticmethod
    def matrix_exp(x: Any) -> Call:
        """The matrix exponential."""
    @staticmethod
    def pivots_to_order(x: Any, pivots: Any) -> Call:
        """The order of rows that the exchanges of `pivots` give (see `lu`, whose first result is x): P[order[i], i] = 1."""
    @staticmethod
    def qr(x: Any, mode: Any = 'reduced') -> Call:
        """Q with orthonormal columns and upper triangular R, x = Q · R."""
    @staticmethod
    def slogdet(x: Any) -> Call:
        """The sign of the determinant, and the logarithm of its magnitude."""
    @staticmethod
    def solve(x: Any, b: Any, check: Any = True) -> Call:
        """The solution of x · result = b, and `info`. Without `check`, a singular x gives NaN."""
    @staticmethod
    def solve_triangular(x: Any, b: Any, upper: Any = False, unitriangular: Any = False) -> Call:
        """The solution of x · result = b for a lower (upper) triangular x; the other triangle is not read."""
    @staticmethod
    def svd(x: Any, full_matrices: Any = True) -> Call:
        """U, the singular values in descending order, and Vᵀ: x = U · diag(s) · Vᵀ."""
    @staticmethod
    def svdvals(x: Any) -> Call:
        """The singular values in descending order."""

class memory:
    @staticmethod
    def alloc_storage(size: Any, virtual_device_index: Any, storage_scope: Any, dtype: Any) -> Call:
        """Memory of `size` bytes, planned for elements of `dtype`."""
    @staticmethod
    def alloc_tensor(storage: Any, offset: Any, shape: Any, dtype: Any, runtime_device_ind: Any = None) -> Call:
        """A tensor at the byte `offset` of a storage."""
    @staticmethod
    def ensure_zero_offset(data: Any) -> Call:
        """The tensor with offset 0 in its memory, which all tensors have here."""
    @staticmethod
    def kill_storage(storage: Any) -> Call:
        """End the lifetime of a storage; tensors in it may live on."""
    @staticmethod
    def kill_tensor(tensor: Any) -> Call:
        """End the lifetime of a tensor; its storage may live on."""
    @staticmethod
    def view(data: Any, shape: Any = None, dtype: Any = None, relative_byte_offset: Any = None) -> Call:
        """View the memory of data from `relative_byte_offset` on with another shape and dtype; an empty tuple keeps the original."""

class nn:
    @staticmethod
    def adaptive_avg_pool1d(data: Any, output_size: Any = None, layout: Any = 'NCW', out_layout: Any = 'NCW') -> Call:
        """The mean of windows that divide each spatial dimension into `output_size` parts, as evenly as possible. Data has 1 spatial dimensions."""
    @staticmethod
    def adaptive_avg_pool2d(data: Any, output_size: Any = None, layout: Any = 'NCHW', out_layout: Any = 'NCHW') -> Call:
        """The mean of windows that divide each spatial dimension into `output_size` parts, as evenly as possible. Data has 2 spatial dimensions."""
    @staticmethod
    def adaptive_avg_pool3d(data: Any, output_size: Any = None, layout: Any = 'NCDHW', out_layout: Any = 'NCDHW') -> Call:
        """The mean of windows that divide each spatial dimension into `output_size` parts, as evenly as possible. Data has 3 spatial dimensions."""
    @staticmethod
    def attention(query: Any, key: Any, value: Any, bias: Any = None, scale: Any = None, causal_mask: Any = None, window_size: Any = None) -> Call:
        """softmax(query · keyᵀ * scale + bias) · value for each head (Vaswani et al., 2017)."""
    @staticmethod
    def attention_bias(query: Any, key: Any, value: Any, bias: Any = None, scale: Any = None, causal_mask: Any = None, window_size: Any = None) -> Call:
        """An alias of attention."""
    @staticmethod
    def attention_var_len(queries: Any, keys: Any, values: Any, seqstart_q: Any, max_seqlen_q: Any, seqstart_k: Any = None, max_seqlen_k: Any = None, scale: Any = None, causal_mask: Any = None, window_size: Any = None) -> Call:
        """Attention within each of several concatenated sequences."""
    @staticmethod
    def avg_pool1d(data: Any, pool_size: Any = [1], strides: Any = [1], padding: Any = [0, 0], dilation: Any = [1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCW', out_layout: Any = 'NCW') -> Call:
        """The mean of each window, for data of 1 spatial dimensions."""
    @staticmethod
    def avg_pool2d(data: Any, pool_size: Any = [1, 1], strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], dilation: Any = [1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCHW', out_layout: Any = 'NCHW') -> Call:
        """The mean of each window, for data of 2 spatial dimensions."""
    @staticmethod
    def avg_pool3d(data: Any, pool_size: Any = [1, 1, 1], strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], dilation: Any = [1, 1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCDHW', out_layout: Any = 'NCDHW') -> Call:
        """The mean of each window, for data of 3 spatial dimensions."""
    @staticmethod
    def batch_norm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, axis: Any, epsilon: Any = 1e-05, center: Any = True, scale: Any = True, momentum: Any = 0.1, training: Any = True) -> Call:
        """(data - mean) / sqrt(variance + epsilon) by channel (`axis`), times gamma if `scale`, plus beta if `center`."""
    @staticmethod
    def conv1d(data: Any, weight: Any, strides: Any = [1], padding: Any = [0, 0], dilation: Any = [1], groups: Any = 1, data_layout: Any = 'NCW', kernel_layout: Any = 'OIW', out_layout: Any = 'NCW', out_dtype: Any = None) -> Call:
        """The sum over input channels and window of data times weight, for data of 1 spatial dimensions."""
    @staticmethod
    def conv1d_transpose(data: Any, weight: Any, strides: Any = [1], padding: Any = [0, 0], output_padding: Any = [0], dilation: Any = [1], groups: Any = 1, data_layout: Any = 'NCW', kernel_layout: Any = 'IOW', out_layout: Any = 'NCW', out_dtype: Any = None) -> Call:
        """The transpose of the convolution over 1 spatial dimensions."""
    @staticmethod
    def conv2d(data: Any, weight: Any, strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], dilation: Any = [1, 1], groups: Any = 1, data_layout: Any = 'NCHW', kernel_layout: Any = 'OIHW', out_layout: Any = 'NCHW', out_dtype: Any = None) -> Call:
        """The sum over input channels and window of data times weight, for data of 2 spatial dimensions."""
    @staticmethod
    def conv2d_transpose(data: Any, weight: Any, strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], output_padding: Any = [0, 0], dilation: Any = [1, 1], groups: Any = 1, data_layout: Any = 'NCHW', kernel_layout: Any = 'IOHW', out_layout: Any = 'NCHW', out_dtype: Any = None) -> Call:
        """The transpose of the convolution over 2 spatial dimensions."""
    @staticmethod
    def conv3d(data: Any, weight: Any, strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], dilation: Any = [1, 1, 1], groups: Any = 1, data_layout: Any = 'NCDHW', kernel_layout: Any = 'OIDHW', out_layout: Any = 'NCDHW', out_dtype: Any = None) -> Call:
        """The sum over input channels and window of data times weight, for data of 3 spatial dimensions."""
    @staticmethod
    def conv3d_transpose(data: Any, weight: Any, strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], output_padding: Any = [0, 0, 0], dilation: Any = [1, 1, 1], groups: Any = 1, data_layout: Any = 'NCDHW', kernel_layout: Any = 'IODHW', out_layout: Any = 'NCDHW', out_dtype: Any = None) -> Call:
        """The transpose of the convolution over 3 spatial dimensions."""
    @staticmethod
    def cross_entropy_with_logits(predictions: Any, labels: Any) -> Call:
        """-sum(predictions * labels), divided by the first extent if there are several dimensions."""
    @staticmethod
    def dropout(data: Any, rate: Any = 0.5) -> Call:
        """Inference only: x itself, and a mask of ones."""
    @staticmethod
    def gelu(data: Any) -> Call:
        """x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, 2016)"""
    @staticmethod
    def gelu_tanh(data: Any) -> Call:
        """gelu, with erf approximated by tanh"""
    @staticmethod
    def group_norm(data: Any, gamma: Any, beta: Any, num_groups: Any, channel_axis: Any, axes: Any, epsilon: Any = 1e-05, center: Any = True, scale: Any = True) -> Call:
        """(data - mean) / sqrt(variance + epsilon) over `axes` and a group of channels, times gamma, plus beta."""
    @staticmethod
    def instance_norm(data: Any, gamma: Any, beta: Any, channel_axis: Any, axes: Any, epsilon: Any = 1e-05, center: Any = True, scale: Any = True) -> Call:
        """(data - mean) / sqrt(variance + epsilon) over `axes`, times gamma, plus beta, by channel."""
    @staticmethod
    def layer_norm(data: Any, gamma: Any, beta: Any, axes: Any, epsilon: Any = 1e-05, center: Any = True, scale: Any = True) -> Call:
        """(data - mean) / sqrt(variance + epsilon) over `axes`, times gamma if `scale`, plus beta if `center`."""
    @staticmethod
    def leakyrelu(data: Any, alpha: Any = 0.01) -> Call:
        """x if it is positive, alpha * x otherwise, elementwise."""
    @staticmethod
    def log_softmax(data: Any, axis: Any = -1) -> Call:
        """log(softmax(x)) along `axis`."""
    @staticmethod
    def max_pool1d(data: Any, pool_size: Any = [1], strides: Any = [1], padding: Any = [0, 0], dilation: Any = [1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCW', out_layout: Any = 'NCW') -> Call:
        """The greatest of each window, for data of 1 spatial dimensions."""
    @staticmethod
    def max_pool2d(data: Any, pool_size: Any = [1, 1], strides: Any = [1, 1], padding: Any = [0, 0, 0, 0], dilation: Any = [1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCHW', out_layout: Any = 'NCHW') -> Call:
        """The greatest of each window, for data of 2 spatial dimensions."""
    @staticmethod
    def max_pool3d(data: Any, pool_size: Any = [1, 1, 1], strides: Any = [1, 1, 1], padding: Any = [0, 0, 0, 0, 0, 0], dilation: Any = [1, 1, 1], ceil_mode: Any = False, count_include_pad: Any = False, layout: Any = 'NCDHW', out_layout: Any = 'NCDHW') -> Call:
        """The greatest of each window, for data of 3 spatial dimensions."""
    @staticmethod
    def nll_loss(predictions: Any, targets: Any, weights: Any = None, reduction: Any = 'mean', ignore_index: Any = -100) -> Call:
        """-predictions[…, target, …] * weights[target], 0 if the target is `ignore_index`."""
    @staticmethod
    def pad(data: Any, pad_width: Any, pad_mode: Any = 'constant', pad_value: Any = 0.0) -> Call:
        """data with `pad_width` = [before, after, …] elements around it in each dimension."""
    @staticmethod
    def pixel_shuffle(data: Any, upscale_factor: Any) -> Call:
        """Rearrange channels into blocks of pixels: (…, c * r * r, h, w) becomes (…, c, h * r, w * r)."""
    @staticmethod
    def prelu(data: Any, alpha: Any, axis: Any = 1) -> Call:
        """data if it is positive, alpha * data otherwise; alpha has an element for each index of `axis`."""
    @staticmethod
    def relu(data: Any) -> Call:
        """max(x, 0)"""
    @staticmethod
    def rms_norm(data: Any, weight: Any, axes: Any = [-1], epsilon: Any = 1e-05) -> Call:
        """data / sqrt(mean(data * data) + epsilon) over `axes`, times weight."""
    @staticmethod
    def selu(data: Any) -> Call:
        """The self-normalizing unit (Klambauer et al., 2017)."""
    @staticmethod
    def silu(data: Any) -> Call:
        """x * sigmoid(x)"""
    @staticmethod
    def softmax(data: Any, axis: Any = -1) -> Call:
        """exp(x) / sum(exp(x)) along `axis`."""
    @staticmethod
    def softplus(data: Any, beta: Any = 1.0, threshold: Any = 20.0) -> Call:
        """log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""

class random:
    @staticmethod
    def bernoulli(seed: Any, offset: Any, shape: Any, p: Any, dtype: Any = ...) -> Call:
        """1 with probability `p`, whose shape broadcasts to `shape`, else 0; 0 if p is NaN."""
    @staticmethod
    def bits(seed: Any, offset: Any, shape: Any, dtype: Any = ...) -> Call:
        """Words of Philox 4x32-10: the first of an element's four for 32-bit dtypes, the first two for 64-bit ones."""
    @staticmethod
    def exponential(seed: Any, offset: Any, shape: Any, rate: Any = 1.0, dtype: Any = ...) -> Call:
        """Exponentially distributed numbers with the mean 1 / `rate`, computed like those of `normal`."""
    @staticmethod
    def multinomial(seed: Any, offset: Any, weights: Any, num_samples: Any = 1, replacement: Any = False, dtype: Any = ...) -> Call:
        """`num_samples` positions per row along the last dimension of `weights`, (n,) or (batch, n), drawn by their weights."""
    @staticmethod
    def normal(seed: Any, offset: Any, shape: Any, mean: Any = 0.0, std: Any = 1.0, dtype: Any = ...) -> Call:
        """Normally distributed numbers, computed in float64 and rounded once: the same ones for every dtype."""
    @staticmethod
    def permutation(seed: Any, offset: Any, n: Any, dtype: Any = ...) -> Call:
        """A uniformly distributed permutation of the integers from 0 to `n` - 1."""
    @staticmethod
    def randint(seed: Any, offset: Any, shape: Any, low: Any, high: Any, dtype: Any = ...) -> Call:
        """Uniformly distributed integers in [`low`, `high`); `low` if that is empty."""
    @staticmethod
    def uniform(seed: Any, offset: Any, shape: Any, low: Any = 0.0, high: Any = 1.0, dtype: Any = ...) -> Call:
        """Uniformly distributed numbers in [`low`, `high`); `low` if both are equal."""

class vm:
    @staticmethod
    def alloc_storage(shape: Any, runtime_device_index: Any, dtype: Any, storage_scope: Any = None) -> Call:
        """Memory of as many elements of `dtype` as the single extent of `shape`: of bytes, for uint8."""
    @staticmethod
    def alloc_tensor(storage: Any, offset: Any, shape: Any, dtype: Any, runtime_device_ind: Any = None) -> Call:
        """A tensor at the byte `offset` of a storage."""
    @staticmethod
    def kill_object(obj: Any) -> Call:
        """End the lifetime of an object, a tensor or a storage."""

def abs(x: Any) -> Call:
    """|x|"""
def acos(x: Any) -> Call:
    """The angle whose cosine is x."""
def acosh(x: Any) -> Call:
    """The inverse of cosh."""
def add(x1: Any, x2: Any) -> Call:
    """x1 + x2"""
def arange(start: Any, end: Any = None, step: Any = None, dtype: Any = None) -> Call:
    """start, start + step, … below `end`; int64 for integers, else float32."""
def argmax(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The position of the maximum, the first of equal ones."""
def argmin(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The position of the minimum, the first of equal ones."""
def argsort(data: Any, axis: Any = -1, descending: Any = False, dtype: Any = ...) -> Call:
    """The positions of the elements in sorted order along `axis`; the sort is stable."""
def asin(x: Any) -> Call:
    """The angle whose sine is x."""
def asinh(x: Any) -> Call:
    """The inverse of sinh."""
def assert_op(*args: Any, **kwargs: Any) -> Call:
    """Fail if the condition is false, with the message `format`, which has a `{}` for each of `format_args`."""
def astype(x: Any, dtype: Any) -> Call:
    """x converted to `dtype`; floating point to integer truncates."""
def atan(x: Any) -> Call:
    """The angle whose tangent is x."""
def atanh(x: Any) -> Call:
    """The inverse of tanh."""
def bitwise_and(x1: Any, x2: Any) -> Call:
    """x1 & x2"""
def bitwise_not(x: Any) -> Call:
    """~x"""
def bitwise_or(x1: Any, x2: Any) -> Call:
    """x1 | x2"""
def bitwise_xor(x1: Any, x2: Any) -> Call:
    """x1 ^ x2"""
def broadcast_to(x: Any, shape: Any) -> Call:
    """x repeated along dimensions of extent 1, and along new leading ones, to `shape`."""
def bucketize(input_tensor: Any, boundaries: Any, out_int32: Any = False, right: Any = False) -> Call:
    """The number of sorted boundaries less than each element (less or equal if `right`)."""
def ceil(x: Any) -> Call:
    """The least integer that is not below x."""
def clip(x: Any, min: Any, max: Any) -> Call:
    """x clamped to [min, max]; both are prim values."""
def collapse_sum_like(data: Any, collapse_target: Any) -> Call:
    """The sum of data over the broadcast dimensions, in the shape of collapse_target."""
def collapse_sum_to(data: Any, shape: Any) -> Call:
    """The sum of data over the broadcast dimensions, in the shape `shape`."""
def concat(tensors: Any, axis: Any = 0) -> Call:
    """Tensors joined along `axis`; the other extents agree."""
def cos(x: Any) -> Call:
    """"""
def cosh(x: Any) -> Call:
    """"""
def cumprod(data: Any, axis: Any = None, dtype: Any = None, exclusive: Any = False) -> Call:
    """The product of the elements up to each one (excluding it if `exclusive`)."""
def cumsum(data: Any, axis: Any = None, dtype: Any = None, exclusive: Any = False) -> Call:
    """The sum of the elements up to each one (excluding it if `exclusive`)."""
def dequantize(data: Any, scale: Any, zero_point: Any, axis: Any = -1, out_dtype: Any = ...) -> Call:
    """(data - zero_point) * scale"""
def dequantize_blocks(packed: Any, format: Any, out_dtype: Any = ..., interleaved: Any = 1) -> Call:
    """Dequantize rows of blocks: (…, row_bytes) -> (…, k)."""
def digamma(x: Any) -> Call:
    """The derivative of lgamma; NaN at negative integers."""
def divide(x1: Any, x2: Any) -> Call:
    """x1 / x2, for integers truncated"""
def dynamic_strided_slice(x: Any, begin: Any, end: Any, strides: Any) -> Call:
    """x[begin:end:strides]; begin, end and strides are int64 tensors with an element for each dimension of x."""
def einsum(operands: Any, subscripts: Any) -> Call:
    """The products of elements that share the letters of `subscripts`, summed over the letters missing from the result."""
def equal(x1: Any, x2: Any) -> Call:
    """x1 == x2"""
def erf(x: Any) -> Call:
    """The error function."""
def erfinv(x: Any) -> Call:
    """The inverse of erf."""
def ewise_fma(x1: Any, x2: Any, x3: Any) -> Call:
    """x1 * x2 + x3 for tensors of one shape."""
def exp(x: Any) -> Call:
    """e to the x."""
def expand_dims(x: Any, axis: Any) -> Call:
    """New dimensions of extent 1 at the positions `axis` of the result."""
def expm1(x: Any) -> Call:
    """exp(x) - 1, precise near 0."""
def eye(n: Any, m: Any = None, k: Any = None, dtype: Any = ...) -> Call:
    """An n x m matrix with ones at column - row == k and zeros elsewhere."""
def eye_like(x: Any, k: Any = None, dtype: Any = None) -> Call:
    """Ones at column - row == k and zeros elsewhere, in the shape of the matrix x."""
def flatten(x: Any) -> Call:
    """All elements as one dimension."""
def flip(data: Any, axis: Any) -> Call:
    """data reversed along `axis`."""
def floor(x: Any) -> Call:
    """The greatest integer that is not above x."""
def floor_divide(x1: Any, x2: Any) -> Call:
    """floor(x1 / x2)"""
def floor_mod(x1: Any, x2: Any) -> Call:
    """x1 - floor(x1 / x2) * x2"""
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Call:
    """A tensor filled with a value of rank 0; `dtype` defaults to the value's."""
def full_like(x: Any, fill_value: Any, dtype: Any = None) -> Call:
    """A value of rank 0 in the shape of x; `dtype` defaults to that of x."""
def gather_elements(data: Any, indices: Any, axis: Any = 0) -> Call:
    """data at the position of each index, with the coordinate along `axis` replaced by the index."""
def gather_nd(data: Any, indices: Any, batch_dims: Any = 0) -> Call:
    """The slices of data at the positions in the last dimension of indices, after `batch_dims` shared dimensions."""
def greater(x1: Any, x2: Any) -> Call:
    """x1 > x2"""
def greater_equal(x1: Any, x2: Any) -> Call:
    """x1 >= x2"""
def hamming_window(window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: Any) -> Call:
    """alpha - beta * cos(2π i / N), where N is window_size if `periodic`, else window_size - 1."""
def hint_on_device(data: Any, dst_vdevice: Any) -> Call:
    """The tensor itself, with the hint that it is needed on the device `dst_vdevice`, such as `cpu:0`."""
def index_put(data: Any, indices: Any, values: Any, accumulate: Any = False) -> Call:
    """data with data[indices] = values (added if `accumulate`): the indices broadcast."""
def index_tensor(data: Any, indices: Any) -> Call:
    """data[indices]: the indices broadcast and apply to the first dimensions of data."""
def isfinite(x: Any) -> Call:
    """Whether x is neither infinite nor NaN."""
def isinf(x: Any) -> Call:
    """Whether x is infinite."""
def isnan(x: Any) -> Call:
    """Whether x is NaN."""
def layout_transform(x: Any, index_map: Any = None, pad_value: Any = None, axis_separators: Any = [], input_axis_separators: Any = []) -> Call:
    """The element at i moves to index_map(i); other positions have pad_value, or any value if that is None."""
def left_shift(x1: Any, x2: Any) -> Call:
    """x1 << x2"""
def less(x1: Any, x2: Any) -> Call:
    """x1 < x2"""
def less_equal(x1: Any, x2: Any) -> Call:
    """x1 <= x2"""
def lgamma(x: Any) -> Call:
    """The logarithm of the absolute value of the gamma function."""
def linear(data: Any, weight: Any, bias: Any = None, out_dtype: Any = None) -> Call:
    """Return data · weightᵀ + bias; the product is of `out_dtype` if given."""
def log(x: Any) -> Call:
    """The natural logarithm."""
def log10(x: Any) -> Call:
    """The logarithm to the base 10."""
def log1p(x: Any) -> Call:
    """log(1 + x), precise near 0."""
def log2(x: Any) -> Call:
    """The logarithm to the base 2."""
def logical_and(x1: Any, x2: Any) -> Call:
    """x1 and x2"""
def logical_not(x: Any) -> Call:
    """not x"""
def logical_or(x1: Any, x2: Any) -> Call:
    """x1 or x2"""
def logical_xor(x1: Any, x2: Any) -> Call:
    """x1 != x2 of truth values"""
def masked_fill(x: Any, mask: Any, value: Any) -> Call:
    """Return `value` where the mask is true, x elsewhere."""
def matmul(x1: Any, x2: Any, out_dtype: Any = None) -> Call:
    """The matrix product over the last two dimensions, with the leading ones broadcast; vectors as in numpy."""
def matmul_blocks(x: Any, packed: Any, format: Any, out_dtype: Any = ..., activation: Any = 'float32', interleaved: Any = 1) -> Call:
    """x (…, k) times the transpose of the (n, k) numbers of `packed`: (…, n)."""
def max(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The greatest element."""
def maximum(x1: Any, x2: Any) -> Call:
    """The greater of x1 and x2."""
def mean(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The mean."""
def meshgrid(tensors: Any, indexing: Any = 'ij') -> Call:
    """Coordinate grids of vectors: tensor i is repeated along all dimensions but i (`xy` swaps the first two)."""
def min(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The least element."""
def minimum(x1: Any, x2: Any) -> Call:
    """The lesser of x1 and x2."""
def mod(x1: Any, x2: Any) -> Call:
    """x1 - trunc(x1 / x2) * x2"""
def multinomial_from_uniform(prob: Any, uniform_sample: Any, sample_indices: Any, dtype: Any = ...) -> Call:
    """For each sample, the first position where the running sum of its row of prob exceeds the uniform number."""
def multiply(x1: Any, x2: Any) -> Call:
    """x1 * x2"""
def negative(x: Any) -> Call:
    """-x"""
def nonzero(x: Any) -> Call:
    """The positions of the nonzero elements: a row for each dimension of x (one for a scalar)."""
def not_equal(x1: Any, x2: Any) -> Call:
    """x1 != x2"""
def one_hot(indices: Any, on_value: Any, off_value: Any, depth: Any, axis: Any = -1) -> Call:
    """on_value where the coordinate along the new dimension `axis`, of extent `depth`, equals the index; else off_value."""
def ones(shape: Any, dtype: Any) -> Call:
    """A tensor of ones."""
def ones_like(x: Any, dtype: Any = None) -> Call:
    """Ones in the shape of x; `dtype` defaults to that of x."""
def outer(x1: Any, x2: Any) -> Call:
    """The outer product of two vectors."""
def permute_dims(x: Any, axes: Any = None) -> Call:
    """Transpose: dimension i of the result is dimension axes[i] of x; all reversed if axes is None."""
def power(x1: Any, x2: Any) -> Call:
    """x1 to the x2"""
def print(*args: Any, **kwargs: Any) -> Call:
    """Print the values by `format`, which has a `{}` for each, or one after the other if it is empty."""
def prod(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The product."""
def quantize(data: Any, scale: Any, zero_point: Any, axis: Any = -1, out_dtype: Any = ...) -> Call:
    """round(data / scale) + zero_point, clamped to the range of `out_dtype`."""
def repeat(data: Any, repeats: Any, axis: Any = None) -> Call:
    """Each element repeated `repeats` times along `axis`; of the flattened data if None."""
def reshape(x: Any, shape: Any) -> Call:
    """The elements of x in row-major order, in another shape. (-1 is replaced before the operator is built.)"""
def right_shift(x1: Any, x2: Any) -> Call:
    """x1 >> x2"""
def round(x: Any) -> Call:
    """The nearest integer, halves to even."""
def rsqrt(x: Any) -> Call:
    """1 / sqrt(x)"""
def scatter_elements(data: Any, indices: Any, updates: Any, axis: Any = 0, reduction: Any = 'update') -> Call:
    """data with each update at its own position, with the coordinate along `axis` replaced by the index."""
def scatter_nd(data: Any, indices: Any, updates: Any, reduction: Any = 'update') -> Call:
    """data with slices of updates at the positions in the last dimension of indices."""
def shape_of(expr: Any) -> Call:
    """The shape of a tensor."""
def shape_to_tensor(expr: Any) -> Call:
    """Convert the extents of a shape to a rank-1 int64 tensor."""
def sigmoid(x: Any) -> Call:
    """1 / (1 + exp(-x))"""
def sign(x: Any) -> Call:
    """-1, 0 or 1 as x is negative, zero or positive."""
def sin(x: Any) -> Call:
    """"""
def sinh(x: Any) -> Call:
    """"""
def slice_scatter(input_tensor: Any, src: Any, start: Any, end: Any, step: Any, axis: Any = 0) -> Call:
    """input_tensor with src written to start:end:step of the dimension `axis`."""
def sort(x: Any, axis: Any = -1, descending: Any = False) -> Call:
    """The elements in sorted order along `axis`; NaN is greater than all others."""
def split(x: Any, indices_or_sections: Any, axis: Any = 0) -> Call:
    """x split along `axis`: at the positions of a list, or into a number of sections (of equal extent, rounded up)."""
def sqrt(x: Any) -> Call:
    """The square root."""
def square(x: Any) -> Call:
    """x * x"""
def squeeze(x: Any, axis: Any = None) -> Call:
    """x without the dimensions `axis`, which have extent 1; without all of extent 1 if None."""
def stack(tensors: Any, axis: Any = 0) -> Call:
    """Tensors of one shape stacked along a new dimension `axis`."""
def std(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The standard deviation (of the population)."""
def strided_slice(x: Any, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: Any = False) -> Call:
    """x[begin:end:strides] along `axes`; begin, end and strides are tuples of scalars."""
def subtract(x1: Any, x2: Any) -> Call:
    """x1 - x2"""
def sum(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The sum."""
def take(x: Any, indices: Any, axis: Any = None, mode: Any = 'fast') -> Call:
    """The slices of x along `axis` at `indices`, which may be a tensor of any rank or a prim value."""
def take_blocks(packed: Any, indices: Any, format: Any, out_dtype: Any = ..., interleaved: Any = 1) -> Call:
    """Dequantize the rows `indices` of `packed`, (n, row_bytes): (*indices.shape, k)."""
def tan(x: Any) -> Call:
    """"""
def tanh(x: Any) -> Call:
    """"""
def tensor_to_shape(expr: Any) -> Call:
    """Convert a rank-1 int64 tensor to a shape with these extents."""
def tile(data: Any, repeats: Any) -> Call:
    """data repeated `repeats` times in each dimension; the shorter of shape and repeats is filled with leading 1s."""
def to_vdevice(data: Any, dst_vdevice: Any) -> Call:
    """The tensor on the virtual device `dst_vdevice`, such as `llvm:0`."""
def topk(data: Any, k: Any = 1, axis: Any = -1, ret_type: Any = 'both', largest: Any = True, dtype: Any = ...) -> Call:
    """The `k` greatest (or least) elements along `axis`, in sorted order, with their positions; all if k < 1."""
def tril(x: Any, k: Any = None) -> Call:
    """x where column - row <= k in its last two dimensions, 0 elsewhere."""
def triu(x: Any, k: Any = None) -> Call:
    """x where column - row >= k in its last two dimensions, 0 elsewhere."""
def trunc(x: Any) -> Call:
    """x without its fraction."""
def unique(x: Any, sorted: Any = None, return_index: Any = None, return_inverse: Any = None, return_counts: Any = None, axis: Any = None) -> Call:
    """The distinct elements of x, or its distinct slices along `axis`; in order if `sorted`, else by first occurrence."""
def variance(x: Any, axis: Any = None, keepdims: Any = False) -> Call:
    """The variance (of the population)."""
def where(condition: Any, x1: Any, x2: Any) -> Call:
    """x1 where the condition is true, x2 elsewhere; all three broadcast."""
def while_loop(cond: Any, body: Any, init: Any, invariants: Any = None, collected: Any = 0) -> Call:
    """Run `body` while `cond` holds; return the carried values, and the `collected` results, stacked."""
def wrap_param(data: Any, dtype: Any = ...) -> Call:
    """data, a parameter of a model, converted to `dtype`."""
def zeros(shape: Any, dtype: Any) -> Call:
    """A tensor of zeros."""
def zeros_like(x: Any, dtype: Any = None) -> Call:
    """Zeros in the shape of x; `dtype` defaults to that of x."""
