/* The hello: two addresses, a queue that is full, no descriptors, the page in the answer. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "etl/abi.h"
#include "etl/hello.h"
#include "inject/descriptors.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

struct etl_injector etl_injector;
static char folder[] = "/tmp/etl-hello-XXXXXX", path[64];

static int listen_at(bool is_name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1;
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path + is_name, path, strlen(path));
	CHECK(sock >= 0 && bind(sock, (struct sockaddr *)&address, (socklen_t)size) == 0);
	CHECK(listen(sock, 0) == 0);
	return sock;
}

/* The next one's words, and the file that came along; the connection. */
static int next(int listener, struct etl_hello *hello, int *file)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { hello, sizeof *hello };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control };
	int sock = accept(listener, NULL, NULL);

	CHECK(sock >= 0);
	CHECK(recvmsg(sock, &message, 0) == (ssize_t)sizeof *hello);
	CHECK(hello->magic == ETL_HELLO_MAGIC && hello->pid == getpid());
	*file = -1;
	if (message.msg_controllen)
		memcpy(file, CMSG_DATA(&control.header), sizeof *file);
	return sock;
}

static void forget(void)
{
	etl_close_kept(etl_injector.socket);
	etl_injector.socket = -1;
}

static void by_path_and_by_name(int by_path, int by_name)
{
	struct etl_hello hello;
	int file, sock;

	CHECK(etl_hello(etl_injector.memfd, NULL) == 0);
	sock = next(by_path, &hello, &file);
	CHECK(file >= 0 && hello.reason[0] == '\0' && etl_is_kept(etl_injector.socket));
	close(file);
	close(sock);
	forget();
	CHECK(unlink(path) == 0);
	CHECK(etl_hello(-1, "why") == 0 && etl_injector.socket == -1);
	sock = next(by_name, &hello, &file);
	CHECK(file < 0 && strcmp(hello.reason, "why") == 0);
	close(sock);
	CHECK(etl_peek(&etl_injector.wakeup->unmet) == 0);
}

static void a_queue_that_is_full(int by_name)
{
	struct etl_hello hello;
	int file, sock, calls = 0;

	while (etl_hello(-1, "one more") == 0)
		calls++;
	CHECK(calls > 0 && etl_peek(&etl_injector.wakeup->unmet) == 1);
	CHECK(etl_hello(etl_injector.memfd, NULL) == -EAGAIN);
	etl_hello_again();
	CHECK(etl_injector.socket == -1 && etl_peek(&etl_injector.wakeup->unmet) == 1);
	while (calls--)
		close(next(by_name, &hello, &file));
	etl_hello_again();
	CHECK(etl_is_kept(etl_injector.socket) && etl_peek(&etl_injector.wakeup->unmet) == 0);
	sock = next(by_name, &hello, &file);
	CHECK(file >= 0);
	close(file);
	close(sock);
	forget();
	etl_hello_again(); /* once is enough */
	CHECK(accept(by_name, NULL, NULL) < 0 && errno == EAGAIN);
}

static void no_descriptor(int by_name)
{
	struct rlimit before, none;
	struct etl_hello hello;
	int file;

	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){ 3, before.rlim_max }; /* 0, 1 and 2 are there */
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
	CHECK(etl_hello(etl_injector.memfd, NULL) == -EAGAIN);
	CHECK(etl_peek(&etl_injector.wakeup->unmet) == 1);
	CHECK(etl_hello(-1, "no descriptor") == 0);
	CHECK(fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	close(next(by_name, &hello, &file));
	CHECK(file < 0 && strcmp(hello.reason, "no descriptor") == 0);
}

static _Atomic bool is_over;

static void *send_wakeups(void *unused)
{
	(void)unused;
	while (!etl_load(&is_over))
		etl_wakeup_send();
	return NULL;
}

/* Answered with the page, which is put in the place of our own while others send wakeups. */
static void a_page_that_comes_later(int by_name, struct etl_wakeup *wakeup)
{
	struct etl_wakeup_page *page = etl_injector.wakeup;
	int file, sock, fd = etl_wakeup_fd(wakeup);
	struct etl_hello hello;
	pthread_t sender;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec data = { "!", 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof control };

	CHECK(pthread_create(&sender, NULL, send_wakeups, NULL) == 0);
	CHECK(etl_hello(etl_injector.memfd, NULL) == 0);
	sock = next(by_name, &hello, &file);
	close(file);
	etl_hello_again();
	etl_wakeup_pause(wakeup, 1);
	CHECK(!etl_peek(&page->is_paused)); /* it is not there yet */
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	CHECK(sendmsg(sock, &message, 0) == 1);
	etl_hello_again();
	CHECK(etl_injector.wakeup == page && etl_peek(&page->is_paused) == 1);
	while (etl_wakeup_value(wakeup) < 1000)
		usleep(100);
	etl_store(&is_over, true);
	pthread_join(sender, NULL);
	close(sock);
	forget();
}

static void nobody_is_there(int by_name)
{
	close(by_name);
	CHECK(etl_hello(etl_injector.memfd, NULL) == -ENOENT);
	CHECK(etl_peek(&etl_injector.wakeup->unmet) == 1);
	etl_hello_again();
	CHECK(etl_injector.socket == -1);
}

/* Who listens in the collector's place, when that has gone, gets no memory of ours. */
static void a_listener_of_another_user(void)
{
	struct etl_hello hello;
	int listener, file;

	if (geteuid() != 0)
		return; /* only root can be another */
	CHECK(seteuid(65534) == 0);
	listener = listen_at(true);
	CHECK(seteuid(0) == 0);
	CHECK(etl_hello(etl_injector.memfd, NULL) < 0 && etl_injector.socket == -1);
	close(accept(listener, NULL, NULL)); /* nothing came with it */
	CHECK(setenv(ETL_ENV_UID, "65534", 1) == 0);
	CHECK(etl_hello(etl_injector.memfd, NULL) == 0);
	close(next(listener, &hello, &file));
	CHECK(file >= 0);
	close(file);
	close(listener);
	forget();
}

int main(void)
{
	struct etl_error error;
	struct etl_wakeup *wakeup = etl_wakeup_create(&error);
	int by_path, by_name;

	CHECK(wakeup && mkdtemp(folder));
	CHECK(snprintf(path, sizeof path, "%s/s", folder) > 0);
	CHECK(setenv(ETL_ENV_SOCKET, path, 1) == 0);
	CHECK(setenv(ETL_ENV_WAKEUP, "/dev/null", 1) == 0); /* which is no page */
	etl_injector.pid = getpid();
	etl_injector.socket = -1;
	etl_injector.wakeup = etl_wakeup_map();
	CHECK(etl_injector.wakeup);
	etl_injector.memfd = etl_move_descriptor(open("/dev/zero", O_RDWR | O_CLOEXEC));
	etl_keep_descriptor(etl_injector.memfd);
	CHECK(etl_is_kept(etl_injector.memfd));
	by_path = listen_at(false);
	by_name = listen_at(true);
	by_path_and_by_name(by_path, by_name);
	a_queue_that_is_full(by_name);
	no_descriptor(by_name);
	a_page_that_comes_later(by_name, wakeup);
	nobody_is_there(by_name);
	a_listener_of_another_user();
	etl_wakeup_free(wakeup);
	close(by_path);
	CHECK(rmdir(folder) == 0);
	return 0;
}
