// Ten kernels that do the same at each launch, for exact counters beside Nsight Compute's.
//
//   counted KERNELS LAUNCHES [differing|cooperative]
//
// Launches the first so many kernels, so often each, and prints JSON.  Also, each time: a kernel whose
// blocks wait for each other; or counted_small once more in each run of the command.
//
// Each time is an NVTX range "round", which does not wait for what was launched before.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cooperative_groups.h>
#include <nvtx3/nvToolsExt.h>

__global__ void counted_copy(float *to, const float *from, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		to[i] = from[i];
}

__global__ void counted_math(float *to, int n)
{
	float x = threadIdx.x, y = 1.0001f;

	for (int i = 0; i < n; i++) {
		x = x * y + 0.5f;
		y = y * 0.9999f + 1e-6f;
	}
	to[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}

__global__ void counted_chase(int *to, const int *next, int n)
{
	int i = 0;

	for (int k = 0; k < n; k++)
		i = next[i];
	*to = i;
}

__global__ void counted_shared(float *to, int n)
{
	__shared__ float tile[256];
	float sum = 0;

	tile[threadIdx.x] = threadIdx.x;
	__syncthreads();
	for (int i = 0; i < n; i++)
		sum += tile[(threadIdx.x * 8 + i) & 255];
	to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void counted_double(double *to, int n)
{
	double x = threadIdx.x;

	for (int i = 0; i < n; i++)
		x = x * 1.000001 + 0.5;
	to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void counted_branch(int *to, int n)
{
	int x = threadIdx.x;

	for (int i = 0; i < n; i++)
		x = (x & 1) ? x * 3 + 1 : x / 2 + i;
	to[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void counted_stride(float *to, const float *from, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[(int)((long)i * 33 % n)];
}

__global__ void counted_atomic(int *to, int n)
{
	for (int i = 0; i < n; i++)
		atomicAdd(&to[(threadIdx.x + i) & 31], 1);
}

__global__ void counted_reread(float *to, const float *from, int n)
{
	float sum = 0;

	for (int k = 0; k < 16; k++)
		for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
			sum += from[i];
	to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void counted_small(float *to)
{
	to[threadIdx.x] = threadIdx.x;
}

__global__ void counted_cooperative(float *to)
{
	cooperative_groups::this_grid().sync();
	to[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x;
}

static void launch_more(const char *which, float *to)
{
	const char *run = getenv("CUPTI_ETL_REPLAY_RUN");
	void *arguments[] = { &to };

	if (strcmp(which, "cooperative") == 0)
		cudaLaunchCooperativeKernel((const void *)counted_cooperative, 32, 128, arguments, 0, 0);
	for (int i = 0; strcmp(which, "differing") == 0 && i < (run ? atoi(run) : 1); i++)
		counted_small<<<1, 32>>>(to);
}

int main(int count, char **words)
{
	const int kernels = count > 1 ? atoi(words[1]) : 10, launches = count > 2 ? atoi(words[2]) : 3;
	const int n = 1 << 24;
	float *to, *from;
	int *next;

	cudaMalloc(&to, n * sizeof *to);
	cudaMalloc(&from, n * sizeof *from);
	cudaMalloc(&next, 4 << 20);
	cudaMemset(from, 0, n * sizeof *from);
	cudaMemset(next, 0, 4 << 20);
	cudaDeviceSynchronize();
	for (int i = 0; i < launches; i++) {
		nvtxRangePushA("round");
		for (int k = 0; k < kernels; k++) {
			switch (k) {
			case 0: counted_copy<<<1024, 256>>>(to, from, n); break;
			case 1: counted_math<<<1056, 256>>>(to, 2000); break;
			case 2: counted_chase<<<1, 1>>>((int *)to, next, 200); break;
			case 3: counted_shared<<<1056, 256>>>(to, 2000); break;
			case 4: counted_double<<<528, 256>>>((double *)to, 1000); break;
			case 5: counted_branch<<<1056, 256>>>((int *)to, 1000); break;
			case 6: counted_stride<<<65536, 256>>>(to, from, n); break;
			case 7: counted_atomic<<<132, 256>>>((int *)to, 200); break;
			case 8: counted_reread<<<264, 256>>>(to, from, 1 << 20); break;
			case 9: counted_small<<<1, 32>>>(to); break;
			}
		}
		launch_more(count > 3 ? words[3] : "", to);
		nvtxRangePop();
	}
	cudaDeviceSynchronize();
	const cudaError_t error = cudaGetLastError();
	printf("{\"kernels\": %d, \"launches\": %d, \"error\": %d}\n", kernels, launches, (int)error);
	return error != cudaSuccess;
}
