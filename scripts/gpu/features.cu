// Programs that each use one feature of CUDA so many times that the trace can be counted.
//
//   features managed | pool N | peer N | graph NODES LAUNCHES | threads THREADS LAUNCHES
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

__global__ void touch(char *bytes, size_t n)
{
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x)
        bytes[i] += 1;
}

__global__ void tiny(float *x)
{
    if (threadIdx.x == 0)
        x[0] += 1;
}

static void check(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "features: %s: %s\n", what, cudaGetErrorString(code));
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

// Pages go to the device for the kernels, and come back for the host.
static void managed()
{
    const size_t bytes = size_t(64) << 20;
    char *data;

    CHECK(cudaMallocManaged(&data, bytes));
    // The first context is there now; what records page moves may need a moment to notice.
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    for (int round = 0; round < 2; round++) {
        memset(data, 1, bytes);
        touch<<<256, 256>>>(data, bytes);
        CHECK(cudaDeviceSynchronize());
    }
    for (size_t i = 0; i < bytes; i += 4096)
        if (data[i] != 2)
            exit(2);
    CHECK(cudaFree(data));
}

static void pool(int n)
{
    cudaMemPoolProps props = {};
    cudaMemPool_t own;
    cudaStream_t stream;
    void *memory;

    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &props));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < n; i++) {
        CHECK(cudaMallocFromPoolAsync(&memory, 4096 * (i + 1), own, stream));
        CHECK(cudaFreeAsync(memory, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaMemPoolDestroy(own));
}

static void peer(int n)
{
    const size_t bytes = size_t(1) << 20;
    void *from, *to;

    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaMalloc(&from, bytes));
    for (int i = 0; i < n; i++)
        CHECK(cudaMemcpyPeerAsync(to, 1, from, 0, bytes, 0));
    CHECK(cudaDeviceSynchronize());
}

static void graph(int nodes, int launches)
{
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaGraph_t graph;
    float *x;

    CHECK(cudaMalloc(&x, sizeof *x));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++)
        tiny<<<1, 32, 0, stream>>>(x);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < launches; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void threads(int n, int launches)
{
    std::vector<std::thread> all;

    for (int i = 0; i < n; i++)
        all.emplace_back([launches] {
            cudaStream_t stream;
            float *x;

            CHECK(cudaStreamCreate(&stream));
            CHECK(cudaMalloc(&x, sizeof *x));
            for (int k = 0; k < launches; k++)
                tiny<<<1, 32, 0, stream>>>(x);
            CHECK(cudaStreamSynchronize(stream));
        });
    for (auto &one : all)
        one.join();
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    int a = count > 2 ? atoi(words[2]) : 0, b = count > 3 ? atoi(words[3]) : 0;

    if (!strcmp(what, "managed"))
        managed();
    else if (!strcmp(what, "pool"))
        pool(a);
    else if (!strcmp(what, "peer"))
        peer(a);
    else if (!strcmp(what, "graph"))
        graph(a, b);
    else if (!strcmp(what, "threads"))
        threads(a, b);
    else
        return fprintf(stderr, "features: what?\n"), 2;
    CHECK(cudaGetLastError());
    return 0;
}
