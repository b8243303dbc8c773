/* Runs a fuzz target without libFuzzer: over the corpus, then over mutations of it.
 *
 *	PROGRAM SECONDS MUTATIONS SEED FILE...
 *
 * It stops after so many seconds or mutations; 0 is no limit.
 *
 * An input that fails is left in the file `crash`, as libFuzzer does. */
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MOST 8192
#define MOST_FILES 512

static struct {
	uint8_t bytes[MOST];
	size_t size;
} corpus[MOST_FILES];
static size_t n_files;
static uint64_t seed;
/* Written before each run, so that a crash leaves its input; a file mapped would do too. */
static FILE *last;

static void run(const uint8_t *bytes, size_t size)
{
	/* In memory of its own, so that the sanitizer sees its end. */
	uint8_t *copy = malloc(size ? size : 1);

	rewind(last);
	fwrite(bytes, 1, size, last);
	fflush(last);
	(void)!ftruncate(fileno(last), (off_t)size);
	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t below(size_t n)
{
	return n ? (size_t)(random_next(&seed) % n) : 0;
}

static size_t mutate(uint8_t *bytes, size_t size)
{
	static const uint64_t edges[] = { 0, 1, 7, 8, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff,
					  0xffffffff, UINT64_MAX };
	size_t at = below(size), width = (size_t)1 << below(4), other, n;

	switch (below(6)) {
	case 0: /* a bit */
		if (size)
			bytes[at] ^= (uint8_t)(1u << below(8));
		return size;
	case 1: /* a number at the edge of its width */
		if (at + width <= size)
			memcpy(bytes + at, &edges[below(sizeof edges / sizeof *edges)], width);
		return size;
	case 2: /* a random byte */
		if (size)
			bytes[at] = (uint8_t)random_next(&seed);
		return size;
	case 3: /* something is missing */
		n = below(size - at) / 4;
		memmove(bytes + at, bytes + at + n, size - at - n);
		return size - n;
	case 4: /* something is there twice */
		n = below(64);
		if (n > size - at || size + n > MOST)
			return size;
		memmove(bytes + at + n, bytes + at, size - at);
		return size + n;
	default: /* something out of another file */
		other = below(n_files);
		n = below(64);
		if (n > corpus[other].size || at + n > MOST)
			return size;
		memcpy(bytes + at, corpus[other].bytes + below(corpus[other].size - n + 1), n);
		return at + n > size ? at + n : size;
	}
}

int main(int argc, char **argv)
{
	static uint8_t bytes[MOST];
	uint64_t runs = 0, most;
	time_t end;

	if (argc < 5) {
		fprintf(stderr, "%s SECONDS MUTATIONS SEED FILE...\n", argv[0]);
		return 2;
	}
	most = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	last = fopen("crash", "w+");
	CHECK(last);
	for (int i = 4; i < argc && n_files < MOST_FILES; i++) {
		FILE *file = fopen(argv[i], "r");

		CHECK(file);
		corpus[n_files].size = fread(corpus[n_files].bytes, 1, MOST, file);
		fclose(file);
		run(corpus[n_files].bytes, corpus[n_files].size);
		n_files++;
	}
	end = (time_t)strtol(argv[1], NULL, 10);
	end = end ? time(NULL) + end : 0;
	for (; (!most || runs < most) && (!end || time(NULL) < end); runs++) {
		size_t from = below(n_files), size = corpus[from].size;

		memcpy(bytes, corpus[from].bytes, size);
		for (size_t n = below(8) + 1; n; n--)
			size = mutate(bytes, size);
		run(bytes, size);
	}
	printf("%zu files, %llu mutations\n", n_files, (unsigned long long)runs);
	fclose(last);
	return unlink("crash");
}
