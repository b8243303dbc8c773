// Three kernels that wait for different things, each from lines of its own: for PC sampling.
//
//   stalls SECONDS [LAUNCHES]   prints the iterations and the microseconds of one
#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void stall_copy(float *to, const float *from, long n)
{
	for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
		to[i] = from[i]; // line of the copy
}

__global__ void stall_math(float *out, int n)
{
	float x = threadIdx.x, y = 1.0001f;

	for (int i = 0; i < n; i++) {
		x = x * y + 0.5f;
		y = y * 0.9999f + 1e-6f;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}

__global__ void stall_chase(const int *next, int n, int *out)
{
	int i = 0;

	for (int k = 0; k < n; k++)
		i = next[i]; // line of the chase
	*out = i;
}

int main(int count, char **words)
{
	const double seconds = count > 1 ? atof(words[1]) : 1;
	const long most = count > 2 ? atol(words[2]) : 1L << 40, n = 1 << 24;
	float *to, *from;
	int *next, *out;
	long iterations = 0;

	cudaMalloc(&to, n * sizeof *to);
	cudaMalloc(&from, n * sizeof *from);
	cudaMalloc(&next, 4 << 20);
	cudaMalloc(&out, sizeof *out);
	cudaMemset(next, 0, 4 << 20);
	cudaDeviceSynchronize();
	auto begin = std::chrono::steady_clock::now();
	auto passed = [&] {
		return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
	};
	while (passed() < seconds && iterations < most) {
		for (int i = 0; i < 100 && iterations < most; i++, iterations++) {
			stall_copy<<<1024, 256>>>(to, from, n);
			stall_math<<<132 * 8, 256>>>(to, 2000);
			stall_chase<<<1, 1>>>(next, 200, out);
		}
		cudaDeviceSynchronize();
	}
	const double took = passed();
	const cudaError_t error = cudaGetLastError();
	printf("{\"iterations\": %ld, \"us\": %.2f, \"error\": %d}\n", iterations,
	       took / iterations * 1e6, (int)error);
	return error != cudaSuccess;
}
