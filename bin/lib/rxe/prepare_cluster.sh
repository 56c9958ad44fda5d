#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs on the host before the guests of spark_cluster.sh, rails.sh, doctor.sh or power_off.sh boot: builds the jars, and leaves in target/rxe/cluster what
# needs JVMs to make: `commands`, the commands of a cluster's processes on guest1 and guest2, and `classes.jsa`, an
# archive of the classes that they load, which halves their time to start. Neither changes while guests run.
# RXE_SORT_DEVICE is TeraSort's --device (rxe0); with another device the guests' tests must fail.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
. "$ROOT/bin/lib/spark.sh"

folder=$ROOT/target/rxe/cluster archive=$ROOT/target/rxe/cluster/classes.jsa shared=/run/rxe/shared
records=640000

# daemon NAME CLASS ARGS...: Writes the daemon's command as the array NAME.
daemon() {
  local name=$1
  shift
  SPARK_DAEMON_CLASSPATH=$jars SPARK_DAEMON_MEMORY=128m \
    SPARK_DAEMON_JAVA_OPTS="${small[*]} -XX:SharedArchiveFile=$archive -Dspark.worker.timeout=120" launcher_command "$@"
  echo "$name=(${command[*]@Q})"
}

# doctor_command DEVICE: Sets `command` to the cluster doctor's, between the two guests.
doctor_command() {
  local java_options="${small[*]} -XX:SharedArchiveFile=$archive"
  launcher_command org.apache.spark.deploy.SparkSubmit --master spark://guest1:7077 \
    --conf spark.driver.memory=512m --conf spark.executor.memory=512m --conf spark.executor.cores=1 --conf spark.cores.max=2 \
    --conf "spark.shuffle.rdma.device=$1" --conf spark.shuffle.rdma.connectTimeout=60s --conf spark.ui.enabled=false \
    --conf "spark.driver.extraClassPath=$jars" --conf "spark.executor.extraClassPath=$jars" \
    --conf "spark.driver.extraJavaOptions=$java_options" --conf "spark.executor.extraJavaOptions=$java_options" \
    --class org.apache.spark.shuffle.rdma.Doctor spark-internal --executors 2 --hosts guest1,guest2 --wait 300 --json /tmp/doctor.json
}

# sort_command MASTER DIR RECORDS DEVICE OPTION CORES: Sets `command` to the driver's command; OPTION goes to its JVM and
# the executors', which have a core each.
sort_command() {
  local java_options="${small[*]} $5"
  terasort_conf "$2"
  launcher_command org.apache.spark.deploy.SparkSubmit --master "$1" "${TERASORT_CONF[@]}" \
    --conf spark.driver.memory=512m --conf spark.executor.memory=512m --conf spark.executor.cores=1 --conf "spark.cores.max=$6" \
    --conf spark.shuffle.rdma.required=true --conf spark.shuffle.reduceLocality.enabled=false --conf spark.shuffle.rdma.poolBytes=64m \
    --conf spark.scheduler.maxRegisteredResourcesWaitingTime=600s \
    --conf "spark.driver.extraClassPath=$jars" --conf "spark.executor.extraClassPath=$jars" \
    --conf "spark.driver.extraJavaOptions=$java_options" --conf "spark.executor.extraJavaOptions=$java_options" \
    --class org.shufflerdma.benchmarks.terasort.TeraSort spark-internal \
    --records "$3" --maps 4 --reduces 4 --shuffle rdma --device "$4" --dir "file://$2/sort" --json "$2/result.json"
}

# A sort here, whose master and workers are threads of the driver, shows which classes are loaded.
make_archive() {
  local lists=$folder/lists
  [ ! "$archive" -nt "$PLUGIN_JAR" ] || [ ! "$archive" -nt "$BENCHMARKS_JAR" ] || return 0
  rm -rf "$lists"
  mkdir -p "$lists"
  sort_command 'local-cluster[2,1,512]' "$lists" 100000 soft "-XX:DumpLoadedClassList=$lists/%p.list" 2
  SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS=$lists run_logged cluster-classes timeout 600 "${command[@]}" || exit 1
  cat "$lists"/*.list | awk '!/^#/ && !seen[$0]++' >"$folder/classes"
  run_logged cluster-archive "$JAVA" -Xshare:dump -XX:+UseSerialGC "-XX:SharedClassListFile=$folder/classes" \
    "-XX:SharedArchiveFile=$archive.new" \
    -cp "$jars:$(echo "$SPARK_HOME"/jars/slf4j-api-*.jar):$SPARK_HOME/jars/*" || exit 1
  mv "$archive.new" "$archive"
  rm -rf "$lists"
}

mkdir -p "$folder"
exec 9<"$folder"
flock -w 1800 9 || die 1 "another $PROGRAM is at work: $folder is locked"
build_jars benchmarks
prepare_spark_home
find_examples_jar
jars=$PLUGIN_JAR:$BENCHMARKS_JAR:$EXAMPLES_JAR
# A class path with an archive must have no folder with files in it, such as conf/.
export SPARK_CONF_DIR=/nowhere
small=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData
  "-Dlog4j.configurationFile=$ROOT/conf/log4j2.properties")
make_archive
{
  echo "export SPARK_HOME=${SPARK_HOME@Q} SPARK_SCALA_VERSION=$SPARK_SCALA_VERSION SPARK_CONF_DIR=$SPARK_CONF_DIR"
  echo "records=$records"
  daemon master org.apache.spark.deploy.master.Master --host guest1 --port 7077 --webui-port 8080
  for number in 1 2; do
    worker=(org.apache.spark.deploy.worker.Worker --host "guest$number" --work-dir "$shared/work-guest$number")
    daemon "worker$number" "${worker[@]}" --cores 1 --memory 512m spark://guest1:7077
    daemon "rails_worker$number" "${worker[@]}" --cores 2 --memory 1024m spark://guest1:7077
  done
  sort_command spark://guest1:7077 $shared $records "${RXE_SORT_DEVICE:-rxe0}" "-XX:SharedArchiveFile=$archive" 2
  echo "driver=(${command[*]@Q})"
  sort_command spark://guest1:7077 $shared $records rxe0,rxe1 "-XX:SharedArchiveFile=$archive" 4
  echo "rails_driver=(${command[*]@Q})"
  doctor_command rxe0
  echo "doctor=(${command[*]@Q})"
  doctor_command rxe1
  echo "doctor_second=(${command[*]@Q})"
} >"$folder/commands.new"
mv "$folder/commands.new" "$folder/commands"
