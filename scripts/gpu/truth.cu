// Kernels whose traffic and operations are counted here, for a comparison with hardware counters.
//
//   truth LOG traffic|compute|pair RUNS ROUNDS LONGEST_US
//
// A phase is one kernel (of `pair`: two, on two streams) again and again; each phase is run ROUNDS
// times with at most RUNS runs.  LOG says of each when it was, in ns of CLOCK_REALTIME, and what one
// run reads, writes and computes.  Buffers are many times the L2 and are walked on from run to run,
// so that what is counted must come from memory and go there.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

using std::max;
using std::min;

// Elements [0, n) of a walk that begins at `first` and starts over at the end of the buffer.
template <class Visit>
__device__ void walk(size_t n, size_t first, size_t length, Visit visit)
{
    const size_t step = size_t(gridDim.x) * blockDim.x;

    for (size_t done = 0; done < n;) {
        const size_t chunk = ::min(n - done, length - first);
#pragma unroll 4
        for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < chunk; i += step)
            visit(first + i);
        done += chunk;
        first = 0;
    }
}

__device__ float sum_of(float4 v)
{
    return v.x + v.y + v.z + v.w;
}

__device__ void reduce(const float4 *from, float *total, size_t n, size_t first, size_t length)
{
    float sum = 0;

    walk(n, first, length, [&](size_t i) { sum += sum_of(from[i]); });
    for (int lane = 16; lane > 0; lane /= 2)
        sum += __shfl_down_sync(~0u, sum, lane);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, sum);
}

// Names without C++ in them are the same for every tool.
extern "C" {
__global__ void truth_copy(const float4 *from, float4 *to, size_t n, size_t first, size_t length)
{
    walk(n, first, length, [&](size_t i) { to[i] = from[i]; });
}

__global__ void truth_triad(float4 *a, const float4 *b, const float4 *c, size_t n, size_t first,
                            size_t length)
{
    walk(n, first, length, [&](size_t i) {
        const float4 x = b[i], y = c[i];
        a[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
    });
}

__global__ void truth_reduce(const float4 *from, float *total, size_t n, size_t first, size_t length)
{
    reduce(from, total, n, first, length);
}

// Between phases: what an earlier one wrote leaves the L2 before the next begins.
__global__ void truth_flush(const float4 *from, float *total, size_t n)
{
    reduce(from, total, n, 0, n);
}

__global__ void truth_spin(unsigned long long ns)
{
    unsigned long long begin, now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < ns);
}

// 64 FMAs a thread and round, in 8 chains.
__global__ void truth_fma(float *out, int rounds, float factor)
{
    float x[8];

    for (int k = 0; k < 8; k++)
        x[k] = threadIdx.x + k;
#pragma unroll 1
    for (int round = 0; round < rounds; round++)
#pragma unroll
        for (int i = 0; i < 64; i++)
            x[i % 8] = fmaf(x[i % 8], factor, factor);
    float sum = 0;
    for (int k = 0; k < 8; k++)
        sum += x[k];
    if (sum == 12345)
        *out = sum;
}
}

namespace {

void check(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "truth: %s: %s\n", what, cudaGetErrorString(code));
        exit(1);
    }
}
#define CHECK(call) check(call, #call)

constexpr int threads = 256;
constexpr size_t flushed = size_t(512) << 20, buffer = size_t(4) << 30, element = sizeof(float4);
constexpr size_t length = buffer / element;
constexpr double pause_s = 0.02;

float4 *memory[3];
float *scalar;
int processors;
double peak_bytes_per_us, operations_per_us;
size_t position;
FILE *logged;
const char *separator = "";

long long realtime_ns()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int attribute(cudaDeviceAttr which)
{
    int value = 0;
    CHECK(cudaDeviceGetAttribute(&value, which, 0));
    return value;
}

// One kernel as it is launched: which, how long about, and what a run then does.
struct Work {
    const char *kernel;
    double us;
    int blocks;
    size_t n, reads, writes;
    double flops;
    int rounds;
};

Work work(const char *kernel, double us, int blocks)
{
    Work made = {kernel, us, blocks};
    const bool copies = !strcmp(kernel, "truth_copy"), triad = !strcmp(kernel, "truth_triad");
    const int streams = triad ? 3 : copies ? 2 : !strcmp(kernel, "truth_reduce") ? 1 : 0;

    if (streams) {
        made.n = max(size_t(us * 0.8 * peak_bytes_per_us / streams / element), size_t(4096));
        made.n = made.n / 4096 * 4096;
        made.reads = (triad ? 2 : 1) * made.n * element;
        made.writes = (triad || copies ? 1 : 0) * made.n * element;
    } else if (!strcmp(kernel, "truth_fma")) {
        // About half of all threads that there can be are enough to keep the pipes full.
        const double each = 2.0 * 64 * blocks * threads;
        made.rounds = max(int(us * 0.8 * operations_per_us / each), 1);
        made.flops = each * made.rounds;
    }
    return made;
}

void launch(const Work &w, cudaStream_t stream, double us)
{
    const dim3 grid(w.blocks);

    if (!strcmp(w.kernel, "truth_copy"))
        truth_copy<<<grid, threads, 0, stream>>>(memory[0], memory[1], w.n, position, length);
    else if (!strcmp(w.kernel, "truth_triad"))
        truth_triad<<<grid, threads, 0, stream>>>(memory[2], memory[0], memory[1], w.n, position, length);
    else if (!strcmp(w.kernel, "truth_reduce"))
        truth_reduce<<<grid, threads, 0, stream>>>(memory[0], scalar, w.n, position, length);
    else if (!strcmp(w.kernel, "truth_spin"))
        truth_spin<<<grid, threads, 0, stream>>>((unsigned long long)(us * 1000));
    else
        truth_fma<<<grid, threads, 0, stream>>>(scalar, w.rounds, 0.5f);
    position = (position + w.n) % length;
}

void rest()
{
    const timespec pause = {0, long(pause_s * 1e9)};

    truth_flush<<<processors, threads>>>(memory[2], scalar, flushed / element);
    CHECK(cudaDeviceSynchronize());
    nanosleep(&pause, nullptr);
}

void note(const char *part, const Work &w, int runs, long long begin, long long end, bool shared)
{
    fprintf(logged,
            "%s\n  {\"part\": \"%s\", \"kernel\": \"%s\", \"about_us\": %g, \"grid_x\": %d, \"runs\": %d,"
            " \"begin_ns\": %lld, \"end_ns\": %lld, \"read_bytes\": %zu, \"write_bytes\": %zu,"
            " \"flops\": %.0f, \"pipe\": %s, \"shares_gpu\": %s}",
            separator, part, w.kernel, w.us, w.blocks, runs, begin, end, w.reads, w.writes, w.flops,
            w.flops > 0 ? "\"fp32\"" : "null", shared ? "true" : "false");
    separator = ",";
}

void alone(const char *part, const Work &w, int most, double phase_us)
{
    const int runs = min(max(int(phase_us / w.us), 2), most);

    rest();
    const long long begin = realtime_ns();
    for (int i = 0; i < runs; i++)
        launch(w, 0, w.us);
    CHECK(cudaDeviceSynchronize());
    note(part, w, runs, begin, realtime_ns(), false);
}

// `a` on one stream, and beside it `b` so often that both take about as long.
void pair(const Work &a, const Work &b, int most, cudaStream_t *streams)
{
    const int runs = min(200, most), each = max(int(a.us / b.us), 1);

    rest();
    const long long begin = realtime_ns();
    for (int i = 0; i < runs; i++) {
        launch(a, streams[0], a.us);
        for (int k = 0; k < each; k++)  // of changing length, so that the two do not keep step
            launch(b, streams[1], b.us * (0.5 + (i * 7 + k * 3) % 11 / 10.0));
    }
    CHECK(cudaDeviceSynchronize());
    const long long end = realtime_ns();
    note("pair", a, runs, begin, end, true);
    note("pair", b, runs * each, begin, end, true);
}

}  // namespace

int main(int count, char **words)
{
    if (count != 6)
        return fprintf(stderr, "usage: truth LOG traffic|compute|pair RUNS ROUNDS LONGEST_US\n"), 2;
    const char *part = words[2];
    const int most = atoi(words[3]), rounds = atoi(words[4]);
    const double longest = atof(words[5]);
    cudaStream_t streams[2];

    CHECK(cudaSetDevice(0));
    processors = attribute(cudaDevAttrMultiProcessorCount);
    const int l2 = attribute(cudaDevAttrL2CacheSize);
    peak_bytes_per_us = 2.0 * attribute(cudaDevAttrMemoryClockRate) * 1e3
                        * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8 / 1e6;
    if (peak_bytes_per_us <= 0)  // what a driver does not tell; lengths are then a little off
        peak_bytes_per_us = 3e6;
    operations_per_us = 256.0 * processors * max(attribute(cudaDevAttrClockRate), 1000000) / 1e3;
    for (float4 *&each : memory) {
        CHECK(cudaMalloc(&each, buffer));
        CHECK(cudaMemset(each, 0, buffer));
    }
    CHECK(cudaMalloc(&scalar, sizeof *scalar));
    for (cudaStream_t &stream : streams)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceSynchronize());
    logged = fopen(words[1], "w");
    if (logged == nullptr)
        return perror(words[1]), 1;
    fprintf(logged, "{\"l2_bytes\": %d, \"buffer_bytes\": %zu, \"phases\": [", l2, buffer);

    const int full = 8 * processors;
    for (int round = 0; round < rounds; round++) {
        if (!strcmp(part, "pair")) {
            pair(work("truth_copy", 150, processors), work("truth_spin", 70, processors), most, streams);
            pair(work("truth_triad", 300, processors), work("truth_reduce", 60, processors), most, streams);
            pair(work("truth_copy", 1000, processors), work("truth_fma", 250, 2 * processors), most / 5 + 1,
                 streams);
            continue;
        }
        for (double us : {2., 10., 50., 200., 1000., 5000., 20000.}) {
            if (us > longest)
                continue;
            // Grids differ by length, so that each length is a kernel of its own for every tool.
            const int blocks = full + int(us) % 97;
            if (!strcmp(part, "traffic"))
                for (const char *kernel : {"truth_copy", "truth_triad", "truth_reduce"})
                    alone(part, work(kernel, us, blocks), most, 20000);
            else {
                alone(part, work("truth_spin", us, blocks), most, 20000);
                alone(part, work("truth_fma", us, blocks), most, 20000);
            }
        }
    }
    rest();
    CHECK(cudaGetLastError());
    fprintf(logged, "]}\n");
    return fclose(logged) != 0;
}
