# SPDX-License-Identifier: Apache-2.0
# libdisni.so: the JNI library. It links to no verbs library; provider.c opens one at run time.

JAVA_HOME ?= $(patsubst %/bin/javac,%,$(shell readlink -f "$$(command -v javac)"))

JNI_SOURCES := $(wildcard jni/*.c)
JNI_OBJECTS := $(JNI_SOURCES:%.c=$(OUT)/release/%.o)
JNI_LIBRARY := $(LIB)/libdisni.so

LIBRARIES += $(JNI_LIBRARY)

$(JNI_OBJECTS): RELEASE_CFLAGS += -isystem $(JAVA_HOME)/include -isystem $(JAVA_HOME)/include/linux -Isoftdev

$(JNI_LIBRARY): $(JNI_OBJECTS) jni/libdisni.map
	@mkdir -p $(@D)
	$(CC) $(RELEASE_LDFLAGS) -Wl,-soname,libdisni.so -Wl,--version-script=jni/libdisni.map \
	  -o $@ $(JNI_OBJECTS) -ldl -pthread

CHECKS += check-glibc-floor

check-glibc-floor: $(JNI_LIBRARY) $(SOFTDEV_LIBRARY)
	@tests/glibc_floor.sh $(JNI_LIBRARY) $(SOFTDEV_LIBRARY)
