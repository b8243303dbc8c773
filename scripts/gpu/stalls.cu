// Kernels that wait for one thing each, from lines of its own: for PC sampling.
//
//   stalls SECONDS [ITERATIONS [all]]   prints the iterations and the microseconds of one
//
// Three kernels an iteration; with `all`, those of a barrier, a busy pipe, branches and an
// instruction cache, too.
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

// One warp works while the others of its block wait at the barrier.
__global__ void stall_barrier(float *out, int n)
{
	float x = threadIdx.x;

	for (int i = 0; i < n; i++) {
		if (threadIdx.x < 32)
			for (int k = 0; k < 64; k++)
				x = x * 1.0001f + 0.5f;
		__syncthreads(); // line of the barrier
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// All warps want the one pipe of doubles, with chains enough that none waits for results.
__global__ void stall_pipe(float *out, int n)
{
	double a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

	for (int i = 0; i < n; i++) {
		a = a * 1.0000001 + 0.5; // lines of the pipe
		b = b * 1.0000001 + 0.5;
		c = c * 1.0000001 + 0.5;
		d = d * 1.0000001 + 0.5;
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// Calls of functions that do nothing: after a return, it is not known at once where it goes on.
__device__ __noinline__ void nothing(int)
{
	asm volatile("");
}

__global__ void stall_branch(int *out, int n)
{
	for (int i = 0; i < n; i++) {
		nothing(i); // lines of the branch
		nothing(i);
		nothing(i);
		nothing(i);
		nothing(i);
		nothing(i);
		nothing(i);
		nothing(i);
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = n;
}

// More code than the caches of instructions hold, none of which waits for another.
__global__ void stall_fetch(unsigned *out, int n)
{
	unsigned a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

	for (int i = 0; i < n; i++) {
#pragma unroll
		for (unsigned k = 0; k < 4096; k++) { // lines of the fetch
			asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(a) : "r"(i), "r"(n));
			asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(b) : "r"(n), "r"(i));
			asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(c) : "r"(i), "r"(n));
			asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(d) : "r"(n), "r"(i));
		}
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

int main(int count, char **words)
{
	const bool is_all = count > 3 && words[3][0] == 'a';
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
			if (!is_all)
				continue;
			stall_barrier<<<132, 1024>>>(to, 200);
			stall_pipe<<<132 * 2, 1024>>>(to, 500);
			stall_branch<<<132, 128>>>((int *)to, 1000);
			stall_fetch<<<132, 32>>>((unsigned *)to, 4);
		}
		cudaDeviceSynchronize();
	}
	const double took = passed();
	const cudaError_t error = cudaGetLastError();
	printf("{\"iterations\": %ld, \"us\": %.2f, \"error\": %d}\n", iterations,
	       took / iterations * 1e6, (int)error);
	return error != cudaSuccess;
}
