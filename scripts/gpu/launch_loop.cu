// A launch-bound program: many tiny kernels over several streams and threads, some copies.
//
//   launch_loop LOG LAUNCHES STREAMS THREADS
//
// LAUNCHES kernels in all, dealt out to THREADS threads with STREAMS streams each.  Writes what
// it launched to LOG (the form is described in cupti_etl/demo/launched.py) and prints the time
// of a launch.  Stream number g launches with a grid of 1 + g blocks, so that a recorded kernel
// tells the stream that it was launched in.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace acceptance {

template <int Which>
__global__ void tiny(float *x, int i)
{
    if (threadIdx.x == 0)
        x[blockIdx.x] += static_cast<float>(i % (Which + 2));
}

__global__ void wait_a_little(unsigned long long ns)
{
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < ns);
}

}  // namespace acceptance

namespace {

using acceptance::tiny;
using acceptance::wait_a_little;

constexpr int kernels = 3;
constexpr int probes = 100, probe_grid = 1000;
constexpr long copy_every = 1024;
constexpr size_t to_device = 8192, to_host = 4096, on_device = 16384, set_size = 2048;

void check(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "launch_loop: %s: %s\n", what, cudaGetErrorString(code));
        exit(1);
    }
}

long long realtime_ns()
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

struct Stream {
    cudaStream_t handle;
    long long id;
    float *x, *y;
    char *host;
    long launches[kernels];
    long copies;
};

Stream make_stream()
{
    Stream stream = {};
    check(cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaMalloc(&stream.x, on_device), "cudaMalloc");
    check(cudaMalloc(&stream.y, on_device), "cudaMalloc");
    check(cudaMallocHost(&stream.host, on_device), "cudaMallocHost");
    stream.id = -1;
#if CUDART_VERSION >= 12000
    unsigned long long id;
    if (cudaStreamGetId(stream.handle, &id) == cudaSuccess)
        stream.id = static_cast<long long>(id);
#endif
    return stream;
}

void copy(Stream &s)
{
    check(cudaMemsetAsync(s.x, 0, set_size, s.handle), "cudaMemsetAsync");
    check(cudaMemcpyAsync(s.y, s.host, to_device, cudaMemcpyHostToDevice, s.handle), "copy to device");
    check(cudaMemcpyAsync(s.host, s.x, to_host, cudaMemcpyDeviceToHost, s.handle), "copy to host");
    check(cudaMemcpyAsync(s.y, s.x, on_device, cudaMemcpyDeviceToDevice, s.handle), "copy on device");
    s.copies++;
}

void launch_all(std::vector<Stream> &streams, size_t first, size_t count, long launches)
{
    for (long i = 0; i < launches; i++) {
        size_t g = first + static_cast<size_t>(i) % count;
        Stream &s = streams[g];
        int which = static_cast<int>(i / static_cast<long>(count) % kernels);
        unsigned grid = static_cast<unsigned>(1 + g);
        int value = static_cast<int>(i);
        if (which == 0)
            tiny<0><<<grid, 32, 0, s.handle>>>(s.x, value);
        else if (which == 1)
            tiny<1><<<grid, 32, 0, s.handle>>>(s.x, value);
        else
            tiny<2><<<grid, 32, 0, s.handle>>>(s.x, value);
        s.launches[which]++;
        if (i % copy_every == copy_every - 1)
            copy(streams[first + static_cast<size_t>(i / copy_every) % count]);
    }
    check(cudaGetLastError(), "launch");
}

template <class Function>
std::string name_of(Function *function)
{
    const char *name = nullptr;
    check(cudaFuncGetName(&name, reinterpret_cast<const void *>(function)), "cudaFuncGetName");
    return name;
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: launch_loop LOG LAUNCHES STREAMS THREADS\n");
        return 2;
    }
    const long launches = atol(argv[2]);
    const size_t per_thread = strtoul(argv[3], nullptr, 10), threads = strtoul(argv[4], nullptr, 10);
    check(cudaSetDevice(0), "cudaSetDevice");
    std::vector<Stream> streams;
    for (size_t i = 0; i < per_thread * threads; i++)
        streams.push_back(make_stream());
    const std::string names[] = {name_of(tiny<0>), name_of(tiny<1>), name_of(tiny<2>)};
    const std::string waiting = name_of(wait_a_little);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    const long long begin = realtime_ns();
    const auto clock_begin = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (size_t t = 1; t < threads; t++)
        workers.emplace_back(launch_all, std::ref(streams), t * per_thread, per_thread,
                             launches / static_cast<long>(threads));
    launch_all(streams, 0, per_thread, launches / static_cast<long>(threads));
    for (std::thread &worker : workers)
        worker.join();
    const std::chrono::duration<double, std::nano> enqueued = std::chrono::steady_clock::now() - clock_begin;
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

    long long bracket[probes][2];
    for (int i = 0; i < probes; i++) {
        bracket[i][0] = realtime_ns();
        wait_a_little<<<probe_grid + i, 32, 0, streams[0].handle>>>(20000);
        check(cudaStreamSynchronize(streams[0].handle), "probe");
        bracket[i][1] = realtime_ns();
    }
    const long long end = realtime_ns();

    FILE *log = fopen(argv[1], "w");
    if (log == nullptr) {
        perror(argv[1]);
        return 1;
    }
    long copies = 0;
    const char *separator = "";
    fprintf(log, "{\"program\": \"launch_loop\", \"pid\": %d, \"begin_ns\": %lld, \"end_ns\": %lld, \"complete\": true,\n",
            static_cast<int>(getpid()), begin, end);
    fprintf(log, " \"enqueue_ns_per_launch\": %.1f, \"graph_kernels\": [],\n \"kernels\": [", enqueued.count() / static_cast<double>(launches));
    for (size_t g = 0; g < streams.size(); g++) {
        copies += streams[g].copies;
        for (int which = 0; which < kernels; which++) {
            if (streams[g].launches[which] == 0)
                continue;
            fprintf(log, "%s\n  {\"name\": \"%s\", \"stream\": \"s%zu\", \"grid_x\": %zu, \"count\": %ld}",
                    separator, names[which].c_str(), g, 1 + g, streams[g].launches[which]);
            separator = ",";
        }
    }
    for (int i = 0; i < probes; i++)
        fprintf(log, ",\n  {\"name\": \"%s\", \"stream\": \"s0\", \"grid_x\": %d, \"count\": 1}", waiting.c_str(), probe_grid + i);
    fprintf(log, "],\n \"probes\": [");
    for (int i = 0; i < probes; i++)
        fprintf(log, "%s\n  {\"name\": \"%s\", \"grid_x\": %d, \"begin_ns\": %lld, \"end_ns\": %lld}",
                i == 0 ? "" : ",", waiting.c_str(), probe_grid + i, bracket[i][0], bracket[i][1]);
    fprintf(log, "],\n \"copies\": [");
    if (copies > 0)
        fprintf(log, "{\"kind\": \"HtoD\", \"bytes\": %zu, \"count\": %ld}, {\"kind\": \"DtoH\", \"bytes\": %zu, \"count\": %ld}, {\"kind\": \"DtoD\", \"bytes\": %zu, \"count\": %ld}",
                to_device, copies, to_host, copies, on_device, copies);
    fprintf(log, "],\n \"memsets\": [");
    if (copies > 0)
        fprintf(log, "{\"bytes\": %zu, \"count\": %ld}", set_size, copies);
    fprintf(log, "],\n \"streams\": {");
    for (size_t g = 0; g < streams.size(); g++)
        fprintf(log, "%s\"s%zu\": %lld", g == 0 ? "" : ", ", g, streams[g].id);
    fprintf(log, "}}\n");
    fclose(log);
    printf("launch_loop: %ld launches, %.1f ns each\n", launches, enqueued.count() / static_cast<double>(launches));
    return 0;
}
