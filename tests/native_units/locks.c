/* Whose a segment is, as the kernel sees it: one collector, and an image that lives. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "decode/process.h"
#include "etl/locks.h"

static int fd;

static struct etl_process *attach(struct etl_decoder *decoder)
{
	struct etl_error error;
	struct etl_process *process = etl_process_map(decoder, fd, &error);

	CHECK(process);
	return process;
}

/* What a traced program does, in a process of its own; it goes on at each SIGUSR1. */
static void be_the_image(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	etl_lock_image(fd);
	if (fork() == 0) { /* a child that stays: it does not count as the image */
		sleep(2);
		_exit(0);
	}
	for (int i = 0; i < 256; i++)
		close(i);
	kill(getppid(), SIGUSR1);
	sigwait(&set, &number);
	execl("/bin/sleep", "sleep", "5", (char *)NULL);
}

int main(void)
{
	struct etl_decoder *decoder = etl_decoder_new();
	struct etl_process *one, *two;
	struct etl_error error;
	struct etl_map map;
	sigset_t set;
	pid_t child;
	int number, tries = 0;

	CHECK(etl_segment_create(1, &map, &fd, NULL) == 0);
	one = attach(decoder);
	two = attach(decoder);
	CHECK(etl_process_is_alive(one) == -1); /* not claimed */
	CHECK(etl_process_claim(one, fd, &error) == 0);
	CHECK(etl_process_claim(two, fd, &error) == -EAGAIN);
	CHECK(strstr(error.message, "another collector has it"));
	CHECK(etl_process_detach(one, &error) == 0);
	CHECK(etl_process_claim(two, fd, &error) == 0);
	CHECK(etl_process_is_alive(two) == -1); /* nobody has the image's lock */
	etl_process_free(two);
	etl_process_free(one);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (child == 0)
		be_the_image();
	sigwait(&set, &number);
	one = attach(decoder);
	CHECK(etl_process_claim(one, fd, &error) == 0);
	/* All its descriptors are closed. */
	CHECK(etl_process_is_alive(one) == 1);
	kill(child, SIGUSR1);
	while (etl_process_is_alive(one) && tries++ < 1000)
		usleep(1000);
	/* It runs on as another image. */
	CHECK(etl_process_is_alive(one) == 0);
	CHECK(waitpid(child, NULL, WNOHANG) == 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	etl_process_free(one);
	etl_decoder_free(decoder);
	etl_segment_unmap(&map);
	return 0;
}
