# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after spark.sh and cluster.sh: access to the cluster of bin/yarn.

YARN_CONF=$ROOT/yarn/conf

# resolve_yarn PROFILE [VERSION]: Has Maven write the class path of a profile of yarn/pom.xml to target/yarn/PROFILE.classpath, or that of
# another version of Hadoop to target/yarn/PROFILE-VERSION.classpath.
resolve_yarn() {
  local file=$ROOT/target/yarn/$1${2:+-$2}.classpath
  [ "$file" -nt "$ROOT/yarn/pom.xml" ] || rm -f "$file"
  alone maven_classpath "$file" -f yarn/pom.xml -P "$1" ${2:+"-Dhadoop.version=$2"} -DincludeScope=runtime || die 1 "Maven could not get what yarn/pom.xml names for $1"
}

# prepare_yarn_spark_home: Does what prepare_spark_home does, for a Spark that can run on YARN.
prepare_yarn_spark_home() {
  local given=${SPARK_HOME:-}
  [ -n "$given" ] || resolve_yarn spark
  MAVEN_SPARK=$ROOT/target/yarn/spark.classpath prepare_spark_home
  compgen -G "$SPARK_HOME/jars/spark-yarn_*.jar" >/dev/null ||
    die 2 "SPARK_HOME=$given holds no jars/spark-yarn_*.jar: point it at a Spark that was built for YARN, or unset it"
}

need_yarn() { [ -e "$YARN/nodes" ] || die 2 "no YARN cluster on the hosts: bin/yarn start"; }

# Prints how many NodeManagers the ResourceManager counts.
active_node_managers() { http_get node0 8088 /ws/v1/cluster/metrics | sed -n 's/.*"activeNodes":\([0-9]*\).*/\1/p'; }

# Prints how many DataNodes the NameNode counts, once it takes writes.
live_data_nodes() {
  http_get node0 9870 '/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState' |
    awk '/"FSState"/ { writes = /Operational/ } /"NumLiveDataNodes"/ { n = $3 + 0 } END { if (writes) print n }'
}

# hadoop_command HOST DAEMON CLASS ARGS...: Sets `command` to run a Hadoop class on that host. `memory` is the memory
# that a NodeManager offers, and `recovery` whether its containers outlive it.
hadoop_command() {
  local host=$1 daemon=$2
  shift 2
  command=("$ROOT/bin/hosts" on "$host" "$JAVA" -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1
    --add-opens=java.base/java.lang=ALL-UNNAMED -Djava.net.preferIPv4Stack=true
    "-Dcluster.host=$host" "-Dcluster.dir=$YARN/$host/$daemon" "-Dcluster.memory=${memory:-}"
    "-Dcluster.recovery=${recovery:-false}"
    "-Dcluster.shuffle-service=$(cat "$ROOT/target/yarn/shuffle-service.classpath")"
    -cp "$YARN/hadoop/conf:$YARN/hadoop/jars/*" "$@")
}

# prepare_hadoop_home CLASSPATH: Makes $YARN/hadoop with the jars and the configuration of the daemons and of the containers of MapReduce.
prepare_hadoop_home() {
  local paths home=$YARN/hadoop
  mkdir -p "$home/jars" "$home/conf"
  mapfile -t paths < <(tr : '\n' <"$1")
  ln -s "${paths[@]}" "$home/jars/"
  ln -s "$YARN_CONF"/* "$home/conf/"
  # What is in a job's configuration is read where the properties of these JVMs are not known.
  sed -i "s|@HADOOP@|$home|g" "$home/conf/mapred-site.xml"
}

# mapred_job KIND JAR ARGS...: Runs a job of MapReduce on node0, as `hadoop jar` does. JAR is a path, examples or streaming; with these two
# the job shuffles by the node services unless KIND is http, however small it is.
mapred_job() {
  local kind=$1 jar=$2 command rdma=()
  shift 2
  [ "$kind" = http ] || rdma=(-libjars "$MAPREDUCE_JAR"
    -D mapreduce.shuffle.rdma.min.bytes=0
    -D mapreduce.job.reduce.shuffle.consumer.plugin.class=org.shufflerdma.mapreduce.RdmaShuffle
    -D "mapreduce.job.map.output.collector.class=org.shufflerdma.mapreduce.GrantingBuffer,org.apache.hadoop.mapred.MapTask\$MapOutputBuffer")
  case $jar in
    examples) set -- "$(hadoop_jar mapreduce-examples)" "$1" "${rdma[@]}" "${@:2}" ;;
    streaming) set -- "$(hadoop_jar streaming)" "${rdma[@]}" "$@" ;;
    *) set -- "$jar" "$@" ;;
  esac
  hadoop_command node0 client org.apache.hadoop.util.RunJar "$@"
  "${command[@]}"
}

hadoop_jar() { find "$YARN/hadoop/jars" -name "hadoop-$1-[0-9]*.jar"; }

# hdfs_dfs ARGS...: Runs the equivalent of a distribution's `hdfs dfs` on node0.
hdfs_dfs() {
  local command
  hadoop_command node0 client org.apache.hadoop.fs.FsShell "$@"
  "${command[@]}"
}

YARN_ARCHIVE=hdfs://node0:9820/spark/spark.zip

# upload_archive: Uploads Spark's jars and the plugin as $YARN_ARCHIVE.
upload_archive() {
  say "uploading Spark's jars and the plugin as $YARN_ARCHIVE"
  rm -f "$YARN/spark.zip"
  (cd "$SPARK_HOME/jars" && "$JAVA_HOME/bin/jar" -c -0 -M -f "$YARN/spark.zip" ./*.jar -C "$(dirname "$PLUGIN_JAR")" "$(basename "$PLUGIN_JAR")")
  hdfs_dfs -mkdir -p "$(dirname "$YARN_ARCHIVE")"
  hdfs_dfs -put -f "$YARN/spark.zip" "$YARN_ARCHIVE" || die 1 "HDFS did not take $YARN/spark.zip"
  rm -f "$YARN/spark.zip"
}

# yarn_submit ARGS...: Runs spark-submit on node0 for the cluster of bin/yarn, whose shuffle service requires each job's
# secret.
yarn_submit() {
  export HADOOP_CONF_DIR=$YARN_CONF SPARK_LOCAL_HOSTNAME=node0 SPARK_LOCAL_DIRS=$YARN/node0/client
  SUBMIT_HOST=node0 spark_submit --master yarn --conf "spark.yarn.jars=local:$SPARK_HOME/jars/*" --conf spark.authenticate=true "$@"
}
