# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after spark.sh: DataFusion Comet, an accelerator with a shuffle manager of its own.

# shellcheck disable=SC2034
COMET_PLUGIN=org.apache.spark.CometPlugin
COMET_VERSION=1.2.0
COMET_JAR=$ROOT/target/comet/comet-spark-spark4.1_2.13-$COMET_VERSION.jar

# check_comet_mode MODE: Refuses what is no mode of Comet's shuffle.
check_comet_mode() {
  case $1 in
    native | jvm) ;;
    *) die 2 "--comet $1: give native or jvm, which are the modes of its shuffle" ;;
  esac
}

# find_comet: Gets the jar, which has Comet's native library in it. After prepare_spark_home.
find_comet() {
  local folder=${COMET_JAR%/*}
  case $SPARK_VERSION in
    4.1.*) ;;
    *) die 2 "--comet is for Spark 4.1: SPARK_HOME has $SPARK_VERSION" ;;
  esac
  [ ! -e "$COMET_JAR" ] || return 0
  rm -rf "$folder.new"
  alone run_logged comet mvn -B -ntp -N dependency:copy -DoutputDirectory="$folder.new" \
    -Dartifact="org.apache.datafusion:comet-spark-spark4.1_2.13:$COMET_VERSION" ||
    die 1 "Maven could not get DataFusion Comet $COMET_VERSION"
  mv -T "$folder.new" "$folder"
}

# comet_conf MODE: Sets COMET_CONF to the options of spark-submit, but for the jars, the plugins and the executors' class path.
# The native shuffle takes what Comet's own operators make, so that it needs Spark's ranges converted.
comet_conf() {
  # shellcheck disable=SC2034
  COMET_CONF=(--driver-class-path "$COMET_JAR" --conf spark.memory.offHeap.enabled=true --conf spark.memory.offHeap.size=1g
    --conf spark.shuffle.manager=org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager
    --conf spark.comet.shuffle.enabled=true --conf "spark.comet.shuffle.mode=$1"
    --conf spark.comet.convert.range.enabled=true)
}
