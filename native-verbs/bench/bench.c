/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "bench.h"

#include "test.h"

#include <inttypes.h>
#include <sched.h>

enum { MAX_PAIRS = 1001 };

static unsigned int pairs = 21;
static unsigned int run_ms = 20;
static bool smoke;

struct sample {
	double wall_us, cpu_us; /* of one operation */
};

static unsigned int number_after(int argc, char **argv, int *i, unsigned int limit)
{
	char *end = NULL;
	unsigned long number = ++*i < argc ? strtoul(argv[*i], &end, 10) : 0;

	if (!end || *end || !number || number > limit) {
		fprintf(stderr, "%s wants a number from 1 to %u\n", argv[*i - 1], limit);
		exit(2);
	}
	return number;
}

void bench_start(int argc, char **argv, const char *title)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--pairs")) {
			pairs = number_after(argc, argv, &i, MAX_PAIRS);
		} else if (!strcmp(argv[i], "--run-ms")) {
			run_ms = number_after(argc, argv, &i, 10000);
		} else if (!strcmp(argv[i], "--smoke")) {
			smoke = true;
		} else {
			fprintf(stderr, "usage: %s [--pairs N] [--run-ms N] [--smoke]\n", argv[0]);
			exit(2);
		}
	}
	if (smoke)
		pairs = run_ms = 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("\n%s: %u pairs of %u ms\n", title, pairs, run_ms);
	printf("%-42s %8s %10s %10s %7s %15s %9s %9s %6s  %s\n", "", "bytes", "raw us", "device us", "figure",
	       "p25 - p75", "raw s/GB", "dev s/GB", "CPU", "aim");
}

bool bench_is_smoke(void)
{
	return smoke;
}

void bench_pin(pthread_t thread, unsigned int n)
{
	static cpu_set_t allowed;
	static bool known;
	cpu_set_t one;

	if (!known)
		CHECK(!sched_getaffinity(0, sizeof(allowed), &allowed));
	known = true;
	n %= CPU_COUNT(&allowed);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !n--)
			CPU_SET(cpu, &one);
	CHECK_EQUAL(pthread_setaffinity_np(thread, sizeof(one), &one), 0);
}

struct second {
	void *(*run)(void *);
	void *argument;
	pthread_barrier_t both_run;
};

static void *run_second(void *argument)
{
	struct second *second = argument;

	pthread_barrier_wait(&second->both_run);
	return second->run(second->argument);
}

void bench_run_both(void *(*run)(void *), void *first, void *argument)
{
	struct second second = {.run = run, .argument = argument};
	pthread_t thread;

	if (!argument) {
		run(first);
		return;
	}
	CHECK(!pthread_barrier_init(&second.both_run, NULL, 2));
	CHECK(!pthread_create(&thread, NULL, run_second, &second));
	bench_pin(thread, 1);
	pthread_barrier_wait(&second.both_run);
	run(first);
	CHECK(!pthread_join(thread, NULL));
	CHECK(!pthread_barrier_destroy(&second.both_run));
}

static double clock_us(clockid_t clock)
{
	struct timespec now;

	CHECK(!clock_gettime(clock, &now));
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double cpu_us(pid_t other)
{
	double us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	clockid_t clock;

	if (other) {
		CHECK(!clock_getcpuclockid(other, &clock));
		us += clock_us(clock);
	}
	return us;
}

static struct sample measure(const struct bench_case *bench, void (*run)(void *, uint64_t), void *scene,
			     uint64_t operations)
{
	double cpu = cpu_us(bench->other), wall = clock_us(CLOCK_MONOTONIC);

	run(scene, operations);
	wall = clock_us(CLOCK_MONOTONIC) - wall;
	return (struct sample){wall / operations, (cpu_us(bench->other) - cpu) / operations};
}

static void add(struct sample *sum, struct sample one)
{
	sum->wall_us += one.wall_us / 2;
	sum->cpu_us += one.cpu_us / 2;
}

/* One, the other, the other, the one: neither has always the warmer caches. */
static void measure_pair(const struct bench_case *bench, void *scene, uint64_t operations, bool device_first,
			 struct sample *raw, struct sample *device)
{
	*raw = *device = (struct sample){0};
	for (int i = 0; i < 4; i++) {
		bool is_device = (i == 0 || i == 3) == device_first;

		add(is_device ? device : raw,
		    measure(bench, is_device ? bench->device : bench->raw, scene, operations));
	}
}

/* How many operations the raw call does in one run. */
static uint64_t calibrate(const struct bench_case *bench, void *scene)
{
	uint64_t operations = bench->step;

	while (!smoke) {
		double us = measure(bench, bench->raw, scene, operations).wall_us * operations;

		if (us >= run_ms * 1e3 / 2)
			break;
		operations *= 2;
	}
	bench->device(scene, operations);
	return operations;
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static double percentile(double *values, double share)
{
	qsort(values, pairs, sizeof(*values), compare);
	return values[(unsigned int)(share * (pairs - 1) + 0.5)];
}

static double figure_of(enum bench_aim aim, const struct sample *raw, const struct sample *device)
{
	switch (aim) {
	case AIM_BANDWIDTH:
		return raw->wall_us / device->wall_us;
	case AIM_LATENCY:
		return device->wall_us - raw->wall_us;
	case AIM_CPU:
		return device->cpu_us / raw->cpu_us;
	default:
		return device->wall_us / raw->wall_us;
	}
}

static void print_aim(const struct bench_case *bench, double figure)
{
	bool met = bench->aim == AIM_BANDWIDTH ? figure >= bench->limit : figure <= bench->limit;

	if (bench->aim == AIM_NONE || bench->limit <= 0)
		printf("\n");
	else
		printf("%s %g%s: %s\n", bench->aim == AIM_BANDWIDTH ? ">=" : "<=", bench->limit,
		       bench->aim == AIM_LATENCY ? " us" : bench->aim == AIM_CPU ? " CPU" : "",
		       met ? "met" : "MISSED");
}

void bench_run(const struct bench_case *bench, void *scene)
{
	static double raw_us[MAX_PAIRS], device_us[MAX_PAIRS], raw_cpu[MAX_PAIRS], device_cpu[MAX_PAIRS],
		figures[MAX_PAIRS], cpu[MAX_PAIRS];
	uint64_t operations = calibrate(bench, scene);
	double to_seconds_per_gb = 1e3 / bench->bytes, figure, p25, p75;

	for (unsigned int i = 0; i < pairs; i++) {
		struct sample raw, device;

		measure_pair(bench, scene, operations, i % 2, &raw, &device);
		raw_us[i] = raw.wall_us;
		device_us[i] = device.wall_us;
		raw_cpu[i] = raw.cpu_us;
		device_cpu[i] = device.cpu_us;
		cpu[i] = device.cpu_us / raw.cpu_us;
		figures[i] = figure_of(bench->aim, &raw, &device);
	}
	figure = percentile(figures, 0.5);
	p25 = percentile(figures, 0.25);
	p75 = percentile(figures, 0.75);
	printf("%-42s %8" PRIu64 " %10.3f %10.3f %7.3f %7.3f-%7.3f %9.3f %9.3f %6.3f  ", bench->name,
	       bench->bytes, percentile(raw_us, 0.5), percentile(device_us, 0.5), figure, p25, p75,
	       percentile(raw_cpu, 0.5) * to_seconds_per_gb,
	       percentile(device_cpu, 0.5) * to_seconds_per_gb, percentile(cpu, 0.5));
	print_aim(bench, figure);
}
