// Kernels with one costly kind of instruction each, for tests that read their code:
//   nvcc -cubin -arch=sm_90 -o costly.cubin costly.cu && gzip -9n costly.cubin
__constant__ float table[256];

extern "C" __global__ void local_memory(float *out, const int *at)
{
    float some[32];
    for (int k = 0; k < 32; k++)
        some[k] = out[k];
    for (int k = 0; k < 32; k++)
        some[at[k] & 31] += some[k];
    out[threadIdx.x] = some[at[0] & 31];
}

extern "C" __global__ void atomic(float *out, const float *in)
{
    atomicAdd(out, in[threadIdx.x]);
}

extern "C" __global__ void doubles(float *out)
{
    out[threadIdx.x] = out[threadIdx.x] * 0.1 + 0.3;
}

extern "C" __global__ void constant_table(float *out, const int *at)
{
    out[threadIdx.x] = table[at[threadIdx.x] & 255];
}

extern "C" __global__ void division(int *out, int by)
{
    out[threadIdx.x] = out[threadIdx.x] / by;
}

extern "C" __global__ void shared_memory(float *out)
{
    __shared__ float all[256];
    all[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[255 - threadIdx.x];
}

extern "C" __global__ void special(float *out)
{
    out[threadIdx.x] = __sinf(out[threadIdx.x]);
}

extern "C" __global__ void cheap(float *out)
{
    out[threadIdx.x] += 1;
}
