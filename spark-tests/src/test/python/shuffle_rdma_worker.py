# SPDX-License-Identifier: Apache-2.0
"""Stands in for PySpark's daemon and workers, which no package registry of the tests has.

Spark starts it as spark.python.daemon.module and speaks its protocol with it (org.apache.spark.api.python.PythonRunner of
Spark 4). The command of a function is one of

    echo       gives back each record
    some N     gives back N records, and reads no more
    raise N    raises an exception after N records
    die N      ends the process after N records
"""
import os
import select
import signal
import socket
import struct
import sys

END_OF_DATA, EXCEPTION, END_OF_STREAM = -1, -2, -4


class Connection:
    """What Spark's side writes with a DataOutputStream, and reads with a DataInputStream."""

    def __init__(self, sock):
        self.source = sock.makefile("rb")
        self.sink = sock.makefile("wb")

    def take(self, length):
        data = self.source.read(length)
        if len(data) != length:
            raise EOFError
        return data

    def take_int(self):
        return struct.unpack("!i", self.take(4))[0]

    def take_bytes(self):
        return self.take(self.take_int())

    def give_int(self, number):
        self.sink.write(struct.pack("!i", number))

    def give_bytes(self, data):
        self.give_int(len(data))
        self.sink.write(data)


def take_command(spark):
    """Reads what comes before the records of a task; returns the words of the function's command."""
    spark.take_int()  # the partition
    spark.take_bytes()  # the version of Python
    if spark.take(1) != b"\0":  # a barrier stage
        spark.take_int()
        spark.take_bytes()
    spark.take(4 + 4 + 4 + 8 + 4)  # stage, partition, attempt, task attempt, processors
    for _ in range(spark.take_int()):  # resources
        spark.take_bytes()
        spark.take_bytes()
        for _ in range(spark.take_int()):
            spark.take_bytes()
    for _ in range(spark.take_int()):  # local properties
        spark.take_bytes()
        spark.take_bytes()
    spark.take_bytes()  # the directory of files
    for _ in range(spark.take_int()):  # files
        spark.take_bytes()
    spark.take(1)  # whether broadcasts are encrypted
    for _ in range(spark.take_int()):  # broadcasts
        spark.take(8)
        spark.take_bytes()
    spark.take_int()  # the kind of function
    return spark.take_bytes().decode().split()


def run_task(spark):
    """Returns whether the worker may have another task."""
    what, *limit = take_command(spark)
    most = int(limit[0]) if limit else -1
    count = 0
    while True:
        length = spark.take_int()
        if length == END_OF_DATA:
            break
        record = spark.take(length)
        if count == most:
            if what == "die":
                os._exit(1)
            if what == "raise":
                spark.give_int(EXCEPTION)
                spark.give_bytes(b"ValueError: raised by the function")
            else:
                spark.give_int(END_OF_DATA)
                spark.give_int(0)  # no accumulator was updated
            spark.give_int(END_OF_DATA)  # not to be used again: not all of its input has been read
            spark.sink.flush()
            return False
        spark.give_bytes(record)
        count += 1
    spark.give_int(END_OF_DATA)
    spark.give_int(0)
    whole = spark.take_int() == END_OF_STREAM
    spark.give_int(END_OF_STREAM if whole else END_OF_DATA)
    spark.sink.flush()
    return whole


def work(sock):
    spark = Connection(sock)
    spark.give_int(os.getpid())
    spark.sink.flush()
    known = spark.take_bytes().decode() == os.environ["PYTHON_WORKER_FACTORY_SECRET"]
    spark.give_bytes(b"ok" if known else b"err")
    spark.sink.flush()
    try:
        while run_task(spark):
            pass
        while sock.recv(1 << 16):  # a socket that is closed with bytes in it resets the connection
            pass
    except (EOFError, ConnectionError):
        pass


def serve():
    """Forks a worker for each connection until the executor closes the standard input."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.buffer.write(struct.pack("!i", listener.getsockname()[1]))
        sys.stdout.buffer.flush()
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready and not os.read(0, 1024):
                return
            if listener in ready:
                sock, _ = listener.accept()
                if os.fork() == 0:
                    listener.close()
                    work(sock)
                    os._exit(0)
                sock.close()


if __name__ == "__main__":
    serve()
