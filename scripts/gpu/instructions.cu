// Kernels that execute instructions of known numbers, for scripts/gpu/sass_metrics.py.
//
//   instructions [short|loop]   all kernels three times; short: 2000 launches of the first alone;
//                               loop: 20 of the one that loops, with more turns
//
// Prints how long the GPU took, in ms, from an event before the launches to one after them.
//
// Loops are not unrolled, so that each has a store, or a load, that is executed once a turn.
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { THREADS = 256, BLOCKS = 64, TURNS = 100 };

// One store a thread.
extern "C" __global__ void store_once(float *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// Two loads and a store a thread.
extern "C" __global__ void add_vectors(const float *a, const float *b, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = a[i] + b[i];
}

// TURNS stores a thread.
extern "C" __global__ void store_in_loop(volatile float *out, int turns)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int turn = 0; turn < turns; turn++)
        out[i] = turn;
}

// A store of the first 8 threads of each warp; the others do nothing.
extern "C" __global__ void store_of_few(float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ((i & 31) < 8)
        out[i] = 1;
}

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t code = (call);                                                                 \
        if (code != cudaSuccess) {                                                                 \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(int count, char **words)
{
    float *a, *b, *out;
    size_t bytes = sizeof(float) * THREADS * BLOCKS;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMemset(a, 0, bytes));
    CHECK(cudaMemset(b, 0, bytes));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    if (count > 1 && strcmp(words[1], "short") == 0) {
        for (int i = 0; i < 2000; i++)
            store_once<<<BLOCKS, THREADS>>>(out);
    } else if (count > 1 && strcmp(words[1], "loop") == 0) {
        for (int i = 0; i < 20; i++)
            store_in_loop<<<BLOCKS, THREADS>>>(out, 1000);
    } else {
        for (int i = 0; i < 3; i++) {
            store_once<<<BLOCKS, THREADS>>>(out);
            add_vectors<<<BLOCKS, THREADS>>>(a, b, out);
            store_in_loop<<<BLOCKS, THREADS>>>(out, TURNS);
            store_of_few<<<BLOCKS, THREADS>>>(out);
        }
    }
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaDeviceSynchronize());
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    printf("gpu_ms %.4f\n", ms);
    return 0;
}
