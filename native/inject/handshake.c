/* How the collector hears of us: one message, by one of two addresses, now or later. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "etl/hello.h"
#include "inject/descriptors.h"
#include "inject/environment.h"
#include "inject/handshake.h"
#include "inject/injector.h"
#include "inject/wakeup.h"
#include "../generated/env.h"

/* Out of the environment, which is the program's to change while our thread looks. */
static char path[sizeof((struct sockaddr_un *)0)->sun_path];
static long collector_uid;
static bool is_unmet; /* it has been counted by the page, see etl/wakeup.h */
static bool is_waiting; /* to say it again */

struct attempt {
	struct etl_hello hello;
	int fd;
};

/* Who listens is to get the program's memory, so it must be who was meant. */
static bool is_trusted(int sock)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0 || (long)peer.uid == collector_uid);
}

static int send_hello(int sock, struct attempt *attempt)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = { &attempt->hello, sizeof attempt->hello };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (attempt->fd >= 0) {
		memset(&control, 0, sizeof control);
		message.msg_control = &control;
		message.msg_controllen = sizeof control.space;
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof attempt->fd);
		memcpy(CMSG_DATA(&control.header), &attempt->fd, sizeof attempt->fd);
	}
	if (sendmsg(sock, &message, MSG_NOSIGNAL) == (ssize_t)sizeof attempt->hello)
		return 0;
	return errno ? -errno : -EPIPE;
}

/* By the path, or by the same words as a name that needs no file; the socket or -errno. */
static int say_by(bool is_name, struct attempt *attempt)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	/* Not blocking: a collector that does not accept must not hold up cuInit.  The
	 * connection waits in its backlog, message and all. */
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code;

	if (sock < 0)
		return -errno;
	sock = etl_move_descriptor(sock);
	memcpy(address.sun_path + is_name, path, length);
	length += offsetof(struct sockaddr_un, sun_path) + 1;
	if (connect(sock, (struct sockaddr *)&address, (socklen_t)length) < 0)
		code = -errno;
	else
		code = is_trusted(sock) ? send_hello(sock, attempt) : -EPERM;
	if (code == 0)
		return sock;
	close(sock);
	return code;
}

/* Whether it may go better later: too many have come at once, or we were dropped for them,
 * or what we need is used up. */
static bool is_passing(int code)
{
	return code == -EAGAIN || code == -EPIPE || code == -ECONNRESET || code == -EMFILE ||
	       code == -ENFILE || code == -ENOBUFS || code == -ENOMEM;
}

static int say(struct attempt *attempt)
{
	/* The path works from other network namespaces; the name where the file is gone or
	 * is another user's to reach. */
	int by_path = say_by(false, attempt), by_name;

	if (by_path >= 0)
		return by_path;
	by_name = say_by(true, attempt);
	if (by_name >= 0)
		return by_name;
	return is_passing(by_path) || is_passing(by_name) ? -EAGAIN : by_path;
}

/* Tells it by the page too, from which a process that is killed meanwhile is not taken. */
static void met(int code)
{
	struct etl_wakeup_page *wakeup = etl_injector.wakeup;

	is_waiting = code == -EAGAIN;
	if (!wakeup || is_unmet == (code < 0))
		return;
	is_unmet = code < 0;
	if (is_unmet)
		etl_add(&wakeup->unmet, 1);
	else
		atomic_fetch_sub_explicit(&wakeup->unmet, 1, memory_order_relaxed);
}

static int say_and_close(void *attempt)
{
	int sock = say(attempt);

	if (sock < 0)
		return sock;
	close(sock);
	return 0;
}

static int say_and_keep(struct attempt *attempt)
{
	int sock = say(attempt);

	if (sock < 0)
		return sock;
	etl_keep_descriptor(sock);
	etl_injector.socket = sock;
	return 0;
}

static struct attempt prepare(int fd, const char *reason)
{
	struct attempt attempt = { { .magic = ETL_HELLO_MAGIC,
				     .version = ETL_HELLO_VERSION,
				     .pid = etl_injector.pid },
				   fd };

	if (reason)
		snprintf(attempt.hello.reason, sizeof attempt.hello.reason, "%s", reason);
	return attempt;
}

void etl_hello_forget(void)
{
	is_unmet = is_waiting = false;
}

int etl_hello(int fd, const char *reason)
{
	struct attempt attempt = prepare(fd, reason);
	const char *given = etl_env(ETL_ENV_SOCKET);
	int code;

	if (!given || strlen(given) >= sizeof path)
		return -ENOENT;
	memcpy(path, given, strlen(given) + 1);
	collector_uid = etl_env_number(ETL_ENV_UID, -1, 0, UINT32_MAX);
	if (fd < 0) {
		code = say_and_close(&attempt);
		/* Nobody tries again; what is missing may be a descriptor. */
		if (code == -EAGAIN)
			code = etl_call_with_room(say_and_close, &attempt);
	} else {
		code = say_and_keep(&attempt);
	}
	met(code);
	return code;
}

void etl_hello_again(void)
{
	struct attempt attempt = prepare(etl_injector.memfd, NULL);
	int code;

	/* The program may have closed it, and have a file of its own there now. */
	if (is_waiting && etl_is_kept(attempt.fd)) {
		code = say_and_keep(&attempt);
		met(code);
		if (code == 0)
			etl_wakeup_send();
	}
	etl_wakeup_receive(etl_injector.socket);
}
