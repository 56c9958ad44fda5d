# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: makes a Spark home of Maven's jars or of the user's, and runs spark-submit on it.

# shellcheck disable=SC2034
BENCHMARKS_JAR=$ROOT/benchmarks/target/shuffle-rdma-benchmarks-0.1.0-SNAPSHOT.jar

# The class path of the Spark that is used if the user has not set SPARK_HOME.
MAVEN_SPARK=$ROOT/benchmarks/target/spark-home.classpath

# check_conf --conf KEY=VALUE --conf ...: Requires each to be a setting of Spark.
check_conf() {
  local each
  for each in "$@"; do
    [[ $each = --conf || $each =~ ^spark\.[^=]+=. ]] || die 2 "--conf $each: give KEY=VALUE with a key of Spark"
  done
}

# check_spark_home: Refuses a folder without Spark before anything is built for it.
check_spark_home() {
  [ -z "${SPARK_HOME:-}" ] || [ -d "$SPARK_HOME/jars" ] ||
    die 2 "SPARK_HOME=$SPARK_HOME holds no jars/: point it at a Spark distribution, or unset it"
}

# prepare_spark_home: Sets SPARK_HOME, SPARK_VERSION and SPARK_SCALA_VERSION. The home is a folder of links below
# target/, made once per Spark, even for the user's SPARK_HOME, because local-cluster masters keep the executors' work
# folders in it.
prepare_spark_home() {
  local classpath=$MAVEN_SPARK source home core
  check_spark_home
  source=${SPARK_HOME:-$classpath}
  if [ -n "${SPARK_HOME:-}" ]; then
    home=$ROOT/target/spark-home/user-$(find -L "$SPARK_HOME" -maxdepth 2 | sort | cksum | cut -d ' ' -f 1)
  else
    home=$ROOT/target/spark-home/maven-$(cksum <"$classpath" | cut -d ' ' -f 1)
  fi
  if [ -n "${SPARK_HOME:-}" ]; then alone make_home "$home" link_distribution; else alone make_home "$home" link_maven_jars "$classpath"; fi
  find "$home/work" -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {} + 2>/dev/null || true
  core=$(find "$home/jars/" -name 'spark-core_*.jar' | head -n 1)
  core=$(basename "${core:-spark-core_none-none.jar}" .jar)
  SPARK_SCALA_VERSION=${core#spark-core_}
  SPARK_VERSION=${SPARK_SCALA_VERSION#*-}
  SPARK_SCALA_VERSION=${SPARK_SCALA_VERSION%%-*}
  case $SPARK_VERSION in
    3.5.* | 4.0.* | 4.1.* | 4.2.*) ;;
    *) die 2 "$source is Spark $SPARK_VERSION, and 3.5.0 to 4.2 are supported: point SPARK_HOME at one of those, or unset it" ;;
  esac
  SPARK_HOME=$home
  export SPARK_HOME SPARK_SCALA_VERSION
}

# spark_home_of VERSION SCALA: Does the same for a published Spark, whose jars Maven fetches; ignores the user's
# SPARK_HOME.
spark_home_of() {
  local classpath=$ROOT/target/spark-home/$1-$2.classpath
  alone maven_classpath "$classpath" -f spark-tests/spark-home/pom.xml "-Dspark.version=$1" "-Dscala.binary.version=$2" ||
    die 1 "Maven could not get Spark $1 for Scala $2"
  SPARK_HOME=${classpath%.classpath} SPARK_VERSION=$1 SPARK_SCALA_VERSION=$2
  alone make_home "$SPARK_HOME" link_maven_jars "$classpath"
  export SPARK_HOME SPARK_SCALA_VERSION
}

# maven_classpath FILE ARGS...: Writes to FILE the class path of the pom that Maven's ARGS name, unless FILE has it and
# all its jars exist.
maven_classpath() {
  local file=$1 name
  shift
  ! has_all_jars "$file" || return 0
  name=$(basename "$file" .classpath)
  say "the jars of $name (the first time Maven fetches them)"
  run_logged "classpath-$name" mvn -B -ntp -q "$@" dependency:build-classpath "-Dmdep.outputFile=$file"
}

# make_home HOME CMD...: Makes the home if it is missing, or older than its class path. CMD fills the folder that it gets as
# its last argument.
make_home() {
  local home=$1
  [ ! "$home.classpath" -nt "$home" ] || rm -rf "$home"
  [ ! -d "$home" ] || return 0
  rm -rf "$home.new"
  mkdir -p "$home.new"
  "${@:2}" "$home.new"
  mv -T "$home.new" "$home"
}

link_distribution() {
  local entry
  for entry in "$SPARK_HOME"/*; do
    [ "$(basename "$entry")" = work ] || ln -s "$(readlink -f "$entry")" "$1/$(basename "$entry")"
  done
}

link_maven_jars() {
  mkdir -p "$2/jars" "$2/conf"
  ln -s "$ROOT/conf/log4j2.properties" "$2/conf/log4j2.properties"
  tr ':' '\n' <"$1" | grep -vE 'hadoop-mapreduce-examples|/jucx-' | xargs -d '\n' ln -s -t "$2/jars/"
  [ -z "$(find "$2/jars" -xtype l -print -quit)" ] ||
    die 1 "jars are gone from Maven's repository: remove $ROOT/target and $ROOT/*/target, and run again"
}

# find_examples_jar: Sets EXAMPLES_JAR to Hadoop's examples, in the version of this Spark's Hadoop, whose API they use.
find_examples_jar() {
  local version
  EXAMPLES_JAR=$(tr ':' '\n' <"$ROOT/benchmarks/target/spark-home.classpath" | grep hadoop-mapreduce-examples)
  version=$(find "$SPARK_HOME/jars/" -name 'hadoop-client-api-*.jar' | sed 's/.*hadoop-client-api-//; s/\.jar$//' | head -n 1)
  case $EXAMPLES_JAR in *"-${version:-}.jar") return 0 ;; esac
  [ -n "$version" ] || return 0
  EXAMPLES_JAR=$ROOT/target/hadoop-examples/hadoop-mapreduce-examples-$version.jar
  [ -e "$EXAMPLES_JAR" ] ||
    alone run_logged hadoop-examples mvn -B -ntp -N dependency:copy -DoutputDirectory="$(dirname "$EXAMPLES_JAR")" \
      -Dartifact="org.apache.hadoop:hadoop-mapreduce-examples:$version" ||
    die 1 "Maven could not get Hadoop's examples of $version, which $SPARK_HOME needs: unset SPARK_HOME, or see the log"
}

# terasort_conf DIR: Sets TERASORT_CONF to the settings of a sort, for which Hadoop has its temporary files in DIR. Hadoop does not
# find them again in a folder with a space in its name.
terasort_conf() {
  # shellcheck disable=SC2034
  TERASORT_CONF=(--conf spark.ui.enabled=false
    --conf "spark.hadoop.hadoop.tmp.dir=$1"
    --conf "spark.hadoop.mapreduce.jobtracker.staging.root.dir=$1/staging"
    --conf 'spark.kryo.classesToRegister=[[B')
}

# launcher_command CLASS ARGS...: Sets `command` to the words that a distribution's bin/spark-class would run.
launcher_command() {
  local part
  command=()
  # The launcher prints NUL, newline, and then the words of the command, each ended by NUL.
  while IFS= read -r -d '' part; do
    part=${part#$'\n'}
    [ -z "$part" ] && [ ${#command[@]} = 0 ] || command+=("$part")
  done < <("$JAVA" -Xmx128m -cp "$SPARK_HOME/jars/*" org.apache.spark.launcher.Main "$@")
  [ ${#command[@]} -gt 0 ] || die 1 "Spark's launcher in $SPARK_HOME made no command of: $*"
}

# submit_command ARGS...: Sets `command` to the equivalent of a distribution's bin/spark-submit, also for a home without
# bin/. SUBMIT_HOST may name a host of bin/hosts to run it on.
submit_command() {
  command=("$SPARK_HOME/bin/spark-submit" "$@")
  [ -x "$SPARK_HOME/bin/spark-submit" ] || launcher_command org.apache.spark.deploy.SparkSubmit "$@"
  if [ -n "${SUBMIT_HOST:-}" ]; then command=("$ROOT/bin/hosts" on "$SUBMIT_HOST" "${command[@]}"); fi
}

spark_submit() {
  local command
  submit_command "$@"
  "${command[@]}"
}
