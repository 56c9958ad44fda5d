# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: a Spark home of Maven's jars or of the user's, and spark-submit on it.

# prepare_spark_home: sets SPARK_HOME, SPARK_VERSION and SPARK_SCALA_VERSION. The home is always a folder below
# target/, of links, because local-cluster masters keep the executors' work folders in it.
prepare_spark_home() {
  local home=$ROOT/target/spark-home core
  mkdir -p "$home"
  if [ -n "${SPARK_HOME:-}" ] && [ "$SPARK_HOME" != "$home" ]; then
    [ -d "$SPARK_HOME/jars" ] || die 2 "SPARK_HOME=$SPARK_HOME holds no jars/: point it at a Spark distribution, or unset it"
    find "$home" -maxdepth 1 -type l -delete
    rm -rf "$home/jars" "$home/conf"
    for entry in "$SPARK_HOME"/*; do
      [ "$(basename "$entry")" = work ] || ln -sfn "$entry" "$home/"
    done
  else
    find "$home" -maxdepth 1 -type l -delete
    rm -rf "$home/jars"
    mkdir -p "$home/jars" "$home/conf"
    tr ':' '\n' <"$ROOT/benchmarks/target/spark-home.classpath" | grep -v hadoop-mapreduce-examples |
      while IFS= read -r jar; do
        [ -e "$jar" ] || die 1 "$jar is gone from Maven's repository: remove $ROOT/target/built and run again"
        ln -s "$jar" "$home/jars/"
      done
    ln -sf "$ROOT/conf/log4j2.properties" "$home/conf/log4j2.properties"
  fi
  core=$(find -H "$home/jars/" -name 'spark-core_*.jar' | head -n 1)
  core=$(basename "${core:-spark-core_none-none.jar}" .jar)
  SPARK_SCALA_VERSION=${core#spark-core_}
  SPARK_VERSION=${SPARK_SCALA_VERSION#*-}
  SPARK_SCALA_VERSION=${SPARK_SCALA_VERSION%%-*}
  case $SPARK_VERSION in
    3.5.* | 4.0.* | 4.1.* | 4.2.*) ;;
    *) die 2 "${SPARK_HOME:-$home} is Spark $SPARK_VERSION, and 3.5.0 to 4.2 are supported: point SPARK_HOME at one of those, or unset it" ;;
  esac
  SPARK_HOME=$home
  export SPARK_HOME SPARK_SCALA_VERSION
}

# spark_submit ARGS...: what bin/spark-submit of a distribution does, also for a home that has no bin/.
spark_submit() {
  local command=()
  if [ -x "$SPARK_HOME/bin/spark-submit" ]; then
    "$SPARK_HOME/bin/spark-submit" "$@"
    return
  fi
  # The launcher prints NUL, newline, then the command's words, each ended by NUL.
  while IFS= read -r -d '' part; do
    part=${part#$'\n'}
    [ -z "$part" ] && [ ${#command[@]} = 0 ] || command+=("$part")
  done < <("$JAVA" -Xmx128m -cp "$SPARK_HOME/jars/*" org.apache.spark.launcher.Main \
    org.apache.spark.deploy.SparkSubmit "$@")
  "${command[@]}"
}
